"""What a caller may send, and how much a case may grow.

Callers are untrusted and may be Python code in this process, so an argument can be anything. What is
let in is copied: nobody outside holds a piece of the state. What is refused is recorded as a storable
stand-in: valid JSON without NUL characters and lone surrogates, which databases refuse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from .values import MISSING, compact_json, kind_of

ABSENT: Final = MISSING
"""No arguments were sent, which is the same as `{}` (FORMATS 8)."""

MAX_ARGUMENT_BYTES: Final = 256 * 1024
MAX_NESTING: Final = 64
MAX_TOOL_NAME: Final = 100
MAX_QUERY: Final = 20_000

MAX_VALUE: Final = 1 << 20
"""Characters, roughly, of one value that an effect puts into the state."""
MAX_ANSWER: Final = 4 << 20
"""Characters, roughly, of one rendered answer."""
MAX_GROWTH: Final = 16 << 20
"""Characters, roughly, that the effects of one case may add to its state."""
MAX_STATE_NESTING: Final = 200
"""Containers inside one another in the state. Well below what Python's recursion and JSON parsers allow."""

_MAX_NUMBER: Final = 1 << 1024  # beyond a double: as JSON text other readers would see infinity
_REPLACEMENT: Final = "\ufffd"
_STAND_IN_NODES: Final = 2_000
_STAND_IN_TEXT: Final = 4_000


class NotJson(ValueError):
    """A value that is no JSON, with the reason for the caller."""


