"""Two stored sides of a pair held against their pins, and then against each other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluations.grading import (
    Answer,
    Result,
    SideResults,
    classify,
    first_divergence,
    is_judged,
    trajectory,
)
from evaluations.models import CaseClass, CaseState, PairedCase, ToolCall
from twins.columns import ExactJSONField
from twins.engine.records import Record
from twins.services import key_arguments_of

RECORD_COLUMNS = tuple(
    field.name for field in ToolCall._meta.concrete_fields if field.name not in {"id", "case"}
)
JSON_COLUMNS = frozenset(
    field.name for field in ToolCall._meta.concrete_fields if isinstance(field, ExactJSONField)
)
CASE_COLUMNS = (
    "state", "used_seed", "used_scenario_version_id", "used_twin_version_id", "initial_state_digest",
    "error_reason", "claimed_outcome", "has_answer",
)  # fmt: skip
RESULT_COLUMNS = ("expectation_id", "type", "critical", "effective_status", "label", "reason")

# How the reason begins where the sides were not held against each other at all.
NOT_COMPARABLE = "the pair is not comparable: "

RawRecord = tuple[Any, ...]
"""The values of RECORD_COLUMNS as the database holds them: two equal ones are the same record, unread."""


@dataclass(frozen=True, slots=True)
class StoredSide:
    """One case with what was stored of it; only `compare_pair` reads its records.

    `case` and `results` are model objects, or rows of CASE_COLUMNS and RESULT_COLUMNS.
    """

    side: str
    case: Any
    results: Sequence[Any]
    records: Sequence[RawRecord] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """What is written on the pair."""

    klass: str
    reason: str
    first_divergence: dict[str, Any] | None = None
    newly_failing: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def compare_pair(pair: PairedCase, baseline: StoredSide | None, candidate: StoredSide) -> Compared:
    """Classify a pair, loaded with its twin version, by its effective results (FORMATS 4).

    `baseline` None: none was asked for.

    Sides that did not run on what was pinned are not compared at all: INCOMPLETE, with every difference.
    """
    if baseline is None or _strayed(pair, baseline, candidate):
        return classed_pair(pair, baseline, candidate)
    parted = _divergence(pair, baseline, candidate)
    return replace(classed_pair(pair, baseline, candidate), first_divergence=parted)


def classed_pair(pair: PairedCase, baseline: StoredSide | None, candidate: StoredSide) -> Compared:
    """`compare_pair` without the first divergence: neither records nor answers are read."""
    if strayed := _strayed(pair, baseline, candidate):
        return Compared(CaseClass.INCOMPLETE.value, NOT_COMPARABLE + "; ".join(strayed))
    before = None if baseline is None else _side_results(baseline)
    found = classify(before, _side_results(candidate))
    return Compared(
        klass=found.klass,
        reason=found.reason,
        newly_failing=tuple(found.newly_failing),
        flags=tuple(found.flags),
    )


def _strayed(pair: PairedCase, baseline: StoredSide | None, candidate: StoredSide) -> list[str]:
    sides = [side for side in (baseline, candidate) if side is not None]
    return [line for side in sides for line in strayed_from_pins(pair, side)]


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
    name = side.side.lower()
    return [
        f"the {name} ran with {what} {used} instead of {pinned}"
        for what, pinned, used in checks
        if used != pinned
    ]


def _side_results(side: StoredSide) -> SideResults:
    """The results with the statuses that count now. A side of which nothing was judged did not finish."""
    case = side.case
    results = tuple(
        Result(
            id=row.expectation_id,
            type=row.type,
            critical=row.critical,
            status=row.effective_status,
            label=row.label,
            reason=row.reason,
            evidence={},  # a class needs none
        )
        for row in side.results
    )
    if case.state != CaseState.FINISHED:
        return SideResults(results, finished=False, reason=f"its case is {case.state}")
    if case.error_reason and not is_judged((result.type, result.status) for result in results):
        return SideResults(results, finished=False, reason=case.error_reason)
    return SideResults(results)


def _divergence(pair: PairedCase, baseline: StoredSide, candidate: StoredSide) -> dict[str, Any] | None:
    left, right = baseline.case, candidate.case
    if left.used_seed is None or right.used_seed is None:
        return None
    same_end = (left.has_answer, left.claimed_outcome) == (right.has_answer, right.claimed_outcome)
    if same_end and baseline.records == candidate.records:
        return None  # nothing differs that a step could show
    found = first_divergence(
        _steps(baseline), _steps(candidate), key_arguments_of(pair.twin_version_id, pair.twin_version.digest)
    )
    return None if found is None else found.to_json()


def _steps(side: StoredSide) -> Any:
    answer = Answer(claimed_outcome=side.case.claimed_outcome) if side.case.has_answer else None
    return trajectory(map(_record, side.records), answer)


def _record(row: RawRecord) -> Record:
    values = {
        name: json.loads(value) if name in JSON_COLUMNS and value is not None else value
        for name, value in zip(RECORD_COLUMNS, row, strict=True)
    }
    return ToolCall(**values).to_record()
