"""The statistics of a comparison's trials, counted from stored rows by the database in a few queries.

Every pair that counts is in, a trial that was run again by its second run. Verdicts and statuses are those
that count now, after reviews. What the figures mean is `evaluations.grading.statistics`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db.models import Count, FilteredRelation, FloatField, Min, Q, QuerySet, Sum, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, NullIf

from evaluations.grading.statistics import (
    CostPerSuccess,
    PairedCounts,
    Significance,
    SuiteMean,
    TaskTrials,
    fisher_together,
    mcnemar_exact,
    paired_counts,
    success_cost,
    suite_mean,
    task_trials,
    unequal,
)
from evaluations.models import (
    CaseState,
    Comparison,
    ComparisonState,
    ExpectationResult,
    PairedCase,
    ResultStatus,
    Run,
    Side,
)

SIDES: tuple[str, ...] = tuple(side.value for side in Side)


@dataclass(frozen=True, slots=True)
class CostRates:
    """What a run costs beside its model, in US dollars: a tool call, and the minutes a person looks at it."""

    tool_call_usd: float = 0.0
    review_minutes: float = 0.0
    review_usd_per_hour: float = 0.0

    @property
    def review_usd(self) -> float:
        return self.review_minutes * self.review_usd_per_hour / 60


NO_RATES = CostRates()


def configured_rates() -> CostRates:
    """The rates of this installation."""
    return CostRates(
        settings.AGENTTWIN_TOOL_CALL_USD or 0.0,
        settings.AGENTTWIN_REVIEW_MINUTES or 0.0,
        settings.AGENTTWIN_REVIEW_USD_PER_HOUR or 0.0,
    )


@dataclass(frozen=True, slots=True)
class SideTrials:
    """One side of a task: its counts, and what its runs cost."""

    trials: TaskTrials
    # The sum over all runs; None where the cost of one is not known.
    model_usd: float | None
    tool_calls: int

    def cost_per_success(self, rates: CostRates = NO_RATES) -> CostPerSuccess:
        """The mean cost of a run, divided by the pass rate."""
        if self.model_usd is None or not self.trials.n:
            return success_cost(self.trials, None)
        total = self.model_usd + self.tool_calls * rates.tool_call_usd
        return success_cost(self.trials, total / self.trials.n + rates.review_usd)


@dataclass(frozen=True, slots=True)
class TaskStatistics:
    """One scenario. `sides` are those that the comparison has; `rerun` counts trials that were run again."""

    scenario: str
    scenario_version_id: int
    severity: str
    severity_rank: int
    class_rank: int
    position: int
    sides: Mapping[str, SideTrials]
    paired: PairedCounts
    rerun: int = 0

    def trials(self, side: str) -> TaskTrials | None:
        own = self.sides.get(side)
        return None if own is None else own.trials


@dataclass(frozen=True, slots=True)
class CheckStatistics:
    """One expectation of one scenario: (passed, failed) trials of both sides, and how many were not measured.

    `test` is Fisher's, raised for all the checks of the comparison; None where a side measured nothing.
    """

    scenario: str
    scenario_version_id: int
    expectation_id: str
    critical: bool
    baseline: tuple[int, int]
    candidate: tuple[int, int]
    unmeasured: int
    test: Significance | None

    @property
    def differs(self) -> bool:
        """Whether the rates differ at all."""
        (passed, failed), (then_passed, then_failed) = self.baseline, self.candidate
        return self.test is not None and passed * then_failed != failed * then_passed

    @property
    def is_worse(self) -> bool:
        """Whether the candidate fails this more often."""
        (passed, failed), (then_passed, then_failed) = self.baseline, self.candidate
        return self.test is not None and passed * then_failed > failed * then_passed


@dataclass(frozen=True, slots=True)
class ComparisonStatistics:
    """All tasks, worst class first, and what they come to. `checks` is empty where there are no two sides."""

    comparison_id: int
    sides: tuple[str, ...]
    tasks: tuple[TaskStatistics, ...]
    paired: PairedCounts
    mcnemar: Significance | None
    checks: tuple[CheckStatistics, ...] = ()
    unequal: tuple[str, ...] = ()

    def mean_pass_rate(self, side: str) -> SuiteMean:
        return suite_mean(trials.pass_rate for trials in self._trials(side))

    def mean_pass_at_k(self, side: str, k: int) -> SuiteMean:
        return suite_mean(trials.pass_at_k(k) for trials in self._trials(side))

    def mean_pass_hat_k(self, side: str, k: int) -> SuiteMean:
        return suite_mean(trials.pass_hat_k(k) for trials in self._trials(side))

    def all_trials(self, side: str) -> SideTrials:
        """The trials of all tasks together: for sums and costs, never for a rate of the suite."""
        own = [task.sides[side] for task in self.tasks if side in task.sides]
        costs = [one.model_usd for one in own]
        counts = [one.trials for one in own]
        return SideTrials(
            TaskTrials(sum(t.n for t in counts), sum(t.c for t in counts), sum(t.errored for t in counts)),
            None if None in costs else sum(cost for cost in costs if cost is not None),
            sum(one.tool_calls for one in own),
        )

    @property
    def rerun(self) -> int:
        return sum(task.rerun for task in self.tasks)

    @property
    def most_trials(self) -> int:
        return max((trials.n for side in self.sides for trials in self._trials(side)), default=0)

    def _trials(self, side: str) -> list[TaskTrials]:
        return [task.sides[side].trials for task in self.tasks if side in task.sides]


def comparison_statistics(comparison_id: int, *, with_checks: bool = True) -> ComparisonStatistics:
    """Everything about the trials of a comparison: four queries, three without the checks.

    While the comparison runs, trials that have not ended yet count as errored: ask when it has ended.
    """
    runs = dict(Run.objects.filter(comparison=comparison_id).values_list("side", "pk"))
    sides = tuple(side for side in SIDES if side in runs)
    tasks = _tasks(comparison_id, runs, sides)
    paired = _together(task.paired for task in tasks)
    both = len(sides) == len(SIDES)
    counts = {
        side: {task.scenario: task.sides[side].trials for task in tasks if side in task.sides}
        for side in SIDES
    }
    return ComparisonStatistics(
        comparison_id=comparison_id,
        sides=sides,
        tasks=tasks,
        paired=paired,
        mcnemar=mcnemar_exact(paired) if both else None,
        checks=_checks(comparison_id, runs, tasks) if with_checks and both else (),
        unequal=tuple(unequal(counts[Side.BASELINE], counts[Side.CANDIDATE])) if both else (),
    )


def has_ended(comparison: Comparison) -> bool:
    """Whether the statistics are those of a whole comparison."""
    return comparison.state not in (ComparisonState.QUEUED, ComparisonState.RUNNING)


# ------------------------------------------------------------------------------------------ tasks


@dataclass(slots=True)
class _Counting:
    """A task while its groups of equal outcomes are read."""

    row: dict[str, Any]
    pairs: Counter[tuple[str | None, str | None]] = field(default_factory=Counter)
    verdicts: dict[str, Counter[str | None]] = field(default_factory=dict)
    usd: Counter[str] = field(default_factory=Counter)
    usd_known: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)

    def add(self, row: dict[str, Any], sides: Sequence[str]) -> None:
        number = row["number"]
        ended = [_verdict(row, side) if side in sides else None for side in SIDES]
        self.pairs[ended[0], ended[1]] += number
        self.row["class_rank"] = min(self.row["class_rank"], row["class_rank"])
        for side, verdict in zip(SIDES, ended, strict=True):
            if side in sides:
                self.verdicts.setdefault(side, Counter())[verdict] += number
                self.usd[side] += row[f"{side}_usd"] or 0
                self.usd_known[side] += row[f"{side}_usd_known"]
                self.calls[side] += row[f"{side}_calls"] or 0

    def done(self, sides: Sequence[str], rerun: int) -> TaskStatistics:
        row = self.row
        return TaskStatistics(
            scenario=row["scenario_name"],
            scenario_version_id=row["scenario_version_id"],
            severity=row["severity"],
            severity_rank=row["severity_rank"],
            class_rank=row["class_rank"],
            position=row["first"],
            sides={side: self._side(side) for side in sides},
            paired=paired_counts(self.pairs.elements()) if len(sides) == len(SIDES) else PairedCounts(),
            rerun=rerun,
        )

    def _side(self, side: str) -> SideTrials:
        trials = task_trials(self.verdicts[side].elements())
        known = self.usd_known[side] == trials.n
        return SideTrials(trials, float(self.usd[side]) if known else None, self.calls[side])


def _tasks(comparison_id: int, runs: Mapping[str, int], sides: Sequence[str]) -> tuple[TaskStatistics, ...]:
    found: dict[int, _Counting] = {}
    for row in _groups(comparison_id, runs, sides):
        task = found.setdefault(row["scenario_version_id"], _Counting(row))
        task.row["first"] = min(task.row["first"], row["first"])
        task.add(row, sides)
    rerun = dict(
        PairedCase.objects.replaced()
        .filter(comparison=comparison_id)
        .order_by()
        .values_list("scenario_version_id")
        .annotate(number=Count("pk"))
    )
    tasks = [task.done(sides, rerun.get(version, 0)) for version, task in found.items()]
    return tuple(sorted(tasks, key=lambda task: (task.class_rank, task.severity_rank, task.position)))


def _groups(comparison_id: int, runs: Mapping[str, int], sides: Sequence[str]) -> Iterable[dict[str, Any]]:
    """Pairs of one scenario that ended alike on both sides, as one row with their number and costs."""
    pairs: QuerySet[Any] = PairedCase.objects.counted().filter(comparison=comparison_id).order_by()
    by = ["scenario_version_id", "scenario_name", "severity", "severity_rank"]
    sums: dict[str, Any] = {"number": Count("pk"), "first": Min("position"), "class_rank": Min("class_rank")}
    for side in sides:
        pairs = pairs.annotate(**{side: FilteredRelation("cases", condition=Q(cases__run=runs[side]))})
        # SQLite gives the text "null" for a JSON null, and would make 0 of it.
        text = NullIf(KeyTextTransform("cost_usd", f"{side}__metrics"), Value("null"))
        cost = Cast(text, FloatField())
        by += [f"{side}__state", f"{side}__effective_verdict"]
        sums[f"{side}_usd"] = Sum(cost)
        sums[f"{side}_usd_known"] = Count(cost)
        sums[f"{side}_calls"] = Sum(f"{side}__tool_call_count")
    return pairs.values(*by).annotate(**sums)


def _verdict(row: Mapping[str, Any], side: str) -> str | None:
    if row[f"{side}__state"] != CaseState.FINISHED:
        return None
    verdict: str | None = row[f"{side}__effective_verdict"]
    return verdict


def _together(counts: Iterable[PairedCounts]) -> PairedCounts:
    all_counts = list(counts)
    return PairedCounts(
        *(
            sum(getattr(one, name) for one in all_counts)
            for name in ("both_pass", "both_fail", "only_baseline", "only_candidate", "without_evidence")
        )
    )


# ----------------------------------------------------------------------------------------- checks


def _checks(
    comparison_id: int, runs: Mapping[str, int], tasks: Sequence[TaskStatistics]
) -> tuple[CheckStatistics, ...]:
    replaced = PairedCase.objects.replaced().filter(comparison=comparison_id)
    rows = (
        ExpectationResult.objects.filter(case__run__in=list(runs.values()))
        .exclude(case__pair__in=replaced.values("pk"))
        .order_by()
        .values_list(
            "case__pair__scenario_version_id",
            "expectation_id",
            "critical",
            "case__run_id",
            "effective_status",
        )
        .annotate(number=Count("pk"))
    )
    found: dict[tuple[int, str], Counter[tuple[int, str]]] = {}
    critical: set[tuple[int, str]] = set()
    for version, name, is_critical, run, status, number in rows:
        found.setdefault((version, name), Counter())[run, status] += number
        if is_critical:
            critical.add((version, name))
    names = {task.scenario_version_id: task.scenario for task in tasks}
    place = {task.scenario_version_id: at for at, task in enumerate(tasks)}
    keys = sorted((key for key in found if key[0] in place), key=lambda key: (place[key[0]], key[1]))
    measured = [
        (_measured(found[key], runs[Side.BASELINE]), _measured(found[key], runs[Side.CANDIDATE]))
        for key in keys
    ]
    tests = fisher_together(measured)
    return tuple(
        CheckStatistics(
            scenario=names[key[0]],
            scenario_version_id=key[0],
            expectation_id=key[1],
            critical=key in critical,
            baseline=before,
            candidate=after,
            unmeasured=sum(found[key].values()) - sum(before) - sum(after),
            test=test,
        )
        for key, (before, after), test in zip(keys, measured, tests, strict=True)
    )


def _measured(counts: Counter[tuple[int, str]], run: int) -> tuple[int, int]:
    return counts[run, ResultStatus.PASS.value], counts[run, ResultStatus.FAIL.value]
