"""Errored trials are run again once, beside the original; a failure never is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agenttwin_site.events import governance
from evaluations.errors import NotRerunnableError
from evaluations.models import Case, ExpectationResult, PairedCase, ToolCall
from evaluations.page_queries import class_counts, side_totals
from evaluations.reporting.report import load_report
from evaluations.services.effective import set_effective_status
from evaluations.services.rerunning import rerun_trials
from evaluations.services.waiting import run_here
from tests.running import documents


@pytest.fixture
def back(tmp_path: Path) -> Path:
    """The file whose being there makes `refuse-until` go on."""
    return tmp_path / "back"


@pytest.fixture
def flaky(given: Any, compared: Any, back: Path) -> Any:
    """Three trials of one scenario, of which the candidate's second could not be run."""
    steps = (f"refuse-until {back} 2", *documents.GOOD)
    given(documents.scenario("refund", trials=3), baseline=documents.GOOD, candidate=steps)
    comparison = compared()
    assert comparison.state == "INCOMPLETE"
    back.touch()
    return comparison


def again(comparison: Any, **options: Any) -> list[PairedCase]:
    """Run trials again, to the end."""
    reruns = rerun_trials(comparison=comparison, actor=None, wake=False, **options)
    run_here(comparison.pk)
    comparison.refresh_from_db()
    return reruns


def rows() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (PairedCase, Case, ToolCall, ExpectationResult))


def test_the_rerun_is_pinned_as_the_original_was_and_counts_in_its_place(flaky: Any) -> None:
    original = flaky.pairs.get(trial=2)
    (rerun,) = again(flaky)
    original.refresh_from_db()
    rerun.refresh_from_db()
    assert (flaky.state, flaky.reason) == ("COMPLETED", "")
    for pinned in ("scenario_version_id", "twin_version_id", "trial", "seed", "initial_state_id", "position"):
        assert getattr(rerun, pinned) == getattr(original, pinned)
    assert (rerun.rerun_of_id, rerun.replaced, rerun.classification) == (original.pk, False, "UNCHANGED")
    assert (original.replaced, original.classification) == (True, "INCOMPLETE")
    verdicts = dict(rerun.cases.values_list("run__side", "effective_verdict"))
    assert verdicts == {"BASELINE": "PASSED", "CANDIDATE": "PASSED"}
    assert dict(original.cases.values_list("run__side", "verdict"))["CANDIDATE"] == "ERRORED"
    assert str(original) == "refund (trial 2) (first run)"


def test_lists_and_totals_count_the_trial_once(flaky: Any) -> None:
    before = side_totals(flaky)["BASELINE"]
    again(flaky)
    counted = PairedCase.objects.counted().filter(comparison=flaky)
    counts = class_counts(counted, flaky)
    report = load_report(flaky.pk)
    assert (counts.total, counts["UNCHANGED"], counted.count()) == (3, 3, 3)
    assert [(case.trial, case.klass) for case in report.cases] == [
        (1, "UNCHANGED"),
        (2, "UNCHANGED"),
        (3, "UNCHANGED"),
    ]
    totals = side_totals(flaky)
    assert (totals["BASELINE"], totals["BASELINE"].cases) == (before, 3)
    assert totals["CANDIDATE"].tool_calls == report.tool_calls["candidate"] == 6


def test_a_failure_is_never_run_again(given: Any, compared: Any, back: Path) -> None:
    # The candidate of trial 2 fails while the baseline could not be run.
    given(
        documents.scenario("refund", trials=2),
        baseline=(f"refuse-until {back} 2", *documents.GOOD),
        candidate=documents.TWICE,
    )
    comparison = compared()
    before = rows()
    named = comparison.pairs.get(trial=2).pk
    with pytest.raises(NotRerunnableError) as refused:
        rerun_trials(comparison=comparison, pair_ids=[named], actor=None, wake=False)
    assert refused.value.problems == ("refund (trial 2): a side failed, and a failure is not run again",)
    with pytest.raises(NotRerunnableError, match="nothing to run again"):
        rerun_trials(comparison=comparison, actor=None, wake=False)
    assert rows() == before
    comparison.refresh_from_db()
    assert comparison.state == "COMPLETED"


def test_a_failure_that_a_reviewer_found_counts_as_one_and_an_overridden_one_still_does(flaky: Any) -> None:
    found = ExpectationResult.objects.get(
        case__pair__trial=2, case__run__side="BASELINE", expectation_id="no-retry"
    )
    set_effective_status(result=found, status="FAIL")
    with pytest.raises(NotRerunnableError):
        rerun_trials(comparison=flaky, actor=None, wake=False)
    set_effective_status(result=found, status="PASS")
    Case.objects.filter(pk=found.case_id).update(effective_verdict="ERRORED")
    assert rerun_trials(comparison=flaky, actor=None, wake=False)


def test_there_is_no_third_run(flaky: Any, back: Path) -> None:
    back.unlink()
    (rerun,) = again(flaky)
    original = rerun.rerun_of
    assert flaky.state == "INCOMPLETE"
    with pytest.raises(NotRerunnableError) as refused:
        rerun_trials(comparison=flaky, pair_ids=[rerun.pk, original.pk], actor=None, wake=False)
    assert sorted(refused.value.problems) == [
        "refund (trial 2) (first run): it has been run again already; the second run is the one that counts",
        "refund (trial 2): this is its second run, and there is no third",
    ]


def test_named_trials_are_run_again_all_or_none(flaky: Any) -> None:
    errored, fine = flaky.pairs.get(trial=2), flaky.pairs.get(trial=1)
    before = rows()
    with pytest.raises(NotRerunnableError) as refused:
        rerun_trials(
            comparison=flaky, pair_ids=[errored.pk, fine.pk, errored.pk + 999], actor=None, wake=False
        )
    assert sorted(refused.value.problems) == [
        f"comparison {flaky.pk} has no case {errored.pk + 999}",
        "refund: both sides were graded",
    ]
    with pytest.raises(NotRerunnableError, match="no trial was named"):
        rerun_trials(comparison=flaky, pair_ids=[], actor=None, wake=False)
    assert rows() == before


def test_a_comparison_that_runs_or_was_cancelled_is_left_alone(flaky: Any) -> None:
    for state, said in (("RUNNING", "still runs"), ("CANCELLED", "start it anew instead")):
        flaky.state = state
        flaky.save()
        with pytest.raises(NotRerunnableError, match=said):
            rerun_trials(comparison=flaky, actor=None, wake=False)


def test_who_ran_what_again_is_announced_in_the_same_transaction(flaky: Any, db: Any) -> None:
    heard: list[dict[str, Any]] = []
    editor = User.objects.create_user("ed")

    def hear(**announced: Any) -> None:
        heard.append(announced)

    governance.connect(hear)
    try:
        original = flaky.pairs.get(trial=2)
        (rerun,) = rerun_trials(comparison=flaky, actor=editor, wake=False)
    finally:
        governance.disconnect(hear)
    (told,) = heard
    assert (told["action"], told["actor"], told["subject"]) == (
        "trials_rerun",
        editor,
        f"comparison {flaky.pk}",
    )
    assert told["before"]["state"] == "INCOMPLETE"
    assert told["after"]["trials"] == [
        {"scenario": "refund", "trial": 2, "case": original.pk, "rerun": rerun.pk}
    ]
