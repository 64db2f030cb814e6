"""Regular expressions in RE2 syntax: linear time whatever the text (FORMATS 1.2, 8)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import re2

_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False  # a refused pattern is a problem of a document, not a line on stderr
_OPTIONS.max_mem = 8 << 20
_REMEMBERED_LENGTH: Final = 100


class PatternError(ValueError):
    """A text that RE2 refuses as a pattern; the message says what it met."""


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_compiled", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._compiled = re2.compile(text, _OPTIONS)
        except re2.error as error:
            raise PatternError(f"{text!r} is not an RE2 pattern: {_reason(error)}") from None
        except UnicodeEncodeError:
            raise PatternError("a pattern cannot hold a lone surrogate") from None

    def search(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text."""
        return _remembered(self, text) if len(text) <= _REMEMBERED_LENGTH else self._found(text)

    def _found(self, text: str) -> bool:
        try:
            encoded = text.encode()
        except UnicodeEncodeError:
            return False  # a lone surrogate is no character: nothing is found in such a text
        # Searching bytes spares the wrapper's translation of byte offsets, which nobody asks for.
        return self._compiled.search(encoded) is not None

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"


@lru_cache(maxsize=4096)
def _remembered(pattern: Pattern, text: str) -> bool:
    """What was found before: the same order numbers are looked at in case after case."""
    return pattern._found(text)


@lru_cache(maxsize=1024)
def compile_pattern(text: str) -> Pattern:
    """The pattern of a text; PatternError if RE2 refuses it. Compiled once per text."""
    return Pattern(text)


def _reason(error: Exception) -> str:
    first = error.args[0] if error.args else ""
    return first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)
