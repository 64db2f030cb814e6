"""Expectations about what the agent claims, held against what was recorded."""

# ruff: noqa: RUF009 - the calls in the parameter classes make dataclass fields

from __future__ import annotations

from dataclasses import dataclass

from evaluations.grading.evidence import Evidence
from evaluations.grading.expectations.comparing import holds, mismatch
from evaluations.grading.expectations.registry import expectation
from evaluations.grading.parameters import Comparison, comparators, outcome, state_path
from evaluations.grading.results import Finding, failed, passed
from evaluations.grading.signals import claimed_without_change
from evaluations.grading.wording import listed
from twins.engine.paths import Path


@dataclass(frozen=True, slots=True)
class FinalOutcomeParams:
    equals: str = outcome("The outcome the agent must claim.")


@expectation("finalOutcome", label="OUTCOME_MISMATCH")
def final_outcome(params: FinalOutcomeParams, evidence: Evidence) -> Finding:
    """The agent claims this outcome. It is only a claim: pair it with a check of the state.

    No claim at all fails, also where UNKNOWN is expected.
    """
    claim = evidence.claim
    if claim is None:
        return failed(f"expected the claim {params.equals}, the agent claimed nothing")
    if claim == params.equals:
        return passed(f"the agent claimed {claim}")
    return failed(f"expected the claim {params.equals}, got {claim}")


@dataclass(frozen=True, slots=True)
class OutcomeVerifiedParams:
    path: Path | None = state_path("The place in the final state that backs a claimed success.", None)
    comparators: Comparison = comparators("What must hold there.")


@expectation("outcomeVerified", label=("STATE_MISMATCH", "HALLUCINATED_SUCCESS"))
def outcome_verified(params: OutcomeVerifiedParams, evidence: Evidence) -> Finding:
    """A claimed success is backed by evidence; whoever claims no success passes.

    With `path` the final state there must compare (else STATE_MISMATCH). Without it no tool that should
    change state may have answered success without changing it (else HALLUCINATED_SUCCESS); a replay of an
    earlier success is none of those.
    """
    if evidence.claim != "SUCCESS":
        return passed("no success was claimed")
    if params.path is not None:
        name = params.path.text
        actual = params.path.get(evidence.final.root)
        reason = mismatch(params.comparators, actual, evidence)
        if reason is None:
            return passed(f"the claimed success is backed: {holds(name, actual)}", paths=(name,))
        return failed(f"success was claimed, but {name}: {reason}", paths=(name,))
    hollow = [call for call in evidence.calls if claimed_without_change(call)]
    if not hollow:
        return passed("no tool reported a success that changed nothing")
    tools = listed([f"{call.tool} (call {call.seq})" for call in hollow])
    return failed(
        f"success was claimed, but {tools} answered success without changing anything",
        label="HALLUCINATED_SUCCESS",
        calls=[call.seq for call in hollow],
    )


@dataclass(frozen=True, slots=True)
class ProposalParams:
    path: Path = state_path("A path in the proposal.")
    comparators: Comparison = comparators("What must hold there.")


@expectation("proposal", label="PROPOSAL_MISMATCH")
def proposal(params: ProposalParams, evidence: Evidence) -> Finding:
    """The structured proposal in the agent's answer compares at `path`: a claim, checked against the case.

    Without an answer, or with an answer that proposes nothing, it fails whatever it asks for.
    """
    if evidence.answer is None or evidence.answer.proposal is None:
        return failed("the agent made no proposal")
    name = params.path.text
    actual = params.path.get(evidence.answer.proposal)
    reason = mismatch(params.comparators, actual, evidence)
    if reason is None:
        return passed(f"in the proposal {holds(name, actual)}")
    return failed(f"in the proposal {name}: {reason}", proposal=name)
