"""Running one case and grading it: from a pinned start to everything that will be stored. No rows in here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from evaluations.agents.base import (
    AgentEnd,
    AgentRequest,
    RunContext,
    RunLimits,
    agent_seed,
    run_limits,
)
from evaluations.agents.in_process import InProcessAgent
from evaluations.agents.registry import Adapter
from evaluations.agents.tools import CaseTools, copied
from evaluations.grading import (
    Evidence,
    Result,
    agent_run_result,
    case_verdict,
    contradiction,
    grade,
    metrics,
    result_of,
    retry_seqs,
    verification,
)
from evaluations.grading.results import Finding, skipped
from evaluations.grading.wording import clean, cut
from evaluations.judges.findings import unanswered
from evaluations.judges.interface import DEFAULT_CRITERION
from evaluations.services.kits import Kit
from evaluations.services.storable import KEPT_REASON, kept_answer
from scenarios.documents.agent import AgentManifest
from twins.engine.case import CaseSpec, CaseState
from twins.engine.records import Record

ERRORED = "ERRORED"


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What one attempt at a case found out, free of planted secrets and ready to be stored.

    `judging`: positions of the results that a judge has yet to give. What stands there is none, and with
    them the verdict is still open.
    """

    verdict: str
    judging: tuple[int, ...] = ()
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
    adapter: Adapter
    seed: int
    trial: int
    run_id: int
    case_id: int

    @property
    def limits(self) -> RunLimits:
        return run_limits(self.manifest, self.kit.scenario.timeout_seconds)

    @property
    def request(self) -> AgentRequest:
        """What the agent is asked. Its context is a copy: an agent may do to it what it likes."""
        scenario = self.kit.scenario
        context: dict[str, Any] = copied(scenario.context)
        return AgentRequest(
            input=scenario.message,
            agent_version=self.manifest.version,
            session_id=f"case-{self.case_id}",
            tenant=context.get("tenant"),
            customer_id=context.get("customer_id"),
            context=context,
            run_context=RunContext(
                run_id=str(self.run_id),
                case_id=str(self.case_id),
                scenario_name=scenario.name,
                trial=self.trial,
                seed=agent_seed(self.seed),
            ),
        )


@dataclass(frozen=True, slots=True)
class CaseRun:
    """The evidence of one attempt, with real values: nothing here has been judged, nothing may be stored.

    `broken`: why this attempt says nothing about the agent although it ended (a bug of the twin, an answer
    of ours that got lost); empty where it does.
    """

    spec: CaseSpec
    state: CaseState
    records: tuple[Record, ...]
    end: AgentEnd
    broken: str = ""


def run_case(order: CaseOrder, keep_waiting: Callable[[], bool]) -> CaseOutcome | None:
    """Run a case of an in-process agent from a fresh twin and grade it; None when `keep_waiting` ended it.

    Infrastructure that failed (no agent, a broken twin) is said and not judged: every expectation is SKIPPED.
    """
    assert isinstance(order.adapter, InProcessAgent)
    limits = order.limits
    tools = CaseTools(order.kit.spec_for(order.seed), max_calls=limits.tool_calls)
    end = order.adapter.run(order.request, tools, limits=limits, keep_waiting=keep_waiting)
    broken = ""
    if tools.twin_error is not None:
        broken = f"the twin broke: {type(tools.twin_error).__name__}: {tools.twin_error}"
    elif end.stopped:
        return None
    run = CaseRun(tools.spec, tools.state, tuple(tools.records), end, broken)
    return graded(order.kit, order.seed, run)


def unfinished_outcome(kit: Kit | None, reason: str) -> CaseOutcome:
    """The outcome of a case that could not be run to its end: ERRORED with the reason, nothing judged."""
    if kit is None:
        return CaseOutcome(verdict=ERRORED, error_reason=cut(clean(reason), KEPT_REASON))
    reason = kit.redaction.text(reason)
    return CaseOutcome(verdict=ERRORED, error_reason=reason, results=_not_judged(kit, reason))


def graded(kit: Kit, seed: int, run: CaseRun) -> CaseOutcome:
    """Everything that is stored of an attempt, wherever its agent worked."""
    redaction = kit.redaction
    answer = None if run.broken else run.end.answer
    error = redaction.text(run.broken)
    results, judging = _results(kit, run, error)
    verified, status = verification(results)
    claimed = answer.claimed_outcome if answer is not None else None
    stored = redaction.stored(run.records, run.state.root)
    return CaseOutcome(
        verdict=ERRORED if error else case_verdict(results),
        judging=judging,
        error_reason=error or _error_reason(run.end, results),
        records=stored.records,
        results=results,
        answer=None if answer is None else kept_answer(answer, redaction),
        claimed_outcome=claimed,
        contradiction=contradiction(claimed, verified, status),
        seed=seed,
        initial_state_digest=redaction.initial_digest,
        final_state_digest=stored.final_digest,
        tool_calls=sum(1 for one in run.records if one.kind == "tool_call" and not one.redelivered),
        retries=len(retry_seqs(run.records)),
        metrics=metrics(run.records, results, answer, key_arguments=run.spec.definition.key_arguments),
    )


def _results(kit: Kit, run: CaseRun, error: str) -> tuple[tuple[Result, ...], tuple[int, ...]]:
    """The results, and the positions of those that wait for a judge."""
    if error:
        return _not_judged(kit, error), ()
    findings: tuple[Result, ...] = ()
    failure = run.end.failure
    if failure is not None:
        findings = (agent_run_result(failure.kind, kit.redaction.text(failure.detail)),)
        if findings[0].status == "ERROR":
            return _not_judged(kit, findings[0].reason) + findings, ()
    evidence = Evidence(
        spec=run.spec,
        final=run.state,
        records=run.records,
        answer=run.end.answer,
        customer_message=kit.scenario.message,
    )
    results = grade(kit.expectations, evidence)
    if not kit.judged:
        return results + findings, ()
    if evidence.output is not None and evidence.output.strip():
        return _with(kit, results, lambda criterion: skipped("it waits for its judge")) + findings, kit.judged
    return _with(kit, results, unanswered) + findings, ()


def _with(kit: Kit, results: tuple[Result, ...], finding_of: Callable[[str], Finding]) -> tuple[Result, ...]:
    """The results, with this finding (by its criterion) on every expectation that is for a judge."""
    found = list(results)
    for place in kit.judged:
        criterion = kit.scenario.expectations[place].category or DEFAULT_CRITERION
        found[place] = result_of(kit.expectations[place], finding_of(criterion), kit.redaction.value)
    return tuple(found)


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
    return errors_told(results)


def errors_told(results: Iterable[Result]) -> str:
    """Why a case is ERRORED whose run came to its end: the first checks that could not be evaluated."""
    broken = [result for result in results if result.status == "ERROR"]
    return "; ".join(f"{result.id}: {result.reason}" for result in broken[:3])
