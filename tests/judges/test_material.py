"""From records to what a judge is shown."""

from __future__ import annotations

from typing import Any

from evaluations.judges.material import CUT, MAX_CALL, MAX_CALLS, MAX_TEXT, case_material
from twins.engine.records import CallRecord, RetrievalRecord


def call(seq: int, **fields: Any) -> CallRecord:
    plain: dict[str, Any] = {
        "call_number": 1, "tool": "refund", "arguments": {"amount": 40}, "http_status": 200, "status": "ok",
        "error_code": None, "response": {"result": {"ok": True}}, "risk": None, "fault": None,
        "mutated": False, "expects_mutation": False, "replayed": False, "redelivered": False,
        "effect_key": None, "cross_tenant": None, "policy_violation": None, "changes": (), "delay_ms": 0,
    }  # fmt: skip
    return CallRecord(seq=seq, **{**plain, **fields})


def test_a_call_is_shown_with_its_arguments_and_its_answer() -> None:
    shown = case_material(answer="Done.", customer_message="Hello", records=[call(3)])
    assert (shown.answer, shown.customer_message) == ("Done.", "Hello")
    (only,) = shown.tool_calls
    assert (only.number, only.tool, only.source) == (3, "refund", "tool_call:3")
    assert only.text == 'arguments: {"amount":40}\nanswered 200: {"result":{"ok":true}}'


def test_what_never_reached_the_agent_is_not_called_an_answer() -> None:
    shown = case_material(answer="x", customer_message="", records=[call(1, http_status=0, response=None)])
    assert shown.tool_calls[0].text.endswith("\nno answer: null")


def test_text_that_was_sent_is_shown_as_it_was() -> None:
    shown = case_material(answer="x", customer_message="", records=[call(1, response='{"result": {"o')])
    assert shown.tool_calls[0].text.endswith('answered 200: {"result": {"o')


def test_searches_and_second_deliveries_are_no_calls_of_the_agent() -> None:
    search = RetrievalRecord.from_json({"seq": 2, "query": "x", "limit": 3, "documents": []})
    shown = case_material(
        answer="x", customer_message="", records=[call(1), search, call(3, redelivered=True)]
    )
    assert [one.number for one in shown.tool_calls] == [1]


def test_everything_is_bounded_and_says_so() -> None:
    long = "y" * (MAX_TEXT + 1)
    records = [call(n, response={"result": long}) for n in range(1, MAX_CALLS + 10)]
    shown = case_material(answer=long, customer_message=long, records=records)
    assert shown.answer == long[:MAX_TEXT] + CUT
    assert shown.customer_message.endswith(CUT)
    assert len(shown.tool_calls) == MAX_CALLS
    assert all(len(one.text) == MAX_CALL + len(CUT) for one in shown.tool_calls)
    exact = case_material(answer="y" * MAX_TEXT, customer_message="", records=[])
    assert exact.answer == "y" * MAX_TEXT
