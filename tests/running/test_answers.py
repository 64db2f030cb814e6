"""What counts as an answer of an agent, and what is garbage (FORMATS 5). No database."""

from __future__ import annotations

from typing import Any

import pytest

from evaluations.agents.answers import GarbageError, plain_answer, read_answer


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {"output": "x"}
    value["proposal"] = value
    return value


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (None, "must be an object, got NoneType"),
        ("text", "must be an object, got str"),
        ({"proposal": float("nan")}, "not JSON"),
        ({"proposal": float("inf")}, "not JSON"),
        ({"proposal": {1, 2}}, "not JSON"),
        ({"proposal": object()}, "not JSON"),
        (cyclic(), "not JSON"),
        ({"proposal": nested(70)}, "nested deeper than 64"),
        ({"proposal": nested(100_000)}, "not JSON"),
        ({"output": "x" * (1024 * 1024)}, "bytes"),
        # Unknown fields are dropped, but a flood of them is still an answer too large.
        ({"noise": "x" * (5 * 1024 * 1024)}, "bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 50 else "raw",
)
def test_what_is_no_plain_object_is_garbage(raw: Any, said: str) -> None:
    with pytest.raises(GarbageError, match=said):
        plain_answer(raw)


def test_the_largest_answer_is_read() -> None:
    text = "x" * (1024 * 1024 - len('{"output":""}'))
    assert read_answer(plain_answer({"output": text})).output == text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("output", 5),
        ("output", ["a"]),
        ("claimed_outcome", "DONE"),
        ("claimed_outcome", "success"),
        ("business_outcome", True),
        ("steps", "3"),
        ("steps", True),
        ("steps", -1),
        ("steps", 1.5),
        ("tool_calls", "refund"),
        ("transcript", ["hello"]),
        ("usage", 7),
        ("usage", {"input_tokens": "many"}),
        ("usage", {"cost_usd": -1}),
        ("trace_id", 12),
    ],
)
def test_a_field_of_the_wrong_type_is_garbage(field: str, value: Any) -> None:
    with pytest.raises(GarbageError, match=field):
        read_answer({"output": "x", field: value})


def test_every_wrong_field_is_named_at_once() -> None:
    with pytest.raises(GarbageError, match=r"output: .*; steps: .*; usage\.cost_usd: "):
        read_answer({"output": 1, "steps": "x", "usage": {"cost_usd": "free"}})


def test_unknown_fields_are_dropped_and_null_is_absent() -> None:
    answer = read_answer({"output": "x", "claimed_outcome": None, "verdict": "PASS", "usage": {"tokens": 4}})
    assert answer.output == "x"
    assert answer.claimed_outcome is None
    assert "verdict" not in answer.to_json()
    assert answer.usage.to_json() == {"input_tokens": None, "output_tokens": None, "cost_usd": None}


def test_an_answer_without_output_is_accepted() -> None:
    assert read_answer({}).output is None


def test_text_no_database_holds_is_replaced() -> None:
    plain = plain_answer({"output": "a\x00b\ud800c", "proposal": {"k\x00": ["\udfff"]}})
    assert plain == {"output": "a\ufffdb\ufffdc", "proposal": {"k\ufffd": ["\ufffd"]}}


def test_an_answer_shares_nothing_with_the_agent() -> None:
    proposal = {"amount": 1}
    plain = plain_answer({"proposal": proposal})
    proposal["amount"] = 2
    assert plain["proposal"] == {"amount": 1}
