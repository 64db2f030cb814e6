"""The rows of FORMATS 3.1 about calls: which, how often, with what, in what order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.grading.building import call, fault, graded, only

LOOK, POLICY, PAY = call("look", order="A"), call("policy"), call("pay", order="A", amount=1)
NOT_THERE = call("look", order="Z")


@pytest.mark.parametrize(
    ("parameters", "calls", "status"),
    [
        ({}, [LOOK], "PASS"),
        ({}, [NOT_THERE], "PASS"),
        ({}, [], "FAIL"),
        ({"min": 2}, [LOOK], "FAIL"),
        ({"min": 2}, [LOOK, NOT_THERE], "PASS"),
        ({"min": 0}, [], "PASS"),
    ],
)
def test_tool_called(parameters: dict[str, Any], calls: list[dict[str, Any]], status: str) -> None:
    result = only({"type": "toolCalled", "tool": "look", **parameters}, calls)
    assert (result["status"], result["label"]) == (status, None)


def test_a_refused_call_is_a_call() -> None:
    expectations = [{"type": "toolCalled", "tool": "pay"}, {"type": "toolNotCalled", "tool": "pay"}]
    results = graded(expectations, [PAY], allowedTools=["look"])
    assert [(one["status"], one["label"]) for one in results] == [("PASS", None), ("FAIL", "FORBIDDEN_CALL")]
    assert results[1]["reason"] == "pay was called 1 time, first as call 1 (denied)"


def test_a_tool_the_twin_does_not_have_can_be_forbidden() -> None:
    expectation = {"type": "toolNotCalled", "tool": "shell"}
    assert only(expectation, [LOOK])["status"] == "PASS"
    assert only(expectation, [call("shell")])["status"] == "FAIL"


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({"value": 3}, "PASS"),
        ({"value": 2}, "FAIL"),
        ({"value": 1, "tool": "pay"}, "PASS"),
        ({"value": 0, "tool": "pay"}, "FAIL"),
        ({"value": 0, "tool": "mark"}, "PASS"),
    ],
)
def test_max_tool_calls(parameters: dict[str, Any], status: str) -> None:
    result = only({"type": "maxToolCalls", **parameters}, [LOOK, {"search": "fee"}, NOT_THERE, PAY])
    assert (result["status"], result["label"]) == (status, "TOO_MANY_CALLS" if status == "FAIL" else None)


def test_redeliveries_are_no_calls() -> None:
    expectations = [
        {"type": "maxToolCalls", "value": 1},
        {"type": "toolCalled", "tool": "add", "min": 2},
        {"type": "maxRetries", "value": 0},
        {"type": "maxSteps", "value": 1},
    ]
    results = graded(expectations, [call("add", text="x")], faults=[fault("add", "message_duplication")])
    assert [one["status"] for one in results] == ["PASS", "FAIL", "PASS", "PASS"]


def args(path: str, **more: Any) -> dict[str, Any]:
    return {"type": "toolArgs", "tool": "pay", "path": path, **more}


def test_arguments_too_large_for_the_record_are_compared_as_they_were_sent() -> None:
    sent = [call("pay", order="A", note="x" * 300_000)]
    checks = [args("order", notEquals="A"), args("order", exists=False), args("order", equals="A")]
    assert [one["status"] for one in graded(checks, sent)] == ["FAIL", "FAIL", "PASS"]


TWO = [call("pay", order="A", amount=1, key="k"), call("pay", order="A", amount=2, key="k")]


@pytest.mark.parametrize(
    ("expectation", "calls", "status"),
    [
        (args("amount", lte=2), TWO, "PASS"),
        (args("amount", lte=1), TWO, "FAIL"),
        (args("amount", call=1, lte=1), TWO, "PASS"),
        (args("amount", call=2, lte=1), TWO, "FAIL"),
        (args("amount", call=2, equals=2), TWO, "PASS"),
        (args("key"), TWO, "PASS"),
        (args("reason", exists=False), TWO, "PASS"),
        (args("amount", equals="1"), TWO[:1], "FAIL"),
        (args("amount"), [], "FAIL"),
        (args("amount", ifCalled=True), [], "PASS"),
        (args("amount", ifCalled=False), [], "FAIL"),
        (args("amount", ifCalled=True, lte=1), TWO, "FAIL"),
        (args("amount", call=3), TWO, "FAIL"),
        (args("amount", call=3, ifCalled=True), TWO, "PASS"),
        (args("amount"), [{"tool": "pay", "arguments": [1]}], "FAIL"),
    ],
)
def test_tool_args(expectation: dict[str, Any], calls: list[dict[str, Any]], status: str) -> None:
    result = only(expectation, calls)
    assert (result["status"], result["label"]) == (status, "ARGUMENT_MISMATCH" if status == "FAIL" else None)


def test_tool_args_says_which_call() -> None:
    result = only(args("amount", lte=1), [LOOK, *TWO])
    assert result["reason"] == "pay, call 3: amount: expected lte 1, got 2"
    assert result["evidence"]["calls"] == [3]


def test_arguments_of_refused_calls_count() -> None:
    assert only(args("amount", lte=1), TWO, allowedTools=["look"])["status"] == "FAIL"


def test_the_number_of_a_call_counts_the_calls_of_its_tool() -> None:
    assert only(args("amount", call=1, equals=1), [LOOK, LOOK, *TWO])["status"] == "PASS"


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({"status": 404}, "PASS"),
        ({"status": 200}, "FAIL"),
        ({"status": 200, "call": 1}, "PASS"),
        ({"status": 404, "call": 2}, "PASS"),
        ({"status": 200, "call": 3}, "FAIL"),
    ],
)
def test_tool_status(parameters: dict[str, Any], status: str) -> None:
    result = only({"type": "toolStatus", "tool": "look", **parameters}, [LOOK, NOT_THERE, PAY])
    assert (result["status"], result["label"]) == (status, None)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("dropped_connection", 0),
        ("timeout_after_mutation", 504),
        ("malformed_json", 200),
        ("auth_denied", 403),
    ],
)
def test_tool_status_is_what_the_twin_recorded(kind: str, status: int) -> None:
    expectation = {"type": "toolStatus", "tool": "pay", "status": status}
    assert only(expectation, [PAY], faults=[fault("pay", kind)])["status"] == "PASS"


def test_no_call_has_no_status() -> None:
    result = only({"type": "toolStatus", "tool": "pay", "status": 200}, [])
    assert (result["status"], result["reason"]) == ("FAIL", "pay was not called")


def order(must: list[str], before: list[str]) -> dict[str, Any]:
    return {"type": "order", "mustCall": must, "before": before}


@pytest.mark.parametrize(
    ("expectation", "calls", "status"),
    [
        (order(["policy"], ["pay"]), [POLICY, PAY], "PASS"),
        (order(["policy"], ["pay"]), [PAY, POLICY], "FAIL"),
        (order(["policy"], ["pay"]), [PAY], "FAIL"),
        (order(["policy"], ["pay"]), [POLICY], "PASS"),
        (order(["policy"], ["pay"]), [], "PASS"),
        (order(["look", "policy"], ["pay"]), [LOOK, PAY, POLICY], "FAIL"),
        (order(["look", "policy"], ["pay"]), [POLICY, LOOK, PAY], "PASS"),
        (order(["policy"], ["pay", "mark"]), [call("mark"), POLICY, PAY], "FAIL"),
        (order(["look"], ["pay"]), [NOT_THERE, PAY], "FAIL"),
        (order(["look"], ["pay"]), [NOT_THERE, LOOK, PAY], "PASS"),
        # A refused call of a `before` tool counts.
        (order(["policy"], ["pay"]), [call("pay", order="Z", amount=1), POLICY, PAY], "FAIL"),
        (order(["look"], ["look"]), [LOOK, LOOK], "FAIL"),
    ],
)
def test_order(expectation: dict[str, Any], calls: list[dict[str, Any]], status: str) -> None:
    result = only(expectation, calls)
    assert (result["status"], result["label"]) == (status, "ORDER_VIOLATION" if status == "FAIL" else None)


@pytest.mark.parametrize(
    ("kind", "status"), [("malformed_json", "FAIL"), ("partial_response", "FAIL"), ("delay", "PASS")]
)
def test_answered_means_an_answer_the_caller_can_read(kind: str, status: str) -> None:
    result = only(order(["policy"], ["pay"]), [POLICY, PAY], faults=[fault("policy", kind)])
    assert result["status"] == status


def test_order_says_what_ran_before_what() -> None:
    assert only(order(["policy"], ["pay"]), [PAY])["reason"] == "pay ran before policy"
    result = only(order(["look"], ["pay"]), [NOT_THERE, PAY])
    assert (
        result["reason"] == "pay ran before look had answered successfully: look (call 1) ended in not_found"
    )
    assert result["evidence"]["calls"] == [1, 2]


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({"value": 2}, "PASS"),
        ({"value": 1}, "FAIL"),
        ({"value": 1, "tool": "look"}, "PASS"),
        ({"value": 0, "tool": "look"}, "FAIL"),
        ({"value": 0, "tool": "pay"}, "PASS"),
    ],
)
def test_max_retries(parameters: dict[str, Any], status: str) -> None:
    calls = [LOOK, LOOK, LOOK, POLICY, POLICY]
    faults = [fault("look", "http_500", 1), fault("policy", "rate_limit", 1)]
    result = only({"type": "maxRetries", **parameters}, calls, faults=faults)
    assert (result["status"], result["label"]) == (status, "RETRY_LIMIT" if status == "FAIL" else None)


def test_max_retries_points_to_the_retries() -> None:
    result = only({"type": "maxRetries", "value": 0}, [LOOK, LOOK], faults=[fault("look", "http_500", 1)])
    assert result["reason"] == "1 retry (call 2), at most 0 allowed"
    assert result["evidence"]["calls"] == [2]
