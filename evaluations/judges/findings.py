"""From a verdict, or from none, to the finding on a semantic expectation (FORMATS 3.1, 4)."""

from __future__ import annotations

from typing import Any

from evaluations.grading.results import ERROR, FAIL, PASS, SKIPPED, Finding
from evaluations.judges import interface
from evaluations.judges.interface import JudgeError, JudgeIdentity, Verdict

SEMANTIC_FAIL = "SEMANTIC_FAIL"
_TOLERANCE = 1e-9

_SENTENCES = {
    "unavailable": "the judge could not be reached",
    "rate_limited": "the judge takes no more questions at the moment",
    "timeout": "the judge did not answer in time",
    "rejected": "the judge did not accept the request",
    "malformed": "the judge's reply is no verdict",
    "refused": "the judge declined to judge",
}


def judged(verdict: Verdict, *, threshold: float, identity: JudgeIdentity, criterion: str) -> Finding:
    """PASS only with the label pass and a score that reaches the threshold; a verdict that contradicts itself
    fails, and says so."""
    facts = _facts(identity, criterion) | {"score": verdict.score, "confidence": verdict.confidence}
    reaches = verdict.score >= threshold - _TOLERANCE
    says_pass = verdict.label == interface.PASS
    if says_pass and reaches:
        return Finding(PASS, verdict.reason, more=facts)
    if says_pass:
        reason = (
            f"the verdict contradicts itself: label pass, but the score {verdict.score:g} is below the "
            f"threshold {threshold:g}. {verdict.reason}"
        )
    elif reaches:
        reason = (
            f"the verdict contradicts itself: label fail, but the score {verdict.score:g} reaches the "
            f"threshold {threshold:g}. {verdict.reason}"
        )
    else:
        reason = verdict.reason
    return Finding(FAIL, reason, SEMANTIC_FAIL, more=facts)


def unanswered(criterion: str) -> Finding:
    """The agent gave no answer: it cannot do what the rubric asks, and no judge need be asked."""
    return Finding(
        FAIL, "the agent gave no answer, so no judge was asked", SEMANTIC_FAIL, more={"criterion": criterion}
    )


def not_judged(error: JudgeError, *, identity: JudgeIdentity, criterion: str, attempts: int = 1) -> Finding:
    """ERROR without a score: the judge said nothing, and nothing is made of that."""
    tries = f" ({attempts} attempts)" if attempts > 1 else ""
    facts = _facts(identity, criterion) | {"error": error.kind}
    return Finding(ERROR, f"{_SENTENCES[error.kind]}{tries}: {error.detail}", more=facts)


def beyond_budget(spent: str, *, identity: JudgeIdentity, criterion: str) -> Finding:
    """SKIPPED: the comparison has used up what its judge may cost. `spent` says how much that was."""
    return Finding(SKIPPED, f"no judge was asked: {spent}", more=_facts(identity, criterion))


def _facts(identity: JudgeIdentity, criterion: str) -> dict[str, Any]:
    return {"criterion": criterion, "judge": identity.to_json()}
