"""One JSON object per trial of a candidate: what was expected, what it attempted, and what was left behind.

Made for the person who has to find the value or the action that differed, months later and without the site.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Prefetch

from evaluations.grading.verdicts import PASSED
from evaluations.grading.wording import calls_named, listed
from evaluations.models import (
    Case,
    CaseState,
    Comparison,
    ExpectationResult,
    PairedCase,
    RecordKind,
    Side,
    StateSnapshot,
    ToolCall,
)
from evaluations.services.storable import secrets_of
from scenarios.models import DatasetCase
from scenarios.services import scenario_of
from twins.engine.paths import PathSyntaxError, parse_path
from twins.engine.redaction import redactor
from twins.engine.state import apply_changes
from twins.engine.values import MISSING
from twins.services import planted_secrets

SCHEMA_VERSION = 1
_AT_ONCE = 50
_ANSWER_CHARACTERS = 20_000
_REFUSED = ("denied", "invalid", "unknown_tool", "not_found")


def case_reports(
    comparison: Comparison, pairs: Sequence[int] | None = None, *, with_case: bool = False
) -> Iterator[dict[str, Any]]:
    """The reports of the candidate's trials in the order planned; a fixed number of queries for each 50.

    `pairs` restricts them to these; `with_case` adds the number of the paired case as "case". Planted secrets
    are redacted, as in everything that leaves the site.
    """
    ids = {}
    if comparison.dataset_version_id is not None:
        rows = DatasetCase.objects.filter(version=comparison.dataset_version_id)
        ids = {row.scenario_version_id: row for row in rows}
    wanted = PairedCase.objects.counted().filter(comparison=comparison).order_by("position", "trial", "pk")
    if pairs is not None:
        wanted = wanted.filter(pk__in=pairs)
    keys = list(wanted.values_list("pk", flat=True))
    for start in range(0, len(keys), _AT_ONCE):
        chunk = keys[start : start + _AT_ONCE]
        for key, report in zip(chunk, _chunk(comparison, chunk, ids), strict=True):
            yield {"case": key, **report} if with_case else report


def _chunk(
    comparison: Comparison, keys: Sequence[int], ids: Mapping[int, DatasetCase]
) -> Iterator[dict[str, Any]]:
    pairs = PairedCase.objects.select_related(
        "scenario_version__scenario", "twin_version__twin", "initial_state"
    ).in_bulk(keys)
    results = Prefetch("results", ExpectationResult.objects.order_by("position"))
    calls = Prefetch("tool_calls", ToolCall.objects.order_by("seq"))
    cases = (
        Case.objects.filter(pair__in=keys, run__side=Side.CANDIDATE)
        .select_related("run")
        .prefetch_related(results, calls)
    )
    by_pair = {case.pair_id: case for case in cases}
    for key in keys:
        yield _report(comparison, pairs[key], by_pair.get(key), ids.get(pairs[key].scenario_version_id))


def _report(
    comparison: Comparison, pair: PairedCase, case: Case | None, listed_as: DatasetCase | None
) -> dict[str, Any]:
    # From the documents, not from what they compile to: a report needs no adapter.
    planted = planted_secrets(pair.twin_version.document)
    redact = redactor(secrets_of(planted, scenario_of(pair.scenario_version)))
    results = list(case.results.all()) if case is not None else []
    records = list(case.tool_calls.all()) if case is not None else []
    dataset = comparison.dataset_version
    report = {
        "schema_version": SCHEMA_VERSION,
        "case_id": listed_as.case_id if listed_as is not None else pair.scenario_name,
        "scenario": pair.scenario_name,
        "scenario_version": pair.scenario_version.number,
        "trial": pair.trial,
        "seed": pair.seed,
        "severity": pair.severity,
        "label": None if listed_as is None else {"owner": listed_as.owner, "why": listed_as.why},
        "dataset": None
        if dataset is None
        else {"name": dataset.dataset.name, "version": dataset.number, "sha256": dataset.sha256},
        "agent": comparison.agent.name,
        "candidate": comparison.candidate.version,
        "candidate_sha256": comparison.candidate.digest,
        "prompt_sha256": comparison.candidate.instructions_digest or None,
        "baseline": comparison.baseline_version,
        "model": {
            "kind": case.run.model_kind if case is not None else "",
            "name": case.run.model_name if case is not None else "",
        },
        "twin": {"name": pair.twin_version.twin.name, "version": pair.twin_version.number},
        "comparison": comparison.pk,
        "verdict": _verdict(case),
        "passed": case is not None and case.effective_verdict == PASSED and case.state == CaseState.FINISHED,
        "class": pair.classification,
        "reason": _reason(case, results),
        "points_at": _points_at(results),
        "expected": _expected(pair),
        "observed": _observed(case),
        "checks": [_check(result) for result in results],
        "attempts": {
            "reads": [_attempt(record) for record in records if _is_read(record)],
            "writes": [_attempt(record) for record in records if not _is_read(record)],
        },
        "receipts": [
            {"seq": record.seq, "tool": record.tool, "answer": record.response}
            for record in records
            if not _is_read(record) and record.status == "ok"
        ],
        "final_record": _final_record(pair.initial_state, records, results),
    }
    shown: dict[str, Any] = redact(report)
    return shown


def _verdict(case: Case | None) -> str | None:
    return case.effective_verdict if case is not None and case.state == CaseState.FINISHED else None


def _reason(case: Case | None, results: Sequence[ExpectationResult]) -> str:
    """One sentence that names the check and the value or action that differed."""
    if case is None or case.state != CaseState.FINISHED:
        why = case.error_reason if case is not None else ""
        return f"did not finish{f': {why}' if why else ''}"
    told = _told_first(results)
    if told is None:
        return case.error_reason or _passed(results)
    where = _places(told)
    return f"{told.expectation_id}: {told.reason}{f' ({where})' if where else ''}"


def _passed(results: Sequence[ExpectationResult]) -> str:
    unmeasured = [
        f"{one.expectation_id} ({one.reason})" for one in results if one.effective_status == "SKIPPED"
    ]
    if len(unmeasured) == len(results):
        return f"nothing was checked{': ' if unmeasured else ''}{'; '.join(unmeasured)}"
    return (
        f"every other check passed, not measured: {'; '.join(unmeasured)}"
        if unmeasured
        else "every check passed"
    )


def _told_first(results: Sequence[ExpectationResult]) -> ExpectationResult | None:
    """The worst that did not pass: failures before what was not measured, critical ones first."""
    order = {"FAIL": 0, "ERROR": 1, "SKIPPED": 2}
    missed = [result for result in results if result.effective_status in order]
    missed = [one for one in missed if one.effective_status != "SKIPPED" or one.critical]
    return min(
        missed, key=lambda one: (order[one.effective_status], not one.critical, one.position), default=None
    )


def _places(result: ExpectationResult) -> str:
    """`orders.A.count; calls 2 and 3`, as far as the reason does not name them itself."""
    paths = [path for path in _texts(result, "paths") if path not in result.reason]
    calls = [seq for seq in result.evidence.get("calls", ()) if type(seq) is int]
    parts = [listed(paths)] if paths else []
    if calls and not any(f"call {seq}" in result.reason for seq in calls):
        parts.append(calls_named(calls))
    return "; ".join(parts)


def _points_at(results: Sequence[ExpectationResult]) -> dict[str, Any] | None:
    told = _told_first(results)
    if told is None:
        return None
    return {
        "check": told.expectation_id,
        "type": told.type,
        "label": told.label,
        "paths": _texts(told, "paths"),
        "calls": [seq for seq in told.evidence.get("calls", ()) if type(seq) is int],
    }


def _expected(pair: PairedCase) -> dict[str, Any]:
    spec = pair.scenario_version.document["spec"]
    return {"message": spec.get("input", {}).get("message", ""), "checks": spec["expectations"]}


def _observed(case: Case | None) -> dict[str, Any]:
    answer = case.answer if case is not None and isinstance(case.answer, dict) else {}
    output = answer.get("output")
    return {
        "claimed_outcome": case.claimed_outcome if case is not None else None,
        "business_outcome": answer.get("business_outcome"),
        "output": output[:_ANSWER_CHARACTERS] if isinstance(output, str) else None,
        "proposal": answer.get("proposal"),
        "contradicted": case.contradiction if case is not None else False,
    }


def _check(result: ExpectationResult) -> dict[str, Any]:
    return {
        "id": result.expectation_id,
        "type": result.type,
        "critical": result.critical,
        "status": result.effective_status,
        "measured_status": result.status,
        "label": result.label,
        "reason": result.reason,
        "evidence": result.evidence,
    }


def _is_read(record: ToolCall) -> bool:
    return record.kind == RecordKind.RETRIEVAL or record.risk == "READ"


def _attempt(record: ToolCall) -> dict[str, Any]:
    """A call with what it came to; a refused one is an attempt like any other."""
    if record.kind == RecordKind.RETRIEVAL:
        return {
            "seq": record.seq,
            "tool": "search",
            "arguments": {"query": record.query, "limit": record.limit},
            "status": "ok",
            "refused": False,
            "documents": [one.get("id") for one in record.documents or () if isinstance(one, dict)],
        }
    return {
        "seq": record.seq,
        "tool": record.tool,
        "arguments": record.arguments,
        "http_status": record.http_status,
        "status": record.status,
        "error_code": record.error_code,
        "refused": record.status in _REFUSED or record.policy_violation is not None,
        "policy_violation": record.policy_violation,
        "risk": record.risk,
        "fault": record.fault,
        "effect_key": record.effect_key,
        "write_identity": record.idempotency_key,
        "applied": record.mutated,
        "replayed": record.replayed,
        "redelivered": record.redelivered,
    }


def _final_record(
    snapshot: StateSnapshot, records: Sequence[ToolCall], results: Sequence[ExpectationResult]
) -> list[dict[str, Any]] | None:
    """The places that calls changed or checks point at, at the start and at the end.

    None where the stored changes do not fit the stored start, which nothing but a spoilt database does.
    """
    final = snapshot.state
    changed: dict[str, None] = {}
    try:
        for record in records:
            if record.changes:
                final = apply_changes(final, record.changes)
                changed |= dict.fromkeys(change["path"] for change in record.changes)
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    cited = dict.fromkeys(path for result in results for path in _texts(result, "paths"))
    return [
        place for path in [*cited, *(one for one in changed if one not in cited)]
        if (place := _place(path, snapshot.state, final)) is not None
    ]  # fmt: skip


def _place(path: str, start: Any, final: Any) -> dict[str, Any] | None:
    try:
        wanted = parse_path(path)
    except PathSyntaxError:
        return None
    before, after = wanted.get(start), wanted.get(final)
    return {
        "path": path,
        **({} if before is MISSING else {"start": before}),
        **({} if after is MISSING else {"end": after}),
    }


def _texts(result: ExpectationResult, name: str) -> list[str]:
    return [one for one in result.evidence.get(name, ()) if isinstance(one, str)]
