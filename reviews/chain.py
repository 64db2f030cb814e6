"""The hash chain of the audit log, without a database: what an entry's hash is, and how a chain breaks.

The hash is the SHA-256, in hexadecimal, of the entry's canonical JSON: all its fields but `entry_hash`, keys
sorted, no white space, UTF-8, `at` as ISO 8601 in UTC with six decimals. `previous_hash` is one of the
fields, so each entry vouches for all before it. Anybody can check an export with a dozen lines of code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

GENESIS = "0" * 64

FIELDS = (
    "sequence",
    "at",
    "actor_id",
    "actor_name",
    "action",
    "subject_type",
    "subject_id",
    "subject_label",
    "before",
    "after",
    "note",
    "via",
    "previous_hash",
)

BreakKind = Literal["changed", "missing", "reordered"]


@dataclass(frozen=True, slots=True)
class Break:
    """The first place where the chain does not hold."""

    sequence: int
    kind: BreakKind
    detail: str


def moment_text(at: datetime) -> str:
    """A moment as it is hashed and exported."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def entry_hash(fields: Mapping[str, Any]) -> str:
    """The hash of an entry given as its FIELDS; `at` is a text."""
    canonical = json.dumps(
        {name: fields[name] for name in FIELDS},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    # A row changed by hand may hold anything, also what is no text.
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def describe_break(fields: Mapping[str, Any], *, expected: int, previous_hash: str) -> Break | None:
    """None if the entry stands where the chain expects it; else what is wrong as far as this entry tells.

    `fields` are the FIELDS and the stored `entry_hash`. An entry whose content and link are both wrong is
    called reordered: the caller, who can look at the other entries, tells that from a missing one.
    """
    found = fields["sequence"]
    if found != expected:
        return Break(expected, "missing", f"entry {expected} is missing; the next one is {found}")
    content_holds = entry_hash(fields) == fields["entry_hash"]
    link_holds = fields["previous_hash"] == previous_hash
    if content_holds and link_holds:
        return None
    if link_holds:
        return Break(
            expected, "changed", f"entry {expected} does not match its hash: its content was changed"
        )
    if content_holds:
        # Its own seal is whole, so what it was chained to is no longer there.
        before = max(expected - 1, 1)
        return Break(
            before,
            "changed",
            f"entry {before} was changed and sealed again: entry {expected} was chained to another",
        )
    return Break(expected, "reordered", f"entry {expected} is not the one that was recorded there")
