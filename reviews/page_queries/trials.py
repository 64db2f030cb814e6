"""All trials of a case's scenario on its page: a cell per trial and side, how often each check failed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count

from evaluations.grading.statistics import TaskTrials, rate_words, task_trials
from evaluations.models import Case, CaseState, ExpectationResult, PairedCase, ResultStatus, Side, Verdict
from evaluations.page_queries import case_path, has_trials
from evaluations.services.rerunning import rerun_refusal
from reviews.page_queries.cases import CaseAddress, PairPage

# Cells of a side on one page; beyond, the page has the hundred in which its own trial is.
CELLS = 100
_STEPS = "case-steps"
_SIGNS = {Verdict.PASSED: "✓", Verdict.FAILED: "✕", Verdict.ERRORED: "!"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One trial of one side. `verdict` is empty while it has none."""

    trial: int
    verdict: str
    href: str
    is_this: bool
    rerun: bool

    @property
    def sign(self) -> str:
        return _SIGNS.get(Verdict(self.verdict), "…") if self.verdict else "…"

    @property
    def words(self) -> str:
        again = ", run again" if self.rerun else ""
        return f"trial {self.trial}, {self.verdict.lower() or 'not yet'}{again}"


@dataclass(frozen=True, slots=True)
class SideTrials:
    name: str
    version: str
    trials: TaskTrials
    cells: tuple[Cell, ...]

    @property
    def words(self) -> str:
        """`7 of 10 passed, 70% (40% to 89%)`."""
        interval = self.trials.interval
        counts = f"{self.trials.c} of {self.trials.n} passed"
        if interval is None:
            return counts
        between = f"{rate_words(interval.low)} to {rate_words(interval.high)}"
        return f"{counts}: {rate_words(self.trials.pass_rate)} ({between})"


@dataclass(frozen=True, slots=True)
class FailureCount:
    """How often a check failed, of the trials that measured it; None where there is no such side."""

    expectation_id: str
    critical: bool
    baseline: tuple[int, int] | None
    candidate: tuple[int, int]
    unmeasured: int

    @property
    def is_worse(self) -> bool:
        if self.baseline is None:
            return False
        (failed, of), (then_failed, then_of) = self.baseline, self.candidate
        return failed * then_of < then_failed * of


@dataclass(frozen=True, slots=True)
class TrialGrid:
    """What the page shows of all trials; `first` and `last` say which cells are here.

    `earlier_href` and `later_href` lead to more cells, `previous_href` and `next_href` to the trials beside.
    """

    sides: tuple[SideTrials, ...]
    failing: tuple[FailureCount, ...]
    checks: int
    count: int
    first: int
    last: int
    earlier_href: str
    later_href: str
    previous_href: str
    next_href: str

    @property
    def never_failing(self) -> int:
        return self.checks - len(self.failing)


@dataclass(frozen=True, slots=True)
class Standing:
    """Which run of its trial the page shows, where the other one is, and whether it may be run again."""

    is_replaced: bool
    is_rerun: bool
    other_href: str
    may_rerun: bool


def standing_of(page: PairPage) -> Standing:
    """No query: everything is loaded."""
    pair, address = page.pair, page.address
    other = ""
    if pair.replaced or pair.rerun_of_id is not None:
        other = case_path(
            address.comparison_id, address.scenario, address.trial, address.query, original=not pair.replaced
        )
    may = rerun_refusal(pair, list(page.cases.values()), page.comparison) is None
    return Standing(pair.replaced, pair.rerun_of_id is not None, other, may)


def trial_grid(page: PairPage) -> TrialGrid | None:
    """None in a comparison that tried everything once: no query then, else two."""
    if not has_trials(page.comparison):
        return None
    pair = page.pair
    rows = (
        Case.objects.filter(
            pair__comparison=pair.comparison_id,
            pair__scenario_version=pair.scenario_version_id,
            pair__replaced=False,
        )
        .order_by("pair__trial")
        .values_list("pair__trial", "pair__rerun_of", "run__side", "state", "effective_verdict")
    )
    by_side: dict[str, list[tuple[int, bool, str]]] = {}
    for trial, rerun_of, side, state, verdict in rows:
        ended = (verdict if state == CaseState.FINISHED else None) or ""
        by_side.setdefault(side, []).append((trial, rerun_of is not None, ended))
    count = max((len(found) for found in by_side.values()), default=0)
    if count < 2:
        return None
    start = (pair.trial - 1) // CELLS * CELLS
    sides = tuple(_side(page, name, by_side[name], start) for name in Side.values if name in by_side)
    failing, checks = _failures(pair, tuple(by_side))
    return TrialGrid(
        sides=sides,
        failing=failing,
        checks=checks,
        count=count,
        first=start + 1,
        last=min(start + CELLS, count),
        earlier_href=_at(page, start) if start else "",
        later_href=_at(page, start + CELLS + 1) if start + CELLS < count else "",
        previous_href=_at(page, pair.trial - 1) if pair.trial > 1 else "",
        next_href=_at(page, pair.trial + 1) if pair.trial < count else "",
    )


def _side(page: PairPage, name: str, found: list[tuple[int, bool, str]], start: int) -> SideTrials:
    cells = tuple(
        Cell(trial, verdict, _at(page, trial, _STEPS), trial == page.pair.trial, rerun)
        for trial, rerun, verdict in found[start : start + CELLS]
    )
    trials = task_trials(verdict or None for _, _, verdict in found)
    return SideTrials(name.lower(), page.sides[name].version, trials, cells)


def _at(page: PairPage, trial: int, fragment: str = "") -> str:
    address = page.address
    return CaseAddress(address.comparison_id, address.scenario, trial, address.query).href(fragment)


def _failures(pair: PairedCase, sides: tuple[str, ...]) -> tuple[tuple[FailureCount, ...], int]:
    """The checks that failed in any trial, those of the candidate first, and how many there are in all."""
    rows = (
        ExpectationResult.objects.filter(
            case__pair__comparison=pair.comparison_id,
            case__pair__scenario_version=pair.scenario_version_id,
            case__pair__replaced=False,
        )
        .order_by()
        .values_list("expectation_id", "critical", "case__run__side", "effective_status")
        .annotate(number=Count("pk"))
    )
    found: dict[str, Counter[tuple[str, str]]] = {}
    critical: set[str] = set()
    for name, is_critical, side, status, number in rows:
        found.setdefault(name, Counter())[side, status] += number
        if is_critical:
            critical.add(name)
    counts = [_count(name, name in critical, statuses, sides) for name, statuses in found.items()]
    failing = [one for one in counts if one.candidate[0] or (one.baseline and one.baseline[0])]
    failing.sort(key=lambda one: (-one.candidate[0], not one.critical, one.expectation_id))
    return tuple(failing), len(counts)


def _count(
    name: str, critical: bool, statuses: Counter[tuple[str, str]], sides: tuple[str, ...]
) -> FailureCount:
    measured = {
        side: (
            statuses[side, ResultStatus.FAIL],
            statuses[side, ResultStatus.FAIL] + statuses[side, ResultStatus.PASS],
        )
        for side in sides
    }
    return FailureCount(
        expectation_id=name,
        critical=critical,
        baseline=measured.get(Side.BASELINE),
        candidate=measured.get(Side.CANDIDATE, (0, 0)),
        unmeasured=sum(statuses.values()) - sum(of for _, of in measured.values()),
    )
