"""How the queue stands and who did what today. Each function is a fixed number of queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from evaluations.holdouts import seen
from reviews.models import FOR_REVIEWERS, BlindDecision, QueueEntry, QueueReason, Review
from scenarios.holdouts import Sight, sight_of


@dataclass(frozen=True, slots=True)
class HeldEntry:
    """An open entry whose reservation still runs; a person holds one at most."""

    pk: int
    holder_id: int


@dataclass(frozen=True, slots=True)
class QueueOverview:
    """Open entries from one person's point of view. Each open entry is in exactly one of the first five."""

    mine: int
    free: int
    held_by_others: int
    assigned_to_others: int
    # They have decided, and another reviewer must go on.
    for_other_reviewers: int
    # Of the free ones, those that were given to this person.
    assigned_to_me: int
    # Open entries per reason, every known reason included, in the order of the reasons.
    counts: dict[str, int]
    held: Sequence[HeldEntry]

    @property
    def open(self) -> int:
        return sum(self.counts.values())

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


def queue_overview(*, actor: Any, now: datetime | None = None) -> QueueOverview:
    """Three queries, and a fourth while entries wait for a second or third reviewer.

    What is held or assigned is found by indices of its own, however long the queue is.
    """
    now = now or timezone.now()
    counts = queue_counts(sight_of(actor))
    entries = seen(QueueEntry.objects.open(), sight_of(actor), pair="pair").order_by()
    # In no order: the index of the list would lead through all that is open.
    held = [HeldEntry(*row) for row in entries.held(now).values_list("pk", "reserved_by_id")]
    mine = sum(entry.holder_id == actor.pk for entry in held)
    not_held = entries.filter(Q(reserved_until__isnull=True) | Q(reserved_until__lte=now))
    assigned = dict(
        not_held.filter(assigned_to__isnull=False).values_list("assigned_to").annotate(number=Count("id"))
    )
    to_me = assigned.pop(actor.pk, 0)
    to_others = sum(assigned.values())
    decided = 0
    if any(counts[reason] for reason in FOR_REVIEWERS):
        others = not_held.filter(Q(assigned_to__isnull=True) | Q(assigned_to=actor))
        decided = others.for_other_reviewers(actor.pk).count()
    return QueueOverview(
        mine=mine,
        free=sum(counts.values()) - len(held) - to_others - decided,
        held_by_others=len(held) - mine,
        assigned_to_others=to_others,
        for_other_reviewers=decided,
        assigned_to_me=to_me,
        counts=counts,
        held=held,
    )


def progress_by_reviewer(
    *, held: Sequence[HeldEntry], since: datetime | None = None, now: datetime | None = None
) -> list[ReviewerProgress]:
    """Everybody who decided or closed something or holds one of `held`, most busy first: four queries.

    `since`: from the start of today, in UTC, if not said.
    """
    now = now or timezone.now()
    since = since or datetime.combine(now.astimezone(UTC).date(), time.min, UTC)
    alone = _counts(Review.objects.filter(created_at__gte=since, double_review__isnull=True), "reviewer")
    # What settled a round is a decision of the round as well.
    blind = _counts(BlindDecision.objects.filter(decided_at__gte=since), "reviewer")
    reviews = Counter(alone) + Counter(blind)
    closed = _counts(QueueEntry.objects.done().filter(closed_at__gte=since), "closed_by")
    holding = Counter(entry.holder_id for entry in held)
    accounts = get_user_model()._default_manager.in_bulk({*reviews, *closed, *holding})
    progress = [
        ReviewerProgress(account, reviews[pk], closed.get(pk, 0), holding[pk])
        for pk, account in accounts.items()
    ]
    return sorted(progress, key=lambda row: (-row.reviews - row.closed, row.reviewer.get_username()))


def _counts(rows: Any, person: str) -> dict[int, int]:
    # Not the column itself: a planner would go through its index, which holds every row there ever was.
    grouped = rows.order_by().annotate(who=Coalesce(f"{person}_id", 0)).values_list("who")
    return dict(grouped.annotate(number=Count("id")))
