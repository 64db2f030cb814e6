"""Working through the queue: the item in the middle, taking, deciding, closing, and when nothing is left."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agenttwin_site.kept_forms import typed_by
from evaluations.models import PairedCase
from reviews import services
from reviews.models import QueueEntry, Review
from reviews.services.filling import fill_queue
from tests.pages.case_data import (
    NOTE,
    concluded,
    double_refund,
    graded,
    new_pair,
    page_of,
    result_of,
    side_of,
    versions,
)
from tests.reviews.conftest import person as account

HTMX = {"HX-Request": "true", "HX-Target": "queue"}


@pytest.fixture
def reviewer(person: Callable[..., Client]) -> Client:
    return person("reviewer")


def me() -> User:
    return User.objects.get(username="reviewer")


def waiting(name: str = "double-refund", comparison: Any = None) -> QueueEntry:
    """A contradiction in the queue."""
    pair = double_refund(comparison, name=name)
    fill_queue(pair.comparison)
    return QueueEntry.objects.get(pair=pair)


def unmeasured(name: str = "unmeasured", *, status: str = "ERROR") -> QueueEntry:
    """A case with one check that could not be evaluated, and one that passes."""
    pair = new_pair(versions(), name)
    for side in ("BASELINE", "CANDIDATE"):
        case = side_of(pair, side)
        graded(case, "fine", "PASS", reason="all well")
        graded(case, "unclear", "PASS" if side == "BASELINE" else status, reason="the check broke")
    fill_queue(concluded(pair).comparison)
    return QueueEntry.objects.get(pair=pair)


def words(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def item_of(response: Any) -> str:
    html = response.content.decode()
    start = html.index('id="queue-item"')
    return html[start : html.index("</article>", start)]


# ------------------------------------------------------------------------------------- looking


def test_a_look_reserves_nothing_and_shows_what_would_be_next(reviewer: Client) -> None:
    entry = waiting()

    with CaptureQueriesContext(connection) as asked:
        response = reviewer.get("/queue/")

    assert "Not reserved yet" in item_of(response)
    assert not [query for query in asked if re.match(r"(INSERT|UPDATE|DELETE)", query["sql"])]
    entry.refresh_from_db()
    assert entry.reserved_by is None


def test_a_contradiction_is_shown_with_claim_records_and_the_checks_that_disprove_it(
    reviewer: Client,
) -> None:
    entry = waiting()

    item = item_of(reviewer.get("/queue/"))
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", item))

    assert "The agent reports a success that the tools did not record." in text
    assert "The candidate’s claim is contradicted." in text
    assert "refund_payment applied 2 times" in text
    shown = re.findall(r'scope="row"><span class="break">([^<]+)<', item)
    assert shown == ["once", "backed"], "and no check that says nothing about the outcome"
    assert f'href="{page_of(entry.pair)}#path-1"' in item, (
        "a path is in the page of the case, not in this one"
    )


@pytest.mark.parametrize(
    ("status", "says"), [("ERROR", "could not be evaluated"), ("SKIPPED", "was skipped")]
)
def test_an_unmeasured_check_is_shown_alone(reviewer: Client, status: str, says: str) -> None:
    unmeasured(status=status)

    item = item_of(reviewer.get("/queue/"))

    assert says in item
    assert re.findall(r'scope="row"><span class="break">([^<]+)<', item) == ["unclear"]
    assert "What the agent says" not in item


def test_an_incomplete_case_says_what_ended_each_side(reviewer: Client) -> None:
    pair = new_pair(versions(state="INCOMPLETE"), "broken")
    graded(side_of(pair, "BASELINE"), "once", "PASS")
    broken = side_of(
        pair, "CANDIDATE", verdict="ERRORED", error_reason="the twin broke: KeyError", used_seed=None
    )
    graded(broken, "once", "SKIPPED")
    fill_queue(concluded(pair).comparison)

    item = item_of(reviewer.get("/queue/"))

    assert "The two sides could not be compared" in item
    assert "the twin broke: KeyError" in item


def test_a_flag_shows_who_asked_and_what_for(reviewer: Client) -> None:
    pair = double_refund()
    services.flag_case(pair_id=pair.pk, note="Is the amount right?", actor=account("ann"))

    item = item_of(reviewer.get("/queue/"))

    assert "Somebody asked for a second look." in item
    assert "ann: Is the amount right?" in item


def test_the_list_counts_reasons_and_says_who_holds_what(reviewer: Client) -> None:
    held, mine, assigned = waiting("a"), waiting("b"), unmeasured("c")
    bob = account("bob")
    services.reserve(entry_id=held.pk, actor=bob)
    services.reserve(entry_id=mine.pk, actor=me())
    services.assign(entry_id=assigned.pk, assignee_id=bob.pk, actor=bob)

    text = words(reviewer.get("/queue/"))

    assert "3 open · 1 in your hands · 1 held by others · 1 assigned to others" in text
    assert "The claim is contradicted by the records 2" in text
    assert "A check could not be evaluated 1" in text
    assert "held by bob until" in text
    assert "yours until" in text
    assert "assigned to bob" in text


def test_a_reason_narrows_the_list_and_stays_in_every_step(reviewer: Client) -> None:
    waiting("a")
    unmeasured("c")

    html = reviewer.get("/queue/?reason=ERROR").content.decode()

    listed = re.findall(r'class="row-link" href="([^"]+)"[^>]*>([^<]+)<', html)
    assert [name for _, name in listed] == ["c"]
    assert "reason=ERROR" in listed[0][0]
    assert '<input type="hidden" name="reason" value="ERROR">' in html


def test_an_expired_reservation_holds_nobody_off(reviewer: Client) -> None:
    entry = waiting()
    past = timezone.now() - timedelta(minutes=31)
    services.reserve(entry_id=entry.pk, actor=account("bob"), now=past)

    text = words(reviewer.get("/queue/"))

    assert "held by bob" not in text
    assert "Not reserved yet" in text


def test_a_closed_entry_says_who_closed_it(reviewer: Client) -> None:
    entry = waiting()
    services.close_entry(entry_id=entry.pk, note="Nothing to decide here.", actor=account("bob"))

    item = item_of(reviewer.get(f"/queue/?entry={entry.pk}"))

    assert "Done: closed by bob" in item
    assert "Nothing to decide here." in item
    assert "<form" not in item


def test_every_link_of_an_item_leads_somewhere(reviewer: Client) -> None:
    waiting()

    html = reviewer.get("/queue/").content.decode()

    assert 'href=""' not in html
    for href in set(re.findall(r'href="(/(?:comparisons|queue)[^"#]*)', html)):
        assert reviewer.get(href.replace("&amp;", "&")).status_code == 200, href


def test_an_entry_that_is_not_there_is_404(reviewer: Client) -> None:
    assert reviewer.get("/queue/?entry=12345").status_code == 404
    assert reviewer.post("/queue/12345/take/").status_code == 404


def test_the_same_thing_twice_is_one_line(reviewer: Client) -> None:
    entry = waiting()
    fill_queue(entry.pair.comparison)
    fill_queue(entry.pair.comparison)

    html = reviewer.get("/queue/").content.decode()

    assert len(re.findall(r'class="row-link" href="/queue/\?entry=', html)) == 1


def test_a_long_queue_is_paged_and_asks_the_database_no_more_often(reviewer: Client) -> None:
    comparison = versions()
    first = double_refund(comparison, name="case-0")
    fill_queue(comparison)
    reviewer.get("/queue/")
    with CaptureQueriesContext(connection) as few:
        reviewer.get("/queue/")
    for number in range(1, 40):
        pair = PairedCase.objects.get(pk=first.pk)
        pair.pk, pair.trial, pair.position, pair._state.adding = None, number + 1, number, True
        pair.save()
        QueueEntry.objects.create(pair=pair, reason="FLAGGED", priority=90)
    with CaptureQueriesContext(connection) as many:
        html = reviewer.get("/queue/").content.decode()

    assert len(few) == len(many)
    assert len(re.findall(r'class="row-link" href="/queue/', html)) == 25
    following = re.search(r'rel="next" href="([^"]+)"', html)
    assert following
    rest = reviewer.get("/queue/" + following[1]).content.decode()
    assert len(re.findall(r'class="row-link" href="/queue/', rest)) == 15


# --------------------------------------------------------------------------------- taking turns


def test_next_reserves_the_worst_for_half_an_hour(reviewer: Client) -> None:
    unmeasured("later")
    worst = waiting("worst")

    response = reviewer.post("/queue/next/")

    assert response.status_code == 303
    assert response["Location"] == f"/queue/?entry={worst.pk}"
    worst.refresh_from_db()
    assert worst.reserved_by == me()
    assert "Yours until" in item_of(reviewer.get("/queue/"))


def test_next_with_htmx_swaps_the_queue_and_the_address(reviewer: Client) -> None:
    entry = waiting()

    response = reviewer.post("/queue/next/", headers=HTMX)

    assert response.content.decode().strip().startswith('<div id="queue"')
    assert response["HX-Replace-Url"] == f"/queue/?entry={entry.pk}"


def test_skipping_goes_on_to_the_one_behind(reviewer: Client) -> None:
    first, second = waiting("a"), waiting("b")
    reviewer.post("/queue/next/")

    response = reviewer.post("/queue/next/", {"skip": first.pk})

    assert response["Location"] == f"/queue/?entry={second.pk}"
    first.refresh_from_db()
    assert first.reserved_by is None


def test_what_another_holds_is_not_taken_and_the_page_says_who_has_it(reviewer: Client) -> None:
    entry = waiting()
    services.reserve(entry_id=entry.pk, actor=account("bob"))

    response = reviewer.post(f"/queue/{entry.pk}/take/", headers=HTMX)

    assert response.status_code == 409
    assert "Somebody works on it already: bob" in response.content.decode()
    told = words(reviewer.get("/queue/"))
    assert "Nothing is free" in told
    assert "Nothing is left" not in told, "somebody still has something to look at"


def test_releasing_makes_it_free_again(reviewer: Client) -> None:
    entry = waiting()
    reviewer.post("/queue/next/")

    reviewer.post(f"/queue/{entry.pk}/release/")

    entry.refresh_from_db()
    assert entry.reserved_by is None
    assert "Released" in words(reviewer.get("/queue/"))


def test_only_who_manages_the_queue_releases_what_another_holds(
    reviewer: Client, person: Callable[..., Client]
) -> None:
    entry = waiting()
    services.reserve(entry_id=entry.pk, actor=account("bob"))

    assert reviewer.post(f"/queue/{entry.pk}/release/").status_code == 403
    assert f"/queue/{entry.pk}/release/" not in reviewer.get(f"/queue/?entry={entry.pk}").content.decode()
    assert person("admin").post(f"/queue/{entry.pk}/release/").status_code == 303
    entry.refresh_from_db()
    assert entry.reserved_by is None


def test_assigning_offers_those_who_may_decide(reviewer: Client) -> None:
    entry = waiting()
    ann = account("ann")
    account("eve", "viewer")
    html = item_of(reviewer.get("/queue/"))
    assert f'<option value="{ann.pk}">ann</option>' in html
    assert ">eve<" not in html

    reviewer.post(f"/queue/{entry.pk}/assign/", {"assignee": ann.pk})
    entry.refresh_from_db()
    assert entry.assigned_to == ann

    refused = reviewer.post(f"/queue/{entry.pk}/assign/", {"assignee": "0"}, headers=HTMX)
    assert refused.status_code == 422
    assert "Choose an active account" in refused.content.decode()
    reviewer.post(f"/queue/{entry.pk}/assign/", {"assignee": ""})
    entry.refresh_from_db()
    assert entry.assigned_to is None


# ------------------------------------------------------------------------------------- deciding


def decide(client: Client, entry: QueueEntry, name: str, **changes: Any) -> Any:
    headers = changes.pop("headers", {})
    result = result_of(entry.pair, name)
    data = {"result": result.pk, "decision": "PASS", "note": NOTE, "seen_review_id": 0, **changes}
    return client.post(f"/queue/{entry.pk}/decide/", data, headers=headers)


def test_the_form_opens_in_the_queue_and_is_sent_there(reviewer: Client) -> None:
    entry = unmeasured()
    result = result_of(entry.pair, "unclear")
    page = reviewer.get("/queue/").content.decode()
    href = re.search(r'href="([^"]+override=\d+#check-\d+)"', page)
    assert href

    # htmx asks for the check by the id it has in the page.
    anchor = href[1].split("#")[1]
    opened = reviewer.get(
        href[1].replace("&amp;", "&").split("#")[0], headers={"HX-Request": "true", "HX-Target": anchor}
    ).content.decode()
    assert opened.strip().startswith(f'<tbody id="{anchor}"')
    assert f'action="/queue/{entry.pk}/decide/"' in opened
    assert f'<input type="hidden" name="result" value="{result.pk}">' in opened
    assert 'hx-target="#queue"' in opened


def test_after_a_decision_the_next_item_is_there_at_once(reviewer: Client) -> None:
    first, second = unmeasured("a"), unmeasured("b")

    response = decide(reviewer, first, "unclear", headers=HTMX)

    html = response.content.decode()
    assert response.status_code == 200
    assert "Recorded: PASS on unclear of a." in html
    assert f'<a href="{page_of(second.pair)}">b</a>' in html
    assert "Yours until" in html
    first.refresh_from_db()
    second.refresh_from_db()
    assert first.state == "DONE"
    assert second.reserved_by == me()


def test_without_javascript_the_decision_leads_to_the_next_item(reviewer: Client) -> None:
    first, second = unmeasured("a"), unmeasured("b")

    response = decide(reviewer, first, "unclear")

    assert response.status_code == 303
    assert response["Location"] == f"/queue/?entry={second.pk}"
    assert "Recorded: PASS on unclear of a." in words(reviewer.get(response["Location"]))


def test_a_case_of_which_more_is_undecided_stays_in_the_middle(reviewer: Client) -> None:
    pair = new_pair(versions(), "two-open")
    for side in ("BASELINE", "CANDIDATE"):
        case = side_of(pair, side)
        for name in ("one", "two"):
            graded(case, name, "PASS" if side == "BASELINE" else "ERROR")
    fill_queue(concluded(pair).comparison)
    entry = QueueEntry.objects.get()

    response = decide(reviewer, entry, "one", headers=HTMX)

    assert "More of this case is undecided." in response.content.decode()
    assert f'href="{page_of(pair)}"' in item_of(response)
    entry.refresh_from_db()
    assert entry.is_open


def test_the_last_decision_leaves_a_true_nothing_with_what_was_decided(reviewer: Client) -> None:
    entry = unmeasured()

    response = decide(reviewer, entry, "unclear", headers=HTMX)

    text = words(response)
    assert "Nothing is left" in text
    assert "Today 1 review and 1 closed entry" in text
    assert "reviewer decided PASS on unclear" in text
    assert NOTE in text
    assert 'data-key="n"' not in response.content.decode(), "no key that would do nothing"


def test_progress_counts_decisions_closings_and_what_is_held(reviewer: Client) -> None:
    first, _ = unmeasured("a"), unmeasured("b")
    decide(reviewer, first, "unclear")

    assert "reviewer 1 1 1" in words(reviewer.get("/queue/"))


def test_deciding_on_a_contradiction_closes_it_because_it_takes_it_first(reviewer: Client) -> None:
    entry = waiting()

    decide(reviewer, entry, "once", decision="FAIL")

    entry.refresh_from_db()
    assert entry.state == "DONE"


def test_deciding_what_another_holds_is_a_conflict_that_keeps_the_note(reviewer: Client) -> None:
    entry = unmeasured()
    services.reserve(entry_id=entry.pk, actor=account("bob"))

    response = decide(reviewer, entry, "unclear", note="I saw it all happen.", headers=HTMX)

    html = response.content.decode()
    assert response.status_code == 409
    assert "Somebody works on it already: bob" in html
    assert ">I saw it all happen.</textarea>" in html
    assert not Review.objects.exists()


def test_a_newer_review_is_a_conflict_in_the_queue_too_and_keeps_the_note(reviewer: Client) -> None:
    entry = unmeasured()
    result = result_of(entry.pair, "unclear")
    services.override_result(
        result_id=result.pk,
        decision="FAIL",
        note="They saw it fail.",
        seen_review_id=0,
        actor=account("bob"),
    )

    response = decide(reviewer, entry, "unclear", note="I say that it passed.", headers=HTMX)

    html = response.content.decode()
    assert response.status_code == 409
    assert "bob decided FAIL on this result meanwhile" in html
    assert "They saw it fail." in html
    assert ">I say that it passed.</textarea>" in html
    assert "Done: closed by bob" in html, "their decision also closed the entry"


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_result_of_another_case_is_refused_and_nothing_changes(
    reviewer: Client, headers: dict[str, str]
) -> None:
    entry, other = unmeasured("a"), unmeasured("b")

    for result in (result_of(other.pair, "unclear").pk, 10**17, "", "x"):
        assert decide(reviewer, entry, "unclear", result=result, headers=headers).status_code == 404

    assert not Review.objects.exists()
    entry.refresh_from_db()
    assert entry.reserved_by is None


@pytest.mark.parametrize("changes", [{"note": "short"}, {"decision": ""}])
def test_a_decision_that_does_not_hold_keeps_the_form_open(reviewer: Client, changes: dict[str, str]) -> None:
    entry = unmeasured()

    response = decide(reviewer, entry, "unclear", **changes)

    html = response.content.decode()
    assert response.status_code == 422
    assert 'class="decide ' in html
    assert changes.get("note", NOTE) in html
    assert not Review.objects.exists()


def test_closing_needs_a_reason_and_takes_the_next(reviewer: Client) -> None:
    first, second = waiting("a"), waiting("b")
    path = f"/queue/{first.pk}/close/"

    refused = reviewer.post(path, {"note": "no"}, headers=HTMX)
    closed = reviewer.post(path, {"note": "The mail explains it."}, headers=HTMX)

    assert refused.status_code == 422
    assert '<details class="act" id="close" open>' in refused.content.decode()
    assert "Closed: a." in closed.content.decode()
    assert f'<a href="{page_of(second.pair)}">b</a>' in closed.content.decode()
    first.refresh_from_db()
    assert first.closing_note == "The mail explains it."
    assert not Review.objects.exists()


def test_a_note_typed_when_the_session_ended_is_back_in_its_form(reviewer: Client) -> None:
    entry = unmeasured()
    result = result_of(entry.pair, "unclear")
    reviewer.logout()
    referer = {"Referer": f"http://testserver/queue/?entry={entry.pk}&override={result.pk}"}
    for path, data in (
        (
            f"/queue/{entry.pk}/decide/",
            {"result": result.pk, "decision": "FAIL", "note": "Typed before the end."},
        ),
        (f"/queue/{entry.pk}/close/", {"note": "Closing, as I was saying."}),
    ):
        reviewer.logout()
        reviewer.post(path, data | {"typed_by": typed_by(me())}, headers=referer)
        reviewer.force_login(me())
        assert f">{data['note']}</textarea>" in reviewer.get(f"/queue/?entry={entry.pk}").content.decode()


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_decision_from_before_the_session_ended_still_conflicts_with_a_newer_one(
    reviewer: Client, headers: dict[str, str]
) -> None:
    """Their decision closed the entry, too: the note is shown again nevertheless."""
    entry = unmeasured()
    result = result_of(entry.pair, "unclear")
    services.override_result(
        result_id=result.pk, decision="FAIL", note="They saw it fail.", seen_review_id=0, actor=account("bob")
    )
    page = f"http://testserver/queue/?entry={entry.pk}&override={result.pk}"
    reviewer.logout()
    decide(
        reviewer,
        entry,
        "unclear",
        note="Typed before it ended.",
        typed_by=typed_by(me()),
        headers={"Referer": page, "HX-Current-URL": page, **headers},
    )
    reviewer.force_login(me())

    back = reviewer.get(f"/queue/?entry={entry.pk}").content.decode()
    seen = re.findall(r'name="seen_review_id" value="([^"]*)"', back)
    refused = decide(
        reviewer, entry, "unclear", note="Typed before it ended.", seen_review_id=seen[0], headers=headers
    )

    assert ">Typed before it ended.</textarea>" in back
    assert seen == ["0"]
    html = refused.content.decode()
    assert refused.status_code == 409
    assert "bob decided FAIL on this result meanwhile" in html
    assert ">Typed before it ended.</textarea>" in html
    assert Review.objects.get().decision == "FAIL"


# -------------------------------------------------------------------------------------- rights


def test_a_viewer_looks_and_gets_no_form(viewer: Client) -> None:
    entry = waiting()

    html = viewer.get("/queue/").content.decode()

    assert re.findall(r'<form[^>]+method="post"[^>]*action="([^"]+)"', html) == ["/logout/"]
    assert "Override" not in html
    for action in (
        "next",
        f"{entry.pk}/take",
        f"{entry.pk}/release",
        f"{entry.pk}/assign",
        f"{entry.pk}/close",
        f"{entry.pk}/decide",
    ):
        assert viewer.post(f"/queue/{action}/", {"note": NOTE}).status_code == 403
    entry.refresh_from_db()
    assert entry.reserved_by is None
    assert entry.is_open


def test_no_role_no_queue(person: Callable[..., Client]) -> None:
    waiting()

    assert person().get("/queue/").status_code == 403
    assert Client().get("/queue/").status_code == 302


def test_taking_is_a_post(reviewer: Client) -> None:
    entry = waiting()

    for action in ("next", f"{entry.pk}/take", f"{entry.pk}/release", f"{entry.pk}/assign"):
        assert reviewer.get(f"/queue/{action}/").status_code == 405
