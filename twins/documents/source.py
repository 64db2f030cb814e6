"""From text to a plain JSON value that knows on which line each of its fields stands.

YAML is read from the parser's events, one at a time and without recursion, so that nothing a text can
hold (an alias bomb, a hundred thousand brackets, a tag that names a Python class) is built before it is
refused. Faults that leave the rest readable, such as a duplicate key, are collected and reading goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from twins.documents.problems import Problem, Segments

DOCUMENT_BYTES = 1024 * 1024
# A calls file is no document: an argument in it may be larger than a tool takes, and the twin refuses it.
CALLS_BYTES = 16 * DOCUMENT_BYTES
NESTING = 64
TOO_DEEP = f"is nested deeper than {NESTING} levels"
TOO_LARGE = "the document is larger than {} MiB"

# A place is (line, inner): inner maps keys to places, lists places, or is None for a scalar.
Place = tuple[int, Any]


def too_large(limit: int) -> str:
    """What is said of a text beyond a limit of bytes."""
    return TOO_LARGE.format(limit // DOCUMENT_BYTES)


def has_place(container: Any, segment: str | int) -> bool:
    if isinstance(container, list):
        return isinstance(segment, int) and 0 <= segment < len(container)
    return isinstance(container, dict) and segment in container


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault at a place, before it is written out as a Problem.

    ``line`` overrides the line of the place, for a fault that the value does not show (the second of two
    equal keys). ``kind`` is the keyword of the schema that found it, where one did.
    """

    segments: Segments
    detail: str
    line: int | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """The line of every field of a YAML text; empty for a value that came without text."""

    root: Place | None = None

    def of(self, segments: Sequence[str | int]) -> int | None:
        """The line of the field, or of the nearest container around it that the text holds."""
        if self.root is None:
            return None
        line, inner = self.root
        for segment in segments:
            if not has_place(inner, segment):
                break
            line, inner = inner[segment]
        return line


@dataclass(frozen=True, slots=True)
class Source:
    """A document as it was read.

    ``value`` is plain JSON. Where ``readable`` is false the text gave no whole value (a syntax error, a
    limit) and ``value`` is None; otherwise the findings stand beside a value that is worth validating
    too. Parts of ``value`` may be one object in several places (an alias): never change it.
    """

    value: Any
    lines: Lines = field(default_factory=Lines)
    findings: tuple[Finding, ...] = ()
    readable: bool = True

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(self.problem(finding) for finding in self.findings)

    def problem(self, finding: Finding) -> Problem:
        line = self.lines.of(finding.segments) if finding.line is None else finding.line
        return Problem.at(finding.segments, finding.detail, line)


def unreadable(detail: str, line: int | None = None, segments: Segments = (), *more: Finding) -> Source:
    """A source that could not be read to its end, and why."""
    return Source(None, Lines(), (*more, Finding(segments, detail, line)), readable=False)


def source_kind(filename: str) -> str:
    """ "json" for a name that ends in .json, else "yaml" (which JSON text is too)."""
    return "json" if filename.lower().endswith(".json") else "yaml"


def read_source(text: str | bytes, *, kind: str = "yaml", limit: int = DOCUMENT_BYTES) -> Source:
    """Reads YAML 1.2 (core schema) or JSON. Never raises for what the text holds.

    ``kind`` is "yaml" or "json". Bytes are UTF-8, with or without a byte order mark. The limits are those
    of FORMATS: 1 MiB of text (or ``limit`` bytes), also with every alias written out, and 64 levels of
    containers.
    """
    from twins.documents.json_text import read_json
    from twins.documents.yaml_text import read_yaml

    if kind not in ("yaml", "json"):
        raise ValueError(f"kind must be yaml or json, got {kind!r}")
    try:
        raw = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1 if isinstance(text, str) else 1
        return unreadable("the text holds a lone surrogate, which is no character", _line(kind, line))
    if len(raw) > limit:
        return unreadable(too_large(limit))
    try:
        decoded = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return unreadable(f"the text is not UTF-8 (byte {error.start + 1})", _line(kind, line))
    if not decoded.strip():
        return unreadable("the document is empty")
    return read_json(decoded) if kind == "json" else read_yaml(decoded, limit)


def as_source(document: Any, *, limit: int = DOCUMENT_BYTES) -> Source:
    """The Source itself, or one of a value that was parsed elsewhere, held to the same limits."""
    from twins.documents.json_text import check_value

    return document if isinstance(document, Source) else check_value(document, limit)


def _line(kind: str, line: int) -> int | None:
    return line if kind == "yaml" else None
