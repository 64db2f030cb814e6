"""How well two readers agree: plain agreement, Cohen's kappa with its 95% interval, the confusion matrix.

Counts are whole numbers and every figure a rule decides by is an exact fraction, so no rule hangs on a
rounding. What cannot be computed is None, never 0 or 1: a kappa that is undefined says nothing good.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from evaluations.grading.statistics import Interval, wilson

# Of the standard normal distribution: 95% lie within this many standard deviations.
Z95 = 1.959963984540054
# A variance below this is none: the formula cancelled to nothing.
_NO_WIDTH = 1e-12

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """How often the first reader said `row` where the second said `column`."""

    counts: tuple[tuple[Pair, int], ...]

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> ConfusionMatrix:
        return cls(tuple(sorted(Counter(pairs).items())))

    def count(self, first: str, second: str) -> int:
        return dict(self.counts).get((first, second), 0)

    @property
    def total(self) -> int:
        return sum(count for _, count in self.counts)

    @property
    def agreed(self) -> int:
        return sum(count for (first, second), count in self.counts if first == second)

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label that either reader gave."""
        return tuple(sorted({label for pair, _ in self.counts for label in pair}))

    def said(self, label: str) -> tuple[int, int]:
        """How often the first and the second reader gave this label."""
        return (
            sum(count for (first, _), count in self.counts if first == label),
            sum(count for (_, second), count in self.counts if second == label),
        )


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two readers' labels of the same items amount to."""

    matrix: ConfusionMatrix
    share: Fraction | None
    kappa: Fraction | None
    interval: Interval | None

    @property
    def total(self) -> int:
        return self.matrix.total

    @property
    def agreed(self) -> int:
        return self.matrix.agreed


def agreement_of(pairs: Sequence[Pair]) -> Agreement:
    """The agreement of two readers, given what each said of the same items.

    Any label counts as a category of its own: a reader that could not answer may be given one that the other
    never uses, and then agrees nowhere.
    """
    matrix = ConfusionMatrix.of(pairs)
    kappa = cohens_kappa(matrix)
    return Agreement(
        matrix=matrix,
        share=Fraction(matrix.agreed, matrix.total) if matrix.total else None,
        kappa=kappa,
        interval=None if kappa is None else kappa_interval(matrix),
    )


def cohens_kappa(matrix: ConfusionMatrix) -> Fraction | None:
    """Agreement beyond what two such readers would reach by chance; at most 1, negative below chance.

    None (undefined) with fewer than two items, and where both readers gave one and the same label to
    everything: then chance alone explains all of it.
    """
    total = matrix.total
    if total < 2:
        return None
    by_chance = _by_chance(matrix)
    if by_chance == total**2:
        return None
    return Fraction(matrix.agreed * total - by_chance, total**2 - by_chance)


def kappa_interval(matrix: ConfusionMatrix) -> Interval | None:
    """The 95% interval of kappa, within -1 and 1; None where kappa is undefined.

    The large-sample variance of Fleiss, Cohen and Everitt (1969). It cancels to nothing where the readers
    agree everywhere, or one of them said the same of everything, as if that left no doubt; there the
    interval is that of the share of agreement (Wilson), carried over with the chance agreement as observed.
    """
    kappa = cohens_kappa(matrix)
    if kappa is None:
        return None
    variance = _variance(matrix, float(kappa))
    if variance <= _NO_WIDTH:
        return _interval_by_share(matrix)
    half = Z95 * math.sqrt(variance)
    return Interval(max(-1.0, float(kappa) - half), min(1.0, float(kappa) + half))


def _by_chance(matrix: ConfusionMatrix) -> int:
    """The sum of the products of both readers' counts: chance agreement times the square of the total."""
    return sum(first * second for first, second in map(matrix.said, matrix.labels))


def _variance(matrix: ConfusionMatrix, kappa: float) -> float:
    total = matrix.total
    said = {label: matrix.said(label) for label in matrix.labels}
    rows = {label: counts[0] / total for label, counts in said.items()}
    columns = {label: counts[1] / total for label, counts in said.items()}
    by_chance = _by_chance(matrix) / total**2
    on_diagonal = off_diagonal = 0.0
    for (first, second), count in matrix.counts:
        share = count / total
        if first == second:
            on_diagonal += share * (1 - (rows[first] + columns[first]) * (1 - kappa)) ** 2
        else:
            # The row's label as a column and the column's as a row: the formula crosses them over.
            off_diagonal += share * (columns[first] + rows[second]) ** 2
    spread = on_diagonal + (1 - kappa) ** 2 * off_diagonal - (kappa - by_chance * (1 - kappa)) ** 2
    return spread / (total * (1 - by_chance) ** 2)


def _interval_by_share(matrix: ConfusionMatrix) -> Interval:
    share = wilson(matrix.total, matrix.agreed)
    assert share is not None  # kappa is defined, so there are items
    by_chance = _by_chance(matrix) / matrix.total**2
    low, high = ((end - by_chance) / (1 - by_chance) for end in (share.low, share.high))
    return Interval(max(-1.0, low), min(1.0, high))