class TooLarge(ValueError):
    """A value that would grow the state or an answer beyond its bounds."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """Arguments after the door.

    `value` is what the tool works with (`{}` if refused), `recorded` what the record keeps, `sent` the whole
    value where the record keeps only a marker, `sent_texts` every text in what is no JSON and kept in part.
    `reason` says why they are refused, `oversized` that it is for their size.
    """

    value: dict[str, Any]
    recorded: Any
    reason: str | None = None
    oversized: bool = False
    sent: Any = None
    sent_texts: tuple[str, ...] = ()


def admit(arguments: Any) -> Admitted:
    """Arguments as a private copy, or the reason to refuse them. Never raises."""
    if arguments is ABSENT:
        return Admitted({}, {})
    try:
        copy = _copy(arguments, 1)
    except NotJson as error:
        recorded, is_whole = stand_in(arguments)
        return Admitted({}, recorded, str(error), sent_texts=() if is_whole else texts_within(arguments))
    size = len(compact_json(copy).encode())
    oversized = size > MAX_ARGUMENT_BYTES
    recorded = {"too_large": {"bytes": size}} if oversized else copy
    sent = copy if oversized else None
    if not isinstance(copy, dict):
        return Admitted({}, recorded, f"arguments must be an object, not {kind_of(copy)}", sent=sent)
    if oversized:
        reason = f"arguments have {size} bytes, at most {MAX_ARGUMENT_BYTES} are accepted"
        return Admitted(copy, recorded, reason, oversized, sent)
    return Admitted(copy, copy)


def _copy(value: Any, depth: int) -> Any:
    """A copy of exact JSON types. A subclass may behave in any way, so it is no JSON."""
    kind = type(value)
    if kind is str:
        _check_text(value)
        return value
    if value is None or kind is bool:
        return value
    if kind is int:
        if not -_MAX_NUMBER < value < _MAX_NUMBER:
            raise NotJson("a number is beyond the range of a double")
        return value
    if kind is float:
        if not math.isfinite(value):
            raise NotJson("NaN and Infinity are not JSON")
        return value
    if kind is not dict and kind is not list:
        raise NotJson(f"a Python {clean_text(kind.__name__, 100)} is not JSON")
    if depth > MAX_NESTING:
        raise NotJson(f"arguments are nested deeper than {MAX_NESTING} levels")
    if kind is list:
        return [_copy(item, depth + 1) for item in value]
    for key in value:
        if type(key) is not str:
            raise NotJson("the keys of an object must be texts")
        _check_text(key)
    return {key: _copy(item, depth + 1) for key, item in value.items()}


def _check_text(text: str) -> None:
    if "\0" in text:
        raise NotJson("a text holds a NUL character")
    if not text.isascii() and _has_surrogate(text):
        raise NotJson("a text holds a lone surrogate")


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def clean_text(text: str, limit: int) -> str:
    """A text as any database keeps it, at most `limit` characters; a cut one ends in an ellipsis."""
    if "\0" in text or (not text.isascii() and _has_surrogate(text)):
        text = text.replace("\0", _REPLACEMENT)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def texts_within(value: Any) -> tuple[str, ...]:
    """Every text in a value that may be no JSON, keys included, as a database keeps them. Circles end."""
    texts: list[str] = []
    pending: list[Any] = [value]
    seen: set[int] = set()
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            text = str.__str__(item)
            texts.append(clean_text(text, len(text)))
        elif isinstance(item, (dict, list, tuple, set, frozenset)) and id(item) not in seen:
            seen.add(id(item))
            if isinstance(item, dict):
                pending.extend(dict.keys(item))
                pending.extend(dict.values(item))
            else:
                # The type's own way through it: a subclass may have one that never ends.
                kind: Any = next(kind for kind in (list, tuple, set, frozenset) if isinstance(item, kind))
                pending.extend(kind.__iter__(item))
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            texts.append(_number_text(item))
    return tuple(texts)


def _number_text(number: Any) -> str:
    try:
        return repr(int(number) if isinstance(number, int) else float(number))
    except ValueError:  # more digits than Python writes: no secret is one
        return ""


def stand_in(value: Any) -> tuple[Any, bool]:
    """Something storable for a value that is not JSON, and whether all texts of it are in there whole.

    Near to what was sent, bounded, never raising.
    """
    made = _StandIn()
    return made.of(value, 1), made.is_whole


class _StandIn:
    """Counts what it has written, so that a circle or a huge value ends."""

    def __init__(self) -> None:
        self.nodes = 0
        self.is_whole = True

    def of(self, value: Any, depth: int) -> Any:
        self.nodes += 1
        if self.nodes > _STAND_IN_NODES or depth > MAX_NESTING:
            return self._partly("…")
        if value is None or type(value) is bool:
            return value
        if isinstance(value, str):
            text = str.__str__(value)
            shown = clean_text(text, _STAND_IN_TEXT)
            return shown if len(text) <= _STAND_IN_TEXT else self._partly(shown)
        if type(value) is int:
            return value if -_MAX_NUMBER < value < _MAX_NUMBER else "<number out of range>"
        if type(value) is float:
            return value if math.isfinite(value) else str(value)
        if isinstance(value, dict):
            self.is_whole &= len(value) <= _STAND_IN_NODES
            fields = list(dict.items(value))[:_STAND_IN_NODES]
            return {self._key(key): self.of(item, depth + 1) for key, item in fields}
        if isinstance(value, (list, tuple)):
            items = list(value)[:_STAND_IN_NODES] if type(value) in (list, tuple) else []
            self.is_whole &= type(value) in (list, tuple) and len(value) <= _STAND_IN_NODES
            return [self.of(item, depth + 1) for item in items]
        return self._partly(f"<{clean_text(type(value).__name__, 100)}>")

    def _partly(self, shown: str) -> str:
        self.is_whole = False
        return shown

    def _key(self, key: Any) -> str:
        is_plain = not isinstance(key, (dict, list, tuple))
        written = self.of(key, MAX_NESTING) if is_plain else self._partly("<key>")
        return written if isinstance(written, str) else compact_json(written)


def weigh(value: Any, limit: int, depth: int = 0) -> int:
    """Roughly the characters of a value's JSON, counting shared parts as often as they show.

    TooLarge as soon as the sum passes `limit` or containers nest beyond MAX_STATE_NESTING, so the work is
    bounded by the limit even where a value holds itself many times over.
    """
    kind = type(value)
    if kind is str:
        size = len(value) + 2
    elif kind is dict or kind is list:
        size = _weigh_container(value, limit, depth)
    else:
        size = 8
    if size > limit:
        raise TooLarge(f"it would be larger than {limit} characters")
    return size


def _weigh_container(container: Any, limit: int, depth: int) -> int:
    if depth >= MAX_STATE_NESTING:
        raise TooLarge(f"it would be nested deeper than {MAX_STATE_NESTING} levels")
    size = 2
    if type(container) is dict:
        for key, item in container.items():
            size += len(key) + 4
            size += weigh(item, limit - size, depth + 1)
    else:
        for item in container:
            size += 1
            size += weigh(item, limit - size, depth + 1)
    return size
