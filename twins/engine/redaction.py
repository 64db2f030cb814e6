"""Planted secrets never leave: `[REDACTED]` in everything stored, shown, exported and printed (FORMATS 8)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from .values import text_form

REDACTED: Final = "[REDACTED]"

_ELLIPSIS: Final = "…"
SHORTEST_SECRET: Final = 4
"""Characters of the shortest secret (FORMATS 2); less than that of a longer one gives nothing away."""


def redactor(secrets: Iterable[str]) -> Redactor:
    """A function that hides the secrets in a JSON value, inside texts, keys and numbers.

    A part without a secret is returned as it is (the same object). The longest secret goes first, so one that
    contains another leaves no rest. A secret is also found as JSON writes it inside a text.
    """
    return Redactor({form for secret in secrets for form in _forms(secret)})


def _forms(secret: str) -> set[str]:
    """The secret itself and how it looks inside JSON text, with and without escapes for non-ASCII."""
    if not secret:
        return set()
    return {secret, json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(secret)[1:-1]}


class Redactor:
    """What `redactor` makes: call it with a JSON value."""

    def __init__(self, forms: Iterable[str]) -> None:
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        # Literal alternatives: no backtracking to fear.
        self._pattern = re.compile("|".join(map(re.escape, self._forms)))
        self._in_numbers = any(form.strip("-+.eE0123456789") == "" for form in self._forms)

    def __call__(self, value: Any) -> Any:
        return self._redact(value) if self._forms else value

    def cut(self, text: str) -> str:
        """A text whose end was cut off: the beginning of a secret at its end is hidden as well."""
        whole: str = self(text)
        return self._without_beginning(whole)

    def _before_ellipses(self, text: str) -> str:
        """An ellipsis is the mark of a cut: of a name, a query or a value too long to keep or to show."""
        *cut, rest = text.split(_ELLIPSIS)
        hidden = _ELLIPSIS.join([*map(self._without_beginning, cut), rest])
        return text if hidden == text else hidden

    def _without_beginning(self, text: str) -> str:
        shown = self._shown_at_end(text)
        return text[: len(text) - shown] + REDACTED if shown else text

    def _shown_at_end(self, text: str) -> int:
        """How many characters at the end of a cut text begin a secret, if that is enough to matter."""
        shown = 0
        for form in self._forms:
            lengths = range(min(len(form) - 1, len(text)), max(shown, SHORTEST_SECRET - 1), -1)
            shown = next((length for length in lengths if text.endswith(form[:length])), shown)
        return shown

    def _redact(self, value: Any) -> Any:
        if isinstance(value, str):
            hidden = self._pattern.sub(REDACTED, value)
            return self._before_ellipses(hidden) if _ELLIPSIS in hidden else hidden
        if isinstance(value, dict):
            return self._redact_object(value)
        if isinstance(value, (list, tuple)):
            items = [self._redact(item) for item in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return items if isinstance(value, list) else tuple(items)
        if self._in_numbers and isinstance(value, (int, float)) and not isinstance(value, bool):
            return REDACTED if self._pattern.search(text_form(value)) else value
        return value

    def _redact_object(self, value: dict[str, Any]) -> dict[str, Any]:
        redacted: dict[str, Any] = {}
        changed = False
        for key, item in value.items():
            new_key, new_item = self._redact(key), self._redact(item)
            changed = changed or new_key is not key or new_item is not item
            redacted[_free_key(redacted, new_key)] = new_item
        return redacted if changed else value


def _free_key(taken: dict[str, Any], key: str) -> str:
    """Two keys may look the same once redacted; neither entry may vanish."""
    if key not in taken:
        return key
    number = 2
    while f"{key} ({number})" in taken:
        number += 1
    return f"{key} ({number})"
