"""Figures that stand beside the verdict and never change it (FORMATS 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluations.grading.evidence import Answer
from evaluations.grading.results import Result
from evaluations.grading.signals import (
    DEFAULT_ESCALATION_TOOL,
    KeyArguments,
    duplicate_effects,
    escalated,
    is_call,
    retry_seqs,
)

BETTER, WORSE, SAME, UNKNOWN = "better", "worse", "same", "unknown"

#: name -> which direction is better. Escalations have none: handing over the right case is good, and whether
#: it was the right one is for the expectations to say.
METRICS: dict[str, str | None] = {
    "tool_calls": "lower",
    "retries": "lower",
    "duplicate_effects": "lower",
    "policy_violations": "lower",
    "escalations": None,
    "steps": "lower",
    "latency_ms": "lower",
    "tokens": "lower",
    "cost_usd": "lower",
    "semantic_score": "higher",
}
_TOLERANCE = 1e-9
#: What a clock measured differs from one run to the next: name -> (absolute, share of the larger figure). A
#: difference says something only where it is larger than both (docs/decisions/1301).
NOISE: dict[str, tuple[float, float]] = {"latency_ms": (100.0, 0.2)}


def steps_taken(records: Iterable[Any], answer: Answer | None) -> int:
    """The larger of the steps the agent reports and the calls and searches recorded (FORMATS 8)."""
    recorded = sum(1 for record in records if record.kind == "retrieval" or is_call(record))
    reported = answer.steps if answer is not None and answer.steps is not None else 0
    return max(recorded, int(reported))


def metrics(
    records: Sequence[Any],
    results: Iterable[Result] = (),
    answer: Answer | None = None,
    *,
    key_arguments: KeyArguments,
    escalation_tools: Iterable[str] = (DEFAULT_ESCALATION_TOOL,),
) -> dict[str, Any]:
    """One figure per name of `METRICS`; None where it is not known, never 0.

    Latency in milliseconds, cost in US dollars, tokens in and out together. `escalations` counts hand-overs
    that took effect, `duplicate_effects` the effects applied more than once.
    """
    calls = [record for record in records if is_call(record)]
    tools = frozenset(escalation_tools)
    return {
        "tool_calls": len(calls),
        "retries": len(retry_seqs(calls)),
        "duplicate_effects": len(duplicate_effects(records, key_arguments)),
        "policy_violations": sum(1 for call in calls if call.policy_violation is not None),
        "escalations": sum(1 for call in calls if call.tool in tools and escalated(call)),
        "steps": steps_taken(records, answer),
        "latency_ms": None if answer is None else answer.latency_ms,
        "tokens": None if answer is None else _tokens(answer),
        "cost_usd": None if answer is None else answer.usage.cost_usd,
        "semantic_score": _semantic_score(results),
    }


def compare_metrics(baseline: Mapping[str, Any], candidate: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """name -> `{baseline, candidate, verdict}`, the candidate being better, worse, same or unknown.

    Unknown where a side has no figure, or where neither direction is better. Same where the difference is
    within what the measurement itself varies by (`NOISE`).
    """
    return {
        name: {
            "baseline": baseline.get(name),
            "candidate": candidate.get(name),
            "verdict": _verdict(name, baseline.get(name), candidate.get(name)),
        }
        for name in METRICS
    }


def _verdict(name: str, baseline: Any, candidate: Any) -> str:
    if baseline is None or candidate is None:
        return UNKNOWN
    absolute, share = NOISE.get(name, (_TOLERANCE, 0.0))
    if abs(baseline - candidate) <= max(absolute, share * max(abs(baseline), abs(candidate))):
        return SAME
    direction = METRICS[name]
    if direction is None:
        return UNKNOWN
    return BETTER if (candidate < baseline) == (direction == "lower") else WORSE


def _tokens(answer: Answer) -> int | None:
    usage = answer.usage
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def _semantic_score(results: Iterable[Result]) -> float | None:
    """The mean score of the judged expectations that have one."""
    scores = [result.evidence.get("score") for result in results if result.type == "semantic"]
    known = [score for score in scores if isinstance(score, int | float) and not isinstance(score, bool)]
    return sum(known) / len(known) if known else None
