from __future__ import annotations

import copy

import pytest

from tests.engine.builders import Case, code, mutate, read, static
from twins.engine.bounds import MAX_ANSWER
from twins.engine.definition import HANDLER_KINDS
from twins.engine.handlers import EFFECT_OPS


def test_six_kinds_and_six_operations():
    assert set(HANDLER_KINDS) == {"read", "mutate", "static", "echo", "recorded", "custom"}
    assert set(EFFECT_OPS) == {"set", "increment", "decrement", "append", "delete", "merge"}


# --- read -------------------------------------------------------------------------------------------

ORDERS = {"orders": {"a": {"total": 5, "tags": ["x"]}, "none": None}, "list": ["zero", "one"]}


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "body"),
    [
        (read("orders.{ref}"), {"ref": "a"}, 200, {"result": {"total": 5, "tags": ["x"]}}),
        (read("orders.{ref}"), {"ref": "none"}, 200, {"result": None}),  # null is a record, missing is not
        (read("orders.length()"), {}, 200, {"result": 2}),
        (read("list.{n}"), {"n": -1}, 200, {"result": "one"}),
        (read("$"), {}, 200, {"result": ORDERS}),
        (
            read("orders.{ref}", response={"t": "{value.total}", "r": "{ref}"}),
            {"ref": "a"},
            200,
            {"result": {"t": 5, "r": "a"}},
        ),
        (read("orders.{ref}", response=None), {"ref": "a"}, 200, {"result": None}),
    ],
)
def test_read(tool, arguments, status, body):
    case = Case({"get": tool}, ORDERS)
    reply = case.call("get", arguments)
    assert (reply.status, reply.body) == (status, body)
    assert (case.record.mutated, case.record.expects_mutation, case.record.risk) == (False, False, "READ")


def test_not_found_by_default_and_in_the_documents_words():
    case = Case({"get": read("orders.{ref}")}, ORDERS)
    assert code(case.call("get", {"ref": "z"})) == "NOT_FOUND"
    assert case.record.status == "not_found"
    words = {"status": 410, "code": "GONE", "message": "No order {ref} at {now}"}
    case = Case({"get": read("orders.{ref}", notFound=words)}, ORDERS)
    reply = case.call("get", {"ref": "z"})
    assert (reply.status, reply.body) == (
        410,
        {"error": {"code": "GONE", "message": "No order z at 2026-01-01T00:00:00Z"}},
    )
    case = Case({"get": read("orders.{ref}", notFound={"code": "NOPE"})}, ORDERS)
    assert (case.call("get", {"ref": "z"}).status, case.record.error_code) == (404, "NOPE")


@pytest.mark.parametrize(
    ("tool", "status", "error_code"),
    [
        (read("orders.{ref}"), 422, "MISSING_ARGUMENT"),
        (read("orders.{tenant}"), 500, "TWIN_TEMPLATE_ERROR"),
        (read("orders.{idempotency_key}"), 500, "TWIN_TEMPLATE_ERROR"),
        (read("orders.{value}"), 500, "TWIN_TEMPLATE_ERROR"),
        (read("list", response="{ref}"), 422, "MISSING_ARGUMENT"),
        (read("list", response="{state.nope}"), 500, "TWIN_TEMPLATE_ERROR"),
        (read("list", response="{result}"), 500, "TWIN_TEMPLATE_ERROR"),
        (static("{value}"), 500, "TWIN_TEMPLATE_ERROR"),
        (read("nope", notFound={"message": "{ref}"}), 422, "MISSING_ARGUMENT"),
    ],
)
def test_what_cannot_be_rendered(tool, status, error_code):
    case = Case({"t": tool}, ORDERS)
    reply = case.call("t")
    assert (reply.status, code(reply)) == (status, error_code)
    assert case.root == ORDERS


