"""Rows of the reviews room: decisions of people, the queue of what needs one, and the audit log."""

from reviews.models.audit import AuditEntry, AuditHead
from reviews.models.decisions import Decision, Review
from reviews.models.double import UNSETTLED, BlindDecision, DoubleReview, DoubleReviewState
from reviews.models.policy import ReviewPolicy
from reviews.models.queue import (
    FOR_REVIEWERS,
    QueueEntry,
    QueueReason,
    QueueState,
    QueueSubject,
    queue_reasons,
)
from reviews.models.tokens import ApiToken, Scope

__all__ = [
    "FOR_REVIEWERS",
    "UNSETTLED",
    "ApiToken",
    "AuditEntry",
    "AuditHead",
    "BlindDecision",
    "Decision",
    "DoubleReview",
    "DoubleReviewState",
    "QueueEntry",
    "QueueReason",
    "QueueState",
    "QueueSubject",
    "Review",
    "ReviewPolicy",
    "Scope",
    "queue_reasons",
]
