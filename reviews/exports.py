"""The audit log as files, streamed entry by entry: CSV that is safe to open in a spreadsheet, and JSON.

The JSON holds exactly what was hashed, so the chain can be checked without this program
(docs/decisions/0803). Neither is loaded whole, however long the log is.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

from reviews.audit import hashed_fields
from reviews.chain import FIELDS
from reviews.holdouts import entries_seen
from reviews.models import AuditEntry
from reviews.querysets import AuditQuerySet
from scenarios.holdouts import Sight

COLUMNS = (*FIELDS, "entry_hash")
CHUNK = 500

# What makes a spreadsheet take a cell for a formula or split it, their full-width forms included.
_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def safe_cell(value: Any) -> str:
    """The value as the text of a cell that no spreadsheet takes for a formula: an apostrophe before a sign.

    White space in front hides a sign from us, not from every spreadsheet, so it is looked through.
    """
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_RISKY) or text.lstrip().startswith(_RISKY) else text


def csv_lines(entries: AuditQuerySet, sight: Sight) -> Iterator[str]:
    """Lines of a CSV file in the order of the log, all cells quoted; before and after as compact JSON."""
    writer = csv.writer(_Echo(), quoting=csv.QUOTE_ALL)
    yield writer.writerow(COLUMNS)
    for entry in _in_order(entries, sight):
        row = exported(entry)
        for name in ("before", "after"):
            row[name] = None if row[name] is None else _compact(row[name])
        yield writer.writerow([safe_cell(row[name]) for name in COLUMNS])


def json_lines(entries: AuditQuerySet, sight: Sight) -> Iterator[str]:
    """Pieces of one JSON array of objects, one entry per line, in the order of the log."""
    before = "[\n"
    for entry in _in_order(entries, sight):
        yield before + _compact(exported(entry))
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def exported(entry: AuditEntry) -> dict[str, Any]:
    """One entry with every field that was hashed, and its hash."""
    return hashed_fields(entry) | {"entry_hash": entry.entry_hash}


class _Echo:
    """A file for csv.writer that hands each line back instead of keeping it."""

    def write(self, line: str) -> str:
        return line


def _in_order(entries: AuditQuerySet, sight: Sight) -> Iterator[AuditEntry]:
    """By key in short queries: a slow download must not hold a transaction or a cursor open."""
    ordered = entries.order_by("sequence")
    last = 0
    while chunk := list(ordered.filter(sequence__gt=last)[:CHUNK]):
        yield from entries_seen(chunk, sight)
        last = chunk[-1].sequence


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
