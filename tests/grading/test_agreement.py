"""Agreement and kappa, held against scikit-learn and statsmodels on random tables."""

from __future__ import annotations

import math
import random
import warnings
from fractions import Fraction

import numpy
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa as reference

from evaluations.grading.agreement import Agreement, ConfusionMatrix, agreement_of

SEEDS = range(120)


def random_pairs(seed: int) -> list[tuple[str, str]]:
    """Labels of two readers: sometimes three labels, sometimes mostly agreed, sometimes lopsided."""
    draw = random.Random(seed)
    labels = ["PASS", "FAIL", "ERROR"][: draw.choice((2, 2, 3))]
    weights = [draw.random() ** 3 + 0.01 for _ in labels]
    agreeing = draw.choice((0.0, 0.5, 0.9))
    pairs = []
    for _ in range(draw.randint(2, 60)):
        first, second = draw.choices(labels, weights)[0], draw.choices(labels, weights)[0]
        pairs.append((first, first if draw.random() < agreeing else second))
    return pairs


def table(pairs: list[tuple[str, str]]) -> numpy.ndarray:
    labels = sorted({label for pair in pairs for label in pair})
    return numpy.array([[pairs.count((row, column)) for column in labels] for row in labels])


def test_kappa_is_that_of_scikit_learn() -> None:
    undefined = 0
    for seed in SEEDS:
        pairs = random_pairs(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = cohen_kappa_score([first for first, _ in pairs], [second for _, second in pairs])
        kappa = agreement_of(pairs).kappa
        if kappa is None:
            assert math.isnan(expected), seed
            undefined += 1
        else:
            assert float(kappa) == pytest.approx(expected, abs=1e-12), seed
    assert 0 < undefined < len(SEEDS) / 5, "the tables are of every kind"


def test_the_interval_is_that_of_the_large_sample_variance() -> None:
    compared = 0
    for seed in SEEDS:
        pairs = random_pairs(seed)
        found = agreement_of(pairs).interval
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = reference(table(pairs))
        # Where the formula gives no width, another one does: see below.
        if found is not None and expected.var_kappa > 1e-9:
            assert found.low == pytest.approx(max(-1, expected.kappa_low), abs=1e-9), seed
            assert found.high == pytest.approx(min(1, expected.kappa_upp), abs=1e-9), seed
            compared += 1
    assert compared > len(SEEDS) * 0.6


def test_kappa_of_a_table_worked_out_by_hand() -> None:
    """20, 5, 10, 15 of 50: agreement 0.7, by chance 0.5, so 0.4 (Fleiss's classic example)."""
    pairs = [("PASS", "PASS")] * 20 + [("PASS", "FAIL")] * 5
    pairs += [("FAIL", "PASS")] * 10 + [("FAIL", "FAIL")] * 15
    found = agreement_of(pairs)
    assert (found.total, found.agreed, found.share) == (50, 35, Fraction(7, 10))
    assert found.kappa == Fraction(2, 5)
    assert found.matrix.count("FAIL", "PASS") == 10
    assert found.matrix.said("PASS") == (25, 30)


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([], id="no item"),
        pytest.param([("PASS", "PASS")], id="one item"),
        pytest.param([("PASS", "FAIL")], id="one item, two labels"),
        pytest.param([("PASS", "PASS")] * 20, id="twenty items that everyone labels pass"),
        pytest.param([("FAIL", "FAIL")] * 20, id="twenty items that everyone labels fail"),
    ],
)
def test_where_chance_explains_everything_kappa_is_undefined(pairs: list[tuple[str, str]]) -> None:
    found = agreement_of(pairs)
    assert found.kappa is None
    assert found.interval is None
    assert found.share == (None if not pairs else Fraction(found.agreed, len(pairs)))


def test_agreeing_everywhere_leaves_doubt_that_shrinks_with_the_number_of_items() -> None:
    def of(each: int) -> Agreement:
        return agreement_of([("PASS", "PASS")] * each + [("FAIL", "FAIL")] * each)

    few, many = of(5), of(100)
    assert few.kappa == many.kappa == 1
    assert few.interval is not None
    assert many.interval is not None
    assert (few.interval.high, many.interval.high) == (pytest.approx(1), pytest.approx(1))
    assert 0.4 < few.interval.low < 0.5
    assert 0.95 < many.interval.low < 1


def test_a_reader_who_always_says_the_same_has_kappa_0_with_a_width() -> None:
    found = agreement_of([("PASS", "PASS")] * 10 + [("FAIL", "PASS")] * 10)
    assert found.kappa == 0
    assert found.interval is not None
    assert found.interval.low < -0.3
    assert found.interval.high > 0.3


def test_opposite_readers_are_below_chance_and_within_the_bounds() -> None:
    found = agreement_of([("PASS", "FAIL"), ("FAIL", "PASS")] * 10)
    assert found.kappa == -1
    assert found.interval is not None
    assert found.interval.low == -1


def test_the_order_of_the_items_makes_no_difference() -> None:
    pairs = random_pairs(7)
    assert agreement_of(pairs) == agreement_of(pairs[::-1])


def test_a_matrix_of_nothing_counts_nothing() -> None:
    empty = ConfusionMatrix.of([])
    assert (empty.total, empty.agreed, empty.labels, empty.count("PASS", "PASS")) == (0, 0, (), 0)
