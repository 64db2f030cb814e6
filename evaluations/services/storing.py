"""Writing finished cases: records, results and the case itself in one transaction, guarded by the claim."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.utils import timezone

from evaluations.models import Case, CaseState, ExpectationResult, ToolCall
from evaluations.services.bulk import insert_rows, update_rows
from evaluations.services.claims import still_held
from evaluations.services.kits import Kit
from evaluations.services.outcomes import CaseOutcome, unfinished_outcome
from twins.engine.records import RetrievalRecord

logger = logging.getLogger(__name__)

# Of a call's record; what a search leaves empty follows, and the other way round.
_CALL_FIELDS = (
    "call_number", "tool", "arguments", "http_status", "status", "error_code", "response", "risk", "fault",
    "mutated", "expects_mutation", "replayed", "redelivered", "effect_key", "idempotency_key", "cross_tenant",
    "policy_violation", "changes", "delay_ms",
)  # fmt: skip
_of_a_call = attrgetter(*_CALL_FIELDS)
_EMPTY = ToolCall(seq=0)
_NO_CALL = tuple(getattr(_EMPTY, name) for name in _CALL_FIELDS)
_NO_SEARCH = (None, None, None)
TOOL_CALL_COLUMNS = ("case_id", "seq", "kind", *_CALL_FIELDS, "query", "limit", "documents")
RESULT_COLUMNS = (
    "case_id", "position", "expectation_id", "type", "critical", "status", "effective_status", "label",
    "reason", "evidence",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finished:
    """A case that has ended, and what to store of it; no kit where its documents cannot be used here."""

    case_id: int
    kit: Kit | None
    outcome: CaseOutcome


class Stored(NamedTuple):
    """How many cases were stored, and how many of them now wait for a judge."""

    cases: int = 0
    to_judge: int = 0


def store(finished: Sequence[Finished], token: str) -> Stored:
    """Store what is still ours to store; how many cases that was.

    A case whose claim was lost (lease over, comparison cancelled) is left to whoever holds it now. A case
    that the database refuses is stored as ERRORED with the reason, so that it cannot hold up the others.
    """
    if not finished:
        return Stored()
    try:
        return _store_together(finished, token)
    except (OperationalError, InterfaceError):
        raise  # the database is away: nothing about the cases
    except (DatabaseError, ValueError, TypeError) as problem:
        if len(finished) > 1:
            alone = [store([one], token) for one in finished]
            return Stored(*map(sum, zip(*alone, strict=True)))
        logger.exception("case %s cannot be stored", finished[0].case_id)
        return _store_together([_unstorable(finished[0], problem)], token)


def _store_together(finished: Sequence[Finished], token: str) -> Stored:
    with transaction.atomic():
        held = still_held([one.case_id for one in finished], token)
        ours = [one for one in finished if one.case_id in held]
        insert_rows(ToolCall, TOOL_CALL_COLUMNS, (row for one in ours for row in _record_rows(one)))
        insert_rows(ExpectationResult, RESULT_COLUMNS, (row for one in ours for row in _result_rows(one)))
        now = timezone.now()
        update_rows(Case, ((one.case_id, _case_columns(one, now)) for one in ours))
    return Stored(len(ours), sum(1 for one in ours if one.outcome.judging))


def _unstorable(one: Finished, problem: Exception) -> Finished:
    reason = f"its outcome cannot be stored: {type(problem).__name__}"
    return Finished(one.case_id, one.kit, unfinished_outcome(one.kit, reason))


def _record_rows(one: Finished) -> Iterator[tuple[Any, ...]]:
    for record in one.outcome.records:
        if isinstance(record, RetrievalRecord):
            found = record.to_json()["documents"]
            own = (record.query, record.limit, found)
            yield (one.case_id, record.seq, record.kind, *_NO_CALL, *own)
        else:
            yield (one.case_id, record.seq, record.kind, *_of_a_call(record), *_NO_SEARCH)


def _result_rows(one: Finished) -> Iterator[tuple[Any, ...]]:
    for position, result in enumerate(one.outcome.results):
        if position in one.outcome.judging:
            continue  # written with the judge's verdict
        yield (
            one.case_id,
            position,
            result.id,
            result.type,
            result.critical,
            result.status,
            result.status,
            result.label,
            result.reason,
            result.evidence,
        )


def _case_columns(one: Finished, now: object) -> Mapping[str, object]:
    outcome, kit = one.outcome, one.kit
    ran = kit is not None and outcome.seed is not None
    verdict = None if outcome.judging else outcome.verdict
    return {
        "state": CaseState.JUDGING if outcome.judging else CaseState.FINISHED,
        "verdict": verdict,
        "effective_verdict": verdict,
        "claim_token": "",
        "lease_expires_at": None,
        "used_scenario_version_id": kit.scenario_version_id if kit is not None and ran else None,
        "used_twin_version_id": kit.twin_version_id if kit is not None and ran else None,
        "used_seed": outcome.seed,
        "initial_state_digest": outcome.initial_state_digest,
        "final_state_digest": outcome.final_state_digest,
        "answer": outcome.answer,
        "claimed_outcome": outcome.claimed_outcome,
        "contradiction": outcome.contradiction,
        "error_reason": outcome.error_reason,
        "tool_call_count": outcome.tool_calls,
        "retry_count": outcome.retries,
        "metrics": outcome.metrics,
        "finished_at": None if outcome.judging else now,
    }
