"""Pages of repeated trials: the list by scenario, the grid of a case, statistics, pictures, running again."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.test import Client

from evaluations.models import Comparison, PairedCase
from tests.models import factories
from tests.pages.case_data import SCENARIO, TWIN, versions
from tests.trials import tried

HTMX = {"HX-Request": "true"}


@pytest.fixture
def comparison(db: Any) -> Comparison:
    """1.2.4 against 1.3.0: a task that fails in two of four trials, one that errors, one that passes."""
    made = versions(state="INCOMPLETE", reason="2 of 8 cases could not be compared")
    factories.twin_version("shop", document=TWIN)
    for name in ("refund", "lookup", "escalate"):
        factories.scenario_version(name, document=SCENARIO)
    tried(made, "refund", "PP", "PF", "PP", "PF")
    tried(made, "lookup", "PE", "PP")
    tried(made, "escalate", "PP", "PP")
    return made


def shown(client: Client, address: str, **headers: str) -> str:
    response = client.get(address, headers=headers)
    assert response.status_code == 200, address
    return response.content.decode()


def words(html: str) -> str:
    """The text of a page, in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


# ------------------------------------------------------------------------------ the comparison


def test_a_row_per_scenario_led_by_its_worst_trial(viewer: Client, comparison: Comparison) -> None:
    html = shown(viewer, f"/comparisons/{comparison.pk}/")
    assert re.findall(r"data-nav-item>([a-z]+)<", html) == ["refund", "lookup", "escalate"]
    # The second trial is the first that fails.
    assert f'href="/comparisons/{comparison.pk}/cases/refund/?trial=2"' in html
    assert "new critical failure 2 of 4 = unchanged 2" in words(html)
    assert "4 of 4 → became 2 of 4" in words(html)
    assert "2 of 2 → became 1 of 2 1 errored" in words(html)
    assert "8 trials, a row per scenario, worst first" in html


def test_rows_add_up_to_the_tiles_whatever_is_filtered(viewer: Client, comparison: Comparison) -> None:
    # TRAPS 2.
    for query in ("", "?class=UNCHANGED", "?class=INCOMPLETE", "?q=refund", "?class=UNCHANGED&q=refund"):
        html = shown(viewer, f"/comparisons/{comparison.pk}/{query}")
        tile = int(re.findall(r'tile__count">(\d+)</span> <span class="tile__word">unchanged', html)[0])
        rows = re.findall(r"= unchanged (\d+)", words(html))
        listed = re.findall(r"data-nav-item>", html)
        if "INCOMPLETE" in query:
            assert len(listed) == 1
        else:
            assert sum(map(int, rows)) == tile
            assert len(listed) == (1 if "refund" in query else 3)


def test_a_filter_leads_to_the_worst_trial_that_it_lets_through(
    viewer: Client, comparison: Comparison
) -> None:
    html = shown(viewer, f"/comparisons/{comparison.pk}/?class=UNCHANGED")
    assert f'href="/comparisons/{comparison.pk}/cases/refund/?class=UNCHANGED"' in html


