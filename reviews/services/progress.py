"""How the queue stands and who did what today. Each function is a fixed number of queries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from evaluations.holdouts import seen
from reviews.models import BlindDecision, QueueEntry, QueueReason, Review
from scenarios.holdouts import Sight, sight_of


@dataclass(frozen=True, slots=True)
class QueueOverview:
    """Open entries from one person's point of view. Each open entry is in exactly one of the last five."""

    open: int
    mine: int
    free: int
    held_by_others: int
    assigned_to_others: int
    # They have decided, and another reviewer must go on.
    for_other_reviewers: int = 0

    @property
    def is_all_done(self) -> bool:
        """Nothing is left for anybody; nothing being free for this person is not enough."""
        return self.open == 0


@dataclass(frozen=True, slots=True)
class ReviewerProgress:
    """`reviews` and `closed` since the asked moment, `holding` now."""

    reviewer: Any
    reviews: int
    closed: int
    holding: int


def queue_counts(sight: Sight) -> dict[str, int]:
    """Open entries per reason, every known reason included, in the order of the reasons."""
    entries = seen(QueueEntry.objects.open(), sight, pair="pair")
    counts = dict(entries.order_by().values_list("reason").annotate(number=Count("id")))
    return {str(reason): counts.pop(reason, 0) for reason in QueueReason.values} | counts


def queue_overview(*, actor: Any, now: datetime | None = None, total: int | None = None) -> QueueOverview:
    """Three queries, and one to count all where the caller has not (`total`).

    What is held or assigned is found by indices of its own, however long the queue is.
    """
    now = now or timezone.now()
    entries = seen(QueueEntry.objects.open(), sight_of(actor), pair="pair").order_by()
    held = entries.held(now).aggregate(all=Count("id"), mine=Count("id", filter=Q(reserved_by=actor)))
    not_held = Q(reserved_until__isnull=True) | Q(reserved_until__lte=now)
    assigned = entries.filter(not_held, assigned_to__isnull=False).exclude(assigned_to=actor).count()
    others = entries.filter(not_held).filter(Q(assigned_to__isnull=True) | Q(assigned_to=actor))
    decided = others.for_other_reviewers(actor.pk).count()
    total = entries.count() if total is None else total
    return QueueOverview(
        open=total,
        mine=held["mine"],
        free=total - held["all"] - assigned - decided,
        held_by_others=held["all"] - held["mine"],
        assigned_to_others=assigned,
        for_other_reviewers=decided,
    )


def progress_by_reviewer(
    *, since: datetime | None = None, now: datetime | None = None
) -> list[ReviewerProgress]:
    """Everybody who decided, closed or holds something, most busy first. `since`: today, in UTC."""
    now = now or timezone.now()
    since = since or datetime.combine(now.astimezone(UTC).date(), time.min, UTC)
    alone = _counts(Review.objects.filter(created_at__gte=since, double_review__isnull=True), "reviewer")
    # What settled a round is a decision of the round as well.
    blind = _counts(BlindDecision.objects.filter(decided_at__gte=since), "reviewer")
    reviews = Counter(alone) + Counter(blind)
    closed = _counts(QueueEntry.objects.done().filter(closed_at__gte=since), "closed_by")
    holding = _counts(QueueEntry.objects.open().held(now), "reserved_by")
    accounts = get_user_model()._default_manager.in_bulk({*reviews, *closed, *holding})
    progress = [
        ReviewerProgress(account, reviews[pk], closed.get(pk, 0), holding.get(pk, 0))
        for pk, account in accounts.items()
    ]
    return sorted(progress, key=lambda row: (-row.reviews - row.closed, row.reviewer.get_username()))


def _counts(rows: Any, person: str) -> dict[int, int]:
    # Not the column itself: a planner would go through its index, which holds every row there ever was.
    grouped = rows.order_by().annotate(who=Coalesce(f"{person}_id", 0)).values_list("who")
    return dict(grouped.annotate(number=Count("id")))
