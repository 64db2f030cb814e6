"""Which cases of a comparison a page shows: parsed from the address, written back into it. No models here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

_MAX_TEXT = 200
CLASSES = ("NEW_CRITICAL_FAILURE", "REGRESSED", "INCOMPLETE", "IMPROVED", "UNCHANGED")
SEVERITIES = ("critical", "high", "medium", "low")


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """The conditions of the comparison page; all of them hold at once, several classes are alternatives.

    `check` is the id of an expectation that newly fails, `text` is looked for in what the list shows.
    Unknown classes and severities in an address are left out, so an old link still shows something.
    """

    classes: tuple[str, ...] = ()
    severity: str = ""
    tag: str = ""
    tool: str = ""
    check: str = ""
    text: str = ""

    @classmethod
    def from_query(cls, query: QueryDict) -> CaseFilter:
        severity = query.get("severity", "")
        return cls(
            classes=tuple(name for name in CLASSES if name in query.getlist("class")),
            severity=severity if severity in SEVERITIES else "",
            tag=_clean(query.get("tag", "")),
            tool=_clean(query.get("tool", "")),
            check=_clean(query.get("check", "")),
            text=_clean(query.get("q", "")).strip(),
        )

    @property
    def is_empty(self) -> bool:
        return self == CaseFilter()

    @property
    def has_choices(self) -> bool:
        """Whether anything besides the classes and the text is set."""
        return bool(self.severity or self.tag or self.tool or self.check)

    @property
    def query(self) -> str:
        """The query string that stands for this filter, without its "?"; "" if it lets all cases through."""
        pairs: list[tuple[str, str]] = [("class", name) for name in self.classes]
        named = (
            ("severity", self.severity),
            ("tag", self.tag),
            ("tool", self.tool),
            ("check", self.check),
            ("q", self.text),
        )
        pairs += [(name, value) for name, value in named if value]
        return urlencode(pairs)

    @property
    def href(self) -> str:
        """`query` as a relative address: "?…", and "?" alone to take every condition off."""
        return f"?{self.query}"

    def with_class_toggled(self, name: str) -> CaseFilter:
        chosen = set(self.classes) ^ {name}
        return self.replace(classes=tuple(known for known in CLASSES if known in chosen))

    def replace(self, **changes: Any) -> CaseFilter:
        return dataclasses.replace(self, **changes)


def _clean(text: str) -> str:
    """Cut, and without NUL, which PostgreSQL refuses in a text."""
    return text.replace("\x00", "")[:_MAX_TEXT]


def chosen_options(values: Iterable[str], chosen: str) -> list[str]:
    """Options of a choice, sorted; what is chosen stays among them even if nothing has it any more."""
    options = set(values)
    if chosen:
        options.add(chosen)
    return sorted(options)
