"""The audit log as those see it who may not look into holdouts: without the entries about hidden cases.

An entry names its subject in text, so the database cannot leave them out; a page or a chunk of a download is
sifted after it was read. What is left out keeps its number: the gap shows that there is something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evaluations.holdouts import seen
from evaluations.models import Comparison, ExpectationResult, ManualSession, PairedCase
from reviews.models import AuditEntry
from scenarios.holdouts import Sight
from scenarios.models import Purpose

# Of each type of subject that is (part of) a case: its model, and the rows of it that a person may see.
_OF_CASES: dict[str, tuple[Any, Callable[[Any, Sight], Any]]] = {
    "result": (ExpectationResult, lambda rows, sight: seen(rows, sight, pair="case__pair")),
    "case": (PairedCase, lambda rows, sight: seen(rows, sight)),
    "manualsession": (ManualSession, lambda rows, sight: sight.of(rows, "scenario_version")),
}
SUBJECTS = (*_OF_CASES, "scenario")
# What is told of a comparison on a holdout; anything else done to it may name its cases.
_TOLD_OF_COMPARISONS = ("comparison_started", "comparison_cancelled")


def entries_seen(entries: Sequence[AuditEntry], sight: Sight) -> list[AuditEntry]:
    """The entries this person may read: a query for each type of subject that occurs among them."""
    if sight.sees_all:
        return list(entries)
    open_subjects = {kind: _open_ids(entries, kind, sight) for kind in _OF_CASES}
    on_holdouts = _comparisons_on_holdouts(entries)
    return [
        entry
        for entry in entries
        if not _is_hidden(entry, open_subjects, sight)
        and (entry.subject_id not in on_holdouts or entry.subject_type != "comparison" or _is_told(entry))
    ]


def _is_told(entry: AuditEntry) -> bool:
    return entry.action in _TOLD_OF_COMPARISONS


def _comparisons_on_holdouts(entries: Sequence[AuditEntry]) -> set[str]:
    asked = {
        int(entry.subject_id)
        for entry in entries
        if entry.subject_type == "comparison" and entry.subject_id.isdecimal() and not _is_told(entry)
    }
    if not asked:
        return set()
    rows = Comparison.objects.filter(pk__in=asked, dataset_version__purpose=Purpose.HOLDOUT)
    return {str(pk) for pk in rows.values_list("pk", flat=True)}


def _open_ids(entries: Sequence[AuditEntry], kind: str, sight: Sight) -> set[str]:
    asked = {
        int(entry.subject_id)
        for entry in entries
        if entry.subject_type == kind and entry.subject_id.isdecimal()
    }
    if not asked:
        return set()
    model, rows_seen = _OF_CASES[kind]
    rows = rows_seen(model.objects.filter(pk__in=asked), sight)
    return {str(pk) for pk in rows.values_list("pk", flat=True)}


def _is_hidden(entry: AuditEntry, open_subjects: dict[str, set[str]], sight: Sight) -> bool:
    if entry.subject_type in open_subjects and entry.subject_id not in open_subjects[entry.subject_type]:
        return True
    if entry.subject_type == "scenario" and sight.hides(entry.subject_id):
        return True
    names = sight.hidden_names
    # A name alone, or with its trial behind it.
    return bool(names) and any(text.split(" ")[0] in names for text in _texts([entry.before, entry.after]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
