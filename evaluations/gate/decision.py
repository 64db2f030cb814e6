"""One decision from a policy and the evidence: every rule is asked, the worst that fired decides.

Nothing is averaged and nothing weighed against anything else, so no good figure can hide a rule that fired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluations.gate.evidence import GateEvidence
from evaluations.gate.outcomes import worst
from evaluations.gate.rules import RULES, Observation, Rule
from scenarios.documents.gate_policy import GatePolicy

#: Observations kept of one rule. The count of the rest is kept too.
MOST_OBSERVATIONS = 50


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that fired: what it says, what was found, and where.

    `where` names every scenario it fired for (or says what, where it is about none), also of the `more`
    observations that are not listed: by it an override is held against a later decision.
    """

    rule: str
    outcome: str
    sentence: str
    detail: str
    observations: tuple[Observation, ...]
    where: tuple[str, ...] = ()
    more: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "outcome": self.outcome,
            "sentence": self.sentence,
            "detail": self.detail,
            "observations": [one.to_json() for one in self.observations],
            "where": list(self.where),
            "more": self.more,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Fired:
        """What `to_json` wrote."""
        observations = tuple(Observation.from_json(one) for one in value["observations"])
        return cls(
            rule=value["rule"],
            outcome=value["outcome"],
            sentence=value["sentence"],
            detail=value["detail"],
            observations=observations,
            where=tuple(value["where"]),
            more=value["more"],
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """PASS, WARN or BLOCK, and the rules that fired in the order of the registry."""

    outcome: str
    fired: tuple[Fired, ...]

    def to_json(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "rules": [one.to_json() for one in self.fired]}


def decide(policy: GatePolicy, evidence: GateEvidence) -> Decision:
    """Ask every rule of the registry. The same policy and evidence give the same decision."""
    fired = tuple(found for rule in RULES.values() if (found := _asked(rule, policy, evidence)) is not None)
    return Decision(worst([one.outcome for one in fired]), fired)


def _asked(rule: Rule, policy: GatePolicy, evidence: GateEvidence) -> Fired | None:
    found = rule.check(policy, evidence)
    if found is None:
        return None
    kept = tuple(found.observations[:MOST_OBSERVATIONS])
    where = tuple(sorted({one.scenario or one.observed for one in found.observations}))
    more = len(found.observations) - len(kept)
    return Fired(rule.name, rule.outcome, rule.sentence, found.detail, kept, where, more)
