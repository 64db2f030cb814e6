"""What repeated trials say: rates and how uncertain they are, pass@k, pass^k, whether a difference is noise.

Everything starts from counts of one task on one side. `n` counts every trial, errored ones too: a trial that
could not be graded is no success and stays in the denominator, and it has a column of its own besides. Where
nothing was graded there is no figure at all (None, "not available"), which is neither 0 nor 1.

The tests of significance are SciPy's, imported when the first one is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, sqrt
from statistics import NormalDist, fmean

from evaluations.grading.verdicts import FAILED, PASSED
from evaluations.grading.wording import listed, plural

CONFIDENCE = 0.95
#: A difference is called significant below this. Stricter than the usual 0.05, because a team compares many
#: times a week: at 0.05 a version against itself would be called a regression in one of forty comparisons.
SIGNIFICANT = 0.01
NOT_AVAILABLE = "not available"
COULD_BE_NOISE = "could be noise"
UNLIKELY_NOISE = "unlikely to be noise"

KNOWN, UNKNOWN, NEVER = "known", "unknown", "never"


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends of a range of rates."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class TaskTrials:
    """The trials of one task on one side: `n` in all, `c` that passed, `errored` that could not be graded."""

    n: int
    c: int
    errored: int = 0

    def __post_init__(self) -> None:
        if self.c < 0 or self.errored < 0 or self.c + self.errored > self.n:
            raise ValueError(f"{self.c} passed and {self.errored} errored of {self.n} trials cannot be")

    @property
    def failed(self) -> int:
        return self.n - self.c - self.errored

    @property
    def graded(self) -> int:
        return self.n - self.errored

    @property
    def pass_rate(self) -> float | None:
        """Passed trials over all trials; None where none was graded."""
        return self.c / self.n if self.graded else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's interval around the pass rate; None where none was graded."""
        return wilson(self.n, self.c) if self.graded else None

    def pass_at_k(self, k: int) -> float | None:
        return pass_at_k(self.n, self.c, k) if self.graded else None

    def pass_hat_k(self, k: int) -> float | None:
        return pass_hat_k(self.n, self.c, k) if self.graded else None


def task_trials(verdicts: Iterable[str | None]) -> TaskTrials:
    """The counts of one side's verdicts; anything but PASSED and FAILED (None: never finished) is errored."""
    known = list(verdicts)
    passed, failed = known.count(PASSED), known.count(FAILED)
    return TaskTrials(len(known), passed, len(known) - passed - failed)


