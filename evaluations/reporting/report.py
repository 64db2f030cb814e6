"""What a report of a comparison holds, read from stored rows in a fixed number of queries.

Every format is written from these values, so that no two of them can count differently.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from evaluations.grading.expectations.judged import SEMANTIC
from evaluations.grading.run_findings import is_judged
from evaluations.grading.wording import overridden_told
from evaluations.judges.interface import JudgeIdentity
from evaluations.models import (
    Case,
    CaseClass,
    Comparison,
    ExpectationResult,
    JudgeVerdict,
    PairedCase,
    Side,
)
from evaluations.page_queries.counts import never_compared
from evaluations.page_queries.judged import JudgeOfComparison, by_judge, judged_by
from evaluations.reporting.hidden import as_seen
from evaluations.services.statistics import ComparisonStatistics, comparison_statistics, has_ended
from scenarios.holdouts import EVERYTHING, Sight

# The order in which a summary counts them: worst first.
CLASSES = ("NEW_CRITICAL_FAILURE", "REGRESSED", "IMPROVED", "UNCHANGED", "INCOMPLETE")
# A release is held up by these: missing evidence is never a pass (FORMATS 7).
BLOCKING = frozenset({"NEW_CRITICAL_FAILURE", "REGRESSED", "INCOMPLETE"})


@dataclass(frozen=True, slots=True)
class ResultLine:
    """One expectation on one side, with its status as reviewers left it."""

    id: str
    type: str
    critical: bool
    status: str
    label: str | None
    reason: str
    measured: str
    # Who judged it, of an expectation for a judge.
    judge: JudgeIdentity | None = None

    @property
    def is_overridden(self) -> bool:
        """Whether a person decided that it counts as something else than what was measured."""
        return self.status != self.measured


@dataclass(frozen=True, slots=True)
class SideReport:
    """What one version did in a case; `verdict` None: it did not finish."""

    verdict: str | None
    tool_calls: int
    retries: int
    results: tuple[ResultLine, ...]
    final_state_digest: str | None
    # False where it has not ended, or broke before anything could be judged: its figures say nothing then.
    is_measured: bool = True

    def told(self, figure: int) -> str:
        """One of its figures for a reader; unknown is never 0."""
        return str(figure) if self.is_measured else "?"

    @property
    def overridden(self) -> list[ResultLine]:
        return [line for line in self.results if line.is_overridden]

    def result(self, result_id: str) -> ResultLine | None:
        return next((line for line in self.results if line.id == result_id), None)


@dataclass(frozen=True, slots=True)
class CaseReport:
    """One pair: `klass` is a class of FORMATS 4, INCOMPLETE also where nothing was compared.

    `baseline` None: the candidate was tried alone.
    """

    scenario: str
    trial: int
    severity: str
    severity_rank: int
    klass: str
    reason: str
    first_divergence: dict[str, Any] | None
    newly_failing: tuple[str, ...]
    baseline: SideReport | None
    candidate: SideReport
    # One of a holdout, for a reader who may not look into it: nothing but the class is true of it.
    is_hidden: bool = False

    def title(self, with_trials: bool) -> str:
        return f"{self.scenario} (trial {self.trial})" if with_trials else self.scenario

    @property
    def overridden(self) -> int:
        """Results of both sides that a person made count as something else than what was measured."""
        return sum(len(side.overridden) for _, side in self.sides)

    @property
    def why(self) -> str:
        """The reason, and that people had a part in it."""
        return f"{self.reason}; {overridden_told(self.overridden)}" if self.overridden else self.reason

    @property
    def sides(self) -> list[tuple[str, SideReport]]:
        """The sides there are, by name."""
        both = [("baseline", self.baseline), ("candidate", self.candidate)]
        return [(name, side) for name, side in both if side is not None]


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """A comparison as its reports show it; `cases` in the order in which they were planned.

    `baseline` None: the candidate was tried alone, there is nothing to hold it against.
    """

    id: int
    agent: str
    baseline: str | None
    candidate: str
    baseline_label: str
    candidate_label: str
    seed: int
    state: str
    state_reason: str
    cases: tuple[CaseReport, ...]
    # Of a comparison that has ended, where scenarios were tried more than once.
    statistics: ComparisonStatistics | None = None
    # Who judged what needed a reader, and what that is worth; empty where nothing did.
    judges: tuple[JudgeOfComparison, ...] = ()
    # NAME@VERSION of the dataset whose cases these are, "" without one.
    dataset: str = ""
    # Where details are hidden: the cases as they are, for the totals alone.
    all_cases: tuple[CaseReport, ...] = ()

    @property
    def summary(self) -> dict[str, int]:
        counts = Counter(case.klass for case in self.cases)
        return {klass: counts[klass] for klass in CLASSES}

    @property
    def title(self) -> str:
        """`1.3.0 against 1.2.4`, `1.3.0 alone`."""
        return (
            f"{self.candidate} alone"
            if self.baseline is None
            else f"{self.candidate} against {self.baseline}"
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The honest labels of what answered, each once."""
        both = (
            (self.candidate_label,) if self.baseline is None else (self.baseline_label, self.candidate_label)
        )
        return tuple(dict.fromkeys(both))

    @property
    def tool_calls(self) -> dict[str, int | None]:
        return self._totals("tool_calls")

    @property
    def retries(self) -> dict[str, int | None]:
        return self._totals("retries")

    @property
    def with_trials(self) -> bool:
        """Whether any scenario was tried more than once, so that a name alone says too little."""
        return any(case.trial > 1 for case in self.cases)

    @property
    def blocks(self) -> bool:
        """Whether anything is new and bad, or missing."""
        return not self.cases or any(case.klass in BLOCKING for case in self.cases)

    def _totals(self, name: str) -> dict[str, int | None]:
        """By side; None for a baseline there is none of."""
        return {
            side: None
            if side == "baseline" and self.baseline is None
            else sum(getattr(getattr(case, side), name) for case in self.all_cases or self.cases)
            for side in ("baseline", "candidate")
        }


