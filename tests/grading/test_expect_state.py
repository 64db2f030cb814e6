"""The rows of FORMATS 3.1 about the final state, and what section 8 adds to them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.grading.building import STATE, TOOLS, call, fault, graded, only

PAY = call("pay", order="A", amount=1)


def state(path: str, **comparators: Any) -> dict[str, Any]:
    return {"type": "state", "path": path, **comparators}


@pytest.mark.parametrize(
    ("path", "comparators", "status"),
    [
        ("orders.A.paid", {"equals": 1}, "PASS"),
        ("orders.A.paid", {"equals": 1.0000000001}, "PASS"),
        ("orders.A.paid", {"equals": "1"}, "FAIL"),
        ("orders.A.paid", {"equals": True}, "FAIL"),
        ("orders.A.paid", {"gte": 1, "lt": 2}, "PASS"),
        ("orders.A.paid", {"gte": 1, "lt": 1}, "FAIL"),
        ("orders.A.paid", {"gte": "1"}, "FAIL"),
        ("orders.A.paid", {}, "PASS"),
        ("orders.A.note", {"matches": "^fir"}, "PASS"),
        ("orders.A.note", {"in": ["first", "last"]}, "PASS"),
        ("orders.Z", {}, "FAIL"),
        ("orders.Z", {"exists": False}, "PASS"),
        ("orders.Z", {"notEquals": 3}, "PASS"),
        ("orders.Z", {"equals": None}, "FAIL"),
        ("$.orders.length()", {"equals": 2}, "PASS"),
    ],
)
def test_state_compares_the_end(path: str, comparators: dict[str, Any], status: str) -> None:
    result = only(state(path, **comparators), [PAY])
    assert (result["status"], result["label"]) == (status, "STATE_MISMATCH" if status == "FAIL" else None)
    assert result["evidence"]["paths"] == [path]


def test_a_mismatch_says_where_and_what() -> None:
    result = only(state("orders.A.paid", equals=1), [PAY, PAY])
    assert result["reason"] == "orders.A.paid: expected 1, got 2"


def test_a_pass_says_what_was_there() -> None:
    assert only(state("orders.A.paid", equals=1), [PAY])["reason"] == "orders.A.paid is 1"
    assert only(state("orders.Z", exists=False))["reason"] == "orders.Z is missing, as expected"


def test_money_and_texts() -> None:
    # TRAPS 12: 130.00, 130.0 and 130 are one number; "007" and "7" are two texts.
    values = {"a": 130, "b": "007", "c": 25}
    results = graded(
        [state("a", equals=130.00), state("b", equals="7"), state("b", equals=7), state("c", equals=5)],
        state=values,
    )
    assert [one["status"] for one in results] == ["PASS", "FAIL", "FAIL", "FAIL"]


@pytest.mark.parametrize(
    ("path", "calls", "status"),
    [
        ("orders.A", [], "PASS"),
        ("orders.B", [PAY], "PASS"),
        ("orders.A", [PAY], "FAIL"),
        ("orders", [PAY], "FAIL"),
        ("orders.A.paid", [PAY, call("pay", order="A", amount=-1)], "PASS"),
        ("log", [call("add", text="x")], "FAIL"),
        ("log.length()", [call("add", text="x")], "FAIL"),
        ("nowhere", [PAY], "PASS"),
        ("marked", [call("mark")], "FAIL"),
    ],
)
def test_state_unchanged(path: str, calls: list[dict[str, Any]], status: str) -> None:
    result = only({"type": "stateUnchanged", "path": path}, calls)
    assert (result["status"], result["label"]) == (status, "STATE_CHANGED" if status == "FAIL" else None)


def test_the_start_is_the_patched_state() -> None:
    spec = {"state": {"orders": {"A": {"paid": 7}}}}
    assert only({"type": "stateUnchanged", "path": "orders.A.paid"}, **spec)["status"] == "PASS"
    assert only({"type": "onlyChanged", "paths": []}, **spec)["status"] == "PASS"


def test_state_unchanged_says_what_it_was_and_is() -> None:
    reasons = [
        only({"type": "stateUnchanged", "path": path}, [PAY, call("mark")])["reason"]
        for path in ("orders.A.paid", "marked", "orders")
    ]
    assert reasons == [
        "orders.A.paid: was 0, is 1",
        "marked: was missing, is true",
        "orders: changed at orders.A.paid (changed)",
    ]


SETTER = {
    "set": {"handler": {"kind": "mutate", "effects": [{"op": "set", "path": "a.b.c", "value": 2}]}},
    "grow": {"handler": {"kind": "mutate", "effects": [{"op": "append", "path": "list", "value": 4}]}},
    "shrink": {"handler": {"kind": "mutate", "effects": [{"op": "delete", "path": "list[0]"}]}},
    "drop": {"handler": {"kind": "mutate", "effects": [{"op": "delete", "path": "a"}]}},
    "tail": {"handler": {"kind": "mutate", "effects": [{"op": "set", "path": "list[-1].n", "value": 9}]}},
}
FULL = {"a": {"b": {"c": 1, "d": 1}}, "list": [1, 2, {"n": 3}]}


@pytest.mark.parametrize(
    ("start", "tool", "paths", "status"),
    [
        (FULL, "set", ["a.b.c"], "PASS"),
        (FULL, "set", ["a.b"], "PASS"),
        (FULL, "set", ["a"], "PASS"),
        (FULL, "set", ["$"], "PASS"),
        (FULL, "set", ["$.a['b'].c"], "PASS"),
        (FULL, "set", ["a.b.d"], "FAIL"),
        (FULL, "set", ["a.b.c.e"], "FAIL"),
        (FULL, "set", [], "FAIL"),
        # A new container above a listed path is not at or below it.
        ({}, "set", ["a.b.c"], "FAIL"),
        ({"a": {}}, "set", ["a.b.c"], "FAIL"),
        ({"a": {"b": {}}}, "set", ["a.b.c"], "PASS"),
        ({}, "set", ["a"], "PASS"),
        (FULL, "drop", ["a.b.c", "a.b.d"], "FAIL"),
        (FULL, "grow", ["list"], "PASS"),
        (FULL, "grow", ["list[3]"], "PASS"),
        (FULL, "grow", ["list[-1]"], "PASS"),
        (FULL, "grow", ["list[2]"], "FAIL"),
        (FULL, "grow", ["list.length()"], "FAIL"),
        (FULL, "grow", ["list.3"], "FAIL"),
        (FULL, "tail", ["list[-1].n"], "PASS"),
        (FULL, "tail", ["list[2].n"], "PASS"),
        (FULL, "tail", ["list[2].m", "list[-1].n"], "PASS"),
        (FULL, "tail", ["list[2].m", "list[-2].n"], "FAIL"),
        # Deleting the first moves the others: every place differs.
        (FULL, "shrink", ["list[0]", "list[1]", "list[2]"], "PASS"),
        (FULL, "shrink", ["list[0]", "list[1]"], "FAIL"),
    ],
)
def test_only_changed(start: Any, tool: str, paths: list[str], status: str) -> None:
    result = only({"type": "onlyChanged", "paths": paths}, [call(tool)], tools=SETTER, state=start)
    label = "PROTECTED_STATE_CHANGED" if status == "FAIL" else None
    assert (result["status"], result["label"]) == (status, label)


def test_only_changed_names_the_places() -> None:
    result = only({"type": "onlyChanged", "paths": ["log"]}, [PAY, call("add", text="x"), call("mark")])
    assert result["reason"] == (
        "2 places outside the allowed paths changed: marked (added) and orders.A.paid (changed)"
    )
    assert result["evidence"]["paths"] == ["marked", "orders.A.paid"]


def test_a_replaced_container_above_an_allowed_place_is_a_change() -> None:
    tools = {"swap": {"handler": {"kind": "mutate", "effects": [{"op": "set", "path": "a", "value": [1]}]}}}
    result = only(
        {"type": "onlyChanged", "paths": ["a.b"]}, [call("swap")], tools=tools, state={"a": {"b": 1}}
    )
    assert result["evidence"]["paths"] == ["a"]


COUNTED = {
    "list": [{"s": "a", "n": 1}, {"s": "b", "n": 1.0}, {"s": "a"}, "a", None],
    "object": {"x": {"s": "a"}, "y": {"s": "b"}},
    "text": "abc",
    "number": 3,
    "null": None,
    "empty": [],
}


@pytest.mark.parametrize(
    ("path", "parameters", "status"),
    [
        ("list", {"equals": 5}, "PASS"),
        ("object", {"equals": 2}, "PASS"),
        ("empty", {"equals": 0}, "PASS"),
        ("nowhere", {"equals": 0}, "PASS"),
        ("nowhere", {"gte": 1}, "FAIL"),
        ("text", {"equals": 3}, "FAIL"),
        ("number", {"gte": 0}, "FAIL"),
        ("null", {"equals": 0}, "FAIL"),
        ("list.length()", {"equals": 5}, "FAIL"),
        ("list", {"where": {"s": "a"}, "equals": 2}, "PASS"),
        ("list", {"where": {"n": 1}, "equals": 2}, "PASS"),
        ("list", {"where": {"n": True}, "equals": 0}, "PASS"),
        ("list", {"where": {}, "equals": 3}, "PASS"),
        ("list", {"where": "a", "equals": 1}, "PASS"),
        ("list", {"where": None, "equals": 1}, "PASS"),
        ("object", {"where": {"s": "b"}, "equals": 1}, "PASS"),
        ("object", {"where": {"s": "b"}, "gt": 1}, "FAIL"),
    ],
)
def test_state_count(path: str, parameters: dict[str, Any], status: str) -> None:
    result = only({"type": "stateCount", "path": path, **parameters}, state=COUNTED)
    assert (result["status"], result["label"]) == (status, "COUNT_MISMATCH" if status == "FAIL" else None)


def test_state_count_says_how_many() -> None:
    result = only({"type": "stateCount", "path": "list", "where": {"s": "a"}, "equals": 1}, state=COUNTED)
    assert result["reason"] == 'list: number of entries with {"s":"a"}: expected 1, got 2'


def goal(*actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "goalState", "actions": list(actions), **more}


@pytest.mark.parametrize(
    ("expectation", "calls", "status"),
    [
        (goal(PAY), [PAY], "PASS"),
        (goal(), [], "PASS"),
        (goal(), [PAY], "FAIL"),
        (goal(PAY), [], "FAIL"),
        (goal(PAY), [PAY, PAY], "FAIL"),
        (goal(PAY), [call("look", order="B"), PAY], "PASS"),
        (goal(PAY), [PAY, call("mark")], "FAIL"),
        (goal(PAY, ignore=["marked"]), [PAY, call("mark")], "PASS"),
        (goal(PAY, ignore=["orders.A"]), [], "PASS"),
        (goal({"tool": "mark"}), [call("mark")], "PASS"),
    ],
)
def test_goal_state(expectation: dict[str, Any], calls: list[dict[str, Any]], status: str) -> None:
    result = only(expectation, calls)
    assert (result["status"], result["label"]) == (status, "GOAL_MISMATCH" if status == "FAIL" else None)


def test_the_goal_knows_no_faults_no_allowed_tools_and_is_an_admin() -> None:
    result = only(
        goal(PAY, {"tool": "wipe"}, ignore=["log"]),
        [PAY],
        faults=[fault("*", "http_500", 9), fault("pay", "timeout_after_mutation")],
        allowedTools=["pay"],
    )
    assert result["status"] == "PASS"


def test_the_goal_has_the_tenant_and_the_clock_of_the_case() -> None:
    tools = {
        "stamp": {
            "handler": {"kind": "mutate", "effects": [{"op": "set", "path": "at", "value": "{tenant} {now}"}]}
        }
    }
    context = {"tenant": "north", "now": "2026-02-03T00:00:00Z"}
    result = only(goal(call("stamp")), [call("stamp")], tools=tools, state={}, context=context)
    assert result["status"] == "PASS"


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (call("pay", order="Z", amount=1), "action 1 of the goal, pay, answered 404 NOT_FOUND"),
        (call("pay", order="A"), "action 1 of the goal, pay, answered 422 MISSING_ARGUMENT"),
    ],
)
def test_an_action_that_fails_is_an_error(action: dict[str, Any], reason: str) -> None:
    result = only(goal(action), [])
    assert (result["status"], result["label"], result["reason"]) == ("ERROR", None, reason)


def test_a_goal_says_what_is_missing_and_what_is_too_much() -> None:
    result = only(goal(PAY, {"tool": "mark"}), [call("add", text="x")])
    assert result["reason"] == (
        "3 places differ from the goal state: log[0] (not in the goal), marked (missing) "
        "and orders.A.paid (another value)"
    )


def test_the_goal_leaves_the_case_as_it_was() -> None:
    results = graded([goal(PAY), state("orders.A.paid", equals=0)], [])
    assert [one["status"] for one in results] == ["FAIL", "PASS"]
    assert STATE["orders"]["A"]["paid"] == 0
    assert "pay" in TOOLS
