"""Starting a comparison as one pinned pair, and cancelling it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from agenttwin_site.events import governance
from evaluations import dispatch
from evaluations.errors import AlreadyEndedError, ConflictError
from evaluations.models import (
    UNFINISHED,
    Case,
    CaseState,
    Comparison,
    ComparisonState,
    DatasetUse,
    PairedCase,
    Run,
    RunState,
    Side,
    StateSnapshot,
)
from evaluations.services.bulk import batched
from evaluations.services.planning import Pin, Plan, plan_comparison
from evaluations.services.requests import ComparisonRequest, read_key, read_request
from scenarios.holdouts import sight_of
from scenarios.models import SEVERITY_RANKS

ROWS_PER_INSERT = 500
OPEN_STATES = (ComparisonState.QUEUED, ComparisonState.RUNNING)


def start_comparison(
    *,
    agent: str,
    baseline: str | None,
    candidate: str,
    scenarios: Iterable[str] = (),
    tags: Iterable[str] = (),
    dataset: str | None = None,
    trials: int | None = None,
    seed: int = 0,
    key: str | None = None,
    actor: Any = None,
    wake: bool = True,
) -> tuple[Comparison, bool]:
    """Pin a pair of runs and queue all their cases; answers the comparison and whether it is new.

    Versions, seeds and initial states are resolved here, once, and written in one transaction: the agent
    version is all in which the two runs differ. `baseline` None runs the candidate alone. The same request
    under the same `key` answers the comparison that exists. `wake` False leaves the cases to the caller
    instead of waking workers.

    Raises:
        RequestError: every unknown or impossible part of the request; nothing was written.
        NotRunnableError: no adapter of this installation runs that agent.
        ConflictError: another request was made under this key.
    """
    key = read_key(key)
    request = read_request(
        agent=agent,
        baseline=baseline,
        candidate=candidate,
        scenarios=scenarios,
        tags=tags,
        dataset=dataset,
        trials=trials,
        seed=seed,
    )
    if (existing := _under_key(key, request)) is not None:
        return existing, False
    plan = plan_comparison(request, sight_of(actor))
    try:
        with transaction.atomic():
            comparison = _write(request, plan, key, actor)
            _announce("comparison_started", comparison, actor, after=_pinned(comparison, plan))
            if wake:
                dispatch.wake_workers(comparison.pk, cases=len(comparison.sides) * len(plan.pins))
    except IntegrityError:
        # Somebody else wrote under this key after we looked: theirs is the comparison.
        if (existing := _under_key(key, request)) is None:
            raise
        return existing, False
    return comparison, True


def cancel_comparison(comparison: Comparison, *, actor: Any = None) -> Comparison:
    """End a comparison now. What is finished stays; what is running stores nothing any more.

    Wins over completion: whoever locks the comparison first decides, and a worker that finishes a case
    afterwards finds its claim gone.

    Raises:
        AlreadyEndedError: it has ended before.
    """
    now = timezone.now()
    with transaction.atomic():
        locked = Comparison.objects.select_for_update().get(pk=comparison.pk)
        if locked.state not in OPEN_STATES:
            raise AlreadyEndedError(f"comparison {locked.pk} has ended already: {locked.state}")
        before = locked.state
        locked.state = ComparisonState.CANCELLED
        locked.reason = f"cancelled by {actor}" if actor is not None else "cancelled"
        locked.cancel_requested_at = locked.finished_at = now
        locked.save(update_fields=["state", "reason", "cancel_requested_at", "finished_at"])
        runs = locked.runs.exclude(state=RunState.FINISHED)
        Case.objects.filter(run__comparison=locked, state__in=UNFINISHED).update(
            state=CaseState.CANCELLED, claim_token="", lease_expires_at=None, finished_at=now
        )
        runs.update(state=RunState.CANCELLED, finished_at=now)
        _announce(
            "comparison_cancelled",
            locked,
            actor,
            before={"state": before},
            after={"state": locked.state},
        )
    return locked


def _pinned(comparison: Comparison, plan: Plan) -> dict[str, Any]:
    return {
        "agent": plan.agent.name,
        "baseline": comparison.baseline_version,
        "candidate": plan.candidate.version.version,
        "seed": comparison.seed,
        "cases": len(plan.pins),
        **({} if plan.dataset is None else {"dataset": str(plan.dataset)}),
    }


def _announce(action: str, comparison: Comparison, actor: Any, **values: Any) -> None:
    """For whoever keeps the record, inside the transaction that does it."""
    governance.send(
        sender=Comparison,
        action=action,
        actor=actor,
        subject=f"comparison {comparison.pk}",
        **values,
    )


def _under_key(key: str | None, request: ComparisonRequest) -> Comparison | None:
    existing = Comparison.objects.filter(key=key).first() if key is not None else None
    if existing is not None and existing.request_digest != request.digest:
        raise ConflictError(
            f"key {key!r} belongs to comparison {existing.pk}, which was asked for with other content"
        )
    return existing


def _write(request: ComparisonRequest, plan: Plan, key: str | None, actor: Any) -> Comparison:
    comparison = Comparison.objects.create(
        agent=plan.agent,
        baseline=None if plan.baseline is None else plan.baseline.version,
        candidate=plan.candidate.version,
        seed=request.seed,
        trials=request.trials,
        key=key,
        request_digest=request.digest,
        selection=request.selection,
        dataset_version=plan.dataset,
        created_by=actor,
    )
    if plan.dataset is not None:
        DatasetUse.objects.create(
            dataset_version=plan.dataset, agent_version=plan.candidate.version, comparison=comparison
        )
    runs = [
        Run.objects.create(
            comparison=comparison,
            side=name,
            agent_version=side.version,
            model_kind=side.model_kind,
            model_name=side.model_name,
        )
        for name, side in ((Side.BASELINE, plan.baseline), (Side.CANDIDATE, plan.candidate))
        if side is not None
    ]
    _write_snapshots(plan.pins)
    pairs = PairedCase.objects.bulk_create(
        [_pair(comparison, position, pin) for position, pin in enumerate(plan.pins)],
        batch_size=ROWS_PER_INSERT,
    )
    # Both sides of a pair next to each other: pairs are complete early, and share what is compiled.
    Case.objects.bulk_create(
        [Case(run=run, pair=pair) for pair in pairs for run in runs], batch_size=ROWS_PER_INSERT
    )
    return comparison


def _write_snapshots(pins: Iterable[Pin]) -> None:
    states = {pin.kit.redaction.initial_digest: pin.kit.redaction.initial_state for pin in pins}
    for digests in batched(states, ROWS_PER_INSERT):
        known = set(StateSnapshot.objects.filter(pk__in=digests).values_list("pk", flat=True))
        for digest in digests:
            if digest not in known:
                # One by one: a state may be 1 MiB.
                write_snapshot(digest, states[digest])


def write_snapshot(digest: str, state: Any) -> None:
    """Store an initial state under its digest; another transaction may store the same one meanwhile."""
    StateSnapshot.objects.bulk_create([StateSnapshot(digest=digest, state=state)], ignore_conflicts=True)


def _pair(comparison: Comparison, position: int, pin: Pin) -> PairedCase:
    scenario = pin.kit.scenario
    return PairedCase(
        comparison=comparison,
        scenario_version_id=pin.kit.scenario_version_id,
        twin_version_id=pin.kit.twin_version_id,
        trial=pin.trial,
        seed=pin.seed,
        initial_state_id=pin.kit.redaction.initial_digest,
        position=position,
        scenario_name=scenario.name,
        severity=scenario.severity,
        severity_rank=SEVERITY_RANKS[scenario.severity],
    )
