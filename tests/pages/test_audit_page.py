"""The audit log in the browser's eyes: entries, filters, exports, and what is said about the chain."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
from collections.abc import Callable
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext

from reviews import audit, services
from reviews.chain_checks import ACTION
from reviews.models import AuditEntry
from tests.pages.case_data import NOTE, double_refund, page_of, result_of
from tests.reviews.conftest import person as account
from tests.triggers import triggers_lifted


@pytest.fixture
def reviewer(person: Callable[..., Client]) -> Client:
    return person("reviewer")


def words(html: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)))


def log(client: Client, query: str = "", **headers: str) -> str:
    response = client.get(f"/audit/{query}", headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def numbers(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'<tr id="entry-(\d+)"', html)]


def decided(name: str = "ann", note: str = NOTE) -> AuditEntry:
    pair = double_refund(name=f"of-{name}")
    services.override_result(
        result_id=result_of(pair, "once").pk,
        decision="PASS",
        note=note,
        seen_review_id=0,
        actor=account(name),
    )
    return AuditEntry.objects.get(action="result_overridden", actor_name=name)


# ----------------------------------------------------------------------------------- the entries


def test_an_entry_says_who_when_what_and_what_it_changed(viewer: Client) -> None:
    entry = decided()

    html = log(viewer)
    row = re.search(rf'<tr id="entry-{entry.sequence}".*?</tr>', html, re.S)

    assert row
    text = words(row[0])
    assert "ann" in text
    assert "result overridden" in text
    # A quote keeps line ends: one of the template would be a blank line above every note.
    assert f'<div class="quote small">{NOTE}</div>' in row[0]
    assert re.search(r'status *"FAIL" → became *"PASS"', text)
    assert f'href="/comparisons/{entry.after["comparison"]}/cases/of-ann/"' in row[0]
    assert entry.entry_hash in row[0]
    assert "final_state_digest" in row[0], "all that was recorded can be unfolded"


def test_newest_comes_first_and_pages_follow_one_another(viewer: Client) -> None:
    for number in range(60):
        audit.record(action="something_happened", subject_type="thing", subject_id=number)
    last = AuditEntry.objects.order_by("-sequence").values_list("sequence", flat=True)[0]

    first = log(viewer)
    following = re.search(r'rel="next" href="(\?[^"]+)"', first)

    assert following
    second = log(viewer, following[1])
    assert numbers(first) == list(range(last, last - 50, -1))
    assert numbers(second) == list(range(last - 50, 0, -1))


def test_a_page_asks_as_often_however_long_the_log_is(viewer: Client) -> None:
    audit.record(action="one", subject_type="thing")
    log(viewer)
    with CaptureQueriesContext(connection) as few:
        log(viewer)
    for number in range(200):
        audit.record(action="more", subject_type="thing", subject_id=number, before={"a": 1}, after={"a": 2})
    with CaptureQueriesContext(connection) as many:
        log(viewer)

    assert len(few) == len(many)


def test_an_account_that_was_deactivated_is_still_named(viewer: Client) -> None:
    entry = decided()
    User.objects.filter(username="ann").update(is_active=False)

    row = re.search(rf'<tr id="entry-{entry.sequence}".*?</tr>', log(viewer), re.S)

    assert row
    assert "ann" in row[0]
    assert "deactivated since" in row[0]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?actor=ann", ["result_overridden"]),
        ("?action=case_flagged", ["case_flagged"]),
        ("?subject_type=result", ["result_overridden"]),
        ("?text=CHECKED+by+hand", ["result_overridden"]),
        ("?text=nothing+like+it", []),
        ("?actor=ann&action=case_flagged", []),
        ("?since=2000-01-01&until=2000-01-02", []),
    ],
)
def test_a_filter_shows_what_it_says_and_the_exports_carry_it(
    viewer: Client, query: str, expected: list[str]
) -> None:
    entry = decided()
    pair_id = int(result_of_entry(entry))
    services.flag_case(pair_id=pair_id, note="Look at the amount.", actor=account("bob"))

    html = log(viewer, query)

    found = AuditEntry.objects.filter(sequence__in=numbers(html)).values_list("action", flat=True)
    assert list(found) == expected
    exports = re.findall(r'href="(/audit/export\.(?:csv|json)\?[^"]+)"', html)
    assert len(exports) == 2
    rows = json.loads(b"".join(viewer.get(exports[1].replace("&amp;", "&")).streaming_content))  # type: ignore[attr-defined]
    assert [row["action"] for row in rows] == expected


def result_of_entry(entry: AuditEntry) -> int:
    from evaluations.models import ExpectationResult

    found: int = ExpectationResult.objects.values_list("case__pair_id", flat=True).get(
        pk=int(entry.subject_id)
    )
    return found


def test_a_day_that_is_none_is_said(viewer: Client) -> None:
    assert "is not a day such as" in log(viewer, "?since=yesterday")


def test_htmx_gets_the_entries_alone(viewer: Client) -> None:
    decided()

    html = log(viewer, "?actor=ann", **{"HX-Request": "true"})

    assert html.strip().startswith('<section id="audit-entries"')


def test_nothing_found_is_told_apart_from_nothing_there(viewer: Client) -> None:
    with triggers_lifted(connection):
        AuditEntry.objects.all().delete()
        assert "Nothing on record yet" in log(viewer)
        assert "No entry matches" in log(viewer, "?actor=nobody")


def test_markup_in_the_log_is_text(viewer: Client) -> None:
    markup = "<script>alert(1)</script>"
    audit.record(
        action=markup,
        subject_type=markup,
        subject_label=markup,
        note=markup,
        before={markup: 1},
        after={markup: markup},
    )

    html = log(viewer)

    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


# ----------------------------------------------------------------------------------- exports


def test_the_csv_opens_safely_in_a_spreadsheet(viewer: Client) -> None:
    decided(note='=HYPERLINK("http://evil")')

    response = viewer.get("/audit/export.csv?actor=ann")

    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith('attachment; filename="audit-')
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))  # type: ignore[attr-defined]
    assert rows[0]["note"] == '\'=HYPERLINK("http://evil")'


def test_another_format_is_404(viewer: Client) -> None:
    assert viewer.get("/audit/export.xlsx").status_code == 404


@pytest.mark.parametrize("format", ["csv", "json"])
def test_an_export_with_a_condition_that_cannot_be_read_is_refused_and_says_why(
    viewer: Client, format: str
) -> None:
    """The page ignores such a condition and says so; in a file nobody would see that it filtered nothing."""
    response = viewer.get(f"/audit/export.{format}?since=garbage&until=2026-01-31")

    assert response.status_code == 400
    assert response.content.decode() == "since: “garbage” is not a day such as 2026-01-31\n"
    assert "Content-Disposition" not in response


@pytest.mark.django_db(transaction=True)
def test_on_the_asynchronous_server_the_export_is_streamed_piece_by_piece() -> None:
    for number in range(450):
        audit.record(action="something", subject_type="thing", subject_id=number)
    # Another test that committed may have emptied the database, the roles included.
    user = User.objects.create_superuser("vera")

    async def exported() -> list[bytes]:
        client = AsyncClient()
        await client.aforce_login(user)
        response = await client.get("/audit/export.json?action=something")
        assert response.is_async  # type: ignore[attr-defined]
        return [piece async for piece in response]  # type: ignore[attr-defined]

    pieces = asyncio.run(exported())

    assert len(pieces) > 2
    assert len(json.loads(b"".join(pieces))) == 450


# ------------------------------------------------------------------------------------- the chain


def test_before_the_first_check_the_page_claims_nothing(viewer: Client) -> None:
    decided()

    text = words(log(viewer))

    assert "The chain has not been checked from this page so far." in text
    assert "intact" not in text


def test_a_check_is_on_record_with_who_and_when_and_what_came_since(reviewer: Client) -> None:
    decided()
    count = AuditEntry.objects.count()

    response = reviewer.post("/audit/check/")

    assert response.status_code == 303
    entry = AuditEntry.objects.get(action=ACTION)
    assert entry.actor_name == "reviewer"
    assert entry.after["intact"] is True
    assert entry.after["entries"] == count
    assert audit.verify().is_intact
    text = words(log(reviewer))
    assert re.search(rf"The chain was intact when reviewer checked it, .* UTC: {count} entries\.", text)
    assert "Nothing was added since." in text
    audit.record(action="later", subject_type="thing")
    assert "1 more was added since and is not part of it." in words(log(reviewer))
    assert entry.after["head"] in log(reviewer)


def test_a_row_changed_behind_the_applications_back_is_found_and_said_loudly(reviewer: Client) -> None:
    entry = decided()
    with triggers_lifted(connection):
        AuditEntry.objects.filter(pk=entry.pk).update(note="It was never checked.")

    reviewer.post("/audit/check/")

    html = log(reviewer)
    assert "The chain is broken:" in html
    assert f"entry {entry.sequence} does not match its hash" in html
    assert "notice--bad" in html[html.index('id="audit-chain"') :][:80]


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_who_does_not_decide_checks_nothing(person: Callable[..., Client], role: str) -> None:
    client = person(role)

    assert client.post("/audit/check/").status_code == 403
    assert "Check it now" not in log(client)
    assert not AuditEntry.objects.filter(action=ACTION).exists()


def test_nobody_reads_the_log_without_the_right_to(person: Callable[..., Client]) -> None:
    for path in ("/audit/", "/audit/export.csv", "/audit/export.json"):
        assert person().get(path).status_code == 403
        assert Client().get(path).status_code == 302


def test_a_link_in_the_log_leads_to_the_case(viewer: Client) -> None:
    pair = double_refund()
    entry, _ = services.flag_case(pair_id=pair.pk, note="Look at the amount.", actor=account("bob"))

    html = log(viewer, "?action=case_flagged")

    assert f'href="/queue/?entry={entry.pk}"' in html
    assert viewer.get(f"/queue/?entry={entry.pk}").status_code == 200
    assert page_of(pair) in viewer.get(f"/queue/?entry={entry.pk}").content.decode()
