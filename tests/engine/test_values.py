from __future__ import annotations

import copy
import hashlib
import pickle

import pytest

from twins.engine.values import (
    MISSING,
    canonical_json,
    compact_json,
    contains,
    copy_json,
    describe,
    digest,
    json_equal,
    text_form,
)

SAME = [
    (1, 1.0),
    (0.1 + 0.2, 0.3),
    (1, 1 + 5e-10),
    (0, -0.0),
    (10**16, 1e16),
    (None, None),
    (True, True),
    ("a", "a"),
    ([], []),
    ({"a": 1, "b": [1.0]}, {"b": [1], "a": 1}),
]
DIFFERENT = [
    (True, 1),
    (False, 0),
    (1, "1"),
    (None, 0),
    (None, ""),
    (None, False),
    (1, 1 + 2e-9),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": None}, {}),
    ({}, []),
    ("007", "7"),
    ({"a": True}, {"a": 1}),
    (10**400, 1.5),
    (MISSING, None),
    (MISSING, MISSING),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_equal_values(left, right):
    assert json_equal(left, right)
    assert json_equal(right, left)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different_values(left, right):
    assert not json_equal(left, right)
    assert not json_equal(right, left)


@pytest.mark.parametrize(
    ("expected", "actual", "holds"),
    [
        ({}, {"a": 1}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1.0, "c": 2}, "d": 3}, True),
        ({"a": 1}, {}, False),
        ({"a": None}, {}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": [1]}, {"a": [1, 2]}, False),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, False),
        ({"a": {}}, {"a": 5}, False),
        (5, 5.0, True),
        ([], [], True),
    ],
)
def test_containment_is_subset_for_objects_and_equality_for_the_rest(expected, actual, holds):
    assert contains(expected, actual) is holds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (1.5, "1.5"),
        ("as it is", "as it is"),
        ([1, "ü"], '[1,"ü"]'),
        ({"b": 1, "a": None}, '{"b":1,"a":null}'),
    ],
)
def test_text_form(value, text):
    assert text_form(value) == text


def test_canonical_text_sorts_keys_and_writes_equal_numbers_the_same():
    assert canonical_json({"b": 1.0, "a": [2, 0.5, -0.0]}) == '{"a":[2,0.5,0],"b":1}'
    assert canonical_json({"a": 1}) == canonical_json({"a": 1.0})
    assert canonical_json(True) != canonical_json(1)


def test_digest_is_sha256_of_the_canonical_text():
    assert digest({"b": "ü"}) == hashlib.sha256('{"b":"ü"}'.encode()).hexdigest()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_compact_json_refuses_what_is_no_json(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        compact_json(number)


def test_missing_is_one_falsy_thing_also_after_copying():
    assert not MISSING
    assert repr(MISSING) == "missing"
    assert copy.deepcopy(MISSING) is MISSING
    assert pickle.loads(pickle.dumps(MISSING)) is MISSING


def test_copy_shares_no_container():
    value = {"a": [{"b": 1}]}
    copied = copy_json(value)
    copied["a"][0]["b"] = 2
    assert value == {"a": [{"b": 1}]}


def test_description_is_cut():
    assert describe(MISSING) == "nothing"
    assert len(describe("x" * 1000)) == 200
