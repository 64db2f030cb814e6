"""Which results two people must decide apart from each other, and which passing verdicts are sampled.

Pure: stored facts in, an answer out. Measured statuses count and never effective ones, so that a decision
does not change who must decide (docs/decisions/1302).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from evaluations.grading.expectations.judged import SEMANTIC

NEW_CRITICAL_FAILURE = "NEW_CRITICAL_FAILURE"
CRITICAL_JUDGED = "CRITICAL_JUDGED"
CRITICAL_UNMEASURED = "CRITICAL_UNMEASURED"
#: What a policy can ask two reviewers for, in the order in which a result is held against it.
ASKED_FOR: dict[str, str] = {
    NEW_CRITICAL_FAILURE: "critical checks that newly fail",
    CRITICAL_JUDGED: "critical checks that a judge decided",
    CRITICAL_UNMEASURED: "critical checks that could not be evaluated",
}

DEFAULT_SAMPLE_PERCENT = Decimal("5")
DEFAULT_CONFIDENCE_BELOW = Decimal("0.6")


@dataclass(frozen=True, slots=True)
class Policy:
    """What is asked of reviewers. Number 0: nobody has set one, these are the defaults."""

    number: int = 0
    two_reviewers: frozenset[str] = frozenset()
    sample_percent: Decimal = DEFAULT_SAMPLE_PERCENT
    confidence_below: Decimal = DEFAULT_CONFIDENCE_BELOW

    def to_json(self) -> dict[str, object]:
        return {
            "number": self.number,
            "two_reviewers": [name for name in ASKED_FOR if name in self.two_reviewers],
            "sample_percent": plain(self.sample_percent),
            "confidence_below": plain(self.confidence_below),
        }


def plain(value: Decimal) -> str:
    """5, 5.0 and 5.00 are written as 5."""
    return f"{value.normalize():f}"


@dataclass(frozen=True, slots=True)
class Measured:
    """One check as it was measured. `candidate` and `baseline` are the statuses of the two sides of its
    expectation, None where a side has none; `status` is the one in question.
    """

    type: str
    critical: bool
    status: str
    candidate: str | None = None
    baseline: str | None = None


def asked_for(policy: Policy, check: Measured) -> str:
    """Why two people must decide on this check, one of `ASKED_FOR`; empty if one is enough.

    Both sides of a check that newly fails count: to call the baseline's a failure too would lift the
    candidate's as well.
    """
    if not check.critical or not policy.two_reviewers:
        return ""
    holds = {
        NEW_CRITICAL_FAILURE: check.candidate == "FAIL" and check.baseline != "FAIL",
        CRITICAL_JUDGED: check.type == SEMANTIC and check.status in ("PASS", "FAIL"),
        CRITICAL_UNMEASURED: check.status in ("ERROR", "SKIPPED"),
    }
    return next((name for name in ASKED_FOR if name in policy.two_reviewers and holds[name]), "")


def is_sampled(percent: Decimal, key: Iterable[object]) -> bool:
    """Whether a passing verdict is among the sampled ones. The same key always answers the same."""
    text = "\x1f".join(str(part) for part in key)
    drawn = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    return drawn * 100 < percent * 2**64


@dataclass(frozen=True, slots=True)
class Votes:
    """What has been decided so far, in order: each (person, decision)."""

    given: tuple[tuple[int, str], ...] = field(default=())

    @property
    def people(self) -> Collection[int]:
        return [person for person, _ in self.given]

    @property
    def verdict(self) -> str | None:
        """What counts: what two agree on, else what the third said; None while somebody must still decide."""
        decisions = [decision for _, decision in self.given]
        if len(decisions) == 3:
            return decisions[2]
        return decisions[0] if len(decisions) == 2 and decisions[0] == decisions[1] else None

    @property
    def is_split(self) -> bool:
        return len(self.given) == 2 and self.verdict is None
