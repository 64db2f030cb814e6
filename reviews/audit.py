"""The audit log as rows: appending to the chain, and verifying it.

`record` is the only writer. It runs inside the transaction of what it records, so action and entry commit
together or not at all. The head row is locked until that commit: appends are serialised, which is why a
service records last, when its other work is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max, TextField
from django.db.models.functions import Cast
from django.utils import timezone

from reviews.acting import current_via
from reviews.chain import FIELDS, GENESIS, Break, describe_break, entry_hash, moment_text
from reviews.errors import AuditLogError
from reviews.models import AuditEntry, AuditHead
from reviews.texts import clean_text

# Rows read at a time while verifying: what the check holds in memory, however long the log.
CHUNK = 500


def record(
    *,
    action: str,
    subject_type: str,
    subject_id: object = "",
    subject_label: str = "",
    actor: Any = None,
    before: Any = None,
    after: Any = None,
    note: str = "",
    via: str | None = None,
) -> AuditEntry:
    """Append one entry. `actor` may be None or anonymous; `via` is that of the current request if not given.

    `before` and `after` are JSON values. Raises AuditLogError when head and entries do not fit together, and
    then nothing of the surrounding transaction should be committed.
    """
    account = actor if getattr(actor, "is_authenticated", False) and actor.pk else None
    with transaction.atomic():
        head = _locked_head()
        entry = AuditEntry(
            sequence=head.sequence + 1,
            at=timezone.now(),
            actor_id=account.pk if account else None,
            actor_name=_short(account.get_username() if account else "", 200),
            action=_short(action, 100),
            subject_type=_short(subject_type, 50),
            subject_id=_short(str(subject_id), 200),
            subject_label=clean_text(subject_label),
            before=_plain(before),
            after=_plain(after),
            note=clean_text(note),
            via=_short(current_via() if via is None else via, 250),
            previous_hash=head.entry_hash,
        )
        entry.entry_hash = entry_hash(hashed_fields(entry))
        entry.save(force_insert=True)
        head.sequence, head.entry_hash = entry.sequence, entry.entry_hash
        head.save(update_fields=["sequence", "entry_hash"])
    return entry


def hashed_fields(entry: AuditEntry) -> dict[str, Any]:
    """The fields the hash is taken of, as JSON values."""
    return {name: getattr(entry, name) for name in FIELDS} | {"at": moment_text(entry.at)}


@dataclass(frozen=True, slots=True)
class ChainReport:
    """`entries` were found in order; `head_sequence` and `head_hash` are where the log ends."""

    entries: int
    head_sequence: int
    head_hash: str
    broken: Break | None

    @property
    def is_intact(self) -> bool:
        return self.broken is None


def verify(anchor: tuple[int, str] | None = None) -> ChainReport:
    """Walk the whole chain and report the first break. Memory does not grow with the log; nothing is locked.

    `anchor` is a (sequence, hash) noted earlier outside the database: whoever rewrote the whole chain since
    then cannot reproduce it.
    """
    # Entries commit together with their head, so a head read after this maximum is not behind it.
    last_seen = AuditEntry.objects.aggregate(last=Max("sequence"))["last"] or 0
    head = AuditHead.objects.filter(pk=1).first()
    head_sequence, head_hash = (head.sequence, head.entry_hash) if head else (0, GENESIS)
    entries, previous_hash, broken = 0, GENESIS, None
    rows = _rows(head_sequence)
    while broken is None:
        try:
            row = next(rows, None)
        except ValueError as problem:
            broken = Break(entries + 1, "changed", f"entry {entries + 1} cannot be read: {problem}")
            break
        if row is None:
            break
        broken = _break_at(row, entries + 1, previous_hash, anchor)
        if broken is None:
            entries, previous_hash = entries + 1, row["entry_hash"]
    if broken is None:
        broken = _break_at_end(entries, previous_hash, head_sequence, head_hash, last_seen)
    if broken is None and anchor and anchor[0] > entries:
        broken = Break(
            entries + 1,
            "missing",
            f"entry {anchor[0]}, which was noted, is missing: the log ends at {entries}",
        )
    return ChainReport(entries, head_sequence, head_hash, broken)


def _locked_head() -> AuditHead:
    # select_for_update does nothing on SQLite, whose immediate transactions admit one writer anyway.
    head = AuditHead.objects.select_for_update().filter(pk=1).first()
    if head is None:
        if AuditEntry.objects.exists():
            raise AuditLogError("The audit log has entries but no head: it was tampered with, verify it.")
        AuditHead.objects.get_or_create(pk=1, defaults={"sequence": 0, "entry_hash": GENESIS})
        head = AuditHead.objects.select_for_update().get(pk=1)
    return head


def _rows(up_to: int) -> Iterator[dict[str, Any]]:
    """The entries as dictionaries of FIELDS and `entry_hash`, in order, read in chunks by key.

    JSON columns are read as text and parsed here: a value spoilt by hand must be a finding, not a crash. Each
    chunk is a short query of its own, so no transaction stays open however long the walk takes.
    """
    columns = AuditEntry.objects.annotate(
        before_text=Cast("before", TextField()), after_text=Cast("after", TextField())
    ).order_by("sequence")
    names = [name for name in FIELDS if name not in ("before", "after")]
    last = None
    while True:
        chunk = (
            columns.filter(sequence__lte=up_to)
            if last is None
            else columns.filter(sequence__gt=last, sequence__lte=up_to)
        )
        values = list(chunk.values("before_text", "after_text", "entry_hash", *names)[:CHUNK])
        if not values:
            return
        for row in values:
            for name in ("before", "after"):
                text = row.pop(f"{name}_text")
                row[name] = None if text is None else json.loads(text)
            if row["at"] is None:
                raise ValueError("its time is not a time")
            row["at"] = moment_text(row["at"])
            yield row
        last = values[-1]["sequence"]


def _break_at(
    row: dict[str, Any], expected: int, previous_hash: str, anchor: tuple[int, str] | None
) -> Break | None:
    found = describe_break(row, expected=expected, previous_hash=previous_hash)
    if found is not None and found.kind != "changed":
        found = _missing_or_reordered(found, row, expected, previous_hash)
    if found is None and anchor and anchor[0] == expected and anchor[1] != row["entry_hash"]:
        return Break(
            expected, "changed", f"entry {expected} is not the one that was noted: the log was rewritten"
        )
    return found


def _missing_or_reordered(found: Break, row: dict[str, Any], expected: int, previous_hash: str) -> Break:
    """Tell apart, by looking for the entry that was chained to the one before, why another stands here."""
    follower = (
        AuditEntry.objects.filter(previous_hash=previous_hash).values_list("sequence", flat=True).first()
    )
    if follower is not None:
        return Break(
            expected, "reordered", f"entry {expected} now stands at {follower}: entries were reordered"
        )
    if found.kind == "missing":
        return found
    successor = (
        AuditEntry.objects.filter(sequence=expected + 1).values_list("previous_hash", flat=True).first()
    )
    if successor == row["entry_hash"] and not _was_numbered_otherwise(row):
        return Break(
            expected, "changed", f"entry {expected} does not match its hash: its content was changed"
        )
    return Break(expected, "missing", f"entry {expected} is missing: another one was numbered {expected}")


def _was_numbered_otherwise(row: dict[str, Any]) -> bool:
    """Whether the entry's seal fits a higher number: entries before it were removed, it was moved down."""
    candidates = range(row["sequence"] + 1, row["sequence"] + 1001)
    return any(entry_hash({**row, "sequence": number}) == row["entry_hash"] for number in candidates)


def _break_at_end(
    entries: int, last_hash: str, head_sequence: int, head_hash: str, last_seen: int
) -> Break | None:
    if entries < head_sequence:
        return Break(
            entries + 1,
            "missing",
            f"entry {entries + 1} is missing: the log ends at {entries}, its head says {head_sequence}",
        )
    if last_hash != head_hash:
        return Break(
            max(entries, 1), "changed", f"entry {entries} is not the one the head of the log was sealed with"
        )
    if last_seen > head_sequence:
        return Break(
            head_sequence + 1,
            "reordered",
            f"entry {head_sequence + 1} stands after the end of the log, at {head_sequence}",
        )
    return None


def _plain(value: Any) -> Any:
    """The value as JSON has it (tuples are lists, keys are texts), so that it reads back as it was hashed."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, default=str)
    return json.loads(text.encode("utf-8", "replace"))


def _short(text: str, limit: int) -> str:
    return clean_text(text)[:limit]
