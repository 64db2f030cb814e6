"""Planted secrets never leave: `[REDACTED]` in everything stored, shown, exported and printed (FORMATS 8)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from .values import text_form

REDACTED: Final = "[REDACTED]"


def redactor(secrets: Iterable[str]) -> Callable[[Any], Any]:
    """A function that hides the secrets in a JSON value, inside texts, keys and numbers.

    A part without a secret is returned as it is (the same object). The longest secret goes first, so one that
    contains another leaves no rest. A secret is also found as JSON writes it inside a text.
    """
    forms = sorted(
        {form for secret in secrets for form in _forms(secret)}, key=lambda form: (-len(form), form)
    )
    if not forms:
        return lambda value: value
    pattern = re.compile("|".join(map(re.escape, forms)))  # literal alternatives: no backtracking to fear
    in_numbers = any(form.strip("-+.eE0123456789") == "" for form in forms)
    return _Redactor(pattern, in_numbers).redact


def _forms(secret: str) -> set[str]:
    """The secret itself and how it looks inside JSON text, with and without escapes for non-ASCII."""
    if not secret:
        return set()
    return {secret, json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(secret)[1:-1]}


class _Redactor:
    def __init__(self, pattern: re.Pattern[str], in_numbers: bool) -> None:
        self._pattern = pattern
        self._in_numbers = in_numbers

    def redact(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._pattern.sub(REDACTED, value)
        if isinstance(value, dict):
            return self._redact_object(value)
        if isinstance(value, (list, tuple)):
            items = [self.redact(item) for item in value]
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
            new_key, new_item = self.redact(key), self.redact(item)
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
