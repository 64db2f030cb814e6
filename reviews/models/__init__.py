"""Rows of the reviews room: decisions of people, the queue of what needs one, and the audit log."""

from reviews.models.audit import AuditEntry, AuditHead
from reviews.models.decisions import Decision, Review
from reviews.models.queue import QueueEntry, QueueReason, QueueState, queue_reasons
from reviews.models.tokens import ApiToken, Scope

__all__ = [
    "ApiToken",
    "AuditEntry",
    "AuditHead",
    "Decision",
    "QueueEntry",
    "QueueReason",
    "QueueState",
    "Review",
    "Scope",
    "queue_reasons",
]
