"""Deltas rebuild a value to the byte, and stay small."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire import documents
from twins.engine import begin, call_tool, compile_definition, compile_fault_rules
from twins.engine.case import CaseSpec, CaseState
from twins.wire.deltas import delta_between, patched

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.sampled_from("abé")
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)


def _through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(values, values)
def test_the_later_value_is_rebuilt_to_the_byte(before: Any, after: Any) -> None:
    kept = json.dumps(before)
    rebuilt = patched(before, _through_json(delta_between(before, after)))
    assert json.dumps(rebuilt) == json.dumps(after)
    assert json.dumps(before) == kept


@given(values)
def test_nothing_differs_from_a_copy(value: Any) -> None:
    assert delta_between(value, copy.deepcopy(value)) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1}, {"a": True}),
        ({"a": 0.0}, {"a": -0.0}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": {}}, {"a": []}),
        ({"=": 1}, {"=": 2, "+": {}, "-": [], "~": {}}),
        ([1, 2], [2]),
        ([], {}),
    ],
)
def test_what_json_calls_equal_is_still_told_apart(before: Any, after: Any) -> None:
    delta = _through_json(delta_between(before, after))
    assert delta is not None
    assert json.dumps(patched(before, delta)) == json.dumps(after)


def test_a_small_edit_of_a_large_state_is_a_small_delta() -> None:
    orders = {f"A-{n}": {"paid": n, "lines": [{"sku": f"S-{n}"}]} for n in range(2000)}
    before = {"orders": orders, "mails": [{"n": n} for n in range(500)]}
    after = {
        "orders": {**orders, "A-7": {**orders["A-7"], "paid": 0}},
        "mails": [*before["mails"], {"n": 500}],
    }
    delta = delta_between(before, after)
    assert len(json.dumps(delta)) < 120
    assert patched(before, delta) == after


_refund = st.fixed_dictionaries(
    {"order_id": st.sampled_from(["A-1", "A-2", "A-3"]), "amount": st.integers(0, 3)},
    optional={"key": st.sampled_from("kl")},
)
_any_object = st.dictionaries(st.text(max_size=2), scalars)
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("refund"), _refund),
        st.tuples(st.sampled_from(["count", "echo", "nothing"]), _any_object),
        st.tuples(st.just("get_order"), st.just({"order_id": "A-1"})),
    ),
    max_size=8,
)
RULES = [
    documents.fault("message_duplication"),
    {"target": "refund", "when": {"callNumber": 3}, "behavior": {"type": "partial_response"}},
    {"target": "echo", "when": {"probability": 0.5}, "behavior": {"type": "duplicate_response"}},
]


@given(CALLS)
def test_a_case_rebuilt_from_deltas_answers_like_one_that_was_kept(calls: list[tuple[str, Any]]) -> None:
    definition = compile_definition(documents.twin())
    case = CaseSpec(definition, definition.initial_state, faults=compile_fault_rules(RULES))
    kept = rebuilt = begin(case)
    for tool, arguments in calls:
        step = call_tool(case, kept, tool, arguments)
        again = call_tool(case, rebuilt, tool, arguments)
        assert [r.to_json() for r in again.records] == [r.to_json() for r in step.records]
        assert again.reply == step.reply
        delta = _through_json(delta_between(kept.to_json(), step.state.to_json()))
        kept, rebuilt = step.state, CaseState.from_json(patched(_through_json(rebuilt.to_json()), delta))
        assert json.dumps(rebuilt.to_json()) == json.dumps(kept.to_json())
