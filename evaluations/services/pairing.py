"""Two stored sides of a pair held against their pins, and then against each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from evaluations.grading import (
    AGENT_RUN,
    Answer,
    Result,
    SideResults,
    classify,
    first_divergence,
    trajectory,
)
from evaluations.models import Case, CaseClass, CaseState, ExpectationResult, PairedCase, ToolCall


@dataclass(frozen=True, slots=True)
class StoredSide:
    """One case with everything that was stored of it."""

    case: Case
    records: list[ToolCall]
    results: list[ExpectationResult]


@dataclass(frozen=True, slots=True)
class Compared:
    """What is written on the pair."""

    klass: str
    reason: str
    first_divergence: dict[str, Any] | None = None
    newly_failing: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def compare_pair(pair: PairedCase, baseline: StoredSide, candidate: StoredSide) -> Compared:
    """Classify a pair by its effective results (FORMATS 4).

    Sides that did not run on what was pinned are not compared at all: INCOMPLETE, with every difference.
    """
    if _strayed(pair, baseline, candidate):
        return classed_pair(pair, baseline, candidate)
    return replace(classed_pair(pair, baseline, candidate), first_divergence=_divergence(baseline, candidate))


def classed_pair(pair: PairedCase, baseline: StoredSide, candidate: StoredSide) -> Compared:
    """`compare_pair` without the first divergence: neither records nor answers are read."""
    if strayed := _strayed(pair, baseline, candidate):
        return Compared(CaseClass.INCOMPLETE.value, "the pair is not comparable: " + "; ".join(strayed))
    found = classify(_side_results(baseline), _side_results(candidate))
    return Compared(
        klass=found.klass,
        reason=found.reason,
        newly_failing=tuple(found.newly_failing),
        flags=tuple(found.flags),
    )


def _strayed(pair: PairedCase, baseline: StoredSide, candidate: StoredSide) -> list[str]:
    return [*strayed_from_pins(pair, baseline), *strayed_from_pins(pair, candidate)]


def strayed_from_pins(pair: PairedCase, side: StoredSide) -> list[str]:
    """Where a side used something else than what was pinned; a side that ran nothing used nothing."""
    case = side.case
    if case.state != CaseState.FINISHED or case.used_seed is None:
        return []
    checks = (
        ("scenario version", pair.scenario_version_id, case.used_scenario_version_id),
        ("twin version", pair.twin_version_id, case.used_twin_version_id),
        ("seed", pair.seed, case.used_seed),
        ("initial state", pair.initial_state_id, case.initial_state_digest),
    )
    name = case.run.side.lower()
    return [
        f"the {name} ran with {what} {used} instead of {pinned}"
        for what, pinned, used in checks
        if used != pinned
    ]


def _side_results(side: StoredSide) -> SideResults:
    """The results with the statuses that count now. A side of which nothing was judged did not finish."""
    case: Any = side.case
    rows: list[Any] = list(side.results)
    results = tuple(
        Result(
            id=row.expectation_id,
            type=row.type,
            critical=row.critical,
            status=row.effective_status,
            label=row.label,
            reason=row.reason,
            evidence=row.evidence,
        )
        for row in rows
    )
    if case.state != CaseState.FINISHED:
        return SideResults(results, finished=False, reason=f"its case is {case.state}")
    judged = any(result.type != AGENT_RUN and result.status != "SKIPPED" for result in results)
    if case.error_reason and not judged:
        return SideResults(results, finished=False, reason=case.error_reason)
    return SideResults(results)


def _divergence(baseline: StoredSide, candidate: StoredSide) -> dict[str, Any] | None:
    if baseline.case.used_seed is None or candidate.case.used_seed is None:
        return None
    found = first_divergence(_steps(baseline), _steps(candidate))
    return None if found is None else found.to_json()


def _steps(side: StoredSide) -> Any:
    stored: Any = side.case.answer
    answer = None if stored is None else Answer.from_json(stored)
    return trajectory([row.to_record() for row in side.records], answer)
