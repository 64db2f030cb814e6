"""Checks of the audit chain from a page: each is an action on record, so who checked and when is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reviews import audit
from reviews.models import AuditEntry, AuditHead
from reviews.roles import DECIDE, require

ACTION = "audit_chain_checked"


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """The latest check: what it found of the first `entries`, and how many were added since."""

    sequence: int
    at: datetime
    by: str
    is_intact: bool
    entries: int
    head: str
    detail: str
    added_since: int


def check_chain(*, actor: Any) -> audit.ChainReport:
    """Verify the whole chain now and record who did and what was found. Nothing is locked meanwhile.

    Raises NotAllowedError, and AuditLogError where the log is so broken that nothing can be added to it.
    """
    require(actor, DECIDE, "check the audit log")
    report = audit.verify()
    audit.record(
        action=ACTION,
        subject_type="audit log",
        subject_label="the audit log",
        actor=actor,
        after={
            "intact": report.is_intact,
            "entries": report.entries,
            "head": f"{report.head_sequence}:{report.head_hash}",
            "broken": report.broken.detail if report.broken else None,
        },
    )
    return report


def latest_check() -> ChainCheck | None:
    """What the last check from a page found; None if there was none. Two queries."""
    entry = AuditEntry.objects.filter(action=ACTION).select_related("actor").order_by("-sequence").first()
    if entry is None:
        return None
    found = entry.after if isinstance(entry.after, dict) else {}
    head = AuditHead.objects.filter(pk=1).values_list("sequence", flat=True).first() or entry.sequence
    return ChainCheck(
        sequence=entry.sequence,
        at=entry.at,
        by=entry.actor_name,
        is_intact=found.get("intact") is True,
        entries=int(found.get("entries") or 0),
        head=str(found.get("head") or ""),
        detail=str(found.get("broken") or ""),
        added_since=max(0, head - entry.sequence),
    )
