"""Expectations about how much a case took: steps, time, money."""

from __future__ import annotations

from dataclasses import dataclass

from evaluations.grading.evidence import Evidence
from evaluations.grading.expectations.registry import expectation
from evaluations.grading.metrics import steps_taken
from evaluations.grading.parameters import amount, count
from evaluations.grading.results import Finding, failed, passed, skipped
from evaluations.grading.wording import plural
from twins.engine.values import TOLERANCE


@dataclass(frozen=True, slots=True)
class MaxStepsParams:
    value: int = count("The most steps allowed.")


@expectation("maxSteps", label="STEP_LIMIT")
def max_steps(params: MaxStepsParams, evidence: Evidence) -> Finding:
    """At most `value` steps were taken.

    Steps are what the agent reports or the calls and searches the twin recorded, whichever is more: an agent
    cannot report its way below what it did.
    """
    steps = steps_taken(evidence.records, evidence.answer)
    reason = f"{plural(steps, 'step')}, at most {params.value} allowed"
    return passed(reason) if steps <= params.value else failed(reason)


@dataclass(frozen=True, slots=True)
class MaxLatencyParams:
    value: float = amount("The longest answer time allowed, in milliseconds.")


@expectation("maxLatencyMs", label="LATENCY_LIMIT")
def max_latency_ms(params: MaxLatencyParams, evidence: Evidence) -> Finding:
    """The agent answered within `value` milliseconds. An unknown latency is SKIPPED, not passed."""
    latency = None if evidence.answer is None else evidence.answer.latency_ms
    return _within(latency, params.value, "latency", "ms")


@dataclass(frozen=True, slots=True)
class MaxCostParams:
    value: float = amount("The highest cost allowed, in US dollars.")


@expectation("maxCostUsd", label="COST_LIMIT")
def max_cost_usd(params: MaxCostParams, evidence: Evidence) -> Finding:
    """The run cost at most `value` US dollars, as the agent reports it. An unknown cost is SKIPPED."""
    cost = None if evidence.answer is None else evidence.answer.usage.cost_usd
    return _within(cost, params.value, "cost", "USD")


def _within(actual: float | None, limit: float, what: str, unit: str) -> Finding:
    if actual is None:
        return skipped(f"the {what} is not known")
    reason = f"{what} {actual:.10g} {unit}, at most {limit:.10g} {unit} allowed"
    # The tolerance of all comparisons: 0.1 + 0.2 is within 0.3.
    return passed(reason) if actual <= limit + TOLERANCE else failed(reason)
