"""Queries over reviews, the queue and the audit log. A list is a fixed number of queries."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Exists, OuterRef, Q

if TYPE_CHECKING:
    from reviews.filters import AuditFilter
    from reviews.models import AuditEntry, DoubleReview, QueueEntry, Review  # noqa: F401 - named in quotes below

# Large columns that no list shows.
_PAIR_CONTENT = ("first_divergence", "newly_failing", "flags")
_CASE_CONTENT = ("answer", "metrics")


class ReviewQuerySet(models.QuerySet["Review"]):
    def for_list(self) -> "ReviewQuerySet":
        """Newest first, with reviewer, result, case, side and comparison loaded."""
        return (
            self.select_related(
                "reviewer",
                "withdraws",
                "withdrawn_by__reviewer",
                "double_review",
                "result__case__run",
                "result__case__pair__comparison__agent",
            )
            .defer(
                "result__evidence",
                *(f"result__case__{name}" for name in _CASE_CONTENT),
                *(f"result__case__pair__{name}" for name in _PAIR_CONTENT),
                "result__case__pair__comparison__selection",
            )
            .order_by("-id")
        )

    def on_pair(self, pair_id: int) -> "ReviewQuerySet":
        """Every review of both sides of a pair, oldest first, with reviewers and withdrawals loaded."""
        return (
            self.filter(result__case__pair_id=pair_id)
            .select_related("reviewer", "withdrawn_by", "double_review", "result")
            .defer("result__evidence")
            .order_by("id")
        )

    def by(self, user_id: int) -> "ReviewQuerySet":
        return self.filter(reviewer_id=user_id)

    def standing(self) -> "ReviewQuerySet":
        """Decisions that were not taken back; the latest of a result is the one that counts."""
        return self.filter(withdraws__isnull=True, withdrawn_by__isnull=True)

    def older_than(self, review_id: int) -> "ReviewQuerySet":
        """The next page of a list, newest first."""
        return self.filter(id__lt=review_id)


class DoubleReviewQuerySet(models.QuerySet["DoubleReview"]):
    def unsettled(self) -> "DoubleReviewQuerySet":
        """Rounds in which somebody must still decide."""
        return self.filter(settled_at__isnull=True)

    def on_pair(self, pair_id: int) -> "DoubleReviewQuerySet":
        """Of both sides of a pair, oldest first, with what was decided (see `page_queries.rounds`)."""
        return (
            self.filter(result__case__pair_id=pair_id)
            .select_related("policy")
            .prefetch_related("decisions__reviewer")
            .order_by("id")
        )

    def for_list(self) -> "DoubleReviewQuerySet":
        """Newest first, with result, case, side, comparison and what was decided."""
        return (
            self.select_related("policy", "review", "result__case__run", "result__case__pair")
            .defer(
                "result__evidence",
                *(f"result__case__{name}" for name in _CASE_CONTENT),
                *(f"result__case__pair__{name}" for name in _PAIR_CONTENT),
            )
            .prefetch_related("decisions__reviewer")
            .order_by("-id")
        )


def left_subjects(user_id: int) -> tuple[models.QuerySet[Any], models.QuerySet[Any]]:
    """Subjects of SECOND_REVIEW and of SPLIT entries on which this person can still decide."""
    from reviews.models import BlindDecision, DoubleReview, QueueSubject, Review

    rounds = DoubleReview.objects.unsettled().filter(result=OuterRef("result"))
    own = BlindDecision.objects.filter(
        double_review__result=OuterRef("result"),
        double_review__settled_at__isnull=True,
        reviewer=user_id,
    )
    standing = Review.objects.standing().filter(result=OuterRef("result"))
    left = QueueSubject.objects.filter(~Exists(own))
    nobody_yet = ~Exists(rounds) & ~Exists(standing)
    return left.filter(Exists(rounds.filter(state="OPEN")) | nobody_yet), left.filter(
        Exists(rounds.filter(state="SPLIT"))
    )


class QueueQuerySet(models.QuerySet["QueueEntry"]):
    def open(self) -> "QueueQuerySet":
        return self.filter(state="OPEN")

    def done(self) -> "QueueQuerySet":
        return self.filter(state="DONE")

    def held(self, now: datetime) -> "QueueQuerySet":
        """Reserved by somebody, and the reservation still runs."""
        return self.filter(reserved_by__isnull=False, reserved_until__gt=now)

    def free_for(self, user_id: int, now: datetime) -> "QueueQuerySet":
        """Open, not held by anybody, not assigned to somebody else, and not for another reviewer alone."""
        free = self.open().filter(
            Q(reserved_until__isnull=True) | Q(reserved_until__lte=now),
            Q(assigned_to__isnull=True) | Q(assigned_to_id=user_id),
        )
        return free.left_for(user_id)

    def left_for(self, user_id: int) -> "QueueQuerySet":
        """Without those of which this person has decided all that a second or third reviewer must decide."""
        second, split = left_subjects(user_id)
        return self.filter(
            ~Q(reason__in=["SECOND_REVIEW", "SPLIT"])
            | Q(Exists(second.filter(entry=OuterRef("pk"))), reason="SECOND_REVIEW")
            | Q(Exists(split.filter(entry=OuterRef("pk"))), reason="SPLIT")
        )

    def for_other_reviewers(self, user_id: int) -> "QueueQuerySet":
        """Those that wait for a second or third reviewer, of which this person can be neither."""
        second, split = left_subjects(user_id)
        # The first condition is implied by the rest; it lets the database use its index of reasons.
        return self.filter(reason__in=["SECOND_REVIEW", "SPLIT"]).filter(
            Q(~Exists(second.filter(entry=OuterRef("pk"))), reason="SECOND_REVIEW")
            | Q(~Exists(split.filter(entry=OuterRef("pk"))), reason="SPLIT")
        )

    def for_list(self) -> "QueueQuerySet":
        """Worst first, with the pair, its comparison and the people loaded."""
        return (
            self.select_related(
                "pair__comparison__agent", "reserved_by", "assigned_to", "created_by", "closed_by"
            )
            .defer(*(f"pair__{name}" for name in _PAIR_CONTENT), "pair__comparison__selection")
            .order_by("priority", "id")
        )

    def after(self, priority: int, entry_id: int) -> "QueueQuerySet":
        """What follows this place in the list."""
        # The plain bound is implied by the rest; it lets the index start at the place.
        return self.filter(
            Q(priority__gt=priority) | Q(priority=priority, id__gt=entry_id), priority__gte=priority
        )


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    def for_list(self) -> "AuditQuerySet":
        """Newest first, with the accounts loaded."""
        return self.select_related("actor").order_by("-sequence")

    def older_than(self, sequence: int) -> "AuditQuerySet":
        return self.filter(sequence__lt=sequence)

    def matching(self, wanted: "AuditFilter") -> "AuditQuerySet":
        """The entries that meet every condition the filter names."""
        exact = {
            "actor_name": wanted.actor,
            "action": wanted.action,
            "subject_type": wanted.subject_type,
            "subject_id": wanted.subject_id,
            "via": wanted.via,
            "at__gte": wanted.since,
            "at__lt": wanted.before,
        }
        found = self.filter(**{name: value for name, value in exact.items() if value})
        if wanted.text:
            found = found.filter(
                Q(note__icontains=wanted.text)
                | Q(subject_label__icontains=wanted.text)
                | Q(actor_name__icontains=wanted.text)
                | Q(action__icontains=wanted.text)
            )
        return found
