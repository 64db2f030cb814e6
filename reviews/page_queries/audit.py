"""A page of the audit log: each entry in words, with what it changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.urls import NoReverseMatch, reverse

from agenttwin_site.paging import Page, keyset_page
from reviews.filters import AuditFilter
from reviews.holdouts import entries_seen
from reviews.models import AuditEntry
from reviews.page_queries.cases import CaseAddress
from reviews.presenting.bounded import Cut, indented, one_line
from scenarios.holdouts import Sight
from twins.engine.values import MISSING, json_equal

LISTED = 50
CHANGES_SHOWN = 12
VALUE_CHARACTERS = 40
OPTIONS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A field that is not the same before and after."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AuditLine:
    """`changed` are the fields of before and after that differ; `whole` is all that was recorded of them."""

    entry: AuditEntry
    action: str
    href: str
    changed: list[ChangedField]
    more: int
    whole: Cut | None

    @property
    def is_deactivated(self) -> bool:
        return self.entry.actor is not None and not self.entry.actor.is_active


@dataclass(frozen=True, slots=True)
class AuditPage:
    page: Page
    lines: list[AuditLine]
    actors: list[str]
    actions: list[str]
    subject_types: list[str]
    # How many entries of the page are left out because they are about hidden cases of holdouts.
    left_out: int


def audit_page(wanted: AuditFilter, query: QueryDict, sight: Sight) -> AuditPage:
    """One page and what its filters can be set to: four queries, more where entries may have to be hidden."""
    entries = AuditEntry.objects.matching(wanted).for_list()
    page = keyset_page(entries, keys=("-sequence",), query=query, size=LISTED)
    shown = entries_seen(page.rows, sight)
    return AuditPage(
        page=page,
        lines=[_line(entry) for entry in shown],
        left_out=len(page.rows) - len(shown),
        actors=_options("actor_name", wanted.actor),
        actions=_options("action", wanted.action),
        subject_types=_options("subject_type", wanted.subject_type),
    )


def words_of(action: str) -> str:
    """`result_overridden` as people say it."""
    return action.replace("_", " ")


def _options(column: str, chosen: str) -> list[str]:
    """Values of a column; what is chosen stays among them even if no entry has it."""
    found = AuditEntry.objects.order_by(column).values_list(column, flat=True).distinct()[:OPTIONS_SHOWN]
    return sorted({value for value in (*found, chosen) if value})


def _line(entry: AuditEntry) -> AuditLine:
    changed = _changed(entry.before, entry.after)
    both = {name: value for name in ("before", "after") if (value := getattr(entry, name)) is not None}
    return AuditLine(
        entry=entry,
        action=words_of(entry.action),
        href=_subject_href(entry),
        changed=changed[:CHANGES_SHOWN],
        more=max(0, len(changed) - CHANGES_SHOWN),
        whole=indented(both) if both else None,
    )


def _changed(before: Any, after: Any) -> list[ChangedField]:
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return []
    names = [*before, *(name for name in after if name not in before)]
    return [
        ChangedField(name, _short(before.get(name, MISSING)), _short(after.get(name, MISSING)))
        for name in names
        if not json_equal(before.get(name, MISSING), after.get(name, MISSING))
        # What was added to say on what the decision rests is no change.
        and (name in before)
    ]


def _short(value: Any) -> str:
    return one_line(value, VALUE_CHARACTERS)


def _subject_href(entry: AuditEntry) -> str:
    """The page of the subject, where the entry says enough to find it without asking the database."""
    after = entry.after if isinstance(entry.after, Mapping) else {}
    if entry.subject_type == "result" and isinstance(after.get("scenario"), str):
        comparison, trial = after.get("comparison"), after.get("trial")
        if type(comparison) is int and type(trial) is int:
            return CaseAddress(comparison, after["scenario"], trial).href()
    if entry.subject_type == "comparison" and entry.subject_id.isdigit():
        return reverse("evaluations:comparison", args=[int(entry.subject_id)])
    if entry.subject_type == "reviewpolicy":
        return reverse("reviews:policy")
    if entry.subject_type == "manualsession" and entry.subject_id.isdigit():
        return reverse("reviews:session", args=[int(entry.subject_id)])
    if entry.subject_type == "case" and type(after.get("entry")) is int:
        try:
            return f"{reverse('reviews:queue')}?entry={after['entry']}"
        except NoReverseMatch:
            return ""
    return ""