def load_report(comparison_id: int, sight: Sight = EVERYTHING) -> ComparisonReport:
    """Read a comparison for reporting, as `sight` has it: six queries, whatever its size; more for its
    trials and its judges.
    """
    comparison = Comparison.objects.with_names().get(pk=comparison_id)
    runs = {run.side: run for run in comparison.runs.all()}
    pairs: list[Any] = list(PairedCase.objects.counted().filter(comparison=comparison).order_by("position"))
    sides = _sides(Case.objects.counted_of(comparison.pk))
    missing = never_compared(comparison)
    has_trials = any(pair.trial > 1 for pair in pairs)
    dataset = comparison.dataset_version
    report = ComparisonReport(
        statistics=comparison_statistics(comparison.pk) if has_trials and has_ended(comparison) else None,
        judges=by_judge(judged_by([comparison.pk]).get(comparison.pk, ())),
        id=comparison.pk,
        agent=comparison.agent.name,
        baseline=comparison.baseline_version,
        candidate=comparison.candidate.version,
        baseline_label=runs[Side.BASELINE].model_kind if Side.BASELINE in runs else "",
        candidate_label=runs[Side.CANDIDATE].model_kind,
        seed=comparison.seed,
        state=comparison.state,
        state_reason=comparison.reason,
        dataset="" if dataset is None else str(dataset),
        cases=tuple(
            CaseReport(
                scenario=pair.scenario_name,
                trial=pair.trial,
                severity=pair.severity,
                severity_rank=pair.severity_rank,
                klass=pair.classification or CaseClass.INCOMPLETE.value,
                reason=pair.reason if pair.classification else missing,
                first_divergence=pair.first_divergence,
                newly_failing=tuple(pair.newly_failing),
                baseline=sides[pair.pk, runs[Side.BASELINE].pk] if Side.BASELINE in runs else None,
                candidate=sides[pair.pk, runs[Side.CANDIDATE].pk],
            )
            for pair in pairs
        ),
    )
    return as_seen(report, comparison, sight)


def _sides(cases: Any) -> dict[tuple[int, int], SideReport]:
    fields = (
        "pk",
        "pair_id",
        "run_id",
        "effective_verdict",
        "tool_call_count",
        "retry_count",
        "final_state_digest",
        "error_reason",
    )
    results = _results(ExpectationResult.objects.filter(case__in=cases.values("pk")))
    found = {}
    for pk, pair_id, run_id, verdict, tool_calls, retries, final_digest, error in cases.values_list(*fields):
        lines = tuple(results[pk])
        measured = verdict is not None and (
            not error or is_judged((line.type, line.measured) for line in lines)
        )
        found[pair_id, run_id] = SideReport(
            verdict, tool_calls, retries, lines, final_digest or None, measured
        )
    return found


def _results(rows: Any) -> defaultdict[int, list[ResultLine]]:
    fields = (
        "case_id",
        "expectation_id",
        "type",
        "critical",
        "effective_status",
        "label",
        "reason",
        "status",
    )
    found: defaultdict[int, list[ResultLine]] = defaultdict(list)
    values: Iterable[Any] = rows.order_by("case_id", "position").values_list(*fields)
    for case_id, *line in values:
        found[case_id].append(ResultLine(*line))
    if any(line.type == SEMANTIC for lines in found.values() for line in lines):
        judges = _judges(rows)
        for case_id, lines in found.items():
            found[case_id] = [replace(line, judge=judges.get((case_id, line.id))) for line in lines]
    return found


def _judges(rows: Any) -> dict[tuple[int, str], JudgeIdentity]:
    names = ("provider", "model", "prompt_version", "prompt_sha256")
    verdicts = JudgeVerdict.objects.filter(result__in=rows.values("pk"))
    values: Iterable[Any] = verdicts.values_list("result__case_id", "expectation_id", *names)
    return {(case_id, name): JudgeIdentity(*identity) for case_id, name, *identity in values}
