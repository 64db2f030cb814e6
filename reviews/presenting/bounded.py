"""JSON values of any size, shown in a bounded amount of text and time.

A page never writes out a whole state or answer: it shows the beginning, says how much more there is, and
links to the whole of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from twins.engine.paths import format_path
from twins.engine.values import MISSING, compact_json, json_equal
from twins.engine.visible import visible

SHOWN_CHARACTERS = 50_000
LEAVES = 40
LEAF_CHARACTERS = 300
LINE_CHARACTERS = 110


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a text, as it is: a page writes it with `|visible`.

    `characters` counts the whole of it, None where nobody counted.
    """

    text: str
    is_cut: bool = False
    characters: int | None = None

    @property
    def shown(self) -> int:
        return len(self.text)

    @property
    def head(self) -> str:
        """A few words of it, for the line that unfolds it."""
        return " ".join(self.text[:240].split())[:60]

    @property
    def is_long(self) -> bool:
        return self.is_cut or len(self.text) > 600 or self.text.count("\n") > 13


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value inside a JSON value: where it is, what it is, and whether the other side has another."""

    path: str
    text: str
    differs: bool = False


def indented(value: Any, limit: int = SHOWN_CHARACTERS) -> Cut:
    """The value as indented JSON, written until `limit` characters are reached and no further."""
    pieces: list[str] = []
    size = 0
    for piece in json.JSONEncoder(ensure_ascii=False, indent=2, default=str).iterencode(value):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            return Cut("".join(pieces)[:limit], is_cut=True)
    text = "".join(pieces)
    return Cut(text, characters=len(text))


def stored_text(text: str, characters: int, limit: int = SHOWN_CHARACTERS) -> Cut:
    """The beginning of a stored JSON text; a short one is indented, a text value is shown as it is."""
    if characters > limit or len(text) < characters:
        return Cut(text[:limit], is_cut=True, characters=characters)
    value = json.loads(text)
    return Cut(value, characters=len(value)) if isinstance(value, str) else indented(value, limit)


def one_line(value: Any, limit: int = LINE_CHARACTERS) -> str:
    """A value in a sentence or a table cell: compact JSON, cut."""
    if value is MISSING:
        return "not there"
    if isinstance(value, Mapping | list) and len(value) > limit:
        return f"{'an object' if isinstance(value, Mapping) else 'a list'} of {len(value)}"
    text = visible(compact_json(value))
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def leaves(value: Any, limit: int = LEAVES) -> list[tuple[str, Any]] | None:
    """Each value that holds no other, with its path; None if there are more than `limit`."""
    found: list[tuple[str, Any]] = []
    for path, leaf in _walk(value):
        if len(found) == limit:
            return None
        found.append((path, leaf))
    return found


def compared_leaves(value: Any, other: Any = MISSING) -> list[Leaf] | None:
    """The leaves of a value; those that `other` (if given) does not have alike are marked.

    None where there are too many to read one by one, on either side.
    """
    own = leaves(value)
    theirs = [] if other is MISSING else leaves(other)
    if own is None or theirs is None:
        return None
    known = dict(theirs)

    def differs(path: str, leaf: Any) -> bool:
        return other is not MISSING and not json_equal(known.get(path, MISSING), leaf)

    return [Leaf(visible(path), _leaf_text(leaf), differs(path, leaf)) for path, leaf in own]


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:
        segments, item = pending.pop()
        if isinstance(item, dict) and item:
            pending.extend(((*segments, key), inner) for key, inner in reversed(item.items()))
        elif isinstance(item, list) and item:
            numbered = list(enumerate(item))
            pending.extend(((*segments, index), inner) for index, inner in reversed(numbered))
        else:
            yield (format_path(segments) if segments else "", item)


def _leaf_text(value: Any) -> str:
    text = visible(value if isinstance(value, str) else compact_json(value))
    return text if len(text) <= LEAF_CHARACTERS else f"{text[: LEAF_CHARACTERS - 1]}…"
