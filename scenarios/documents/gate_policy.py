"""``kind: GatePolicy``: what a release of an agent must show before it passes the gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twins.documents.problems import DocumentError, Problem
from twins.documents.source import Finding, as_source
from twins.documents.validation import DocumentSchema, Mention
from twins.engine.values import digest

GATE_POLICY_SCHEMA = DocumentSchema(Path(__file__).parent / "schemas" / "gate-policy.schema.json")

DEFAULT_LATENCY_PERCENT = 25.0
DEFAULT_LATENCY_IGNORED_MS = 1000.0
DEFAULT_COST_PERCENT = 25.0
_LISTS = ("scenarios", "severities", "tags")


@dataclass(frozen=True, slots=True)
class Mandatory:
    """Which scenarios must pass. `everything`: all of the suite; then the other three are empty."""

    everything: bool = True
    scenarios: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    pass_rate: float = 1.0


@dataclass(frozen=True, slots=True)
class Reliability:
    """The least pass^k of each scenario of severity critical."""

    k: int
    at_least: float


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """A valid policy. Coverage is in percent, None where the policy sets no bar."""

    name: str
    description: str = ""
    owner: str = ""
    mandatory: Mandatory = Mandatory()
    critical_failures_allowed: int = 0
    regressions_allowed: int = 0
    reliability: Reliability | None = None
    minimum_trials: int = 1
    latency_percent: float = DEFAULT_LATENCY_PERCENT
    latency_ignored_ms: float = DEFAULT_LATENCY_IGNORED_MS
    cost_percent: float = DEFAULT_COST_PERCENT
    tools_covered: float | None = None
    irreversible_tools_covered: float | None = None
    calibrated_judges_only: bool = False
    document: Mapping[str, Any] | None = None
    digest: str = ""


def validate_gate_policy(document: Any) -> list[Problem]:
    """Every problem of a policy: a Source or a parsed value. Empty for a valid one."""
    return GATE_POLICY_SCHEMA.problems(as_source(document), _named_once)


def load_gate_policy(document: Any) -> GatePolicy:
    """The policy of a document (a Source or a parsed value). DocumentError with every problem."""
    source = as_source(document)
    problems = validate_gate_policy(source)
    if problems:
        raise DocumentError(problems)
    return _policy(source.value)


def _policy(document: Mapping[str, Any]) -> GatePolicy:
    metadata, spec = document["metadata"], document["spec"]
    latency, cost, coverage = (spec.get(name, {}) for name in ("latency", "cost", "coverage"))
    bar = spec.get("reliability")
    return GatePolicy(
        name=metadata["name"],
        description=metadata.get("description", ""),
        owner=metadata.get("owner", ""),
        mandatory=_mandatory(spec.get("mandatory", {})),
        critical_failures_allowed=int(spec.get("criticalFailuresAllowed", 0)),
        regressions_allowed=int(spec.get("regressionsAllowed", 0)),
        reliability=None if bar is None else Reliability(int(bar["k"]), bar["atLeast"]),
        minimum_trials=int(spec.get("minimumTrials", 1)),
        latency_percent=latency.get("maxIncreasePercent", DEFAULT_LATENCY_PERCENT),
        latency_ignored_ms=latency.get("ignoreBelowMs", DEFAULT_LATENCY_IGNORED_MS),
        cost_percent=cost.get("maxIncreasePercent", DEFAULT_COST_PERCENT),
        tools_covered=coverage.get("tools"),
        irreversible_tools_covered=coverage.get("irreversibleTools"),
        calibrated_judges_only=spec.get("calibratedJudgesOnly", False),
        document=document,
        digest=digest(document),
    )


def _mandatory(written: Mapping[str, Any]) -> Mandatory:
    named = {name: tuple(written.get(name, ())) for name in _LISTS}
    return Mandatory(everything=not any(named.values()), pass_rate=float(written.get("passRate", 1)), **named)


def _named_once(document: Any, _mentions: Sequence[Mention]) -> Iterator[Finding]:
    """A name given twice in a list is a slip: the author meant another one."""
    spec = document.get("spec") if isinstance(document, dict) else None
    mandatory = spec.get("mandatory") if isinstance(spec, dict) else None
    for field in _LISTS:
        names = mandatory.get(field) if isinstance(mandatory, dict) else None
        seen: set[str] = set()
        for position, name in enumerate(names if isinstance(names, list) else ()):
            if isinstance(name, str):
                if name in seen:
                    place = ("spec", "mandatory", field, position)
                    yield Finding(place, f"{name} is listed twice")
                seen.add(name)
