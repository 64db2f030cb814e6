"""What is wrong with a document, told so that its author finds the place and knows what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from twins.engine.paths import format_path
from twins.engine.redaction import redactor

Segments = tuple[str | int, ...]

_PATH_SHOWN = 500
_DETAIL_SHOWN = 1000
_NOT_PRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a document.

    ``path`` is written as in the path language without ``$`` (the document itself is ``$``), ``line``
    counts from 1 and is None where the source has no lines. Both texts are printable and hold no line
    break.
    """

    path: str
    detail: str
    line: int | None = None

    @classmethod
    def at(cls, segments: Sequence[str | int], detail: str, line: int | None = None) -> Problem:
        """The problem of the place that these keys and indexes lead to."""
        path = _cut(one_line(format_path(segments)), _PATH_SHOWN)
        return cls(path, _cut(one_line(detail), _DETAIL_SHOWN), line)

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}"


class DocumentError(ValueError):
    """A document was refused; ``problems`` holds every reason, in the order of the document."""

    code = "INVALID_DOCUMENT"

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def without_secrets(problems: Iterable[Problem], secrets: Iterable[str]) -> list[Problem]:
    """The problems, none of which repeats one of these secrets: what was found is quoted in many of them."""
    redact = redactor(secrets)
    return [replace(one, path=redact(one.path), detail=redact(one.detail)) for one in problems]


def format_problem(file: str, problem: Problem) -> str:
    """One line ``FILE:LINE: PATH: what``; without a line ``FILE: PATH: what``."""
    place = one_line(file) if problem.line is None else f"{one_line(file)}:{problem.line}"
    return f"{place}: {problem}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def one_line(text: str) -> str:
    """The text with every character that would break a line or an encoder written as an escape."""
    return _NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
