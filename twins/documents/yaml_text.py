"""YAML text to a JSON value, from the parser's events.

The parser (libyaml where PyYAML was built with it) only splits the text into events; which value a scalar
has, which keys are allowed and how much an alias may repeat is decided here, by FORMATS: YAML 1.2 core
scalars, no explicit tags, text keys only, ``<<`` an ordinary key, no key twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from twins.documents.problems import Segments
from twins.documents.scalars import Flaw, join_surrogates, plain_scalar, text_flaw
from twins.documents.source import (
    DOCUMENT_BYTES,
    NESTING,
    TOO_DEEP,
    Finding,
    Lines,
    Place,
    Source,
    too_large,
    unreadable,
)

_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# libyaml refuses the surrogate escapes that JSON writes for characters beyond U+FFFF; PyYAML's own parser
# reads them, ten times slower.
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def read_yaml(text: str, limit: int = DOCUMENT_BYTES) -> Source:
    """One YAML document; see ``twins.documents.source.read_source``."""
    loader = yaml.SafeLoader if _SURROGATE_ESCAPE.search(text) else _FAST
    reader = _Reader(len(text), limit)
    try:
        reader.read(yaml.parse(text, Loader=loader))
    except _Stop as stop:
        return unreadable(stop.detail, stop.line, stop.segments, *reader.findings)
    except yaml.YAMLError as error:
        detail, line = _syntax(error, text)
        return unreadable(detail, line, (), *reader.findings)
    if reader.root is None:
        return unreadable("the document is empty")
    value, place = reader.root
    return Source(value, Lines(place), tuple(reader.findings))


class _Stop(Exception):
    """The rest of the text is not read: a limit was passed, or there is a second document."""

    def __init__(self, detail: str, line: int, segments: Segments = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.line = line
        self.segments = segments


@dataclass(slots=True)
class _Anchored:
    """What an alias stands for. ``span`` is its length in characters with the aliases inside written out."""

    value: Any = None
    inner: Any = None
    height: int = 0
    span: int = 0
    closed: bool = False


@dataclass(slots=True)
class _Open:
    """A list or object whose end has not been read."""

    value: Any
    places: Any
    line: int
    anchored: _Anchored | None
    start: int
    repeated_before: int
    is_key: bool
    height: int = 1
    key: str | None = None
    key_line: int = 0
    # True between a key and its value; the value of a key that was refused goes nowhere.
    has_key: bool = False


@dataclass(slots=True)
class _Reader:
    characters: int
    limit: int
    root: tuple[Any, Place] | None = None
    findings: list[Finding] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, _Anchored] = field(default_factory=dict)
    # Characters that the aliases read so far would add if they were written out.
    repeated: int = 0
    documents: int = 0
    # Containers open below one that is nested too deeply: they are read past.
    skipped: int = 0

    def read(self, events: Iterator[Any]) -> None:
        for event in events:
            if self.skipped:
                self.skip(event)
            elif isinstance(event, yaml.ScalarEvent):
                self.scalar(event)
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self.open(event, isinstance(event, yaml.MappingStartEvent))
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self.close(event)
            elif isinstance(event, yaml.AliasEvent):
                self.alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    raise _Stop("the text holds more than one document", _line(event))

    def skip(self, event: Any) -> None:
        if isinstance(event, yaml.CollectionStartEvent):
            self.skipped += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            self.skipped -= 1

    def scalar(self, event: Any) -> None:
        line = _line(event)
        is_key = self.expects_key()
        text = join_surrogates(event.value)
        value: Any = plain_scalar(text) if event.implicit[0] and event.tag is None else text
        if is_key:
            self.check_key(event, text, value, line)
            value = text
        else:
            self.check_tag(event, self.here(), line)
            flaw = value.detail if isinstance(value, Flaw) else text_flaw(text)
            if flaw is not None:
                self.findings.append(Finding(self.here(), flaw, line))
            if isinstance(value, Flaw):
                value = None
        if event.anchor is not None:
            span = event.end_mark.index - event.start_mark.index
            self.anchors[event.anchor] = _Anchored(value, None, 0, max(span, 1), closed=True)
        self.place(value, None, line, is_key)

    def open(self, event: Any, is_mapping: bool) -> None:
        line = _line(event)
        is_key = self.expects_key()
        here = self.container() if is_key else self.here()
        if len(self.stack) >= NESTING:
            self.findings.append(Finding(here, TOO_DEEP, line))
            self.skipped = 1
            self.place(None, None, line, is_key)
            return
        if is_key:
            what = "an object" if is_mapping else "a list"
            self.findings.append(Finding(here, f"a key must be text, found {what}", line))
        self.check_tag(event, here, line)
        anchored = None
        if event.anchor is not None:
            anchored = self.anchors[event.anchor] = _Anchored()
        value: Any = {} if is_mapping else []
        places: Any = {} if is_mapping else []
        start = event.start_mark.index
        self.stack.append(_Open(value, places, line, anchored, start, self.repeated, is_key))

    def close(self, event: Any) -> None:
        done = self.stack.pop()
        if done.anchored is not None:
            span = event.end_mark.index - done.start + self.repeated - done.repeated_before
            anchored = done.anchored
            anchored.value, anchored.inner = done.value, done.places
            anchored.height, anchored.span, anchored.closed = done.height, max(span, 1), True
        if self.stack:
            parent = self.stack[-1]
            parent.height = max(parent.height, done.height + 1)
        self.place(done.value, done.places, done.line, done.is_key)

    def alias(self, event: Any) -> None:
        line = _line(event)
        is_key = self.expects_key()
        here = self.container() if is_key else self.here()
        anchored = self.anchors.get(event.anchor)
        if anchored is None or not anchored.closed:
            why = "is not defined before it" if anchored is None else "stands around it"
            self.findings.append(Finding(here, f"the anchor of the alias *{event.anchor} {why}", line))
            anchored = _Anchored()
        self.repeated += anchored.span
        if self.characters + self.repeated > self.limit:
            raise _Stop(f"{too_large(self.limit)} with its aliases written out", line, here)
        if len(self.stack) + anchored.height > NESTING:
            self.findings.append(Finding(here, TOO_DEEP, line))
            anchored = _Anchored()
        if self.stack:
            self.stack[-1].height = max(self.stack[-1].height, anchored.height + 1)
        if is_key and not isinstance(anchored.value, str):
            self.findings.append(Finding(here, "a key must be text, found an alias of something else", line))
            self.place(None, None, line, is_key)
            return
        self.place(anchored.value, anchored.inner, line, is_key)

    def check_key(self, event: Any, text: str, value: Any, line: int) -> None:
        here = (*self.container(), text)
        if event.tag is not None:
            self.findings.append(Finding(here, f"explicit tags are not allowed, found {_tag(event)}", line))
        elif not isinstance(value, str):
            found = "nothing" if text == "" else text
            self.findings.append(Finding(here, f"a key must be text, found {found} (quote it)", line))
        flaw = text_flaw(text)
        if flaw is not None:
            self.findings.append(Finding(here, f"the key {flaw}", line))

    def check_tag(self, event: Any, here: Segments, line: int) -> None:
        if event.tag is not None:
            self.findings.append(Finding(here, f"explicit tags are not allowed, found {_tag(event)}", line))

    def place(self, value: Any, inner: Any, line: int, is_key: bool) -> None:
        """Puts a finished value where it belongs: the root, the list, under its key, or it is the next
        key.
        """
        if not self.stack:
            self.root = (value, (line, inner))
            return
        around = self.stack[-1]
        if isinstance(around.value, list):
            around.value.append(value)
            around.places.append((line, inner))
        elif is_key:
            around.has_key, around.key_line = True, line
            around.key = value if isinstance(value, str) else None
            if around.key in around.value:
                first = around.places[around.key][0]
                detail = f"the key is given twice (first on line {first})"
                self.findings.append(Finding((*self.container(), str(around.key)), detail, line))
        else:
            around.has_key = False
            if around.key is not None:
                around.value[around.key] = value
                around.places[around.key] = (around.key_line, inner)

    def expects_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and not self.stack[-1].has_key

    def container(self) -> Segments:
        """The way to the innermost open container."""
        found: list[str | int] = []
        for around in self.stack[:-1]:
            found.append(_next(around))
        return tuple(found)

    def here(self) -> Segments:
        """The way to the value that is read now."""
        return (*self.container(), _next(self.stack[-1])) if self.stack else ()


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _tag(event: Any) -> str:
    """The tag as it was most likely written."""
    return str(event.tag).replace("tag:yaml.org,2002:", "!!")


def _next(around: _Open) -> str | int:
    if isinstance(around.value, list):
        return len(around.value)
    return "?" if around.key is None else around.key


def _syntax(error: yaml.YAMLError, text: str) -> tuple[str, int | None]:
    """What the parser says, in one sentence, and the line."""
    if isinstance(error, yaml.reader.ReaderError):
        # libyaml counts bytes and PyYAML characters; the character itself tells where it is.
        bad = error.character if isinstance(error.character, str) else chr(error.character)
        before = text.partition(bad)[0]
        return f"is not valid YAML: the character U+{ord(bad):04X} is not allowed", before.count("\n") + 1
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        problem = error.problem or "it cannot be read"
        if "nesting depth" in str(error) or "nesting depth" in (error.context or ""):
            return TOO_DEEP, line
        return f"is not valid YAML: {problem}", line
    return f"is not valid YAML: {error}", None
