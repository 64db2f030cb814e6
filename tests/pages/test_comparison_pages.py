"""The list of comparisons and the page of one, through the client."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from evaluations.models import Comparison, ExpectationResult, PairedCase
from evaluations.reporting.json_format import report_object
from evaluations.reporting.junit_format import render_junit
from evaluations.reporting.markdown_format import render_markdown
from evaluations.reporting.report import load_report
from evaluations.reporting.text_format import render_text
from tests.models import factories
from tests.pages.conftest import compared_pair, concluded, shop

HTMX = {"HX-Request": "true"}
MIXED = ("UNCHANGED", "REGRESSED", "NEW_CRITICAL_FAILURE", "IMPROVED", "INCOMPLETE", "UNCHANGED")


def page(client: Client, comparison: Comparison, query: str = "", **headers: str) -> str:
    response = client.get(f"/comparisons/{comparison.pk}/{query}", headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def listed(html: str) -> list[str]:
    return re.findall(r"data-nav-item>(scenario-\d+)<", html)


def tiles(html: str) -> dict[str, int]:
    found = re.findall(r'tile__count">([\d,]+)</span> <span class="tile__word">([a-z ]+)<', html)
    return {word: int(count.replace(",", "")) for count, word in found}


# ----------------------------------------------------------------- one comparison


def test_plain_get_gives_the_page_and_htmx_the_cases_alone(viewer: Client) -> None:
    comparison = concluded(*MIXED)

    whole = page(viewer, comparison)
    part = page(viewer, comparison, **HTMX)

    assert whole.startswith("<!doctype html>")
    assert "helper" in whole
    assert "1.2.4" in whole
    assert "1.3.0" in whole
    assert "deterministic-fake: not a language model" in whole
    assert "<html" not in part
    assert '<section id="comparison-cases"' in part
    assert listed(part) == listed(whole)


def test_a_boosted_or_restored_request_gets_the_whole_page(viewer: Client) -> None:
    comparison = concluded("UNCHANGED")

    for header in ("HX-Boosted", "HX-History-Restore-Request"):
        assert "<html" in page(viewer, comparison, **HTMX, **{header: "true"})


def test_the_answer_says_that_it_depends_on_htmx(viewer: Client) -> None:
    comparison = concluded("UNCHANGED")

    assert "HX-Request" in viewer.get(f"/comparisons/{comparison.pk}/")["Vary"]


def test_cases_are_listed_worst_first(viewer: Client) -> None:
    html = page(viewer, concluded(*MIXED))

    assert listed(html) == [f"scenario-{n}" for n in (2, 1, 4, 3, 0, 5)]


def test_among_equals_the_severer_scenario_comes_first(viewer: Client) -> None:
    comparison, twin = concluded(), shop()
    for name, severity, rank in (("scenario-1", "low", 3), ("scenario-2", "critical", 0)):
        version = factories.scenario_version(name, severity=severity)
        compared_pair(
            comparison, "REGRESSED", scenario_version=version, twin_version=twin, severity_rank=rank
        )

    assert listed(page(viewer, comparison)) == ["scenario-2", "scenario-1"]


def test_a_case_says_what_fails_why_and_how_much_more(viewer: Client) -> None:
    html = page(viewer, concluded("NEW_CRITICAL_FAILURE"))

    assert "<code>once</code>: once: expected 1, got 2" in html
    assert "(+1" in html
    assert "step 2: baseline <code>lookup_order(A)</code> · candidate <code>refund_payment(A)</code>" in html
    assert re.search(r'data-label="calls">5.*4</td>', html)


def test_a_newly_failing_check_is_told_before_one_the_baseline_failed_too(viewer: Client) -> None:
    comparison, twin = concluded(), shop()
    names = [["cheap"], ["once"]]
    for number, newly in enumerate(names):
        version = factories.scenario_version(f"scenario-{number}")
        compared_pair(
            comparison, "REGRESSED", scenario_version=version, twin_version=twin, newly_failing=newly
        )

    html = page(viewer, comparison)

    assert html.index("<code>cheap</code>") < html.index("<code>once</code>")
    assert "also in the baseline" not in html


def failing_candidate(comparison: Comparison, *, baseline: str, **fields: Any) -> PairedCase:
    """A pair without a class whose candidate fails one check; both sides have ended."""
    pair = factories.pair(comparison, scenario_version=factories.scenario_version("scenario-0"), **fields)
    for side, status in (("BASELINE", baseline), ("CANDIDATE", "FAIL")):
        verdict = "FAILED" if status == "FAIL" else "PASSED"
        ended = {"state": "FINISHED", "finished_at": comparison.created_at}
        case = factories.case(pair, side, verdict=verdict, effective_verdict=verdict, **ended)
        factories.result(case, "once", status=status, effective_status=status, reason="expected 1, got 2")
    return pair


@pytest.mark.parametrize("state", ["RUNNING", "CANCELLED"])
def test_what_was_not_compared_says_nothing_of_the_baseline(viewer: Client, state: str) -> None:
    comparison = concluded(state=state, reason="cancelled by ada")
    failing_candidate(comparison, baseline="PASS")

    html = page(viewer, comparison)

    assert "<code>once</code>: expected 1, got 2" in html
    assert "also in the baseline" not in html
    assert ('<span class="tag">not compared</span>' in html) is (state == "CANCELLED")


@pytest.mark.parametrize(
    ("reason", "tag"),
    [("both sides fail once", "also in the baseline"), ("the pair is not comparable: seeds", "not compared")],
)
def test_a_compared_failure_that_is_not_new_is_the_baselines_too(
    viewer: Client, reason: str, tag: str
) -> None:
    comparison = concluded()
    failing_candidate(
        comparison, baseline="FAIL", classification="UNCHANGED", class_rank=4, reason=reason, newly_failing=[]
    )

    assert f'<span class="tag">{tag}</span>' in page(viewer, comparison)


def test_a_case_that_a_cancel_left_without_a_class_says_why(viewer: Client) -> None:
    cancelled = concluded(None, state="CANCELLED", reason="cancelled by ada")
    told = "not compared: the comparison is CANCELLED (cancelled by ada)"

    assert f'<span class="quiet">{told}</span>' in page(viewer, cancelled)
    case_page = viewer.get(f"/comparisons/{cancelled.pk}/cases/scenario-0/").content.decode()
    assert f"<dt>Why</dt><dd>{told}</dd>" in case_page
    assert "has not been compared yet" not in case_page


@pytest.mark.parametrize("state", ["COMPLETED", "INCOMPLETE", "CANCELLED", "FAILED"])
def test_totals_are_only_better_where_both_sides_have_all_cases(viewer: Client, state: str) -> None:
    """Fewer calls of fewer cases are no improvement."""
    comparison = concluded("UNCHANGED", state=state, reason="" if state == "COMPLETED" else "why")

    assert ("change--better" in page(viewer, comparison)) is (state == "COMPLETED")


def test_a_case_that_waits_has_not_been_compared_yet(viewer: Client) -> None:
    running = concluded(None, state="RUNNING")

    assert "waits until both sides have ended" in page(viewer, running)
    case_page = viewer.get(f"/comparisons/{running.pk}/cases/scenario-0/").content.decode()
    assert "<dd>It has not been compared yet.</dd>" in case_page


def test_calls_of_a_side_that_was_not_measured_are_unknown_and_not_0(viewer: Client) -> None:
    comparison = concluded()
    pair = factories.pair(comparison, classification="INCOMPLETE", class_rank=2, reason="did not finish")
    ended = {"state": "FINISHED", "finished_at": comparison.created_at}
    for side, verdict, status, calls, error in (
        ("BASELINE", "PASSED", "PASS", 5, ""),
        ("CANDIDATE", "ERRORED", "SKIPPED", 0, "unreachable"),
    ):
        figures = {"tool_call_count": calls, "retry_count": calls, "error_reason": error}
        case = factories.case(pair, side, verdict=verdict, effective_verdict=verdict, **ended, **figures)
        factories.result(case, "once", status=status, effective_status=status)
    factories.result(case, "agentRun", type="agentRun", status="ERROR", effective_status="ERROR")

    html = page(viewer, comparison)

    assert re.search(r'data-label="calls">5.*–</td>', html)
    assert re.search(r'data-label="retries">5.*–</td>', html)
    text = viewer.get(f"/comparisons/{comparison.pk}/report.txt").content.decode()
    assert re.search(r"calls 5 -> \? +retries 5 -> \?", text)
    junit = viewer.get(f"/comparisons/{comparison.pk}/report.xml").content.decode()
    assert "candidate: ERRORED, ? tool calls, ? retries" in junit


def test_a_case_that_passes_because_a_person_said_so_says_so(viewer: Client) -> None:
    comparison = concluded("UNCHANGED", "UNCHANGED")
    overridden = comparison.pairs.get(scenario_name="scenario-1")
    candidate = overridden.cases.get(run__side="CANDIDATE")
    factories.result(candidate, "kind", status="FAIL", effective_status="PASS", reason="was rude")

    tag = '<span class="tag tag--warn">1 overridden<span class="visually-hidden"> by a person</span></span>'
    html = page(viewer, comparison)
    assert html.count(tag) == 1
    assert html.index("data-nav-item>scenario-1<") < html.index(tag)
    case_page = viewer.get(f"/comparisons/{comparison.pk}/cases/scenario-1/").content.decode()
    told = "nothing fails on either side; 1 result overridden by a person"
    assert f"<dt>Why</dt><dd>{told}</dd>" in case_page

    report = load_report(comparison.pk)
    assert [case["reason"] for case in report_object(report)["cases"]] == [
        "nothing fails on either side",
        told,
    ]
    text = render_text(report)
    assert "overridden by a person: candidate kind: measured FAIL, counts as PASS" in text
    junit = render_junit(report)
    assert f"UNCHANGED (high): {told}" in junit
    assert "PASS kind [measured FAIL, overridden by a person]: was rude" in junit
    assert "\n1 result overridden by a person.\n" in render_markdown(report)
    for plain in (text, junit):
        assert plain.count("overridden by a person: candidate") + plain.count("; 1 result") == 1


def test_a_failure_that_stands_as_measured_is_not_called_overridden(viewer: Client) -> None:
    comparison = concluded("NEW_CRITICAL_FAILURE")

    assert "overridden" not in page(viewer, comparison)
    assert "overridden" not in render_text(load_report(comparison.pk))


def test_an_overridden_check_is_no_longer_told_as_failing(viewer: Client) -> None:
    comparison = concluded("NEW_CRITICAL_FAILURE")
    ExpectationResult.objects.filter(expectation_id="once", status="FAIL").update(effective_status="PASS")

    html = page(viewer, comparison)

    assert "<code>once</code>" not in html
    assert "<code>cheap</code>: cheap: expected 1, got 2" in html
    assert "(+" not in html


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?class=REGRESSED", ["scenario-1"]),
        ("?class=REGRESSED&class=IMPROVED", ["scenario-1", "scenario-3"]),
        ("?tag=smoke", ["scenario-1", "scenario-3", "scenario-5"]),
        ("?tag=smo", []),
        ("?tool=refund_payment", ["scenario-2", "scenario-1"]),
        ("?check=cheap", ["scenario-2", "scenario-1"]),
        ("?check=chea", []),
        ("?q=SCENARIO-3", ["scenario-3"]),
        ("?q=twice", ["scenario-2", "scenario-1"]),
        ("?q=cheap%3A+expected", ["scenario-2", "scenario-1"]),
        ("?q=lookup_order(A)", ["scenario-2", "scenario-1"]),
        ("?severity=low", []),
        ("?class=REGRESSED&tag=smoke&tool=refund_payment&check=once&q=scenario", ["scenario-1"]),
        ("?class=NONSENSE&severity=worst", [f"scenario-{n}" for n in (2, 1, 4, 3, 0, 5)]),
        ("?q=%00&tag=%00", [f"scenario-{n}" for n in (2, 1, 4, 3, 0, 5)]),
    ],
)
def test_a_filter_shows_what_it_says(viewer: Client, query: str, expected: list[str]) -> None:
    assert listed(page(viewer, concluded(*MIXED), query)) == expected


def test_tiles_count_the_cases_of_the_other_filters_and_stay_pressed(viewer: Client) -> None:
    html = page(viewer, concluded(*MIXED), "?tag=smoke&class=REGRESSED")

    assert tiles(html) == {"new critical": 0, "regressed": 1, "incomplete": 0, "improved": 1, "unchanged": 1}
    pressed = re.findall(r'id="tile-([a-z-]+)"[^>]*aria-current="true"', html)
    assert pressed == ["regressed"]
    # Pressed again it takes its condition off and leaves the others on.
    assert 'id="tile-regressed" href="?tag=smoke"' in html


@pytest.mark.parametrize("query", ["", "?class=UNCHANGED", "?tool=refund_payment", "?q=scenario-1"])
def test_totals_and_list_agree_whatever_the_filter(viewer: Client, query: str) -> None:
    html = page(viewer, concluded(*MIXED), query)
    counts = tiles(html)

    chosen = ["unchanged"] if "UNCHANGED" in query else list(counts)
    assert sum(counts[word] for word in chosen) == len(listed(html))


def test_a_case_without_a_class_counts_as_incomplete_once_the_comparison_has_ended(viewer: Client) -> None:
    comparison = concluded("UNCHANGED", None, state="CANCELLED", reason="cancelled by ada")

    html = page(viewer, comparison)
    only = page(viewer, comparison, "?class=INCOMPLETE")

    assert tiles(html)["incomplete"] == 1
    assert listed(only) == ["scenario-1"]
    assert "not compared yet" not in html
    assert "cancelled by ada" in html


def test_pages_of_cases_show_each_case_once_in_order(viewer: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr("evaluations.views.comparisons.CASES_PER_PAGE", 2)
    comparison = concluded(*MIXED)

    seen, query, addresses = [], "", []
    while True:
        html = page(viewer, comparison, query)
        seen.append(listed(html))
        addresses.append(query)
        following = re.search(r'rel="next" href="([^"]+)"', html)
        if not following:
            break
        query = following[1].replace("&amp;", "&")
    back = re.search(r'rel="prev" href="([^"]+)"', html)

    assert [name for names in seen for name in names] == [f"scenario-{n}" for n in (2, 1, 4, 3, 0, 5)]
    assert back
    assert listed(page(viewer, comparison, back[1].replace("&amp;", "&"))) == seen[-2]


@pytest.mark.parametrize(
    "cursor", ["nonsense", "W10", "WyIxIl0", "bnVsbA", "%00", "W" * 300, "WzEsMiwzLDFlOTldCg"]
)
def test_a_made_up_cursor_shows_the_first_page(viewer: Client, cursor: str) -> None:
    comparison = concluded(*MIXED)

    assert len(listed(page(viewer, comparison, f"?after={cursor}"))) == len(MIXED)


def test_every_link_to_a_case_carries_the_filter(viewer: Client) -> None:
    comparison = concluded("REGRESSED")

    html = page(viewer, comparison, "?class=REGRESSED&q=scenario")

    assert f'href="/comparisons/{comparison.pk}/cases/scenario-0/?class=REGRESSED&amp;q=scenario"' in html


@pytest.mark.parametrize("fragment", [False, True])
def test_the_number_of_queries_does_not_follow_the_number_of_cases(
    viewer: Client, django_assert_num_queries: Any, fragment: bool
) -> None:
    small, large = concluded("REGRESSED"), None
    large = factories.comparison(baseline=small.baseline, candidate=small.candidate, state="COMPLETED")
    twin = small.pairs.get().twin_version
    for number in range(50):
        version = factories.scenario_version(f"many-{number}", tags=[f"tag-{number}"])
        compared_pair(large, MIXED[number % 6], scenario_version=version, twin_version=twin)
    headers = HTMX if fragment else {}
    for comparison in (small, large):
        page(viewer, comparison, **headers)  # pins and totals are read once per process
    # Session, account, rights (2), what is held out and the comparison; counts, page, sides and failing
    # checks of the cases; the checks of the filter. The whole page adds the labels, how many trials were run
    # again, what the gate decided, and who judged.
    expected = 11 if fragment else 15
    for comparison in (small, large):
        with django_assert_num_queries(expected):
            page(viewer, comparison, **headers)


def test_long_values_are_cut_before_they_are_loaded(viewer: Client) -> None:
    comparison = concluded()
    long = "x" * 100_000
    divergence = {"step": 1, "baseline": long, "candidate": long}
    pair = compared_pair(
        comparison, "REGRESSED", twin_version=shop(), reason=long, first_divergence=divergence
    )
    factories.result(pair.cases.get(run__side="CANDIDATE"), "a" * 200, reason=long)

    html = page(viewer, comparison)

    assert len(html) < 40_000
    assert "the two sides part; the case page shows where" in html


def test_markup_in_stored_texts_is_shown_as_text(viewer: Client) -> None:
    evil = "<script>alert(1)</script>"
    comparison = concluded(reason=evil, state="FAILED")
    pair = compared_pair(
        comparison,
        "REGRESSED",
        twin_version=shop(),
        newly_failing=[evil],
        first_divergence={"step": 1, "baseline": evil, "candidate": evil},
    )
    factories.result(pair.cases.get(run__side="CANDIDATE"), evil, reason=evil)
    comparison.runs.update(model_kind=evil)

    html = page(viewer, comparison, f"?q={evil}")

    assert evil not in html
    assert "&lt;script&gt;" in html


def test_filtering_without_a_match_says_so_and_leads_back(viewer: Client) -> None:
    comparison = concluded("UNCHANGED")

    html = page(viewer, comparison, "?q=nothing-like-this")

    assert "No case matches these filters" in html
    assert f'href="/comparisons/{comparison.pk}/"' in html


def test_the_filter_form_puts_only_what_is_chosen_into_the_address(viewer: Client) -> None:
    comparison = concluded("REGRESSED")

    response = viewer.get(
        f"/comparisons/{comparison.pk}/?class=REGRESSED&q=&severity=&tag=&tool=refund_payment&check=",
        headers={**HTMX, "HX-Trigger": "case-filters"},
    )

    assert response["HX-Push-Url"] == f"/comparisons/{comparison.pk}/?class=REGRESSED&tool=refund_payment"


def test_pinned_versions_are_shown(viewer: Client) -> None:
    html = page(viewer, concluded("UNCHANGED", "REGRESSED"))

    assert "2 scenarios, 1 twin, seed 0" in html
    assert 'href="/twins/shop/?version=1"' in html
    assert 'href="/scenarios/scenario-1/?version=1"' in html


@pytest.mark.parametrize("path", ["999", "999999999999999999999999", "999/progress", "999/report.json"])
def test_an_unknown_comparison_is_not_found(viewer: Client, path: str) -> None:
    address = f"/comparisons/{path}" + ("" if "." in path else "/")

    assert viewer.get(address, headers=HTMX).status_code == 404


# ------------------------------------------------------------- progress and cancel


def test_a_running_comparison_asks_for_its_progress_and_an_ended_one_does_not(viewer: Client) -> None:
    comparison = concluded("UNCHANGED", None, state="RUNNING")

    running = page(viewer, comparison)
    Comparison.objects.filter(pk=comparison.pk).update(state="COMPLETED")
    ended = page(viewer, comparison)

    assert 'hx-trigger="every 2s"' in running
    assert "2 of 4 runs of a case have ended" in running
    assert "not compared yet" in running
    assert "every 2s" not in ended
    assert "<progress" not in ended


def test_progress_is_a_fragment_that_says_when_the_comparison_has_ended(viewer: Client) -> None:
    comparison = concluded(None, state="RUNNING")
    address = f"/comparisons/{comparison.pk}/progress/"

    running = viewer.get(address, headers=HTMX)
    Comparison.objects.filter(pk=comparison.pk).update(state="CANCELLED", reason="cancelled by ada")
    ended = viewer.get(address, headers=HTMX)

    assert b"<html" not in running.content
    assert b"every 2s" in running.content
    assert "HX-Trigger" not in running
    assert b"every 2s" not in ended.content
    assert b"cancelled by ada" in ended.content
    assert ended["HX-Trigger"] == "comparison-ended"


def test_progress_without_htmx_leads_to_the_page(viewer: Client) -> None:
    comparison = concluded("UNCHANGED")

    response = viewer.get(f"/comparisons/{comparison.pk}/progress/")

    assert (response.status_code, response["Location"]) == (302, f"/comparisons/{comparison.pk}/")


def test_cancelling_works_as_a_plain_form(editor: Client) -> None:
    comparison = concluded(None, state="RUNNING")

    response = editor.post(f"/comparisons/{comparison.pk}/cancel/", follow=True)

    comparison.refresh_from_db()
    assert comparison.state == "CANCELLED"
    assert b"was cancelled" in response.content


def test_cancelling_twice_changes_nothing_and_says_so(editor: Client) -> None:
    comparison = concluded("UNCHANGED")

    response = editor.post(f"/comparisons/{comparison.pk}/cancel/", follow=True)

    comparison.refresh_from_db()
    assert comparison.state == "COMPLETED"
    assert b"had ended before it could be cancelled" in response.content


def test_a_viewer_may_not_cancel(viewer: Client) -> None:
    comparison = concluded(None, state="RUNNING")

    response = viewer.post(f"/comparisons/{comparison.pk}/cancel/")

    comparison.refresh_from_db()
    assert response.status_code == 403
    assert comparison.state == "RUNNING"
    assert "/cancel/" not in page(viewer, comparison)


def test_cancelling_needs_a_post(editor: Client) -> None:
    comparison = concluded(None, state="RUNNING")

    assert editor.get(f"/comparisons/{comparison.pk}/cancel/").status_code == 405


# ---------------------------------------------------------------------- downloads


@pytest.mark.parametrize(
    ("ending", "kind", "holds"),
    [
        ("json", "application/json", b'"NEW_CRITICAL_FAILURE": 1'),
        ("xml", "application/xml", b"<testsuite"),
        ("txt", "text/plain", b"scenario-0"),
    ],
)
def test_a_report_comes_as_a_file(viewer: Client, ending: str, kind: str, holds: bytes) -> None:
    comparison = concluded("NEW_CRITICAL_FAILURE", "UNCHANGED")

    response = viewer.get(f"/comparisons/{comparison.pk}/report.{ending}")

    assert response["Content-Type"].startswith(kind)
    assert response["Content-Disposition"] == f'attachment; filename="comparison-{comparison.pk}.{ending}"'
    assert holds in response.content


def test_page_and_report_count_the_same(viewer: Client) -> None:
    comparison = concluded(*MIXED, None, state="CANCELLED")

    counts = tiles(page(viewer, comparison))
    summary = viewer.get(f"/comparisons/{comparison.pk}/report.json").json()["summary"]

    assert counts == {
        "new critical": summary["NEW_CRITICAL_FAILURE"],
        "regressed": summary["REGRESSED"],
        "incomplete": summary["INCOMPLETE"],
        "improved": summary["IMPROVED"],
        "unchanged": summary["UNCHANGED"],
    }


def test_an_unknown_format_is_not_found(viewer: Client) -> None:
    assert viewer.get(f"/comparisons/{concluded().pk}/report.exe").status_code == 404


# ---------------------------------------------------------------------- the lists


def test_the_list_shows_the_latest_first_with_counts_that_lead_to_the_cases(viewer: Client) -> None:
    first, second = concluded("REGRESSED", "UNCHANGED"), None
    second = factories.comparison(baseline=first.baseline, candidate=first.candidate, state="QUEUED")

    html = viewer.get("/comparisons/").content.decode()

    assert html.index(f'href="/comparisons/{second.pk}/"') < html.index(f'href="/comparisons/{first.pk}/"')
    assert f'href="/comparisons/{first.pk}/?class=REGRESSED"' in html


def test_the_list_is_a_fragment_for_htmx(viewer: Client) -> None:
    concluded("UNCHANGED")

    html = viewer.get("/comparisons/", headers=HTMX).content.decode()

    assert "<html" not in html
    assert '<section id="comparison-table"' in html


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 2), ("?agent=helper", 2), ("?agent=other", 0), ("?state=QUEUED", 1), ("?state=X", 2)],
)
def test_the_list_can_be_narrowed(viewer: Client, query: str, count: int) -> None:
    first = concluded("UNCHANGED")
    factories.comparison(baseline=first.baseline, candidate=first.candidate, state="QUEUED")

    html = viewer.get(f"/comparisons/{query}").content.decode()

    assert html.count("data-nav-item") == count


@pytest.mark.parametrize("address", ["/", "/comparisons/"])
def test_lists_of_comparisons_take_a_fixed_number_of_queries(
    viewer: Client, django_assert_max_num_queries: Any, django_assert_num_queries: Any, address: str
) -> None:
    first = concluded("UNCHANGED")
    with django_assert_max_num_queries(20) as one:
        viewer.get(address)
    for _ in range(20):
        other = factories.comparison(baseline=first.baseline, candidate=first.candidate, state="COMPLETED")
        compared_pair(other, "REGRESSED", twin_version=first.pairs.get().twin_version)

    with django_assert_num_queries(len(one.captured_queries)):
        viewer.get(address)


def test_without_comparisons_the_list_says_what_to_do(viewer: Client, editor: Client) -> None:
    assert b"No comparisons yet" in viewer.get("/comparisons/").content
    assert b'href="/comparisons/start/"' not in viewer.get("/comparisons/").content
    assert b'href="/comparisons/start/"' in editor.get("/comparisons/").content


@pytest.mark.parametrize("address", ["/comparisons/", "/comparisons/{pk}/", "/comparisons/{pk}/report.json"])
def test_an_account_without_a_role_sees_nothing(person: Any, address: str) -> None:
    comparison = concluded("UNCHANGED")

    response = person().get(address.format(pk=comparison.pk))

    assert response.status_code == 403
    assert b"helper" not in response.content


def test_home_of_an_account_without_a_role_names_no_comparison(person: Any) -> None:
    concluded("UNCHANGED")

    assert b"helper" not in person().get("/").content


def test_no_page_writes_on_get(viewer: Client) -> None:
    comparison = concluded(*MIXED)
    before = list(PairedCase.objects.values())

    page(viewer, comparison)
    viewer.get("/comparisons/")

    assert list(PairedCase.objects.values()) == before
