"""One pass over a document: structure and meaning by its schema, then what only the whole document shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from twins.documents.keywords import DocumentValidator
from twins.documents.problems import Problem, Segments
from twins.documents.source import Finding, Source, has_place
from twins.documents.wording import sentence
from twins.engine.values import MISSING

# No author reads so many, and a hostile megabyte could hold twenty times more.
MOST_FINDINGS = 10_000


@dataclass(frozen=True, slots=True)
class Mention:
    """A place of a document that names a tool. ``use`` is the schema's ``x-tool`` (see keywords)."""

    segments: Segments
    use: str
    name: str


Check = Callable[[Any, Sequence[Mention]], Iterable[Finding]]


class DocumentSchema:
    """A JSON Schema file shipped with the product.

    It is plain Draft 2020-12 for an editor; here it is read with the keywords of ``keywords`` as well.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def schema(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return loaded

    @cached_property
    def _validator(self) -> Any:
        return DocumentValidator(self.schema)

    def problems(self, source: Source, *checks: Check, optional: Collection[Segments] = ()) -> list[Problem]:
        """Every problem of the document, in the order of the document.

        ``checks`` look at the value as a whole, however wrong it may be, together with its mentions of
        tools. ``optional`` are fields that the schema requires and this reader does not.
        """
        findings = list(source.findings)
        if source.readable:
            flawed = {one.segments for one in findings if value_at(source.value, one.segments) is None}
            judged, mentions = self._judge(source.value)
            for check in checks:
                judged.extend(check(source.value, mentions))
            # null stands for what could not be read; that it is null is not the author's doing.
            findings.extend(
                one
                for one in judged
                if one.segments not in flawed and not (one.kind == "required" and one.segments in optional)
            )
        ordered = _in_order(source.value, _without_repeats(findings))
        return [source.problem(finding) for finding in ordered]

    def _judge(self, value: Any) -> tuple[list[Finding], list[Mention]]:
        findings: list[Finding] = []
        mentions: list[Mention] = []
        for error in self._validator.iter_errors(value):
            if len(findings) == MOST_FINDINGS:
                findings.append(
                    Finding((), f"has more than {MOST_FINDINGS:,} problems, the rest is not listed")
                )
                break
            segments = tuple(error.absolute_path)
            if error.validator == "x-tool":
                mentions.append(Mention(segments, error.validator_value, error.message))
                continue
            findings.append(Finding(segments, sentence(error), kind=str(error.validator)))
        return findings, mentions


def value_at(value: Any, segments: Segments) -> Any:
    """The value at keys and indexes from the root, or MISSING."""
    for segment in segments:
        if not has_place(value, segment):
            return MISSING
        value = value[segment]
    return value


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    """Each fault once; of an unknown field only the last word, which knows the kind of the object."""
    kept: dict[tuple[Any, ...], Finding] = {}
    for one in findings:
        is_unknown_field = one.kind == "additionalProperties"
        key = (one.segments, None) if is_unknown_field else (one.segments, one.detail, one.line)
        kept[key] = one
    return list(kept.values())


def _in_order(root: Any, findings: list[Finding]) -> list[Finding]:
    """By place in the document; a missing field stands before the fields of its object."""
    positions: dict[int, dict[Any, int]] = {}

    def place(finding: Finding) -> tuple[int, ...]:
        value, key = root, []
        for segment in finding.segments:
            if isinstance(value, dict):
                if id(value) not in positions:
                    positions[id(value)] = {name: index for index, name in enumerate(value)}
                key.append(positions[id(value)].get(segment, -1))
            elif isinstance(segment, int):
                key.append(segment)
            value = value_at(value, (segment,))
        return tuple(key)

    return sorted(findings, key=place)
