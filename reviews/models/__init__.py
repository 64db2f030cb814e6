"""Rows of the reviews room: decisions of people, the queue of what needs one, and the audit log."""

from reviews.models.audit import AuditEntry, AuditHead
from reviews.models.decisions import Decision, Review
from reviews.models.queue import QueueEntry, QueueReason, QueueState, queue_reasons

__all__ = [
    "AuditEntry",
    "AuditHead",
    "Decision",
    "QueueEntry",
    "QueueReason",
    "QueueState",
    "Review",
    "queue_reasons",
]
