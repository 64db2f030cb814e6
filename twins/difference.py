"""The difference of two texts, line by line, for people to read. Pure.

Two documents may have tens of thousands of lines, for which a longest-common-subsequence search takes
minutes: equal beginnings and ends are set aside first, and what is left above a bound is shown as replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

CONTEXT = 3
MATCHED_LINES = 4000
SHOWN_LINES = 2000

Kind = Literal["same", "added", "removed", "skipped"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of the difference. Line numbers count from 1; None on the side that does not have the line.

    A "skipped" line stands for equal lines left out; its text says how many.
    """

    kind: Kind
    text: str
    before: int | None = None
    after: int | None = None

    @property
    def sign(self) -> str:
        return {"added": "+", "removed": "-"}.get(self.kind, " ")


@dataclass(frozen=True, slots=True)
class Difference:
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    # Lines of the difference that are not in `lines` because it is too long.
    cut: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def difference(before: str, after: str) -> Difference:
    """What it takes to get from one text to the other, with three equal lines around every change."""
    old, new = before.split("\n"), after.split("\n")
    lines = list(_lines(old, new))
    return Difference(
        lines=tuple(lines[:SHOWN_LINES]),
        added=sum(line.kind == "added" for line in lines),
        removed=sum(line.kind == "removed" for line in lines),
        cut=max(0, len(lines) - SHOWN_LINES),
    )


def _lines(old: list[str], new: list[str]) -> Iterator[DiffLine]:
    reached = 0  # lines of `old` already told or skipped
    first = True
    for start, end, new_start, new_end in _changes(old, new):
        yield from _equal(old, reached, start, new_start - start, first=first)
        yield from (DiffLine("removed", old[i], before=i + 1) for i in range(start, end))
        yield from (DiffLine("added", new[i], after=i + 1) for i in range(new_start, new_end))
        reached, first = end, False
    if not first:
        yield from _equal(old, reached, len(old), len(new) - len(old), last=True)


def _equal(
    old: list[str], start: int, end: int, shift: int, *, first: bool = False, last: bool = False
) -> Iterator[DiffLine]:
    """The equal lines between two changes, the middle of a long stretch left out."""
    head = start if first else min(end, start + CONTEXT)
    tail = end if last else max(head, end - CONTEXT)
    yield from (DiffLine("same", old[i], i + 1, i + 1 + shift) for i in range(start, head))
    if tail > head:
        count = tail - head
        yield DiffLine("skipped", f"{count} equal line{'s' if count > 1 else ''}")
    yield from (DiffLine("same", old[i], i + 1, i + 1 + shift) for i in range(tail, end))


def _changes(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Stretches that differ, as (old start, old end, new start, new end)."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(middle_old), len(middle_new)) > MATCHED_LINES:
        yield head, head + len(middle_old), head, head + len(middle_new)
        return
    for tag, start, end, new_start, new_end in SequenceMatcher(None, middle_old, middle_new).get_opcodes():
        if tag != "equal":
            yield head + start, head + end, head + new_start, head + new_end
