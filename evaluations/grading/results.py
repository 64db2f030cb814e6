"""What a check found, and the result that is kept of it.

A check answers a `Finding`; `grade` turns it into a `Result` with the identity of its expectation. PASS and
FAIL are measurements. ERROR and SKIPPED mean that nothing was measured; neither ever reads as a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

PASS, FAIL, ERROR, SKIPPED = "PASS", "FAIL", "ERROR", "SKIPPED"
STATUSES = (PASS, FAIL, ERROR, SKIPPED)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check saw: `calls` are sequence numbers, `paths` are state paths, `more` is further JSON."""

    status: str
    reason: str
    label: str | None = None
    calls: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


def passed(reason: str, *, calls: Iterable[int] = (), paths: Iterable[str] = ()) -> Finding:
    """The expectation holds."""
    return Finding(PASS, reason, None, tuple(calls), tuple(paths))


def failed(
    reason: str,
    *,
    label: str | None = None,
    calls: Iterable[int] = (),
    paths: Iterable[str] = (),
    **more: Any,
) -> Finding:
    """It does not hold. Without `label` the result carries the first label of its type."""
    return Finding(FAIL, reason, label, tuple(calls), tuple(paths), more)


def skipped(reason: str) -> Finding:
    """What it asks for is not known here, so there is nothing to say either way."""
    return Finding(SKIPPED, reason)


def not_evaluated(reason: str, **more: Any) -> Finding:
    """It should have been evaluated and could not be."""
    return Finding(ERROR, reason, None, (), (), more)


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict on one expectation of one case (FORMATS 3.1).

    `evidence` holds `calls` (sequence numbers of the twin's records) and `paths` (state paths, without `$`),
    and for some types more. Nothing in it repeats a planted secret.
    """

    id: str
    type: str
    critical: bool
    status: str
    label: str | None
    reason: str
    evidence: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The keys of a rehearsal's `results` (FORMATS 6)."""
        return {
            "id": self.id,
            "type": self.type,
            "critical": self.critical,
            "status": self.status,
            "label": self.label,
            "reason": self.reason,
            "evidence": self.evidence,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Result:
        """The result that `to_json` wrote; keys it does not know are ignored."""
        return cls(
            id=value["id"],
            type=value["type"],
            critical=value["critical"],
            status=value["status"],
            label=value["label"],
            reason=value["reason"],
            evidence=dict(value.get("evidence") or {}),
        )
