from __future__ import annotations

import pytest

from twins.engine.comparators import COMPARATORS, ComparatorError, compile_comparators
from twins.engine.patterns import PatternError
from twins.engine.values import MISSING

PASSES = [
    ({"equals": 1}, 1.0),
    ({"equals": 0.3}, 0.1 + 0.2),
    ({"equals": None}, None),
    ({"equals": {"a": [1]}}, {"a": [1.0]}),
    ({"notEquals": 1}, True),
    ({"notEquals": None}, MISSING),
    ({"notEquals": 5}, MISSING),
    ({"in": [1, "a", None]}, None),
    ({"in": [1, 2]}, 2.0),
    ({"exists": True}, 0),
    ({"exists": True}, ""),
    ({"exists": True}, False),
    ({"exists": True}, {}),
    ({"exists": False}, None),
    ({"exists": False}, MISSING),
    ({}, 0),
    ({"gte": 5}, 5),
    ({"gte": 5}, 5 - 5e-10),
    ({"lte": 5}, 5 + 5e-10),
    ({"gt": 5}, 5.1),
    ({"lt": 5}, -1),
    ({"gte": 1, "lte": 3}, 2),
    ({"matches": "^ORD-[0-9]+$"}, "ORD-12"),
    ({"matches": "b"}, "abc"),
    ({"matches": ""}, ""),
    ({"exists": True, "matches": "a"}, "a"),
]
FAILS = [
    ({"equals": None}, MISSING),
    ({"equals": True}, 1),
    ({"equals": "5"}, 5),
    ({"notEquals": 1.0}, 1),
    ({"in": []}, 1),
    ({"in": [None]}, MISSING),
    ({"in": [True]}, 1),
    ({"exists": True}, None),
    ({"exists": True}, MISSING),
    ({"exists": False}, 0),
    ({}, None),
    ({}, MISSING),
    ({"gt": 5}, 5 + 5e-10),
    ({"lt": 5}, 5 - 5e-10),
    ({"gte": 5}, 4.9),
    ({"gte": 1, "lte": 3}, 4),
    ({"matches": "^b"}, "abc"),
    ({"matches": "1"}, 1),
    ({"matches": "x"}, MISSING),
    ({"matches": "x"}, None),
]


@pytest.mark.parametrize(("comparators", "actual"), PASSES)
def test_holds(comparators, actual):
    assert compile_comparators(comparators).check(actual) is None


@pytest.mark.parametrize(("comparators", "actual"), FAILS)
def test_does_not_hold_and_says_why(comparators, actual):
    reason = compile_comparators(comparators).check(actual)
    assert reason


@pytest.mark.parametrize("name", ["gte", "lte", "gt", "lt"])
@pytest.mark.parametrize("actual", ["5", None, True, [5], {}, MISSING])
def test_ordering_needs_numbers_on_both_sides(name, actual):
    assert "needs numbers on both sides" in compile_comparators({name: 1}).check(actual)
    assert "needs numbers on both sides" in compile_comparators({name: "1"}).check(5)
    assert "needs numbers on both sides" in compile_comparators({name: True}).check(5)


def test_reasons_are_for_people():
    assert compile_comparators({"equals": 1}).check(2) == "expected 1, got 2"
    assert compile_comparators({"equals": 1}).check(MISSING) == "expected 1, got nothing"
    assert compile_comparators({"in": ["a"]}).check("b") == 'expected one of ["a"], got "b"'
    assert compile_comparators({"exists": False}).check(3) == "expected no value, got 3"
    assert compile_comparators({"lt": 3}).check(3) == "expected lt 3, got 3"


def test_all_nine_have_a_compiler():
    assert len(COMPARATORS) == 9
    for name in COMPARATORS:
        operand = {"in": [1], "exists": True, "matches": "a"}.get(name, 1)
        assert compile_comparators({name: operand})


@pytest.mark.parametrize(
    ("comparators", "words"),
    [
        ({"like": 1}, "unknown comparator like"),
        ({"in": "abc"}, "needs a list"),
        ({"exists": 1}, "true or false"),
        ({"matches": 1}, "needs a pattern"),
    ],
)
def test_unusable_comparators(comparators, words):
    with pytest.raises(ComparatorError, match=words):
        compile_comparators(comparators)


@pytest.mark.parametrize("pattern", ["(?=a)", "(?<!a)b", r"(a)\1", "(", "a{2000}", "[z-a]"])
def test_what_re2_refuses_is_a_pattern_error(pattern):
    with pytest.raises(PatternError):
        compile_comparators({"matches": pattern})