def test_the_list_of_scenarios_is_paged_without_gaps(
    viewer: Client, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluations.views.comparisons.CASES_PER_PAGE", 2)
    address, found = f"/comparisons/{comparison.pk}/", []
    html = shown(viewer, address)
    found += re.findall(r"data-nav-item>([a-z]+)<", html)
    following = re.search(r'rel="next" href="([^"]+)"', html)
    assert following is not None
    html = shown(viewer, address + following[1].replace("&amp;", "&"))
    found += re.findall(r"data-nav-item>([a-z]+)<", html)
    assert found == ["refund", "lookup", "escalate"]
    before = re.search(r'rel="prev" href="([^"]+)"', html)
    assert before is not None
    back = shown(viewer, address + before[1].replace("&amp;", "&"))
    assert re.findall(r"data-nav-item>([a-z]+)<", back) == ["refund", "lookup"]


def test_the_number_of_queries_does_not_follow_the_number_of_trials(
    viewer: Client, comparison: Comparison, django_assert_num_queries: Any
) -> None:
    large = versions()
    for number in range(6):
        tried(large, f"many-{number}", *["PF"] * (number + 2))
    for one in (comparison, large):
        shown(viewer, f"/comparisons/{one.pk}/", **HTMX)
    # Session, account, rights (2), the comparison; counts, groups, their worst trials with sides and failing
    # checks, trials by side and by class; the checks of the filter.
    for one in (comparison, large):
        with django_assert_num_queries(14):
            shown(viewer, f"/comparisons/{one.pk}/", **HTMX)


# ------------------------------------------------------------------------------------ the case


def test_every_trial_of_both_sides_is_a_cell_that_opens_its_trajectory(
    viewer: Client, comparison: Comparison
) -> None:
    html = shown(viewer, f"/comparisons/{comparison.pk}/cases/refund/?trial=2")
    cells = re.findall(r'class="trial-cell trial-cell--(\w+)" href="([^"]+)"', html)
    assert [verdict for verdict, _ in cells] == ["passed"] * 4 + ["passed", "failed"] * 2
    assert cells[5][1] == f"/comparisons/{comparison.pk}/cases/refund/?trial=2#case-steps"
    assert 'aria-label="candidate, trial 2, failed"' in html
    assert "trial 2 of 4" in words(html)
    # How often each check failed.
    assert re.search(r"paid ● critical 0 of 4 2 of 4", words(html))
    assert "2 of 4 passed: 50% (15% to 85%)" in words(html)


def test_a_comparison_without_trials_has_no_grid(viewer: Client) -> None:
    made = versions()
    factories.twin_version("shop", document=TWIN)
    factories.scenario_version("once", document=SCENARIO)
    tried(made, "once", "PF")
    html = shown(viewer, f"/comparisons/{made.pk}/cases/once/")
    assert 'id="case-trials"' not in html


def test_next_and_previous_go_by_scenario_as_the_list_does(viewer: Client, comparison: Comparison) -> None:
    html = shown(viewer, f"/comparisons/{comparison.pk}/cases/lookup/")
    assert re.findall(r'rel="prev" href="([^"]+)"', html) == [
        f"/comparisons/{comparison.pk}/cases/refund/?trial=2"
    ]
    assert re.findall(r'rel="next" href="([^"]+)"', html) == [f"/comparisons/{comparison.pk}/cases/escalate/"]


def test_a_long_row_of_trials_shows_the_hundred_around_this_one(
    viewer: Client, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reviews.page_queries.trials.CELLS", 2)
    html = shown(viewer, f"/comparisons/{comparison.pk}/cases/refund/?trial=3")
    assert re.findall(r'aria-label="baseline, trial (\d)', html) == ["3", "4"]
    assert "Trials 3 to 4 of 4" in words(html)
    assert f'href="/comparisons/{comparison.pk}/cases/refund/?trial=2">earlier trials' in html
    assert "later trials" not in html


# --------------------------------------------------------------------------------- run again


def test_an_editor_runs_errored_trials_again_and_both_runs_can_be_read(
    editor: Client, comparison: Comparison, django_capture_on_commit_callbacks: Any
) -> None:
    address = f"/comparisons/{comparison.pk}/"
    assert "Run 1 again" in words(shown(editor, address))
    response = editor.post(f"{address}rerun/", follow=True)
    assert "1 trial run again, once. The first run stays and no longer counts." in response.content.decode()
    assert "1 errored, run again" in words(response.content.decode())
    original = PairedCase.objects.replaced().get()
    assert (original.scenario_name, original.rerun.replaced) == ("lookup", False)
    first = shown(editor, f"{address}cases/lookup/?original=1")
    assert "counts nowhere" in first
    assert f'href="{address}cases/lookup/">The run that counts' in first
    again = shown(editor, f"{address}cases/lookup/")
    assert f'href="{address}cases/lookup/?original=1">The first run' in again


def test_one_trial_is_run_again_from_its_own_page(editor: Client, comparison: Comparison) -> None:
    errored = comparison.pairs.get(scenario_name="lookup", trial=1)
    address = f"/comparisons/{comparison.pk}/"
    assert f'name="case" value="{errored.pk}"' in shown(editor, f"{address}cases/lookup/")
    assert 'name="case"' not in shown(editor, f"{address}cases/refund/?trial=2")
    editor.post(f"{address}rerun/", {"case": errored.pk})
    assert PairedCase.objects.replaced().get() == errored


def test_a_failure_is_not_run_again_and_the_page_says_why(editor: Client, comparison: Comparison) -> None:
    failed = comparison.pairs.get(scenario_name="refund", trial=2)
    response = editor.post(f"/comparisons/{comparison.pk}/rerun/", {"case": failed.pk}, follow=True)
    assert "a failure is not run again" in response.content.decode()
    assert not PairedCase.objects.replaced().exists()


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_who_may_not_start_comparisons_runs_nothing_again(
    person: Any, comparison: Comparison, role: str
) -> None:
    client = person(role)
    assert client.post(f"/comparisons/{comparison.pk}/rerun/").status_code == 403
    assert "/rerun/" not in shown(client, f"/comparisons/{comparison.pk}/")
    assert "/rerun/" not in shown(client, f"/comparisons/{comparison.pk}/cases/lookup/")
    assert not PairedCase.objects.replaced().exists()


def test_running_again_needs_a_post_a_comparison_and_a_whole_number(
    editor: Client, comparison: Comparison
) -> None:
    assert editor.get(f"/comparisons/{comparison.pk}/rerun/").status_code == 405
    assert editor.post("/comparisons/999999/rerun/").status_code == 404
    assert editor.post(f"/comparisons/{comparison.pk}/rerun/", {"case": "x"}).status_code == 404


# -------------------------------------------------------------------------------- statistics


def test_the_means_stand_above_the_tasks_with_n_and_c_beside_each_figure(
    viewer: Client, comparison: Comparison
) -> None:
    html = shown(viewer, f"/comparisons/{comparison.pk}/statistics/?k=2")
    text = words(html)
    assert html.index("Mean over 3 tasks") < html.index(">refund<") < html.index(">escalate<")
    # 2 of 4 and k = 2: at least one of two in five of six pairs of trials, both in one.
    assert "candidate 2 of 4 0 50% 15% to 85% 83% 17%" in text
    assert "candidate 1 of 2 1 50% 9% to 91% 100% 0%" in text
    assert "Baseline passes 5 both pass 2 only the baseline" in text
    assert "p = 0.50, could be noise" in text
    assert "1 case could not be graded on both sides" in text
    assert "different numbers of graded ones of lookup" in text


def test_k_larger_than_the_trials_is_not_available(viewer: Client, comparison: Comparison) -> None:
    text = words(shown(viewer, f"/comparisons/{comparison.pk}/statistics/?k=3"))
    assert "not available for 1 of 3 tasks" in text
    assert "candidate 1 of 2 1 50% 9% to 91% not available not available" in text
    # An address of another time still shows something.
    assert "pass@3" in words(shown(viewer, f"/comparisons/{comparison.pk}/statistics/?k=99&after=!"))


def test_ten_trials_with_seven_passes_show_99_percent_against_29(viewer: Client) -> None:
    made = versions()
    tried(made, "weekly", *["PP"] * 7, *["PF"] * 3)
    text = words(shown(viewer, f"/comparisons/{made.pk}/statistics/"))
    assert "candidate 7 of 10 0 70% 40% to 89% 99% 29%" in text


def test_checks_that_fail_more_often_are_told_with_their_p_value(
    viewer: Client, comparison: Comparison
) -> None:
    text = words(shown(viewer, f"/comparisons/{comparison.pk}/statistics/"))
    assert "paid ● critical refund 0 of 4 2 of 4 more often, p = 0.43, could be noise" in text


def test_costs_are_worked_out_from_the_rates_in_the_address(viewer: Client) -> None:
    made = versions()
    tried(made, "a", "PP", "PF", costs=(0.5, 0.5))
    address = f"/comparisons/{made.pk}/statistics/"
    assert "1.0000 USD" in shown(viewer, address)
    # Two tool calls a run, half an hour of somebody at 10 USD an hour.
    query = "?tool_call_usd=0.25&review_minutes=30&review_usd_per_hour=10"
    assert "12.0000 USD" in shown(viewer, address + query)
    assert "1.0000 USD" in shown(viewer, f"{address}?tool_call_usd=nan&review_minutes=-3")


def test_tasks_are_paged(viewer: Client, comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluations.views.statistics.TASKS_PER_PAGE", 2)
    address = f"/comparisons/{comparison.pk}/statistics/"
    html = shown(viewer, address)
    following = re.search(r'rel="next" href="([^"]+)"', html)
    assert following is not None
    later = shown(viewer, address + following[1].replace("&amp;", "&"))
    tasks = r'statistics/([a-z]+)/">\1<'
    assert re.findall(tasks, html) == ["refund", "lookup"]
    assert re.findall(tasks, later) == ["escalate"]
    assert "Mean over 3 tasks" in later
    back = re.search(r'rel="prev" href="([^"]+)"', later)
    assert back is not None
    assert re.findall(tasks, shown(viewer, address + back[1].replace("&amp;", "&"))) == ["refund", "lookup"]


def test_one_task_has_its_figures_checks_and_history(viewer: Client, comparison: Comparison) -> None:
    earlier = words(shown(viewer, f"/comparisons/{comparison.pk}/statistics/refund/"))
    assert "This is the only ended comparison" in earlier
    later = versions()
    tried(later, "refund", "PP", "FF")
    text = words(shown(viewer, f"/comparisons/{later.pk}/statistics/refund/"))
    assert f"# {later.pk}" in text or f"#{later.pk}" in text
    assert "1.2.4 4 of 4 100% (51% to 100%) 1.3.0 2 of 4 50% (15% to 85%)" in text
    assert "this one" in text
    assert "paid ● critical 1 of 2 1 of 2 none" in text


def test_a_running_comparison_has_no_statistics_yet(viewer: Client) -> None:
    made = versions(state="RUNNING")
    for address in ("statistics/", "statistics/refund/"):
        assert "still runs" in shown(viewer, f"/comparisons/{made.pk}/{address}")
    assert viewer.get(f"/comparisons/{made.pk}/statistics/pass-hat-k.svg").status_code == 404


def test_statistics_are_for_who_may_see_comparisons(person: Any, comparison: Comparison) -> None:
    nobody = person()
    for address in ("", "refund/", "pass-hat-k.svg", "refund/pass-hat-k.svg", "refund/history.svg"):
        assert nobody.get(f"/comparisons/{comparison.pk}/statistics/{address}").status_code == 403
        anonymous = Client().get(f"/comparisons/{comparison.pk}/statistics/{address}")
        assert anonymous.status_code == 302


@pytest.mark.parametrize(
    "address", ["999999/statistics/", "{pk}/statistics/nowhere/", "{pk}/statistics/nowhere/pass-hat-k.svg"]
)
def test_what_is_not_there_is_not_found(viewer: Client, comparison: Comparison, address: str) -> None:
    assert viewer.get(f"/comparisons/{address.format(pk=comparison.pk)}").status_code == 404


def test_a_page_of_statistics_asks_a_fixed_number_of_questions(
    viewer: Client, comparison: Comparison, django_assert_num_queries: Any
) -> None:
    large = versions()
    for number in range(5):
        tried(large, f"many-{number}", *["PF"] * (number + 2))
    for one, scenario in ((comparison, "refund"), (large, "many-1")):
        # Session, account, rights (2), the comparison; four of the statistics, the labels.
        with django_assert_num_queries(11):
            shown(viewer, f"/comparisons/{one.pk}/statistics/")
        # And the history: comparisons, versions, trials.
        with django_assert_num_queries(14):
            shown(viewer, f"/comparisons/{one.pk}/statistics/{scenario}/")


# ---------------------------------------------------------------------------------- pictures


def test_a_picture_is_an_svg_of_its_own_with_the_headers_of_one(
    viewer: Client, comparison: Comparison
) -> None:
    address = f"/comparisons/{comparison.pk}/statistics/refund/pass-hat-k.svg"
    assert f'<img src="{address}"' in shown(viewer, f"/comparisons/{comparison.pk}/statistics/refund/")
    response = viewer.get(address)
    assert response["Content-Type"] == "image/svg+xml"
    assert response["X-Content-Type-Options"] == "nosniff"
    policy = response["Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
    assert response["Cache-Control"] == "private, no-cache"
    drawn = ET.fromstring(response.content)
    text = " ".join(drawn.itertext())
    assert drawn.tag.endswith("svg")
    assert "candidate 1.3.0" in text
    assert "script" not in response.content.decode().lower()
    # The pages keep their own policy.
    page = viewer.get(f"/comparisons/{comparison.pk}/statistics/")
    assert "unsafe-inline" not in page["Content-Security-Policy"]


def test_a_picture_is_drawn_for_both_schemes_and_only_anew_when_its_figures_change(
    viewer: Client, comparison: Comparison
) -> None:
    address = f"/comparisons/{comparison.pk}/statistics/refund/pass-hat-k.svg"
    light, dark = viewer.get(address), viewer.get(f"{address}?scheme=dark")
    assert light.content != dark.content
    assert light["ETag"] != dark["ETag"]
    same = viewer.get(address, headers={"If-None-Match": light["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    comparison.pairs.get(scenario_name="refund", trial=2).cases.filter(run__side="CANDIDATE").update(
        effective_verdict="PASSED"
    )
    changed = viewer.get(address, headers={"If-None-Match": light["ETag"]})
    assert changed.status_code == 200


def test_a_scenario_across_comparisons_is_a_picture_from_the_second_on(
    viewer: Client, comparison: Comparison
) -> None:
    address = f"/comparisons/{comparison.pk}/statistics/refund/history.svg"
    assert viewer.get(address).status_code == 404
    later = versions()
    tried(later, "refund", "PP", "PF")
    response = viewer.get(address)
    text = " ".join(ET.fromstring(response.content).itertext())
    assert f"#{comparison.pk}" in text
    assert f"#{later.pk}" in text


def test_no_picture_where_no_line_can_be_drawn(viewer: Client) -> None:
    made = versions()
    tried(made, "a", "PP", "PF", "PP")
    tried(made, "b", "EE")
    page = shown(viewer, f"/comparisons/{made.pk}/statistics/")
    assert "There is no line to draw" in page
    assert viewer.get(f"/comparisons/{made.pk}/statistics/pass-hat-k.svg").status_code == 404
    assert viewer.get(f"/comparisons/{made.pk}/statistics/a/pass-hat-k.svg").status_code == 200
