"""Examples for people to label, from YAML or JSON (one document) or JSONL (one example a line).

A document may name its criterion and rubric; lines hold examples alone. Labels are in neither: a person
gives them here, without seeing anybody else's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from evaluations.judges.interface import Material, ShownCall
from twins.documents.problems import DocumentError, Problem
from twins.documents.source import DOCUMENT_BYTES, Finding, read_source, source_kind, too_large
from twins.documents.validation import DocumentSchema

EXAMPLES_BYTES = 8 * DOCUMENT_BYTES
MOST_EXAMPLES = 1000
JSONL = "jsonl"
CRITERION_CHARACTERS = 100
RUBRIC_CHARACTERS = 10_000
_LINE_SUFFIXES = (".jsonl", ".ndjson")
# A name is part of an address, and is typed: letters, digits and a few signs, no slash.
_CRITERION = re.compile(r"[^\W_][\w .:+-]*")


class _ExampleSchema(DocumentSchema):
    """One line of a JSONL file: the example of the document's schema on its own."""

    @cached_property
    def schema(self) -> dict[str, Any]:
        whole = DocumentSchema(self.path).schema
        return {**whole["$defs"]["example"], "$defs": whole["$defs"]}


_SCHEMA_FILE = Path(__file__).parent / "examples.schema.json"
EXAMPLES_SCHEMA = DocumentSchema(_SCHEMA_FILE)
_EXAMPLE_SCHEMA = _ExampleSchema(_SCHEMA_FILE)


@dataclass(frozen=True, slots=True)
class ExampleDraft:
    """An example as it was written. `source` says in a person's words where it comes from."""

    material: Material
    source: str = ""


@dataclass(frozen=True, slots=True)
class ExamplesDocument:
    """Examples with the criterion and rubric they are for, where the document says so."""

    examples: tuple[ExampleDraft, ...]
    criterion: str | None = None
    rubric: str | None = None


def examples_kind(filename: str) -> str:
    """ "jsonl" for a name that ends in .jsonl or .ndjson, else what `source_kind` says."""
    return JSONL if filename.lower().endswith(_LINE_SUFFIXES) else source_kind(filename)


def read_examples(text: str | bytes, *, kind: str = "yaml") -> ExamplesDocument:
    """The examples of a text of this kind: "yaml", "json" or "jsonl". DocumentError with every problem."""
    if kind == JSONL:
        return _read_lines(text)
    source = read_source(text, kind=kind, limit=EXAMPLES_BYTES)
    if problems := EXAMPLES_SCHEMA.problems(source, _unusable_texts):
        raise DocumentError(problems)
    written = source.value
    return ExamplesDocument(
        tuple(_draft(one) for one in written["examples"]), written.get("criterion"), written.get("rubric")
    )


def criterion_problem(name: str) -> str:
    """What is wrong with the name of a criterion; empty for one that can be used."""
    if len(name) > CRITERION_CHARACTERS:
        return f"must have at most {CRITERION_CHARACTERS} characters, got {len(name)}"
    if not _CRITERION.fullmatch(name) or name != name.strip():
        return (
            "must begin with a letter or digit and hold letters, digits, spaces and . : + - _ alone, "
            f"got {name!r}"
        )
    return ""


def rubric_problem(rubric: str) -> str:
    """What is wrong with a rubric; empty for one that can be used."""
    if not rubric.strip():
        return "must say what a judge is to find"
    if len(rubric) > RUBRIC_CHARACTERS:
        return f"must have at most {RUBRIC_CHARACTERS:,} characters, got {len(rubric):,}"
    return _unstorable(rubric)


def _read_lines(text: str | bytes) -> ExamplesDocument:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > EXAMPLES_BYTES:
        raise DocumentError([Problem.at((), too_large(EXAMPLES_BYTES))])
    drafts: list[ExampleDraft] = []
    problems: list[Problem] = []
    lines = [(number, line) for number, line in enumerate(raw.split(b"\n"), 1) if line.strip()]
    for number, line in lines[:MOST_EXAMPLES]:
        source = read_source(line, kind="json", limit=EXAMPLES_BYTES)
        found = _EXAMPLE_SCHEMA.problems(source, _unusable_source)
        # A source of one line counts its lines from 1; where it stands in the file is what an author needs.
        problems += [Problem(one.path, one.detail, number) for one in found]
        if not found:
            drafts.append(_draft(source.value))
    if len(lines) > MOST_EXAMPLES:
        problems.append(Problem.at((), f"has more than {MOST_EXAMPLES:,} lines", lines[MOST_EXAMPLES][0]))
    if not lines:
        problems.append(Problem.at((), "holds no example: one JSON object a line"))
    if problems:
        raise DocumentError(problems)
    return ExamplesDocument(tuple(drafts))


def _draft(written: Mapping[str, Any]) -> ExampleDraft:
    calls = tuple(
        ShownCall(number, call["tool"], call["text"])
        for number, call in enumerate(written.get("tool_calls", ()), 1)
    )
    material = Material(written["answer"], written.get("customer_message", ""), calls)
    return ExampleDraft(material, written.get("source", ""))


def _unusable_texts(value: Any, _mentions: Any) -> Iterator[Finding]:
    if not isinstance(value, dict):
        return
    for name, problem_of in (("criterion", criterion_problem), ("rubric", rubric_problem)):
        if isinstance(value.get(name), str) and (problem := problem_of(value[name])):
            yield Finding((name,), problem)
    examples = value.get("examples")
    for position, one in enumerate(examples if isinstance(examples, list) else ()):
        for finding in _unusable_source(one, ()):
            yield Finding(("examples", position, *finding.segments), finding.detail)


def _unusable_source(value: Any, _mentions: Any) -> Iterator[Finding]:
    source = value.get("source") if isinstance(value, dict) else None
    if isinstance(source, str) and (problem := _unstorable(source)):
        yield Finding(("source",), problem)
    answer = value.get("answer") if isinstance(value, dict) else None
    if isinstance(answer, str) and not answer.strip():
        yield Finding(("answer",), "must not be empty: what is not answered is not judged")


def _unstorable(text: str) -> str:
    return "holds a NUL character, which cannot be stored" if "\x00" in text else ""
