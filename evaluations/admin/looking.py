"""Pages that only show: no row of what was measured is added, changed or deleted by hand.

Helpers render values so that nothing stored can act in the page (everything is escaped) or flood it (long
values are folded and cut).
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evaluations.holdouts import seen
from scenarios.holdouts import sight_of
from twins.document_admin import ModelAdmin, one_line

INLINE_CHARACTERS = 80
SHOWN_CHARACTERS = 20_000

# How a stored word looks: good, bad, worth a look.
_TONES = {
    "PASSED": "good",
    "PASS": "good",
    "ok": "good",
    "IMPROVED": "good",
    "COMPLETED": "good",
    "FAILED": "bad",
    "FAIL": "bad",
    "NEW_CRITICAL_FAILURE": "bad",
    "REGRESSED": "bad",
    "ERRORED": "warn",
    "ERROR": "warn",
    "SKIPPED": "warn",
    "INCOMPLETE": "warn",
    "CANCELLED": "warn",
    "CONTRADICTION": "bad",
}


class LookingAdmin(ModelAdmin):
    """A model that is looked at: read-only for everybody, whatever their rights."""

    list_per_page = 50
    # Counting a table of millions twice to show a number nobody needs.
    show_full_result_count = False
    actions = None
    change_form_template = "admin/agenttwin/looking_form.html"
    # Of rows that belong to a paired case: the way to it. Those of hidden cases are left out.
    pair_path: ClassVar[str | None] = None

    class Media:
        css = {"all": ["agenttwin/admin/documents.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = self.looked_at(request)
        return rows if self.pair_path is None else seen(rows, sight_of(request.user), pair=self.pair_path)

    def looked_at(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows as this page needs them."""
        return super().get_queryset(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def is_list(request: HttpRequest) -> bool:
    """Whether the page is a list: it then leaves the large values in the database."""
    match = request.resolver_match
    return match is not None and (match.url_name or "").endswith("_changelist")


def tag(word: Any) -> SafeString | str:
    """A stored word (a state, a verdict, a class) with its tone; the word itself always shows."""
    if not word:
        return "–"
    return format_html('<span class="at-tag at-{}">{}</span>', _TONES.get(str(word), "plain"), word)


def moment(at: datetime | None) -> SafeString | str:
    """A time in UTC, short enough for a column."""
    return one_line(f"{at:%Y-%m-%d %H:%M}") if at else "–"


def folded_json(value: Any) -> SafeString | str:
    """A JSON value: short ones in the line, long ones folded, very long ones cut."""
    if value is None:
        return "–"
    compact = json.dumps(value, ensure_ascii=False)
    if len(compact) <= INLINE_CHARACTERS:
        return format_html('<span class="at-json-short">{}</span>', compact)
    text = json.dumps(value, ensure_ascii=False, indent=2)
    cut = len(text) - SHOWN_CHARACTERS
    note = format_html('<p class="at-json-cut">{} more characters are not shown</p>', cut) if cut > 0 else ""
    return format_html(
        '<details class="at-json"><summary>{}…</summary><pre>{}</pre>{}</details>',
        compact[:INLINE_CHARACTERS],
        text[:SHOWN_CHARACTERS],
        note,
    )


def folded_text(value: str) -> SafeString | str:
    """A text, folded and cut like a JSON value."""
    if len(value) <= INLINE_CHARACTERS and "\n" not in value:
        return value or "–"
    cut = len(value) - SHOWN_CHARACTERS
    note = format_html('<p class="at-json-cut">{} more characters are not shown</p>', cut) if cut > 0 else ""
    return format_html(
        '<details class="at-json"><summary>{}…</summary><pre>{}</pre>{}</details>',
        value[:INLINE_CHARACTERS],
        value[:SHOWN_CHARACTERS],
        note,
    )


def link(text: Any, page: str, *arguments: Any, **query: Any) -> SafeString:
    """A link to a page of the admin by its name, such as `evaluations_case_change`."""
    address = reverse(f"admin:{page}", args=arguments)
    filters = "&".join(f"{name}={value}" for name, value in query.items())
    return format_html('<a href="{}{}">{}</a>', address, f"?{filters}" if filters else "", text)


def link_to(row: Model | None, text: Any = None) -> SafeString | str:
    """A link to the page of a row."""
    if row is None:
        return "–"
    page = f"{row._meta.app_label}_{row._meta.model_name}_change"
    return link(row if text is None else text, page, row.pk)


def version_link(version: Any, parent: Model) -> SafeString:
    """A link to the page of a version of a document."""
    page = f"{parent._meta.app_label}_{parent._meta.model_name}_version"
    return link(one_line(version), page, parent.pk, version.pk)
