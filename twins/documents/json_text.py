"""JSON text and values parsed elsewhere, held to the same rules as YAML."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from twins.documents.problems import Segments
from twins.documents.scalars import Flaw, integer, real, text_flaw, whole
from twins.documents.source import (
    DOCUMENT_BYTES,
    NESTING,
    TOO_DEEP,
    Finding,
    Lines,
    Source,
    too_large,
    unreadable,
)

_LONG_NUMBER = 300
_KINDS: dict[type, str] = {tuple: "a tuple", set: "a set", bytes: "bytes"}


class _TooLarge(Exception):
    """The size limit was passed: the rest is not looked at."""


class _Link:
    """The way to a value as a chain of links: made once per value, written out only for a fault."""

    __slots__ = ("depth", "parent", "segment")

    def __init__(self, parent: _Link | None, segment: str | int) -> None:
        self.parent = parent
        self.segment = segment
        self.depth: int = 0 if parent is None else parent.depth + 1

    def segments(self) -> Segments:
        found: list[str | int] = []
        link: _Link | None = self
        while link is not None and link.parent is not None:
            found.append(link.segment)
            link = link.parent
        return tuple(reversed(found))


def read_json(text: str) -> Source:
    """JSON by RFC 8259, with duplicate keys, NaN and Infinity refused. A JSON source has no lines."""
    duplicates: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(members)
        if len(made) < len(members):
            seen: set[str] = set()
            twice = [key for key, _ in members if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
            # The object is kept with its keys: its id must not be given to another while the text is read.
            duplicates[id(made)] = (made, twice)
        return made

    try:
        value = json.loads(
            text, object_pairs_hook=pairs, parse_constant=_constant, parse_int=integer, parse_float=real
        )
    except json.JSONDecodeError as error:
        return unreadable(f"is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})")
    except RecursionError:
        return unreadable(TOO_DEEP)
    return _checked(value, {key: twice for key, (_, twice) in duplicates.items()}, limit=None)


def check_value(value: Any, limit: int = DOCUMENT_BYTES) -> Source:
    """A value parsed elsewhere as a Source without lines: plain JSON within the limits, or its findings.

    The size is that of its compact JSON.
    """
    return _checked(value, {}, limit=limit)


def _constant(name: str) -> Flaw:
    return Flaw(f"{name} is not a JSON value")


def _checked(value: Any, duplicates: dict[int, list[str]], limit: int | None) -> Source:
    findings: list[Finding] = []
    try:
        _walk(value, duplicates, limit, findings)
    except _TooLarge:
        return unreadable(too_large(limit or DOCUMENT_BYTES), None, (), *findings)
    return Source(_json_only(value) if findings else value, Lines(), tuple(findings))


def _walk(root: Any, duplicates: dict[int, list[str]], limit: int | None, findings: list[Finding]) -> None:
    """Looks at every value once, in the order of the document, and collects what is wrong with it.

    ``limit`` bounds the bytes of compact JSON, and with them the walk: a cycle or a widely shared part
    ends it.
    """
    size = -1  # the root has no comma before it
    # The root is the only child of a link of its own, so that it is looked at like every other value.
    pending: list[Iterator[tuple[Any, _Link]]] = [iter([(root, _Link(None, 0))])]
    while pending:
        child = next(pending[-1], None)
        if child is None:
            pending.pop()
            continue
        value, link = child
        if isinstance(value, (dict, list)):
            # Both brackets, less the comma that the first child does not have.
            size += 1 if value else 2
            if link.depth >= NESTING:
                findings.append(Finding(link.segments(), TOO_DEEP))
            else:
                pending.append(_children(value, link, duplicates, findings))
        else:
            flaw = _scalar_flaw(value)
            if flaw is not None:
                findings.append(Finding(link.segments(), flaw))
            size += _bytes(value)
        # A comma comes with every child, and with a member its key and colon.
        size += 1 + (_bytes(link.segment) + 1 if isinstance(link.segment, str) else 0)
        if limit is not None and size > limit:
            raise _TooLarge


def _children(
    container: Any, link: _Link, duplicates: dict[int, list[str]], findings: list[Finding]
) -> Iterator[tuple[Any, _Link]]:
    if isinstance(container, list):
        for index, value in enumerate(container):
            yield value, _Link(link, index)
        return
    for key in duplicates.get(id(container), ()):
        findings.append(Finding((*link.segments(), key), "the key is given twice"))
    for key, value in container.items():
        if not isinstance(key, str):
            findings.append(Finding((*link.segments(), str(key)), f"a key must be text, found {key!r}"))
            continue
        flaw = text_flaw(key)
        if flaw is not None:
            findings.append(Finding((*link.segments(), key), f"the key {flaw}"))
        yield value, _Link(link, key)


def _scalar_flaw(value: Any) -> str | None:
    if isinstance(value, Flaw):
        return value.detail
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return text_flaw(value)
    if isinstance(value, int):
        checked: Any = whole(value)
        return checked.detail if isinstance(checked, Flaw) else None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{value} is not a JSON value"
    return f"{_KINDS.get(type(value), type(value).__name__)} is not a JSON value"


def _bytes(value: Any) -> int:
    if isinstance(value, str):
        return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**_LONG_NUMBER):
        return len(str(value))
    return _LONG_NUMBER if isinstance(value, int) else 4


def _json_only(value: Any, depth: int = 0) -> Any:
    """A copy in which null stands for all that was found not to be JSON or to be nested too deeply."""
    if isinstance(value, (dict, list)):
        if depth >= NESTING:
            return None
        if isinstance(value, dict):
            return {str(key): _json_only(inner, depth + 1) for key, inner in value.items()}
        return [_json_only(inner, depth + 1) for inner in value]
    return value if isinstance(value, str) or _scalar_flaw(value) is None else None
