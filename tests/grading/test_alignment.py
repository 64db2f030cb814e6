from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from evaluations.grading import AlignedRow, align, trajectory
from evaluations.grading import alignment as module
from evaluations.grading.alignment import longest_common
from tests.grading.building import claims, record, retrieval, write


def table_length(left: Sequence[int], right: Sequence[int]) -> int:
    """The textbook table: slow and obviously right."""
    row = [0] * (len(right) + 1)
    for one in left:
        before = row[:]
        for index, other in enumerate(right):
            row[index + 1] = before[index] + 1 if one == other else max(before[index + 1], row[index])
    return row[-1]


texts = st.lists(st.integers(0, 4), max_size=40)


@given(texts, texts)
def test_matches_are_a_longest_common_subsequence(left: list[int], right: list[int]) -> None:
    matches = longest_common(left, right)
    assert len(matches) == table_length(left, right)
    assert all(left[i] == right[j] for i, j in matches)
    assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(matches))


@given(texts, texts)
def test_blocks_lose_length_but_never_order(left: list[int], right: list[int]) -> None:
    exact, module.MAX_EXACT = module.MAX_EXACT, 5
    try:
        matches = longest_common(left, right)
    finally:
        module.MAX_EXACT = exact
    assert all(left[i] == right[j] for i, j in matches)
    assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(matches))


def kinds(rows: Sequence[AlignedRow]) -> str:
    return " ".join(row.kind for row in rows)


def test_same_changed_left_and_right() -> None:
    baseline = [
        record(1, "look", arguments={"order": "A"}),
        record(2, "policy"),
        write(3, arguments={"n": 1}),
        record(4, "look", arguments={"order": "A"}),
    ]
    candidate = [baseline[0], write(2, arguments={"n": 2}), record(3, "mail")]
    rows = align(trajectory(baseline, claims("SUCCESS")), trajectory(candidate, claims("PARTIAL")))
    assert [
        (row.kind, row.baseline and row.baseline.text, row.candidate and row.candidate.text) for row in rows
    ] == [
        ("same", "look(order=A)", "look(order=A)"),
        ("left", "policy()", None),
        ("changed", "pay(n=1)", "pay(n=2)"),
        ("left", "look(order=A)", None),
        ("right", None, "mail()"),
        ("changed", "reported SUCCESS", "reported PARTIAL"),
    ]
    assert rows[2].differing == ("arguments",)
    assert rows[5].differing == ("outcome",)


def test_every_step_of_both_sides_appears_once_and_in_order() -> None:
    baseline = trajectory([record(n, f"t{n % 3}", arguments={"n": n % 5}) for n in range(1, 40)], None)
    candidate = trajectory([record(n, f"t{n % 4}", arguments={"n": n % 3}) for n in range(1, 50)], None)
    rows = align(baseline, candidate)
    assert [row.baseline for row in rows if row.baseline] == list(baseline)
    assert [row.candidate for row in rows if row.candidate] == list(candidate)


def test_equal_steps_are_matched_before_like_ones() -> None:
    one, other = record(1, arguments={"n": 1}), record(2, arguments={"n": 2})
    rows = align(trajectory([one, other], None), trajectory([other], None))
    assert kinds(rows) == "left same same"


def test_a_search_never_pairs_with_a_call() -> None:
    assert kinds(align(trajectory([retrieval(1)], None), trajectory([record(1)], None))) == "left right same"


def test_the_same_call_refused_on_one_side_is_changed() -> None:
    rows = align(
        trajectory([record(1, "wipe")], None),
        trajectory([record(1, "wipe", status="denied", policy_violation="ADMIN_ONLY")], None),
    )
    assert (rows[0].kind, rows[0].differing) == ("changed", ("policy", "result"))


def test_nothing_aligned_with_nothing() -> None:
    assert align((), ()) == ()
    assert kinds(align(trajectory([], None), ())) == "left"


def test_ten_thousand_steps_a_side_stay_quick() -> None:
    # Worst cases for line-based differs: few distinct steps, and every step another one.
    repeated = [[record(n, f"t{(n * step) % 7}") for n in range(1, 10_001)] for step in (1, 3)]
    distinct = [[record(n, arguments={"n": n + shift}) for n in range(1, 10_001)] for shift in (0, 5_000)]
    for left, right in (repeated, distinct):
        started = time.process_time()
        rows = align(trajectory(left, None), trajectory(right, None))
        # About 1.5 s of processor time on a busy machine; a table of 100 million cells takes a minute.
        assert time.process_time() - started < 8
        assert sum(1 for row in rows if row.kind == "same") > 4_000
