"""Plain YAML scalars by the 1.2 core schema, and which texts and numbers are JSON that can be kept."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

# A double holds at most 309 digits before the point; a longer number would be infinite in every other reader.
_DIGITS = 309
_CONSTANTS: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_NUMBER_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_OTHER_BASE = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z")


@dataclass(frozen=True, slots=True)
class Flaw:
    """Stands in a value for a scalar that is not JSON, until its place is known and it is reported."""

    detail: str


def plain_scalar(text: str) -> Any:
    """The value of an unquoted scalar: null, a boolean, a number, else the text itself; or a Flaw."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _INTEGER.match(text):
        return integer(text)
    if _FLOAT.match(text):
        return real(text)
    if _OTHER_BASE.match(text):
        return whole(int(text, 8 if text[1] == "o" else 16)) if len(text) <= _DIGITS else _too_large(text)
    if _NOT_FINITE.match(text):
        return Flaw(f"{text} is not a JSON value (quote it if a text is meant)")
    return text


def integer(text: str) -> int | Flaw:
    digits = text.lstrip("+-").lstrip("0")
    # Longer texts are refused unread: int() of a million digits takes seconds.
    return whole(int(text)) if len(digits) <= _DIGITS else _too_large(text)


def real(text: str) -> float | Flaw:
    value = float(text)
    return value if math.isfinite(value) else _too_large(text)


def whole(value: int) -> int | Flaw:
    try:
        float(value)
    except OverflowError:
        return Flaw("the number is too large (at most about 1.8e308)")
    return value


def text_flaw(text: str) -> str | None:
    """Why a text cannot be kept, or None. NUL is refused too: PostgreSQL stores no JSON that holds one."""
    if "\x00" in text:
        return "holds the character NUL, which cannot be stored"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "holds a lone surrogate, which is no character"
    return None


def join_surrogates(text: str) -> str:
    """The text with surrogate pairs, as JSON writes them, made one character; lone ones stay."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def _too_large(text: str) -> Flaw:
    shown = text if len(text) <= 20 else f"{text[:20]}…"
    return Flaw(f"the number {shown} is too large (at most about 1.8e308)")
