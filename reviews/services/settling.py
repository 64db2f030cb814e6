"""What a decision does to the queue: entries that are over are closed, what is for others is given up."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from evaluations.models import PairedCase
from reviews.models import QueueEntry
from reviews.services import needs
from reviews.services.queueing import close_locked, hand_over


def lock_entries(pair: PairedCase) -> list[QueueEntry]:
    """The open entries of a locked pair, locked: always before the audit log is appended to."""
    return list(QueueEntry.objects.select_for_update(of=("self",)).open().filter(pair=pair).order_by("id"))


def settle_queue(pair: PairedCase, *, actor: Any, note: str, via: str | None, looked: bool = True) -> None:
    """Close the entries of the pair that are over, by whoever just decided.

    A contradiction or a flag asks for a look at the whole case: whoever holds it has `looked` by deciding.
    """
    pair.refresh_from_db(fields=["classification", "class_rank", "reason"])
    open_reasons = needs.undecided(pair.pk)
    now = timezone.now()
    for entry in lock_entries(pair):
        if entry.reason in needs.BY_HAND:
            is_over = looked and entry.is_held_by(actor, now)
        else:
            is_over = entry.reason not in open_reasons
        if is_over:
            entry.pair = pair
            close_locked(entry, actor, note, now, via)


def give_up_what_is_for_others(pair: PairedCase, *, actor: Any, via: str | None) -> None:
    """What this person holds or was given of the pair, and only somebody else can go on with."""
    entries = QueueEntry.objects.open().filter(pair=pair)
    left = set(entries.left_for(actor.pk).values_list("pk", flat=True))
    for entry in lock_entries(pair):
        if entry.pk not in left:
            entry.pair = pair
            hand_over(entry, actor, via)
