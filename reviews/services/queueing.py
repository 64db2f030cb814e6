"""The queue of what needs a person: flags, reservations, assignments, closing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from evaluations.holdouts import seen
from evaluations.models import PairedCase
from reviews import audit
from reviews.errors import (
    EntryClosedError,
    EntryNotForYouError,
    EntryTakenError,
    EntryUndecidedError,
    InvalidInputError,
    NotFoundError,
)
from reviews.models import FOR_REVIEWERS, DoubleReview, QueueEntry, QueueReason, QueueState
from reviews.querysets import QueueQuerySet
from reviews.roles import DECIDE, FLAG, MANAGE_QUEUE, WORK_QUEUE, require
from reviews.services.needs import priority_of
from reviews.texts import clean_note, clean_text
from scenarios.holdouts import sight_of

RESERVATION = timedelta(minutes=30)
RUN_AGAIN = "The trial was run again."
IDS_AT_ONCE = 500


def flag_case(
    *, pair_id: int, note: str, actor: Any, side: str = "", via: str | None = None
) -> tuple[QueueEntry, bool]:
    """Put a case into the queue for a stated reason; answers the entry and whether it was made just now.

    A case already flagged stays one entry: another reason is added to it, the same reason again (a double
    click) changes nothing. Raises NotAllowedError, NotFoundError, InvalidInputError("note").
    """
    require(actor, FLAG, "flag a case")
    reason_text = f"{actor.get_username()}: {clean_note(note)}"
    with transaction.atomic():
        pairs = seen(PairedCase.objects.filter(pk=pair_id), sight_of(actor))
        pair = pairs.select_for_update(of=("self",)).first()
        if pair is None:
            raise NotFoundError(f"There is no case {pair_id}.")
        entry = _locked().open().filter(pair=pair, reason=QueueReason.FLAGGED).first()
        is_new = entry is None
        if entry is None:
            entry = QueueEntry.objects.create(
                pair=pair,
                reason=QueueReason.FLAGGED,
                side=side,
                detail=reason_text,
                priority=priority_of(pair),
                created_by=actor,
            )
        elif reason_text in entry.detail.split("\n\n"):
            return entry, False
        else:
            entry.detail = f"{entry.detail}\n\n{reason_text}"
            entry.save(update_fields=["detail"])
        _record("case_flagged", entry, actor, via, note=note, after={"entry": entry.pk, "side": entry.side})
    return entry, is_new


def reserve_next(
    *, actor: Any, reason: str = "", skip_entry_id: int | None = None, now: datetime | None = None
) -> QueueEntry | None:
    """The entry this person works on next, reserved for 30 minutes; None when nothing is free for them.

    Whoever holds an entry gets that one again, with fresh time, unless it is the one to skip: that one is
    released and the next one after it taken (round the end to the start). What was assigned to the person
    comes first, then the worst. No entry goes to two people, and a double click reserves one.
    """
    require(actor, WORK_QUEUE, "take cases from the queue")
    now = now or timezone.now()
    with transaction.atomic():
        # One reservation per person: two requests of the same person wait for each other here.
        get_user_model()._default_manager.select_for_update(no_key=True).get(pk=actor.pk)
        held = seen(_locked().open().held(now).filter(reserved_by=actor), sight_of(actor), pair="pair")
        skipped = held.filter(pk=skip_entry_id).first() if skip_entry_id else None
        for entry in held.order_by("priority", "id"):
            if skipped is None:
                return _reserve(entry, actor, now)
            _free(entry)
        free = seen(QueueEntry.objects.free_for(actor.pk, now), sight_of(actor), pair="pair")
        free = free.select_for_update(skip_locked=True, of=("self",))
        if reason:
            free = free.filter(reason=reason)
        found = _first_after(free, skipped, actor)
        return None if found is None else _reserve(found, actor, now)


def reserve(*, entry_id: int, actor: Any, now: datetime | None = None) -> QueueEntry:
    """Reserve this entry for 30 minutes, giving up any other one the person holds.

    Raises NotFoundError, EntryClosedError, EntryTakenError (somebody else's reservation still runs),
    EntryNotForYouError (another reviewer must go on with it).
    """
    require(actor, WORK_QUEUE, "take cases from the queue")
    now = now or timezone.now()
    with transaction.atomic():
        get_user_model()._default_manager.select_for_update(no_key=True).get(pk=actor.pk)
        entry = _open_entry(entry_id, actor)
        _refuse_if_held_by_another(entry, actor, now)
        if not _is_left_for(entry, actor):
            raise EntryNotForYouError("You have decided all that is yours here; another reviewer goes on.")
        for other in _locked().open().held(now).filter(reserved_by=actor).exclude(pk=entry.pk):
            _free(other)
        return _reserve(entry, actor, now)


def release(*, entry_id: int, actor: Any, via: str | None = None, now: datetime | None = None) -> QueueEntry:
    """Give up a reservation. Somebody else's needs the permission to manage the queue, and is recorded."""
    require(actor, WORK_QUEUE, "release a case")
    now = now or timezone.now()
    with transaction.atomic():
        entry = _open_entry(entry_id, actor)
        holder = entry.reserved_by if entry.is_held(now) else None
        if holder is not None and holder.pk != actor.pk:
            require(actor, MANAGE_QUEUE, "release what somebody else holds")
        _free(entry)
        if holder is not None and holder.pk != actor.pk:
            _record("entry_released", entry, actor, via, before={"reserved_by": holder.get_username()})
    return entry


def assign(
    *, entry_id: int, assignee_id: int | None, actor: Any, via: str | None = None, now: datetime | None = None
) -> QueueEntry:
    """Give an open entry to a person, or to nobody (None). Who is assigned already changes nothing.

    Raises EntryTakenError if somebody else is working on it and the actor may not manage the queue,
    InvalidInputError("assignee") for an account that cannot decide.
    """
    require(actor, WORK_QUEUE, "assign a case")
    now = now or timezone.now()
    assignee = (
        None if assignee_id is None else get_user_model()._default_manager.filter(pk=assignee_id).first()
    )
    if assignee_id is not None and (assignee is None or not assignee.has_perm(DECIDE)):
        raise InvalidInputError("assignee", "Choose an active account that may review.")
    with transaction.atomic():
        entry = _open_entry(entry_id, actor)
        if not actor.has_perm(MANAGE_QUEUE):
            _refuse_if_held_by_another(entry, actor, now)
        if assignee is not None and not _is_left_for(entry, assignee):
            raise InvalidInputError("assignee", "They have decided already; choose another reviewer.")
        if entry.assigned_to_id == (assignee and assignee.pk):
            return entry
        before = entry.assigned_to
        entry.assigned_to = assignee
        # Work that now belongs to another is no longer in the holder's hands.
        if assignee is not None and entry.reserved_by_id not in (None, assignee.pk):
            entry.reserved_by = entry.reserved_until = None
        entry.save(update_fields=["assigned_to", "reserved_by", "reserved_until"])
        _record("entry_assigned", entry, actor, via, before=_assigned(before), after=_assigned(assignee))
    return entry


def close_entry(
    *, entry_id: int, note: str, actor: Any, via: str | None = None, now: datetime | None = None
) -> QueueEntry:
    """Close an entry without an override, saying why. The verdicts stay as they are.

    Raises EntryClosedError, EntryTakenError, InvalidInputError("note"), EntryUndecidedError: where a reviewer
    has decided under seal, the others must decide too.
    """
    require(actor, DECIDE, "close a queue entry")
    note = clean_note(note)
    now = now or timezone.now()
    with transaction.atomic():
        entry = _open_entry(entry_id, actor)
        if not actor.has_perm(MANAGE_QUEUE):
            _refuse_if_held_by_another(entry, actor, now)
        if _waits_for_reviewers(entry):
            raise EntryUndecidedError("A reviewer has decided here. It ends when the others have, too.")
        close_locked(entry, actor, note, now, via)
    return entry


def close_locked(entry: QueueEntry, actor: Any, note: str, now: datetime, via: str | None) -> None:
    """Mark an entry whose row this transaction holds as done, and record it."""
    entry.state = QueueState.DONE
    entry.closed_by, entry.closed_at, entry.closing_note = actor, now, clean_text(note)
    entry.reserved_by = entry.reserved_until = None
    entry.save(
        update_fields=["state", "closed_by", "closed_at", "closing_note", "reserved_by", "reserved_until"]
    )
    _record("entry_closed", entry, actor, via, note=note, before={"state": "OPEN"}, after={"state": "DONE"})


def close_replaced(pair_ids: Sequence[int], *, actor: Any, via: str | None = None) -> int:
    """Close what asks for a look at trials that were run again; how many entries. Flags stay open.

    Nobody decided anything here, so it is one record for all of them, beside that of the re-run itself.
    """
    closed: list[int] = []
    for first in range(0, len(pair_ids), IDS_AT_ONCE):
        entries = _locked().open().filter(pair__in=pair_ids[first : first + IDS_AT_ONCE])
        ids = list(entries.exclude(reason=QueueReason.FLAGGED).order_by("id").values_list("id", flat=True))
        QueueEntry.objects.filter(pk__in=ids).update(
            state=QueueState.DONE,
            closed_by=actor,
            closed_at=timezone.now(),
            closing_note=RUN_AGAIN,
            reserved_by=None,
            reserved_until=None,
        )
        closed += ids
    if closed:
        audit.record(
            action="entries_closed",
            subject_type="queue",
            subject_label=f"queue entries of {len(pair_ids)} cases",
            actor=actor,
            via=via,
            note=RUN_AGAIN,
            after={"count": len(closed), "entries": closed[:IDS_AT_ONCE]},
        )
    return len(closed)


def hand_over(entry: QueueEntry, actor: Any, via: str | None) -> None:
    """Give up what the actor holds of an entry whose row this transaction holds, and what they were given."""
    if entry.reserved_by_id == actor.pk:
        _free(entry)
    if entry.assigned_to_id == actor.pk:
        _unassign(entry, actor, actor, via)


def take_back(account_ids: Iterable[int], *, actor: Any, via: str | None = None) -> None:
    """Free for everybody what those of these accounts that may not decide (any more) hold or were given.

    Without this an entry assigned to an account that left would be handed to nobody. Recorded per case.
    """
    people = get_user_model()._default_manager.filter(pk__in=list(account_ids))
    gone: dict[int | None, Any] = {person.pk: person for person in people if not person.has_perm(DECIDE)}
    if not gone:
        return
    now = timezone.now()
    with transaction.atomic():
        theirs = _locked().open().filter(Q(reserved_by__in=gone) | Q(assigned_to__in=gone))
        # All rows before the first record: the log is locked from then on.
        for entry in list(theirs.select_related("pair").order_by("id")):
            if holder := gone.get(entry.reserved_by_id):
                was_held = entry.is_held(now)
                _free(entry)
                if was_held:
                    before = {"reserved_by": holder.get_username()}
                    _record("entry_released", entry, actor, via, before=before)
            if assignee := gone.get(entry.assigned_to_id):
                _unassign(entry, assignee, actor, via)


def _unassign(entry: QueueEntry, assignee: Any, actor: Any, via: str | None) -> None:
    entry.assigned_to = None
    entry.save(update_fields=["assigned_to"])
    _record("entry_assigned", entry, actor, via, before=_assigned(assignee), after=_assigned(None))


def _is_left_for(entry: QueueEntry, person: Any) -> bool:
    return QueueEntry.objects.left_for(person.pk).filter(pk=entry.pk).exists()


def _waits_for_reviewers(entry: QueueEntry) -> bool:
    if entry.reason not in FOR_REVIEWERS:
        return False
    return DoubleReview.objects.unsettled().filter(result__case__pair=entry.pair_id).exists()


def _locked() -> QueueQuerySet:
    return QueueEntry.objects.select_for_update(of=("self",))


def _open_entry(entry_id: int, actor: Any) -> QueueEntry:
    entries = seen(
        _locked().select_related("pair", "reserved_by", "assigned_to"), sight_of(actor), pair="pair"
    )
    entry = entries.filter(pk=entry_id).first()
    if entry is None:
        raise NotFoundError(f"There is no queue entry {entry_id}.")
    if not entry.is_open:
        raise EntryClosedError("This entry is already done.")
    return entry


def _refuse_if_held_by_another(entry: QueueEntry, actor: Any, now: datetime) -> None:
    if entry.is_held(now) and entry.reserved_by_id != actor.pk and entry.reserved_by and entry.reserved_until:
        until = entry.reserved_until.strftime("%H:%M UTC")
        raise EntryTakenError(
            f"Somebody works on it already: {entry.reserved_by.get_username()}, until {until}.", entry
        )


def _first_after(free: QueueQuerySet, skipped: QueueEntry | None, actor: Any) -> QueueEntry | None:
    """Assigned to the person first, then by rank; behind the skipped one, if any, before starting over."""
    free = free.order_by("priority", "id")
    if skipped is not None:
        others = free.exclude(pk=skipped.pk)
        behind = others.after(skipped.priority, skipped.pk)
        return behind.first() or others.first() or free.first()
    return free.filter(assigned_to=actor).first() or free.first()


def _reserve(entry: QueueEntry, actor: Any, now: datetime) -> QueueEntry:
    entry.reserved_by, entry.reserved_until = actor, now + RESERVATION
    entry.save(update_fields=["reserved_by", "reserved_until"])
    return entry


def _free(entry: QueueEntry) -> None:
    entry.reserved_by = entry.reserved_until = None
    entry.save(update_fields=["reserved_by", "reserved_until"])


def _assigned(account: Any) -> dict[str, Any]:
    return {"assigned_to": account.get_username() if account else None}


def _record(action: str, entry: QueueEntry, actor: Any, via: str | None, **more: Any) -> None:
    after = {"entry": entry.pk, "reason": entry.reason} | more.pop("after", {})
    audit.record(
        action=action,
        subject_type="case",
        subject_id=entry.pair_id,
        subject_label=f"{entry.pair} in comparison {entry.pair.comparison_id}",
        actor=actor,
        via=via,
        after=after,
        **more,
    )
