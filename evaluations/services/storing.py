"""Writing finished cases: records, results and the case itself in one transaction, guarded by the claim."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, OperationalError, transaction
from django.utils import timezone

from evaluations.models import Case, CaseState, ExpectationResult, ToolCall
from evaluations.services.bulk import update_rows
from evaluations.services.claims import still_held
from evaluations.services.kits import Kit
from evaluations.services.outcomes import CaseOutcome, unfinished_outcome

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finished:
    """A case that was run, and what to store of it."""

    case_id: int
    kit: Kit
    outcome: CaseOutcome


def store(finished: Sequence[Finished], token: str) -> int:
    """Store what is still ours to store; how many cases that was.

    A case whose claim was lost (lease over, comparison cancelled) is left to whoever holds it now. A case
    that the database refuses is stored as ERRORED with the reason, so that it cannot hold up the others.
    """
    if not finished:
        return 0
    try:
        return _store_together(finished, token)
    except (OperationalError, InterfaceError):
        raise  # the database is away: nothing about the cases
    except (DatabaseError, ValueError, TypeError) as problem:
        if len(finished) > 1:
            return sum(store([one], token) for one in finished)
        logger.exception("case %s cannot be stored", finished[0].case_id)
        return _store_together([_unstorable(finished[0], problem)], token)


def _store_together(finished: Sequence[Finished], token: str) -> int:
    with transaction.atomic():
        held = still_held([one.case_id for one in finished], token)
        ours = [one for one in finished if one.case_id in held]
        ToolCall.objects.bulk_create(
            ToolCall.from_record(one.case_id, record) for one in ours for record in one.outcome.records
        )
        ExpectationResult.objects.bulk_create(result for one in ours for result in _result_rows(one))
        now = timezone.now()
        update_rows(Case, ((one.case_id, _case_columns(one, now)) for one in ours))
    return len(ours)


def _unstorable(one: Finished, problem: Exception) -> Finished:
    reason = f"its outcome cannot be stored: {type(problem).__name__}"
    return Finished(one.case_id, one.kit, unfinished_outcome(one.kit, reason))


def _result_rows(one: Finished) -> list[ExpectationResult]:
    return [
        ExpectationResult(
            case_id=one.case_id,
            position=position,
            expectation_id=result.id,
            type=result.type,
            critical=result.critical,
            status=result.status,
            effective_status=result.status,
            label=result.label,
            reason=result.reason,
            evidence=result.evidence,
        )
        for position, result in enumerate(one.outcome.results)
    ]


def _case_columns(one: Finished, now: object) -> Mapping[str, object]:
    outcome = one.outcome
    return {
        "state": CaseState.FINISHED,
        "verdict": outcome.verdict,
        "effective_verdict": outcome.verdict,
        "claim_token": "",
        "lease_expires_at": None,
        "used_scenario_version_id": one.kit.scenario_version_id if outcome.seed is not None else None,
        "used_twin_version_id": one.kit.twin_version_id if outcome.seed is not None else None,
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
        "finished_at": now,
    }
