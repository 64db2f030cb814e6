"""Paths into a JSON value (FORMATS 1.1): `orders.ORD-1.total`, `items[-1].id`, `a['odd key']`, `x.length()`.

A path is a tuple of segments: a text reads an object, an integer reads a list, and a `Flexible`
integer (what a placeholder rendered) reads either. There are no wildcards and no expressions, so a
path costs its segments and cannot execute anything.

Inside a quoted key the quote is doubled to stand for itself: `a['it''s']`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .values import MISSING

MAX_CHARACTERS: Final = 500
MAX_SEGMENTS: Final = 64

LENGTH: Final = "length()"

_NAME: Final = re.compile(r"""[^.\[\]'"\s]+""")
_INDEX: Final = re.compile(r"\[(-?[0-9]+)\]")
_QUOTED: Final = re.compile(r"""\[(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)")\]""")
_PLAIN_KEY: Final = re.compile(r"""[^.\[\]'"\s]+\Z""")


class PathSyntaxError(ValueError):
    """A text that is not a path; the message says where it stops being one."""


class Flexible(int):
    """An integer from a placeholder: the index of a list or, as text, the key of an object (FORMATS 8)."""

    __slots__ = ()


Segment = str | int
Segments = tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """A parsed path. `length`: it ends in `.length()` and gives a size instead of a value."""

    text: str
    segments: Segments
    length: bool = False

    def get(self, root: Any) -> Any:
        """The value the path leads to, or MISSING. Never raises."""
        value = lookup(root, self.segments)
        return length_of(value) if self.length else value

    def __str__(self) -> str:
        return self.text


def lookup(root: Any, segments: Sequence[Segment]) -> Any:
    """Walk the segments from a value; MISSING where they lead nowhere.

    A name never indexes a list and an index never reads an object (FORMATS 8).
    """
    value = root
    for segment in segments:
        kind = type(value)
        if kind is dict:
            if type(segment) is str:
                value = value.get(segment, MISSING)
            elif type(segment) is Flexible:
                value = value.get(str(int(segment)), MISSING)
            else:
                return MISSING
            if value is MISSING:
                return MISSING
        elif kind is list and isinstance(segment, int):
            if not -len(value) <= segment < len(value):
                return MISSING
            value = value[segment]
        else:
            return MISSING
    return value


def length_of(value: Any) -> Any:
    """The number of entries or characters; MISSING for what has none."""
    return len(value) if isinstance(value, (dict, list, str)) else MISSING


def parse_path(text: str) -> Path:
    """The path of a text. PathSyntaxError with a reason for a person."""
    if not isinstance(text, str):
        raise PathSyntaxError("a path is a text")
    if len(text) > MAX_CHARACTERS:
        raise PathSyntaxError(f"a path has at most {MAX_CHARACTERS} characters, this one {len(text)}")
    segments, length = split_path(text)
    if len(segments) > MAX_SEGMENTS:
        raise PathSyntaxError(f"a path has at most {MAX_SEGMENTS} segments, this one {len(segments)}")
    return Path(text, tuple(segments), length)


def split_path(text: str) -> tuple[list[Segment], bool]:
    """The segments of a path text of any size, and whether it ends in `.length()`."""
    position, expects_name = start_of_path(text)
    segments: list[Segment] = []
    while position < len(text) or expects_name:
        if expects_name:
            name, position = _read_name(text, position)
            if name == LENGTH:
                end_of_length(text, position)
                return segments, True
            segments.append(name)
        else:
            segment, position = _read_bracket(text, position)
            segments.append(segment)
        expects_name, position = next_step(text, position)
    return segments, False


def start_of_path(text: str) -> tuple[int, bool]:
    """Where the first segment starts, and whether a name must stand there. Skips a leading `$`."""
    if not text:
        raise PathSyntaxError("a path is empty; the whole value is '$'")
    if text == "$":
        return 1, False
    if text.startswith("$."):
        return 2, True
    if text.startswith("$["):
        return 1, False
    return 0, text[0] != "["


def next_step(text: str, position: int) -> tuple[bool, int]:
    """What follows a segment: (a name must follow, where it starts)."""
    if position >= len(text) or text[position] == "[":
        return False, position
    if text[position] == ".":
        return True, position + 1
    raise PathSyntaxError(f"{text!r}: '.' or '[' must follow at character {position + 1}")


def end_of_length(text: str, position: int) -> None:
    """Refuse anything behind `.length()`."""
    if position != len(text):
        raise PathSyntaxError(f"{text!r}: nothing can follow .length()")


def check_name(name: str, text: str) -> None:
    """Refuse what other path languages would execute and this one would silently miss."""
    if name in ("*", "**"):
        raise PathSyntaxError(f"{text!r}: wildcards are not part of paths; quote a key that is a star")
    if name.endswith("()") and name != LENGTH:
        raise PathSyntaxError(f"{text!r}: there is no function {name}, only .length()")


def _read_name(text: str, position: int) -> tuple[str, int]:
    match = _NAME.match(text, position)
    if match is None:
        raise PathSyntaxError(
            f"{text!r}: a key must stand at character {position + 1}; "
            "quote one with dots, brackets, quotes or spaces: ['odd key']"
        )
    check_name(match[0], text)
    return match[0], match.end()


def _read_bracket(text: str, position: int) -> tuple[Segment, int]:
    index = _INDEX.match(text, position)
    if index is not None:
        return int(index[1]), index.end()
    quoted = _QUOTED.match(text, position)
    if quoted is not None:
        return unquote(quoted[1], quoted[2]), quoted.end()
    raise PathSyntaxError(
        f"{text!r}: brackets hold an index or a quoted key, at character {position + 1}; "
        "there are no wildcards, slices or filters"
    )


def unquote(single: str | None, double: str | None) -> str:
    """The key of a quoted one, whichever quotes it stood in."""
    return single.replace("''", "'") if single is not None else (double or "").replace('""', '"')


def format_path(segments: Sequence[Segment]) -> str:
    """The canonical text of segments: no `$`, keys quoted only where they must be. `$` for none."""
    if not segments:
        return "$"
    return "".join(map(_format_segment, segments)).removeprefix(".")


def join_path(text: str, segment: Segment) -> str:
    """The canonical text of one segment more; '' is the text of no segment."""
    part = _format_segment(segment)
    return text + part if text else part.removeprefix(".")


def _format_segment(segment: Segment) -> str:
    if not isinstance(segment, str):
        return f"[{int(segment)}]"
    if _PLAIN_KEY.match(segment) and segment not in ("$", "*", "**") and not segment.endswith("()"):
        return f".{segment}"
    if "'" in segment and '"' not in segment:
        return f'["{segment}"]'
    return "['" + segment.replace("'", "''") + "']"
