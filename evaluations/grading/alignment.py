"""Two trajectories side by side: longest common subsequence of equal steps, like steps paired in between.

The subsequence is exact and computed with whole rows as big integers (Hyyrö's bit-vector method), so 10,000
steps a side cost well under a second where the usual table would hold 100 million cells.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from evaluations.grading.divergence import differing
from evaluations.grading.trajectory import TrajectoryStep

SAME, CHANGED, LEFT, RIGHT = "same", "changed", "left", "right"

#: Longer runs are aligned block by block: a row of this many bits per step is kept for the way back.
MAX_EXACT = 20_000

Steps = Sequence[TrajectoryStep]
Match = tuple[int, int]


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """One row of the view: `same` and `changed` have both steps, `left` and `right` only one.

    `differing` names what differs in a changed row (`arguments`, `policy`, `result`, `outcome`).
    """

    kind: str
    baseline: TrajectoryStep | None
    candidate: TrajectoryStep | None
    differing: tuple[str, ...] = ()


def align(baseline: Steps, candidate: Steps) -> tuple[AlignedRow, ...]:
    """Every step of both sides exactly once, in order.

    Equal steps are matched first; between two matches, calls of the same tool (searches, outcomes) pair up as
    changed, and what is left stands alone, the baseline's first.
    """
    matches = longest_common([step.same_key for step in baseline], [step.same_key for step in candidate])
    rows: list[AlignedRow] = []
    left = right = 0
    for i, j in (*matches, (len(baseline), len(candidate))):
        rows.extend(_gap(baseline[left:i], candidate[right:j]))
        if i < len(baseline):
            rows.append(AlignedRow(SAME, baseline[i], candidate[j]))
        left, right = i + 1, j + 1
    return tuple(rows)


def _gap(baseline: Steps, candidate: Steps) -> Iterator[AlignedRow]:
    matches = longest_common([step.place_key for step in baseline], [step.place_key for step in candidate])
    left = right = 0
    for i, j in (*matches, (len(baseline), len(candidate))):
        yield from (AlignedRow(LEFT, step, None) for step in baseline[left:i])
        yield from (AlignedRow(RIGHT, None, step) for step in candidate[right:j])
        if i < len(baseline):
            yield AlignedRow(CHANGED, baseline[i], candidate[j], differing(baseline[i], candidate[j]))
        left, right = i + 1, j + 1


def longest_common(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[Match]:
    """The index pairs of a longest common subsequence, ascending."""
    start = 0
    shortest = min(len(left), len(right))
    while start < shortest and left[start] == right[start]:
        start += 1
    end = 0
    while end < shortest - start and left[-1 - end] == right[-1 - end]:
        end += 1
    matches = [(index, index) for index in range(start)]
    matches += _middle(left, right, start, len(left) - end, len(right) - end)
    return matches + [(len(left) - rest, len(right) - rest) for rest in range(end, 0, -1)]


def _middle(
    left: Sequence[Hashable], right: Sequence[Hashable], start: int, left_end: int, right_end: int
) -> list[Match]:
    matches: list[Match] = []
    i, j = start, start
    while i < left_end and j < right_end:
        block_left = left[i : min(i + MAX_EXACT, left_end)]
        block_right = right[j : min(j + MAX_EXACT, right_end)]
        matches += [(i + a, j + b) for a, b in _exact(block_left, block_right)]
        i, j = i + len(block_left), j + len(block_right)
    return matches


def _exact(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[Match]:
    where: dict[Hashable, int] = {}
    for index, key in enumerate(left):
        where[key] = where.get(key, 0) | (1 << index)
    full = (1 << len(left)) - 1
    # Row j has a zero bit at i where the subsequence of left[:i+1] and right[:j+1] is longer than at i - 1.
    rows = []
    row = full
    for key in right:
        common = row & where.get(key, 0)
        row = ((row + common) | (row - common)) & full
        rows.append(row)
    return _way_back(rows, len(left))


def _way_back(rows: list[int], width: int) -> list[Match]:
    matches: list[Match] = []
    i, j = width, len(rows)
    while i and j:
        if rows[j - 1] >> (i - 1) & 1:
            i -= 1
            continue
        j -= 1
        if j and not rows[j - 1] >> (i - 1) & 1:
            continue
        i -= 1
        matches.append((i, j))
    matches.reverse()
    return matches