def test_a_rendered_answer_has_a_bound():
    case = Case({"t": static(["{state.big}"] * 5)}, {"big": "x" * (MAX_ANSWER // 4)})
    assert code(case.call("t")) == "TWIN_TEMPLATE_ERROR"


# --- mutate -----------------------------------------------------------------------------------------


def test_a_mutate_answers_the_changed_record_or_ok():
    tools = {
        "with_path": mutate({"op": "set", "path": "orders.{ref}.total", "value": 9}, path="orders.{ref}"),
        "without": mutate({"op": "set", "path": "x", "value": 1}),
        "removes": mutate({"op": "delete", "path": "orders.{ref}"}, path="orders.{ref}"),
        "responds": mutate({"op": "set", "path": "y", "value": 2}, response={"now": "{state.y}"}),
        "nulls": mutate({"op": "set", "path": "orders.{ref}", "value": None}, path="orders.{ref}"),
    }
    case = Case(tools, ORDERS)
    assert case.call("with_path", {"ref": "a"}).body == {"result": {"total": 9, "tags": ["x"]}}
    assert case.call("without").body == {"result": {"ok": True}}
    assert case.call("responds").body == {"result": {"now": 2}}
    assert case.call("nulls", {"ref": "a"}).body == {"result": None}
    assert case.call("removes", {"ref": "a"}).body == {"result": {"ok": True}}
    assert case.call("removes", {"ref": "a"}).status == 404
    assert all(record.expects_mutation for record in case.records)


def test_effects_see_the_effects_before_them():
    tool = mutate(
        {"op": "increment", "path": "rows.{ref}.n", "by": 2},
        {"op": "set", "path": "seen", "value": "{state.rows.a.n}"},
        {"op": "set", "path": "record", "value": "{value}"},
        {"op": "increment", "path": "rows.{ref}.n", "by": "{value.n}"},
        path="rows.{ref}",
    )
    case = Case({"t": tool}, {"rows": {"a": {"n": 1}}})
    assert case.call("t", {"ref": "a"}).body == {"result": {"n": 6}}
    assert case.root == {"rows": {"a": {"n": 6}}, "seen": 3, "record": {"n": 3}}


def test_a_record_that_an_effect_removed_cannot_be_read_by_the_next():
    effects = [{"op": "delete", "path": "rows.{ref}"}, {"op": "append", "path": "log", "value": "{value.n}"}]
    case = Case({"t": mutate(*effects, path="rows.{ref}")}, {"rows": {"a": {"n": 1}}})
    assert code(case.call("t", {"ref": "a"})) == "TWIN_TEMPLATE_ERROR"
    assert case.root == {"rows": {"a": {"n": 1}}}


@pytest.mark.parametrize(
    ("effect", "error_code"),
    [
        ({"op": "increment", "path": "name"}, "TWIN_EFFECT_ERROR"),
        ({"op": "increment", "path": "n", "by": "{by}"}, "TWIN_EFFECT_ERROR"),
        ({"op": "append", "path": "n", "value": 1}, "TWIN_EFFECT_ERROR"),
        ({"op": "merge", "path": "n", "value": {}}, "TWIN_EFFECT_ERROR"),
        ({"op": "set", "path": "n.x", "value": 1}, "TWIN_EFFECT_ERROR"),
        ({"op": "set", "path": "x", "value": "{nope}"}, "MISSING_ARGUMENT"),
        ({"op": "set", "path": "x.{nope}", "value": 1}, "MISSING_ARGUMENT"),
        ({"op": "set", "path": "x.{args.obj}", "value": 1}, "TWIN_TEMPLATE_ERROR"),
        ({"op": "set", "path": "x", "value": "{state.nope}"}, "TWIN_TEMPLATE_ERROR"),
    ],
)
def test_all_effects_or_none(effect, error_code):
    state = {"n": 1, "name": "x"}
    case = Case({"t": mutate({"op": "increment", "path": "n"}, effect)}, state)
    assert code(case.call("t", {"by": "lots", "obj": {}})) == error_code
    assert case.root == {"n": 1, "name": "x"}
    assert (case.record.mutated, case.record.changes) == (False, ())


def test_an_unrenderable_response_leaves_no_effect():
    case = Case({"t": mutate({"op": "set", "path": "x", "value": 1}, response="{nope}")})
    assert code(case.call("t")) == "MISSING_ARGUMENT"
    assert case.root == {}


def test_by_is_one_by_default_and_may_be_a_template():
    tools = {
        "t": mutate(
            {"op": "increment", "path": "a"},
            {"op": "decrement", "path": "b"},
            {"op": "increment", "path": "c", "by": "{n}"},
        )
    }
    case = Case(tools)
    case.call("t", {"n": 2.5})
    assert case.root == {"a": 1, "b": -1, "c": 2.5}


def test_mutated_says_that_effects_were_applied_even_if_nothing_differs():
    case = Case({"t": mutate({"op": "set", "path": "a", "value": 1})}, {"a": 1})
    case.call("t")
    assert (case.record.mutated, case.record.changes) == (True, ())


def test_hostile_arguments_reach_no_other_part_of_the_state():
    state = {"orders": {"a": {"n": 1}}, "secret": 1}
    case = Case({"t": mutate({"op": "set", "path": "orders.{ref}.n", "value": 2})}, state)
    for ref in ("a.n", "..", "$", "['a']", "../secret", "a\u0000"[:1] + ".x", "length()"):
        case.call("t", {"ref": ref})
    assert case.root["secret"] == 1
    assert set(case.root) == {"orders", "secret"}
    assert set(case.root["orders"]) == {"a", "a.n", "..", "$", "['a']", "../secret", "a.x", "length()"}


# --- preconditions ----------------------------------------------------------------------------------


def guarded(*preconditions, **more):
    return mutate({"op": "set", "path": "done", "value": True}, preconditions=list(preconditions), **more)


@pytest.mark.parametrize(
    ("precondition", "holds"),
    [
        ({"path": "args.n", "lte": 5}, True),
        ({"path": "args.n", "gt": 5}, False),
        ({"path": "args.n"}, True),
        ({"path": "args.zero"}, True),
        ({"path": "args.nope"}, False),
        ({"path": "args.nope", "exists": False}, True),
        ({"path": "args.nope", "notEquals": 1}, True),
        ({"path": "args", "equals": {"n": 3, "zero": 0, "who": "x"}}, True),
        ({"path": "args.who.length()", "equals": 1}, True),
        ({"path": "state.rows.{who}.open", "equals": True}, True),
        ({"path": "state.rows[0]", "exists": False}, True),
        ({"path": "state.limit", "gte": "{n}"}, True),
        ({"path": "state.limit", "lt": "{n}"}, False),
        ({"path": "value.open", "equals": True}, True),
        ({"path": "value", "equals": {"open": True, "owner": "north"}}, True),
        ({"path": "tenant", "equals": "{value.owner}"}, True),
        ({"path": "tenant", "in": ["south", "{value.owner}"]}, True),
        ({"path": "tenant.x", "exists": False}, True),
        ({"path": "args.who", "matches": "^{who}$"}, True),
        ({"path": "args.n", "gte": 1, "lte": 2}, False),
    ],
)
def test_preconditions(precondition, holds):
    state = {"rows": {"x": {"open": True, "owner": "north"}}, "limit": 4}
    case = Case({"t": guarded(precondition, path="rows.{who}")}, state, tenant="north")
    reply = case.call("t", {"n": 3, "zero": 0, "who": "x"})
    assert (reply.status == 200) is holds
    assert ("done" in case.root) is holds
    if not holds:
        assert (reply.status, code(reply)) == (409, "PRECONDITION_FAILED")


def test_the_first_precondition_that_fails_answers_its_error():
    first = {"path": "args.a", "error": {"status": 422, "code": "A", "message": "give {b}"}}
    second = {"path": "args.b", "equals": 1, "error": {"code": "B"}}
    case = Case({"t": guarded(first, second)})
    assert case.call("t", {"b": 2}).body == {"error": {"code": "A", "message": "give 2"}}
    reply = case.call("t", {"a": 1, "b": 2})
    assert (reply.status, code(reply)) == (409, "B")


def test_not_found_comes_before_the_preconditions():
    case = Case({"t": guarded({"path": "args.a"}, path="rows.x")})
    assert case.call("t").status == 404


def test_a_tenant_is_missing_in_a_case_without_one():
    case = Case({"t": guarded({"path": "tenant", "equals": None})})
    assert case.call("t").status == 409


@pytest.mark.parametrize(
    ("precondition", "status", "error_code"),
    [
        ({"path": "args.p", "matches": "{p}"}, 500, "TWIN_TEMPLATE_ERROR"),
        ({"path": "args.p", "in": "{p}"}, 500, "TWIN_TEMPLATE_ERROR"),
        ({"path": "args.p", "exists": "{p}"}, 500, "TWIN_TEMPLATE_ERROR"),
        ({"path": "args.p", "equals": "{nope}"}, 422, "MISSING_ARGUMENT"),
        ({"path": "state.{nope}", "equals": 1}, 422, "MISSING_ARGUMENT"),
        ({"path": "args.p", "equals": "{value}"}, 500, "TWIN_TEMPLATE_ERROR"),
        ({"path": "args.p", "gte": "{p}"}, 409, "PRECONDITION_FAILED"),
        ({"path": "args.p", "equals": 1, "error": {"message": "{nope}"}}, 422, "MISSING_ARGUMENT"),
    ],
)
def test_preconditions_that_cannot_be_checked(precondition, status, error_code):
    case = Case({"t": guarded(precondition)})
    reply = case.call("t", {"p": "(?=x)"})
    assert (reply.status, code(reply)) == (status, error_code)
    assert case.root == {}


def test_a_refusal_does_not_tell_the_caller_what_the_state_holds():
    case = Case({"t": guarded({"path": "state.pin", "equals": "{pin}"})}, {"pin": "4711-secret"})
    assert "4711" not in case.call("t", {"pin": "x"}).body["error"]["message"]


# --- static, echo, recorded -------------------------------------------------------------------------


def test_static_and_echo_are_writes_unless_declared():
    case = Case(
        {"s": static({"n": "{n}"}), "e": {"handler": {"kind": "echo"}}, "r": {"risk": "READ", **static(1)}}
    )
    assert case.call("s", {"n": 1}).body == {"result": {"n": 1}}
    assert case.call("e", {"n": [1]}).body == {"result": {"tool": "e", "arguments": {"n": [1]}}}
    case.call("r")
    assert [record.risk for record in case.records] == ["WRITE_IRREVERSIBLE", "WRITE_IRREVERSIBLE", "READ"]
    assert not any(record.mutated or record.expects_mutation for record in case.records)


FIXTURES = [
    {"match": {"n": 1, "deep": {"a": 1}}, "response": "{literal}"},
    {"match": {"n": 1}, "status": 201, "response": {"first": True}},
    {"match": {"n": 1.0}, "response": "never reached"},
    {"match": {"n": 2}, "status": 409, "error": {"code": "PORTING", "message": "busy"}},
    {"match": {"n": 3}, "error": {"status": 402, "code": "PAY"}},
    {"match": {"n": 4}, "error": {}},
    {"match": {"n": 5}},
    {"match": {"n": 6}, "status": 404, "response": {"odd": True}},
    {"match": {"n": 7}, "error": {"code": "UNKNOWN_TOOL", "status": 404}},
]


@pytest.mark.parametrize(
    ("arguments", "status", "body", "word"),
    [
        ({"n": 1, "deep": {"a": 1, "b": 2}}, 200, {"result": "{literal}"}, "ok"),
        ({"n": 1}, 201, {"result": {"first": True}}, "ok"),
        ({"n": 2, "x": 1}, 409, {"error": {"code": "PORTING", "message": "busy"}}, "invalid"),
        ({"n": 3}, 402, None, "error"),
        ({"n": 4}, 500, None, "error"),
        ({"n": 5}, 200, {"result": None}, "ok"),
        ({"n": 6}, 404, {"result": {"odd": True}}, "not_found"),
        ({"n": 7}, 404, None, "unknown_tool"),
        ({"n": 8}, 404, None, "not_found"),
        ({}, 404, None, "not_found"),
    ],
)
def test_recorded(arguments, status, body, word):
    case = Case({"look": {"handler": {"kind": "recorded", "fixtures": FIXTURES}}})
    reply = case.call("look", arguments)
    assert reply.status == status
    assert case.record.status == word
    if body is not None:
        assert reply.body == body


def test_recorded_defaults():
    case = Case({"look": {"handler": {"kind": "recorded", "fixtures": FIXTURES}}})
    assert code(case.call("look", {"n": 4})) == "RECORDED_ERROR"
    assert code(case.call("look", {"n": 8})) == "NO_FIXTURE"


def test_documents_are_never_changed_by_calls():
    state = {"a": {"list": [1]}, "b": 1}
    kept = copy.deepcopy(state)
    tools = {
        "t": mutate(
            {"op": "append", "path": "a.list", "value": {"fresh": [1]}},
            {"op": "append", "path": "a.list[1].fresh", "value": 2},
            {"op": "merge", "path": "a", "value": {"x": {"y": 1}}},
            {"op": "set", "path": "a.x.y", "value": 2},
        )
    }
    kept_tools = copy.deepcopy(tools)
    case = Case(tools, state)
    for _ in range(3):
        case.call("t")
    assert (state, tools) == (kept, kept_tools)
    assert case.root["a"]["x"] == {"y": 2}
