"""The difference of two texts as people read it."""

import random

import pytest

from twins.difference import MATCHED_LINES, SHOWN_LINES, difference


def shown(before: str, after: str) -> list[str]:
    return [f"{line.sign}{line.text}" for line in difference(before, after).lines]


def test_equal_texts_have_no_difference() -> None:
    assert not difference("a\nb", "a\nb")
    assert difference("a\nb", "a\nb").lines == ()


def test_a_changed_line_is_removed_and_added_between_its_neighbours() -> None:
    found = difference("a\nb\nc", "a\nB\nc")
    assert [(line.sign, line.text, line.before, line.after) for line in found.lines] == [
        (" ", "a", 1, 1),
        ("-", "b", 2, None),
        ("+", "B", None, 2),
        (" ", "c", 3, 3),
    ]
    assert (found.added, found.removed) == (1, 1)


def test_long_equal_stretches_are_left_out_with_their_length() -> None:
    before = "\n".join(map(str, range(30)))
    assert shown(before, before.replace("\n15\n", "\nx\n")) == [
        " 12 equal lines", " 12", " 13", " 14", "-15", "+x", " 16", " 17", " 18", " 11 equal lines",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"), [("", "a\nb"), ("a\nb", ""), ("b\nc", "a\nb\nc"), ("a\nb", "a\nb\nc")]
)
def test_both_sides_can_be_read_back(before, after) -> None:
    lines = difference(before, after).lines
    assert "\n".join(line.text for line in lines if line.before) == before
    assert "\n".join(line.text for line in lines if line.after) == after


def test_line_numbers_are_those_of_the_texts() -> None:
    chosen = random.Random(3)
    old = [chosen.choice("abcdef") for _ in range(200)]
    new = [line for line in old if chosen.random() > 0.1]
    new.insert(50, "new")
    for line in difference("\n".join(old), "\n".join(new)).lines:
        if line.kind == "skipped":
            continue
        assert line.before is None or old[line.before - 1] == line.text
        assert line.after is None or new[line.after - 1] == line.text


def test_huge_texts_are_answered_at_once_and_cut() -> None:
    old = "\n".join(f"a{i}" for i in range(MATCHED_LINES * 5))
    new = "\n".join(f"b{i}" for i in range(MATCHED_LINES * 5))
    found = difference(old, new)
    assert len(found.lines) == SHOWN_LINES
    assert found.cut == MATCHED_LINES * 10 - SHOWN_LINES
