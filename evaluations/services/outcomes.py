"""Running one case and grading it: from a pinned start to everything that will be stored. No rows in here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from evaluations.agents.base import AgentAdapter, AgentEnd, AgentRequest, RunContext, run_limits
from evaluations.agents.tools import CaseTools, copied
from evaluations.grading import (
    Evidence,
    Result,
    agent_run_result,
    case_verdict,
    contradiction,
    grade,
    metrics,
    retry_seqs,
    verification,
)
from evaluations.grading.wording import clean, cut
from evaluations.services.kits import Kit
from evaluations.services.storable import KEPT_REASON, kept_answer
from scenarios.documents.agent import AgentManifest

ERRORED = "ERRORED"


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What one attempt at a case found out, free of planted secrets and ready to be stored."""

    verdict: str
    error_reason: str = ""
    records: tuple[Any, ...] = ()
    results: tuple[Result, ...] = ()
    answer: dict[str, Any] | None = None
    claimed_outcome: str | None = None
    contradiction: bool = False
    seed: int | None = None
    initial_state_digest: str = ""
    final_state_digest: str = ""
    tool_calls: int = 0
    retries: int = 0
    metrics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CaseOrder:
    """One case to run: whose, on what, with which seed."""

    kit: Kit
    manifest: AgentManifest
    adapter: AgentAdapter
    seed: int
    trial: int
    run_id: int
    case_id: int


def run_case(order: CaseOrder, keep_waiting: Callable[[], bool]) -> CaseOutcome | None:
    """Run a case from a fresh twin and grade it; None when `keep_waiting` ended it.

    Infrastructure that failed (no agent, a broken twin) is said and not judged: every expectation is SKIPPED.
    """
    kit = order.kit
    spec = kit.spec_for(order.seed)
    limits = run_limits(order.manifest, kit.scenario.timeout_seconds)
    tools = CaseTools(spec, max_calls=limits.tool_calls)
    end = order.adapter.run(_request(order), tools, limits=limits, keep_waiting=keep_waiting)
    if tools.twin_error is not None:
        broken = tools.twin_error
        return _outcome(order, tools, end, error=f"the twin broke: {type(broken).__name__}: {broken}")
    if end.stopped:
        return None
    return _outcome(order, tools, end)


def unfinished_outcome(kit: Kit | None, reason: str) -> CaseOutcome:
    """The outcome of a case that could not be run to its end: ERRORED with the reason, nothing judged."""
    if kit is None:
        return CaseOutcome(verdict=ERRORED, error_reason=cut(clean(reason), KEPT_REASON))
    reason = kit.redaction.text(reason)
    return CaseOutcome(verdict=ERRORED, error_reason=reason, results=_not_judged(kit, reason))


def _request(order: CaseOrder) -> AgentRequest:
    scenario = order.kit.scenario
    # The agent may do to its context what it likes; the next case must not see it.
    context: dict[str, Any] = copied(scenario.context)
    return AgentRequest(
        input=scenario.message,
        agent_version=order.manifest.version,
        session_id=f"case-{order.case_id}",
        tenant=context.get("tenant"),
        customer_id=context.get("customer_id"),
        context=context,
        run_context=RunContext(
            run_id=str(order.run_id),
            case_id=str(order.case_id),
            scenario_name=scenario.name,
            trial=order.trial,
        ),
    )


def _outcome(order: CaseOrder, tools: CaseTools, end: AgentEnd, *, error: str = "") -> CaseOutcome:
    kit = order.kit
    redaction = kit.redaction
    raw = tuple(tools.records)
    answer = end.answer if not error else None
    error = redaction.text(error)
    results = _results(kit, tools, raw, end, error)
    verified, status = verification(results)
    claimed = answer.claimed_outcome if answer is not None else None
    stored = redaction.stored(raw, tools.state.root)
    return CaseOutcome(
        verdict=ERRORED if error else case_verdict(results),
        error_reason=error or _error_reason(end, results),
        records=stored.records,
        results=results,
        answer=None if answer is None else kept_answer(answer, redaction),
        claimed_outcome=claimed,
        contradiction=contradiction(claimed, verified, status),
        seed=order.seed,
        initial_state_digest=redaction.initial_digest,
        final_state_digest=stored.final_digest,
        tool_calls=sum(1 for record in raw if record.kind == "tool_call" and not record.redelivered),
        retries=len(retry_seqs(raw)),
        metrics=metrics(raw, results, answer),
    )


def _results(
    kit: Kit, tools: CaseTools, records: tuple[Any, ...], end: AgentEnd, error: str
) -> tuple[Result, ...]:
    if error:
        return _not_judged(kit, error)
    findings: tuple[Result, ...] = ()
    if end.failure is not None:
        findings = (agent_run_result(end.failure.kind, kit.redaction.text(end.failure.detail)),)
        if findings[0].status == "ERROR":
            return _not_judged(kit, findings[0].reason) + findings
    evidence = Evidence(
        spec=tools.spec,
        final=tools.state,
        records=records,
        answer=end.answer,
        customer_message=kit.scenario.message,
    )
    return grade(kit.expectations, evidence) + findings


def _not_judged(kit: Kit, reason: str) -> tuple[Result, ...]:
    return tuple(
        Result(
            id=expectation.id,
            type=expectation.type,
            critical=expectation.critical,
            status="SKIPPED",
            label=None,
            reason=f"not judged: {reason}",
            evidence={"calls": [], "paths": []},
        )
        for expectation in kit.scenario.expectations
    )


def _error_reason(end: AgentEnd, results: tuple[Result, ...]) -> str:
    if end.failure is not None:
        return next(result.reason for result in reversed(results) if result.type == "agentRun")
    broken = [result for result in results if result.status == "ERROR"]
    return "; ".join(f"{result.id}: {result.reason}" for result in broken[:3])
