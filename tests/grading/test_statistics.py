"""The statistics of repeated trials, held against enumeration, SciPy and statsmodels."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import combinations
from math import comb
from random import Random

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from evaluations.grading.statistics import (
    CostPerSuccess,
    Interval,
    PairedCounts,
    Significance,
    TaskTrials,
    adjusted,
    cost_per_success,
    fisher_exact,
    fisher_together,
    mcnemar_exact,
    p_words,
    paired_counts,
    pass_at_k,
    pass_hat_k,
    rate_words,
    suite_mean,
    task_trials,
    unequal,
    wilson,
)

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
SMALL = st.integers(0, 12)


# pass@k and pass^k ------------------------------------------------------------------------------------


def drawn(n: int, c: int, k: int) -> tuple[Fraction, Fraction]:
    """By looking at every way to draw k of n trials: how many hold a pass, how many are all passes."""
    draws = list(combinations([True] * c + [False] * (n - c), k))
    return Fraction(sum(map(any, draws)), len(draws)), Fraction(sum(map(all, draws)), len(draws))


@pytest.mark.parametrize(("n", "c"), [(n, c) for n in range(1, 8) for c in range(n + 1)])
def test_both_figures_are_those_of_drawing_without_putting_back(n: int, c: int) -> None:
    for k in range(1, n + 1):
        one, every = drawn(n, c, k)
        assert pass_at_k(n, c, k) == pytest.approx(float(one), abs=1e-15)
        assert pass_hat_k(n, c, k) == pytest.approx(float(every), abs=1e-15)


@pytest.mark.parametrize(
    ("n", "c", "k", "one", "every"),
    [
        (10, 7, 3, 0.99, 0.29),
        # Not (3/4)^2 = 0.5625: trials are drawn without putting back.
        (4, 3, 2, 1.0, 0.5),
        (4, 1, 2, 0.5, 0.0),
        (5, 5, 5, 1.0, 1.0),
        (5, 0, 5, 0.0, 0.0),
        (5, 4, 5, 1.0, 0.0),
    ],
)
def test_known_figures(n: int, c: int, k: int, one: float, every: float) -> None:
    assert (round(pass_at_k(n, c, k), 2), round(pass_hat_k(n, c, k), 2)) == (one, every)


@pytest.mark.parametrize("c", [0, 3])
def test_k_larger_than_n_is_neither_0_nor_1(c: int) -> None:
    assert pass_at_k(3, c, 5) is pass_hat_k(3, c, 5) is None
    assert pass_at_k(3, c, 4) is pass_hat_k(3, c, 4) is None
    assert pass_at_k(3, c, 3) is not None
    assert pass_hat_k(3, c, 3) is not None


@given(COUNTS, st.integers(1, 60))
def test_more_tries_help_the_one_and_hurt_the_other(counts: tuple[int, int], k: int) -> None:
    n, c = counts
    if k >= n:
        return
    assert 0 <= pass_at_k(n, c, k) <= pass_at_k(n, c, k + 1) <= 1
    assert 1 >= pass_hat_k(n, c, k) >= pass_hat_k(n, c, k + 1) >= 0
    assert pass_hat_k(n, c, k) <= c / n <= pass_at_k(n, c, k) or k == 1
    assert pass_at_k(n, c, 1) == pytest.approx(c / n) == pass_hat_k(n, c, 1)
    # At least one fails: the complement on the failed trials.
    assert pass_hat_k(n, c, k) == pytest.approx(1 - pass_at_k(n, n - c, k), abs=1e-12)


def test_large_counts_stay_exact() -> None:
    n, k = 5000, 2500
    assert pass_hat_k(n, n - 1, k) == 0.5
    assert pass_at_k(n, 1, k) == 0.5


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (-1, 0, 1), (3, 1, 0), (3, 1, -2)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    for figure in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError):  # noqa: PT011 - both kinds of message
            figure(n, c, k)


# A task's trials ----------------------------------------------------------------------------------------


def test_an_errored_trial_stays_in_the_denominator_and_in_its_own_column() -> None:
    trials = task_trials(["PASSED", "ERRORED", None, "FAILED"])
    assert trials == TaskTrials(4, 1, 2)
    assert (trials.failed, trials.graded, trials.pass_rate) == (1, 2, 0.25)


def test_one_lucky_survivor_is_not_all_and_errors_alone_are_no_figure() -> None:
    # TRAPS 1: one pass and three errors; four errors.
    lucky, lost = task_trials(["PASSED", *["ERRORED"] * 3]), task_trials(["ERRORED"] * 4)
    assert lucky.pass_rate == lucky.pass_hat_k(1) == 0.25
    assert lucky.pass_hat_k(2) == 0.0
    assert lost == TaskTrials(4, 0, 4)
    assert {lost.pass_rate, lost.interval, lost.pass_at_k(1), lost.pass_hat_k(1)} == {None}
    mean = suite_mean([lucky.pass_rate, lost.pass_rate])
    assert (mean.value, mean.available, mean.tasks, mean.complete) == (None, 1, 2, False)


def test_no_trials_have_no_figures() -> None:
    none = task_trials([])
    assert {none.pass_rate, none.interval, none.pass_at_k(1), none.pass_hat_k(1)} == {None}


@pytest.mark.parametrize("counts", [(3, 4, 0), (3, 2, 2), (3, -1, 0), (3, 0, -1)])
def test_counts_that_do_not_add_up_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        TaskTrials(*counts)


def test_the_mean_counts_every_task_once_and_hides_none() -> None:
    # TRAPS 4: 28 tasks at 1.0 and 3 at 0.25: the mean is 0.927, and the list still shows three that failed.
    mean = suite_mean([1.0] * 28 + [0.25] * 3)
    assert round(mean.value, 3) == 0.927
    assert (mean.tasks, mean.available) == (31, 31)
    assert suite_mean([]).value is None


# Wilson -------------------------------------------------------------------------------------------------


@given(COUNTS, st.sampled_from([0.8, 0.95, 0.99]))
def test_the_interval_is_that_of_statsmodels(counts: tuple[int, int], confidence: float) -> None:
    n, c = counts
    low, high = proportion_confint(c, n, alpha=1 - confidence, method="wilson")
    found = wilson(n, c, confidence)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert 0 <= found.low <= c / n <= found.high <= 1


def test_an_interval_at_the_ends_reaches_them_exactly_and_of_nothing_there_is_none() -> None:
    assert wilson(7, 0).low == 0.0
    assert wilson(7, 7).high == 1.0
    assert wilson(7, 0).high > 0.3
    assert wilson(0, 0) is None


def test_ten_trials_leave_a_wide_interval() -> None:
    found = TaskTrials(10, 7).interval
    assert found == Interval(pytest.approx(0.3968, abs=1e-4), pytest.approx(0.8922, abs=1e-4))


# Tests of significance ------------------------------------------------------------------------------------


def test_pairs_are_counted_by_how_both_sides_ended() -> None:
    counts = paired_counts(
        [
            ("PASSED", "PASSED"),
            ("FAILED", "FAILED"),
            ("PASSED", "FAILED"),
            ("PASSED", "FAILED"),
            ("FAILED", "PASSED"),
            ("ERRORED", "PASSED"),
            (None, None),
            ("FAILED", None),
        ]
    )
    assert counts == PairedCounts(1, 1, 2, 1, 3)
    assert counts.compared == 5


def test_a_fixed_case_does_not_cancel_a_broken_one() -> None:
    # TRAPS 5: equal rates, and still one case that only the baseline passes.
    counts = paired_counts([("PASSED", "FAILED"), ("FAILED", "PASSED")])
    assert (counts.only_baseline, counts.only_candidate) == (1, 1)


@given(SMALL, SMALL, SMALL, SMALL)
def test_mcnemar_is_that_of_statsmodels(both: int, neither: int, only_one: int, only_other: int) -> None:
    found = mcnemar_exact(PairedCounts(both, neither, only_one, only_other))
    if not both + neither + only_one + only_other:
        assert found is None
        return
    expected = mcnemar([[both, only_one], [only_other, neither]], exact=True).pvalue
    assert found.p_value == pytest.approx(min(1.0, expected), abs=1e-12)


@pytest.mark.parametrize(("one", "other"), [(0, 5), (2, 7), (4, 4), (10, 0)])
def test_mcnemar_is_the_share_of_coin_tosses_at_least_as_uneven(one: int, other: int) -> None:
    tosses = one + other
    extreme = [heads for heads in range(tosses + 1) if abs(2 * heads - tosses) >= abs(one - other)]
    found = mcnemar_exact(PairedCounts(3, 3, one, other))
    assert found.p_value == pytest.approx(sum(comb(tosses, heads) for heads in extreme) / 2**tosses)


@given(SMALL, SMALL, SMALL, SMALL)
def test_fisher_is_that_of_scipy(passed: int, failed: int, then_passed: int, then_failed: int) -> None:
    found = fisher_exact((passed, failed), (then_passed, then_failed))
    if not passed + failed or not then_passed + then_failed:
        assert found is None
        return
    expected = scipy.stats.fisher_exact([[passed, failed], [then_passed, then_failed]]).pvalue
    assert found.p_value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("before", "after"), [((5, 1), (1, 5)), ((3, 2), (0, 4)), ((6, 0), (6, 0))])
def test_fisher_is_the_share_of_relabellings_at_least_as_unlikely(
    before: tuple[int, int], after: tuple[int, int]
) -> None:
    passes, size, total = before[0] + after[0], sum(before), sum(before) + sum(after)
    ways = {k: comb(passes, k) * comb(total - passes, size - k) for k in range(min(passes, size) + 1)}
    extreme = sum(way for way in ways.values() if way <= ways[before[0]])
    assert fisher_exact(before, after).p_value == pytest.approx(extreme / comb(total, size))


def test_fisher_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="negative"):
        fisher_exact((3, -1), (1, 1))


def closed(p_values: list[float], at: int) -> float:
    """Holm by what it stands for: the worst Bonferroni test over every group of tests that holds this one."""
    others = [other for other in range(len(p_values)) if other != at]
    groups = [(at, *group) for size in range(len(p_values)) for group in combinations(others, size)]
    return max(min(1.0, len(group) * min(p_values[one] for one in group)) for group in groups)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_tests_made_together_are_raised_by_holms_method(p_values: list[float]) -> None:
    together = adjusted([Significance(p) for p in p_values])
    assert [(test.p_value, test.among) for test in together] == [(p, len(p_values)) for p in p_values]
    found = [test.adjusted for test in together]
    assert found == pytest.approx([closed(p_values, at) for at in range(len(p_values))], abs=1e-12)


def test_what_could_not_be_tested_counts_as_no_test() -> None:
    assert adjusted([None, Significance(0.004), None]) == [None, Significance(0.004, 0.004, 1), None]
    assert adjusted([]) == []


def test_a_difference_says_whether_it_could_be_noise() -> None:
    assert Significance(0.34).words == "p = 0.34, could be noise"
    assert Significance(0.03).words == "p = 0.03, could be noise"
    assert Significance(0.0004).words == "p < 0.001, unlikely to be noise"
    # What decides is the p-value raised for all the tests; what is told is the test's own.
    assert Significance(0.004, 0.08, 20).words == "p = 0.004, could be noise among 20 tests"
    assert Significance(0.0001, 0.002, 20).words == "p < 0.001, unlikely to be noise"
    # Never rounded across the bar.
    assert Significance(0.0099).words == "p = 0.0099, unlikely to be noise"
    assert Significance(0.0102).words == "p = 0.01, could be noise"


@given(st.floats(0, 1))
def test_a_p_value_in_words_is_on_its_own_side_of_the_bar(p_value: float) -> None:
    words = p_words(p_value)
    shown = 0.0 if words == "p < 0.001" else float(words.removeprefix("p = "))
    assert (shown < 0.01) == (p_value < 0.01)


def test_a_coin_against_itself_is_not_called_a_regression() -> None:
    # Ten rounds of one version against itself, each with ten trials of six tasks and two checks a task.
    coin = Random(6)
    for _ in range(10):
        toss = [["PASSED" if coin.random() < 0.5 else "FAILED" for _ in range(10)] for _ in range(12)]
        again = [["PASSED" if coin.random() < 0.5 else "FAILED" for _ in range(10)] for _ in range(12)]
        pairs = [
            pair for one, other in zip(toss, again, strict=True) for pair in zip(one, other, strict=True)
        ]
        assert not mcnemar_exact(paired_counts(pairs)).significant
        checks = [
            fisher_exact(
                (one.count("PASSED"), one.count("FAILED")), (other.count("PASSED"), other.count("FAILED"))
            )
            for one, other in zip(toss, again, strict=True)
        ]
        assert not any(test.significant for test in adjusted(checks))


def test_checks_that_never_fail_cost_the_others_nothing() -> None:
    flipped = ((10, 0), (0, 10))
    alone = fisher_exact(*flipped)
    assert fisher_together([flipped, *[((10, 0), (10, 0))] * 5000])[0].deciding == alone.p_value
    assert fisher_together([((10, 0), (10, 0)), ((0, 3), (0, 2))]) == [Significance(1.0)] * 2
    # Those that could differ do count.
    assert fisher_together([flipped, ((9, 1), (9, 1))])[0].deciding == pytest.approx(2 * alone.p_value)
    missing, found = fisher_together([((0, 0), (10, 0)), flipped])
    assert (missing, found.p_value) == (None, alone.p_value)


def test_a_real_difference_is_found() -> None:
    assert mcnemar_exact(PairedCounts(only_baseline=8)).significant
    assert fisher_exact((10, 0), (2, 8)).significant


# Both sides on the same evidence --------------------------------------------------------------------------


def test_equal_evidence_is_not_mentioned() -> None:
    assert unequal({"a": TaskTrials(3, 1)}, {"a": TaskTrials(3, 3)}) == []


def test_unequal_evidence_is_said() -> None:
    baseline = {"a": TaskTrials(3, 3), "b": TaskTrials(3, 3), "c": TaskTrials(2, 1, 1), "d": TaskTrials(1, 1)}
    candidate = {"a": TaskTrials(5, 3), "b": TaskTrials(3, 3), "c": TaskTrials(2, 2), "e": TaskTrials(1, 1)}
    assert unequal(baseline, candidate) == [
        "Only the baseline has 1 task: d.",
        "Only the candidate has 1 task: e.",
        "The sides have different numbers of trials of a.",
        "Errored trials leave the sides with different numbers of graded ones of c.",
    ]


# Cost -----------------------------------------------------------------------------------------------------


def test_failed_runs_are_paid_by_the_successful_ones() -> None:
    cost = cost_per_success(TaskTrials(4, 2), [0.01, 0.02, 0.03, 0.04])
    assert cost == CostPerSuccess("known", pytest.approx(0.05))
    assert cost.words == "0.0500 USD"


def test_an_unknown_cost_is_unknown_and_not_nothing() -> None:
    assert cost_per_success(TaskTrials(2, 1), [0.0, None]).words == "unknown"
    assert cost_per_success(TaskTrials(2, 2), [0.0, 0.0]).usd == 0.0


def test_where_nothing_passes_there_is_no_success_to_pay_for() -> None:
    assert cost_per_success(TaskTrials(2, 0), [0.1, None]).words == "never"
    # Errors alone prove nothing, not even that.
    assert cost_per_success(TaskTrials(2, 0, 2), [0.1, 0.1]).words == "unknown"
    assert cost_per_success(TaskTrials(0, 0), []).words == "unknown"


def test_every_trial_needs_an_entry() -> None:
    with pytest.raises(ValueError, match="as many costs"):
        cost_per_success(TaskTrials(3, 1), [0.1])


# Words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (None, "not available"),
        (0.0, "0%"),
        (1.0, "100%"),
        (119 / 120, "99%"),
        (35 / 120, "29%"),
        (0.997, "99.7%"),
        (0.99999, ">99.9%"),
        (0.004, "0.4%"),
        (0.0001, "<0.1%"),
    ],
)
def test_a_rate_is_0_or_100_percent_only_where_it_is(figure: float | None, words: str) -> None:
    assert rate_words(figure) == words


def test_scipy_is_imported_only_for_a_test_of_significance() -> None:
    code = (
        "import sys\n"
        "from evaluations.grading.statistics import PairedCounts, TaskTrials, mcnemar_exact\n"
        "TaskTrials(10, 7).pass_hat_k(3), TaskTrials(10, 7).interval\n"
        "mcnemar_exact(PairedCounts(both_pass=4))\n"
        "print('scipy' in sys.modules)\n"
        "mcnemar_exact(PairedCounts(only_baseline=4))\n"
        "print('scipy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nTrue\n"
