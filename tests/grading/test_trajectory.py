from __future__ import annotations

import json
from typing import Any

import pytest

from evaluations.grading import Answer, trajectory
from tests.grading.building import claims, record, retrieval, write
from twins.engine.records import CallRecord, RetrievalRecord
from twins.engine.redaction import redactor


def test_steps_are_the_records_in_order_and_the_claim_last() -> None:
    records = [
        record(1, "look", arguments={"order": "A"}),
        retrieval(2, "refund rules", "d-1"),
        record(3, "wipe", status="denied", policy_violation="ADMIN_ONLY", risk="ADMIN"),
        write(4, redelivered=True),
    ]
    steps = trajectory(records, claims("PARTIAL"))
    assert [step.kind for step in steps] == ["TOOL", "RETRIEVAL", "POLICY", "TOOL", "OUTCOME"]
    assert [step.position for step in steps] == [1, 2, 3, 4, 5]
    assert [step.text for step in steps] == [
        "look(order=A)",
        'search "refund rules"',
        "wipe()",
        "pay()",
        "reported PARTIAL",
    ]
    assert [step.seq for step in steps] == [1, 2, 3, 4, None]


@pytest.mark.parametrize(
    ("answer", "text"),
    [(None, "no answer"), (Answer(), "reported no outcome"), (claims("SUCCESS"), "reported SUCCESS")],
)
def test_the_outcome_is_the_claim(answer: Answer | None, text: str) -> None:
    (step,) = trajectory([], answer)
    assert (step.kind, step.text) == ("OUTCOME", text)


def test_no_answer_is_not_an_answer_without_a_claim() -> None:
    assert trajectory([], None)[0].same_key != trajectory([], Answer())[0].same_key


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"order_id": "ORD-1001", "amount": 40}, "pay(amount=40, order_id=ORD-1001)"),
        ({"a": None, "b": True, "c": {"d": [1]}}, 'pay(a=null, b=true, c={"d":[1]})'),
        ([1, 2], "pay([1,2])"),
        (None, "pay()"),
        ({"a": "line\nbreak\x00"}, "pay(a=line break )"),
    ],
)
def test_a_call_in_a_few_words(arguments: Any, text: str) -> None:
    assert trajectory([write(1, arguments=arguments)], None)[0].text == text


def test_long_calls_are_cut_and_secrets_are_hidden_before_the_cut() -> None:
    secret = "FAKE-VAULT-CODE-9911"
    arguments = {"body": "x" * 70 + secret, **{f"n{n}": "y" * 50 for n in range(50)}}
    text = trajectory([write(1, arguments=arguments)], None, redact=redactor([secret]))[0].text
    assert len(text) < 420
    assert "FAKE" not in text
    assert "[REDAC" in text


def test_stored_records_give_the_same_steps_as_live_ones() -> None:
    change = {"op": "changed", "path": "orders.A.paid", "before": 0, "after": 1.0}
    live = [write(1, arguments={"n": 1.0}, changes=(change,)), retrieval(2, "q", "d-1")]
    plain = json.loads(json.dumps([one.to_json() for one in live]))
    stored = [CallRecord.from_json(plain[0]), RetrievalRecord.from_json(plain[1])]
    for one, other in zip(trajectory(live, None), trajectory(stored, None), strict=True):
        assert one.same_key == other.same_key
        assert one.text == other.text


@pytest.mark.parametrize("fields", [{"delay_ms": 30}, {"call_number": 9}, {"seq": 9}])
def test_what_no_reviewer_compares_is_no_difference(fields: dict[str, Any]) -> None:
    one, other = (trajectory([write(**more)], None)[0] for more in ({}, fields))
    assert one.same_key == other.same_key


@pytest.mark.parametrize(
    "fields",
    [
        {"tool": "other"},
        {"arguments": {"n": 1}},
        {"status": "error"},
        {"http_status": 201},
        {"error_code": "X"},
        {"response": {"result": 1}},
        {"mutated": False},
        {"replayed": True},
        {"redelivered": True},
        {"policy_violation": "ADMIN_ONLY"},
        {"idempotency_key": "k"},
        {"changes": ({"op": "added", "path": "x", "after": 1},)},
    ],
)
def test_everything_recorded_about_the_step_itself_is_a_difference(fields: dict[str, Any]) -> None:
    one, other = (trajectory([write(**more)], None)[0] for more in ({}, fields))
    assert one.same_key != other.same_key