def wilson(n: int, c: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Wilson's score interval of a rate of c in n, exactly 0 at c = 0 and 1 at c = n; None of no trials."""
    _checked(n, c)
    if n == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate, square = c / n, z * z / n
    middle = (rate + square / 2) / (1 + square)
    half = z / (1 + square) * sqrt(rate * (1 - rate) / n + square / (4 * n))
    return Interval(0.0 if c == 0 else max(0.0, middle - half), 1.0 if c == n else min(1.0, middle + half))


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that at least one of k trials passes, drawn from these n without putting back.

    1 - C(n-c, k) / C(n, k); None where k is larger than n.
    """
    _checked(n, c, k)
    if k > n:
        return None
    draws = comb(n, k)
    return (draws - comb(n - c, k)) / draws


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """pass^k, the chance that all of k trials pass: C(c, k) / C(n, k); None where k is larger than n."""
    _checked(n, c, k)
    return None if k > n else comb(c, k) / comb(n, k)


@dataclass(frozen=True, slots=True)
class SuiteMean:
    """The mean of a figure over the tasks of a suite, `available` of which have it.

    No value unless every task has one: a mean over those that could be measured would hide the others.
    """

    value: float | None
    tasks: int
    available: int

    @property
    def complete(self) -> bool:
        return self.value is not None


def suite_mean(figures: Iterable[float | None]) -> SuiteMean:
    """The mean over tasks, each counting once however many trials it has."""
    tasks = list(figures)
    known = [figure for figure in tasks if figure is not None]
    value = fmean(known) if known and len(known) == len(tasks) else None
    return SuiteMean(value, len(tasks), len(known))


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """How the same cases ended on both sides; those without evidence on both are told apart, not compared."""

    both_pass: int = 0
    both_fail: int = 0
    only_baseline: int = 0
    only_candidate: int = 0
    without_evidence: int = 0

    @property
    def compared(self) -> int:
        return self.both_pass + self.both_fail + self.only_baseline + self.only_candidate


def paired_counts(pairs: Iterable[tuple[str | None, str | None]]) -> PairedCounts:
    """Counts of pairs of (baseline verdict, candidate verdict); only PASSED and FAILED are evidence."""
    counts: dict[tuple[str | None, str | None], int] = {
        (PASSED, PASSED): 0,
        (FAILED, FAILED): 0,
        (PASSED, FAILED): 0,
        (FAILED, PASSED): 0,
    }
    without = 0
    for pair in pairs:
        if pair in counts:
            counts[pair] += 1
        else:
            without += 1
    return PairedCounts(
        both_pass=counts[PASSED, PASSED],
        both_fail=counts[FAILED, FAILED],
        only_baseline=counts[PASSED, FAILED],
        only_candidate=counts[FAILED, PASSED],
        without_evidence=without,
    )


@dataclass(frozen=True, slots=True)
class Significance:
    """The p-value of a difference: how often chance alone would show one at least as large.

    Where it is one of several tests made together, `adjusted` is its p-value raised for that, and decides;
    `among` counts them.
    """

    p_value: float
    adjusted: float | None = None
    among: int = 1

    @property
    def deciding(self) -> float:
        return self.p_value if self.adjusted is None else self.adjusted

    @property
    def significant(self) -> bool:
        return self.deciding < SIGNIFICANT

    @property
    def words(self) -> str:
        """`p = 0.34, could be noise`."""
        words = UNLIKELY_NOISE if self.significant else COULD_BE_NOISE
        if self.significant != (self.p_value < SIGNIFICANT):
            words = f"{words} among {plural(self.among, 'test')}"
        return f"{p_words(self.p_value)}, {words}"


def mcnemar_exact(counts: PairedCounts) -> Significance | None:
    """McNemar's exact test, two-sided: whether one side wins more of the cases on which the sides disagree.

    None where no case could be compared; cases on which both agree say nothing about a difference.
    """
    if not counts.compared:
        return None
    return Significance(_binomial(counts.only_baseline, counts.only_baseline + counts.only_candidate))


def fisher_exact(baseline: tuple[int, int], candidate: tuple[int, int]) -> Significance | None:
    """Fisher's exact test, two-sided, of (passed, failed) on each side; None where a side has no evidence."""
    if min(*baseline, *candidate) < 0:
        raise ValueError(f"counts cannot be negative: {baseline} {candidate}")
    if not sum(baseline) or not sum(candidate):
        return None
    return Significance(_fisher(*baseline, *candidate))


def adjusted(tests: Sequence[Significance | None]) -> list[Significance | None]:
    """Tests made together, each with its p-value raised by Holm's method for there being several.

    Twenty checks that did not change would show a "significant" one now and then; after this they do so no
    more often than a single test. None stays None and counts as no test.
    """
    order = sorted((test.p_value, at) for at, test in enumerate(tests) if test is not None)
    raised: list[Significance | None] = [None] * len(tests)
    highest = 0.0
    for rank, (p_value, at) in enumerate(order):
        highest = max(highest, min(1.0, p_value * (len(order) - rank)))
        raised[at] = Significance(p_value, highest, len(order))
    return raised


Table = tuple[tuple[int, int], tuple[int, int]]
"""(passed, failed) of the baseline, and of the candidate."""


def fisher_together(tables: Sequence[Table]) -> list[Significance | None]:
    """Fisher's tests of many checks made together, by Holm's method over those that could differ at all.

    A check that only ever passed, or only ever failed, leaves one way to fill its table: p is 1 whatever the
    versions do, and it costs the others nothing.
    """
    tests = [fisher_exact(*table) for table in tables]
    could_differ = [bool(b[0] + c[0]) and bool(b[1] + c[1]) for b, c in tables]
    raised = adjusted([test if able else None for test, able in zip(tests, could_differ, strict=True)])
    return [high if able else test for high, test, able in zip(raised, tests, could_differ, strict=True)]


def unequal(baseline: Mapping[str, TaskTrials], candidate: Mapping[str, TaskTrials]) -> list[str]:
    """In sentences, where the two sides do not stand on the same tasks and numbers of graded trials."""
    said = []
    for side, own, other in (("baseline", baseline, candidate), ("candidate", candidate, baseline)):
        if alone := [name for name in own if name not in other]:
            said.append(f"Only the {side} has {plural(len(alone), 'task')}: {listed(alone)}.")
    shared = [name for name in baseline if name in candidate]
    if planned := [name for name in shared if baseline[name].n != candidate[name].n]:
        said.append(f"The sides have different numbers of trials of {listed(planned)}.")
    graded = [name for name in shared if baseline[name].graded != candidate[name].graded]
    if graded := [name for name in graded if name not in planned]:
        said.append(
            f"Errored trials leave the sides with different numbers of graded ones of {listed(graded)}."
        )
    return said


@dataclass(frozen=True, slots=True)
class CostPerSuccess:
    """What one successful task costs in US dollars; `usd` only where `state` is known."""

    state: str
    usd: float | None = None

    @property
    def words(self) -> str:
        return self.state if self.usd is None else f"{self.usd:.4f} USD"


def cost_per_success(trials: TaskTrials, costs: Sequence[float | None]) -> CostPerSuccess:
    """The mean cost of a run divided by the pass rate.

    `costs` has one entry per trial, None where it is not known. "never" where nothing passes, whatever it
    costs; "unknown" where a cost is, or where no trial was graded.
    """
    if len(costs) != trials.n:
        raise ValueError(f"{trials.n} trials need as many costs, not {len(costs)}")
    known = [cost for cost in costs if cost is not None]
    return success_cost(trials, fmean(known) if known and len(known) == len(costs) else None)


def success_cost(trials: TaskTrials, mean_cost: float | None) -> CostPerSuccess:
    """`cost_per_success` from the mean cost of a run; None where a cost is not known."""
    rate = trials.pass_rate
    if rate is None:
        return CostPerSuccess(UNKNOWN)
    if not rate:
        return CostPerSuccess(NEVER)
    return CostPerSuccess(UNKNOWN) if mean_cost is None else CostPerSuccess(KNOWN, mean_cost / rate)


def rate_words(figure: float | None) -> str:
    """`29%`; 0% and 100% only where it is exactly that, `not available` where there is no figure."""
    if figure is None:
        return NOT_AVAILABLE
    percent = figure * 100
    whole = round(percent)
    if whole == 100 and figure < 1:
        return f"{min(percent, 99.9):.1f}%" if percent <= 99.9 else ">99.9%"
    if whole == 0 and figure > 0:
        return f"{percent:.1f}%" if percent >= 0.1 else "<0.1%"
    return f"{whole}%"


def p_words(p_value: float) -> str:
    """`p = 0.34`, `p = 0.004`, `p < 0.001`; never rounded across the bar of significance."""
    if p_value < 0.001:
        return "p < 0.001"
    for digits in (2, 3, 4, 6):
        text = f"{p_value:.{digits}f}"
        if (float(text) < SIGNIFICANT) == (p_value < SIGNIFICANT) and float(text) > 0:
            return f"p = {text}"
    return f"p = {p_value}"


def _checked(n: int, c: int, k: int = 1) -> None:
    if not 0 <= c <= n:
        raise ValueError(f"{c} of {n} trials cannot have passed")
    if k < 1:
        raise ValueError(f"k counts from 1, not {k}")


@lru_cache(maxsize=4096)
def _binomial(one: int, both: int) -> float:
    if both == 0:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(one, both, 0.5).pvalue)


@lru_cache(maxsize=4096)
def _fisher(passed: int, failed: int, then_passed: int, then_failed: int) -> float:
    # A column or an equal rate leaves nothing to test; most expectations of a suite end here.
    if passed * then_failed == failed * then_passed:
        return 1.0
    from scipy.stats import fisher_exact as exact

    return min(1.0, float(exact([[passed, failed], [then_passed, then_failed]])[1]))
