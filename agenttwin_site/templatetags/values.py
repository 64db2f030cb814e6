"""Showing values a stranger wrote: short ones as they are, long ones folded, huge ones cut."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django import template
from django.template.defaultfilters import stringfilter

from twins.engine.visible import visible

register = template.Library()
# `{{ text|visible }}`: hidden characters are written out, so that they cannot reorder what is read.
register.filter("visible", stringfilter(visible))

SHORT_CHARACTERS = 120
BLOCK_CHARACTERS = 600
BLOCK_LINES = 14
SHOWN_CHARACTERS = 50_000
_HEAD_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Folded:
    """How a value is shown. `text` holds at most `SHOWN_CHARACTERS`; `characters` counts the whole of it."""

    text: str
    characters: int

    @property
    def is_short(self) -> bool:
        return self.characters <= SHORT_CHARACTERS and "\n" not in self.text

    @property
    def is_block(self) -> bool:
        return self.characters <= BLOCK_CHARACTERS and self.text.count("\n") < BLOCK_LINES

    @property
    def is_cut(self) -> bool:
        return self.characters > len(self.text)

    @property
    def shown(self) -> int:
        return len(self.text)

    @property
    def head(self) -> str:
        return " ".join(self.text[: 4 * _HEAD_CHARACTERS].split())[:_HEAD_CHARACTERS]


def value_text(value: Any) -> str:
    """A text as it is; anything else as JSON, on one line if it is short, else indented."""
    if isinstance(value, str):
        return value
    compact = json.dumps(value, ensure_ascii=False, default=str)
    if len(compact) <= SHORT_CHARACTERS:
        return compact
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


@register.filter
def folded(value: Any) -> Folded:
    """`{{ value|folded }}`: a `Folded`, for `shared/_value.html`."""
    text = value_text(value)
    return Folded(text=text[:SHOWN_CHARACTERS], characters=len(text))


@register.filter
def json_text(value: Any) -> str:
    """`{{ value|json_text }}`: JSON on as few lines as it reads well on, hidden characters written out."""
    return visible(value_text(value))


@register.filter
def grouped(number: Any) -> str:
    """1234567 as `1,234,567`; nothing for nothing."""
    return "" if number is None or number == "" else f"{int(number):,}"
