"""The statistics of stored trials: one lucky survivor, reviews, re-runs, costs, unequal evidence."""

from __future__ import annotations

from typing import Any

import pytest

from evaluations.grading.statistics import PairedCounts, TaskTrials
from evaluations.models import Comparison, ExpectationResult
from evaluations.services.effective import set_effective_status
from evaluations.services.rerunning import rerun_trials
from evaluations.services.statistics import CostRates, comparison_statistics
from tests.models import factories
from tests.trials import tried

P, F = "PASS", "FAIL"


@pytest.fixture
def comparison(db: Any) -> Comparison:
    return factories.comparison(state="COMPLETED")


def test_each_task_has_its_counts_and_the_pairs_are_counted(comparison: Comparison) -> None:
    tried(comparison, "a", "PP", "PF", "PF", "FP")
    tried(comparison, "b", "PP", "EP")
    found = comparison_statistics(comparison.pk)
    tasks = {task.scenario: task for task in found.tasks}
    assert tasks["a"].trials("BASELINE") == TaskTrials(4, 3)
    assert tasks["a"].trials("CANDIDATE") == TaskTrials(4, 2)
    assert tasks["a"].paired == PairedCounts(both_pass=1, only_baseline=2, only_candidate=1)
    assert tasks["b"].trials("BASELINE") == TaskTrials(2, 1, 1)
    assert found.paired == PairedCounts(2, 0, 2, 1, 1)
    assert found.mcnemar is not None
    assert not found.mcnemar.significant
    # TRAPS 8: 3 of 4 and k = 2.
    assert (tasks["a"].trials("BASELINE").pass_hat_k(2), tasks["a"].trials("BASELINE").pass_at_k(2)) == (
        0.5,
        1.0,
    )
    assert found.unequal == ("Errored trials leave the sides with different numbers of graded ones of b.",)


def test_a_lucky_survivor_and_a_task_of_errors_alone(comparison: Comparison) -> None:
    # TRAPS 1.
    tried(comparison, "lucky", "PP", "EE", "EE", "EE")
    tried(comparison, "lost", "EE", "EE", "EE", "EE")
    found = comparison_statistics(comparison.pk)
    assert {task.scenario: task.trials("CANDIDATE") for task in found.tasks} == {
        "lucky": TaskTrials(4, 1, 3),
        "lost": TaskTrials(4, 0, 4),
    }
    mean = found.mean_pass_rate("CANDIDATE")
    assert (mean.value, mean.available, mean.tasks) == (None, 1, 2)


def test_an_average_hides_no_task(comparison: Comparison) -> None:
    # TRAPS 4, with fewer tasks: the mean is high, and the task that fails is first in the list.
    for name in ("a", "b", "c"):
        tried(comparison, name, "PP", "PP", "PP", "PP")
    tried(comparison, "z", "PP", "PF", "PF", "PF")
    found = comparison_statistics(comparison.pk)
    assert found.mean_pass_rate("CANDIDATE").value == pytest.approx(0.8125)
    assert [task.scenario for task in found.tasks] == ["z", "a", "b", "c"]


def test_what_a_reviewer_decides_is_what_counts(comparison: Comparison) -> None:
    tried(comparison, "a", "PF", "PP")
    result = ExpectationResult.objects.get(status=F)
    set_effective_status(result=result, status=P)
    found = comparison_statistics(comparison.pk)
    assert found.tasks[0].trials("CANDIDATE") == TaskTrials(2, 2)
    assert (found.checks[0].baseline, found.checks[0].candidate) == ((2, 0), (2, 0))


def test_a_trial_that_was_run_again_counts_once_and_is_told(comparison: Comparison) -> None:
    tried(comparison, "a", "PE", "PP")
    errored = comparison.pairs.get(trial=1)
    (rerun,) = rerun_trials(comparison=comparison, pair_ids=[errored.pk], actor=None, wake=False)
    found = comparison_statistics(comparison.pk)
    # The second run has not ended: no verdict, so errored.
    assert found.tasks[0].trials("CANDIDATE") == TaskTrials(2, 1, 1)
    assert (found.tasks[0].rerun, found.rerun) == (1, 1)
    assert found.checks[0].unmeasured == 0
    assert rerun.cases.count() == 2


def test_checks_are_held_against_each_other_side_by_side(comparison: Comparison) -> None:
    tried(comparison, "a", *["PF"] * 9, "PP")
    tried(comparison, "b", "PP", "PE")
    worse, same = comparison_statistics(comparison.pk).checks
    assert (worse.scenario, worse.expectation_id, worse.critical) == ("a", "paid", True)
    assert (worse.baseline, worse.candidate, worse.unmeasured) == ((10, 0), (1, 9), 0)
    assert (worse.differs, worse.is_worse) == (True, True)
    assert worse.test is not None
    assert worse.test.significant
    assert (same.baseline, same.candidate, same.unmeasured, same.differs) == ((2, 0), (1, 0), 1, False)


def test_costs_are_means_over_runs_divided_by_the_pass_rate(comparison: Comparison) -> None:
    tried(comparison, "a", "PP", "PF", "PP", costs=(0.01, 0.03, 0.02))
    tried(comparison, "b", "PP", "PP", costs=(0.01, None))
    a, b = (task.sides["CANDIDATE"] for task in comparison_statistics(comparison.pk).tasks)
    assert a.cost_per_success().usd == pytest.approx(0.02 / (2 / 3))
    assert b.cost_per_success().words == "unknown"
    # Two tool calls a run, and three minutes of a person at 60 USD an hour.
    rates = CostRates(tool_call_usd=0.005, review_minutes=3, review_usd_per_hour=60)
    assert a.cost_per_success(rates).usd == pytest.approx((0.02 + 0.01 + 3) / (2 / 3))


def test_without_a_cost_it_is_unknown_and_without_a_pass_never(comparison: Comparison) -> None:
    tried(comparison, "a", "PF", "PF")
    task = comparison_statistics(comparison.pk).tasks[0]
    assert task.sides["BASELINE"].cost_per_success().words == "unknown"
    assert task.sides["CANDIDATE"].cost_per_success().words == "never"


@pytest.mark.parametrize("scenarios", [1, 12])
def test_the_number_of_queries_is_fixed(
    comparison: Comparison, scenarios: int, django_assert_num_queries: Any
) -> None:
    for number in range(scenarios):
        tried(comparison, f"s{number}", "PP", "PF")
    with django_assert_num_queries(4):
        comparison_statistics(comparison.pk)
    with django_assert_num_queries(3):
        comparison_statistics(comparison.pk, with_checks=False)


def test_another_comparison_is_not_looked_at(comparison: Comparison) -> None:
    tried(comparison, "a", "PP")
    other = factories.comparison(state="COMPLETED")
    tried(other, "b", "FF")
    assert [task.scenario for task in comparison_statistics(comparison.pk).tasks] == ["a"]
