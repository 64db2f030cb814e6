from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twins.engine.bounds import (
    ABSENT,
    MAX_ARGUMENT_BYTES,
    MAX_STATE_NESTING,
    TooLarge,
    admit,
    clean_text,
    weigh,
)


def nested(depth: int):
    value: dict = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def circle():
    value: list = []
    value += [value, value, value]
    return value


class Listed(list):
    """Its own way through it does not end."""

    def __iter__(self):
        return iter(int, 1)


class Evil(dict):
    def items(self):
        raise RuntimeError("surprise")

    def __iter__(self):
        raise RuntimeError("surprise")


def test_absent_arguments_are_an_empty_object():
    assert (admit(ABSENT).value, admit(ABSENT).recorded, admit(ABSENT).reason) == ({}, {}, None)


def test_admitted_arguments_are_a_private_copy():
    sent = {"a": [{"b": 1}]}
    admitted = admit(sent)
    sent["a"][0]["b"] = 2
    assert admitted.value == {"a": [{"b": 1}]}
    assert admitted.recorded == {"a": [{"b": 1}]}


@pytest.mark.parametrize(
    ("sent", "words", "recorded"),
    [
        (None, "an object, not null", None),
        ([1], "an object, not a list", [1]),
        ("x", "an object, not a text", "x"),
        (5, "an object, not a number", 5),
        ({"a": float("nan")}, "NaN", {"a": "nan"}),
        ({"a": [float("-inf")]}, "Infinity", {"a": ["-inf"]}),
        ({"a": "x\0y"}, "NUL", {"a": "x\ufffdy"}),
        ({"x\0": 1}, "NUL", {"x\ufffd": 1}),
        ({"a": "\ud800"}, "surrogate", {"a": "\ufffd"}),
        ({"\udc00": 1}, "surrogate", {"\ufffd": 1}),
        ({1: "a"}, "keys", {"1": "a"}),
        ({None: "a", (1, 2): "b"}, "keys", {"null": "a", "<key>": "b"}),
        ({"a": (1, 2)}, "tuple", {"a": [1, 2]}),
        ({"a": {1}}, "set", {"a": "<set>"}),
        ({"a": b"x"}, "bytes", {"a": "<bytes>"}),
        ({"a": Decimal(1)}, "Decimal", {"a": "<Decimal>"}),
        ({"a": object()}, "object", {"a": "<object>"}),
        ({"a": 10**400}, "range of a double", {"a": "<number out of range>"}),
        ({"a": Evil(x=1)}, "Evil", {"a": {"x": 1}}),
    ],
)
def test_what_is_no_json_object_is_refused_and_recorded_as_a_stand_in(sent, words, recorded):
    admitted = admit(sent)
    assert words in admitted.reason
    assert not admitted.oversized
    assert admitted.value == {}
    assert admitted.recorded == recorded


def test_nesting_is_counted_in_containers():
    assert admit(nested(64)).reason is None
    assert "64 levels" in admit(nested(65)).reason


@pytest.mark.parametrize("value", [{"a": circle()}, nested(100_000), [[]] * 100_000])
def test_circles_and_depths_end(value):
    admitted = admit(value)
    assert admitted.reason
    assert len(json.dumps(admitted.recorded)) < 1_000_000


def test_size_is_the_bytes_of_compact_utf8_json():
    frame = len('{"a":""}')
    assert admit({"a": "x" * (MAX_ARGUMENT_BYTES - frame)}).reason is None
    assert admit({"a": "x" * (MAX_ARGUMENT_BYTES - frame + 1)}).oversized
    assert admit({"a": "ü" * ((MAX_ARGUMENT_BYTES - frame) // 2)}).reason is None
    assert admit({"a": "ü" * ((MAX_ARGUMENT_BYTES - frame) // 2 + 1)}).oversized


def test_arguments_too_large_leave_a_marker_and_stay_at_hand_for_checks():
    sent = {"a": "x" * MAX_ARGUMENT_BYTES}
    admitted = admit(sent)
    assert admitted.recorded == {"too_large": {"bytes": MAX_ARGUMENT_BYTES + 8}}
    assert admitted.sent == sent
    listed = admit(["x" * MAX_ARGUMENT_BYTES])
    assert not listed.oversized  # no object comes first
    assert listed.recorded == {"too_large": {"bytes": MAX_ARGUMENT_BYTES + 4}}


python_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.text(st.characters()),
        st.binary(),
        st.just("\ud800"),
        st.builds(object),
        st.decimals(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.dictionaries(
            st.one_of(st.text(max_size=3), st.integers(), st.none(), st.just("\udfff")), inner, max_size=3
        ),
    ),
    max_leaves=10,
)


@given(python_values)
def test_anything_is_admitted_or_refused_and_the_record_is_storable(value):
    admitted = admit(value)
    text = json.dumps(admitted.recorded, allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in text
    text.encode()  # no lone surrogate
    assert isinstance(admitted.value, dict)
    if admitted.reason is None:
        assert admitted.value == value


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("abc", "abc"),
        ("a\0", "a\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d", "\ufffd"),
        ("x" * 11, "x" * 9 + "…"),
    ],
)
def test_clean_text(text, cleaned):
    assert clean_text(text, 10) == cleaned


def test_weight_counts_shared_parts_as_often_as_they_show():
    shared = ["x" * 100]
    assert weigh([shared, shared], 10_000) > 2 * 100
    bomb: list = []
    for _ in range(60):
        bomb = [bomb, bomb]
    with pytest.raises(TooLarge, match="larger than"):
        weigh(bomb, 1_000_000)


def test_weight_knows_the_depth_it_starts_at():
    value = nested(100)
    weigh(value, 10_000, MAX_STATE_NESTING - 100)
    with pytest.raises(TooLarge, match="deeper"):
        weigh(value, 10_000, MAX_STATE_NESTING - 99)


@pytest.mark.parametrize(
    "sent",
    [
        {"a": "x" * 4_000 + "told", "b": "\0"},
        {"a": nested(70), "told": 1},
        {"l": [0] * 2_001, "z": "told", "b": "\0"},
        {"a": {"told"}},
        {"a": [{("told",): 1}]},
        {"a": Listed(["told"])},
    ],
)
def test_every_text_of_what_is_recorded_in_part_is_at_hand_for_checks(sent):
    admitted = admit(sent)
    assert admitted.reason
    assert any("told" in text for text in admitted.sent_texts)


def test_a_stand_in_that_is_whole_needs_no_texts_beside_it():
    for sent in ({"a": "x\0y"}, {"a": [float("nan")]}, {1: "a"}, {"a": (1, 2)}, {"a": 10**400}):
        assert admit(sent).sent_texts == ()
