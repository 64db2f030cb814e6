from __future__ import annotations

import pytest

from tests.engine.builders import Case, code, fault, mutate, read
from twins.engine.bounds import MAX_ARGUMENT_BYTES

ECHO = {"handler": {"kind": "echo"}}
STRICT = {"inputSchema": {"type": "object", "required": ["n"]}, **ECHO}


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "error_code", "word", "violation"),
    [
        ("nowhere", [1], 404, "UNKNOWN_TOOL", "unknown_tool", None),
        ("hidden", [1], 403, "TOOL_NOT_ALLOWED", "denied", "TOOL_NOT_ALLOWED"),
        ("admin", [1], 403, "ADMIN_ONLY", "denied", "ADMIN_ONLY"),
        ("open", [1], 400, "INVALID_ARGUMENT", "invalid", None),
        ("open", None, 400, "INVALID_ARGUMENT", "invalid", None),
        ("open", {"n": float("nan")}, 400, "INVALID_ARGUMENT", "invalid", None),
        ("open", {"n": "x" * MAX_ARGUMENT_BYTES}, 413, "ARGUMENTS_TOO_LARGE", "error", None),
        ("open", {}, 422, "INVALID_ARGUMENT", "invalid", None),
    ],
)
def test_the_earliest_gate_that_refuses_answers(tool, arguments, status, error_code, word, violation):
    tools = {"hidden": {"risk": "ADMIN", **STRICT}, "admin": {"risk": "ADMIN", **STRICT}, "open": STRICT}
    case = Case(
        tools, {"x": 1}, allowed_tools=frozenset({"admin", "open"}), faults=[fault("http_500", when={})]
    )
    reply = case.call(tool, arguments)
    record = case.record
    assert (reply.status, code(reply), reply.transport, reply.delay_ms) == (status, error_code, "normal", 0)
    assert (record.status, record.error_code, record.policy_violation) == (word, error_code, violation)
    assert (record.fault, record.mutated, record.changes, record.response) == (None, False, (), reply.body)
    assert (record.seq, record.call_number) == (1, 1)


def test_an_empty_list_of_allowed_tools_allows_nothing():
    case = Case({"open": ECHO}, allowed_tools=frozenset())
    assert code(case.call("open")) == "TOOL_NOT_ALLOWED"


def test_an_administrator_may_use_admin_tools():
    case = Case({"wipe": {"risk": "ADMIN", **ECHO}}, caller_role="admin")
    assert case.call("wipe").status == 200


def test_schema_problems_are_named_up_to_three():
    schema = {"additionalProperties": {"type": "integer"}}
    case = Case({"open": {"inputSchema": schema, **ECHO}})
    message = case.call("open", dict.fromkeys("abcd", "x")).body["error"]["message"]
    assert message.count("must be of type integer") == 3


def test_refused_calls_count_and_are_recorded():
    case = Case({"open": STRICT})
    for arguments in ([], {}, {"n": 1}):
        case.call("open", arguments)
    assert [(one.seq, one.call_number, one.http_status) for one in case.records] == [
        (1, 1, 400),
        (2, 2, 422),
        (3, 3, 200),
    ]


def test_a_record_keeps_what_was_sent_also_where_nobody_looked():
    case = Case({"open": ECHO})
    case.call("nowhere", {"a": 1})
    assert case.record.arguments == {"a": 1}
    case.call("nowhere", [1])
    assert case.record.arguments == [1]
    case.call("open")
    assert case.record.arguments == {}
    case.call("open", {"n": "x" * MAX_ARGUMENT_BYTES})
    assert case.record.arguments == {"too_large": {"bytes": MAX_ARGUMENT_BYTES + 8}}
    assert case.record.sent_arguments == {"n": "x" * MAX_ARGUMENT_BYTES}


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("x" * 150, "x" * 99 + "…"),
        ("a\0b", "a\ufffdb"),
        ("\ud800", "\ufffd"),
        ("", ""),
        (None, "<NoneType>"),
        (5, "<int>"),
        (["a"], "<list>"),
    ],
)
def test_unknown_names_are_kept_cut_and_clean(name, kept):
    case = Case({"open": ECHO})
    assert code(case.call(name)) == "UNKNOWN_TOOL"
    assert (case.record.tool, case.record.risk, case.record.expects_mutation) == (kept, None, False)


def test_a_cut_name_is_not_taken_for_a_known_tool():
    case = Case({"x" * 100: ECHO})
    case.call("x" * 150)
    case.call("x" * 100)
    assert [(one.call_number, one.status) for one in case.records] == [(1, "unknown_tool"), (1, "ok")]


# --- tenants ----------------------------------------------------------------------------------------

ROOMS = {
    "rows": {
        "a": {"tenant": "north"},
        "b": {"tenant": "south"},
        "free": {"x": 1},
        "null": {"tenant": None},
        "n": 5,
    }
}
TOOLS = {
    "get": {"tenantPath": "rows.{ref}", **read("rows.{ref}")},
    "drop": {"tenantPath": "rows.{ref}", **mutate({"op": "delete", "path": "rows.{ref}"})},
}


def tenant_case(tenant="north", **more):
    return Case(TOOLS, ROOMS, twin_spec={"tenantKey": "tenant"}, tenant=tenant, **more)


@pytest.mark.parametrize(
    ("ref", "status"), [("a", 200), ("b", 403), ("free", 200), ("null", 200), ("n", 200), ("z", 404)]
)
def test_the_owner_of_the_record_is_checked(ref, status):
    case = tenant_case()
    reply = case.call("get", {"ref": ref})
    assert reply.status == status
    if status == 403:
        record = case.record
        assert (code(reply), record.status) == ("ACCESS_DENIED", "denied")
        assert (record.policy_violation, record.cross_tenant) == ("CROSS_TENANT", "denied")
    else:
        assert (case.record.policy_violation, case.record.cross_tenant) == (None, None)


def test_who_may_is_settled_before_what_goes_wrong():
    case = tenant_case(faults=[fault("timeout_after_mutation", when={})])
    assert case.call("drop", {"ref": "b"}).status == 403
    assert case.record.fault is None
    assert "b" in case.root["rows"]
    assert case.call("drop").status == 504  # nothing to check without the argument, so the fault is met


def test_the_check_needs_both_a_tenant_and_a_tenant_key():
    assert tenant_case(None).call("get", {"ref": "b"}).status == 200
    assert tenant_case("").call("get", {"ref": "b"}).status == 200
    assert Case(TOOLS, ROOMS, tenant="north").call("get", {"ref": "b"}).status == 200
    assert tenant_case(None).call("get", {"ref": None}).body["error"]["code"] == "TWIN_TEMPLATE_ERROR"


def test_a_missing_argument_is_left_to_the_handler():
    assert code(tenant_case().call("get")) == "MISSING_ARGUMENT"


def test_a_tenant_path_that_cannot_be_rendered_for_another_reason_lets_nobody_past():
    tools = {"get": {"tenantPath": "rows.{ref}", **read("rows")}}
    case = Case(tools, ROOMS, twin_spec={"tenantKey": "tenant"}, tenant="north", faults=[fault("delay")])
    assert code(case.call("get", {"ref": None})) == "TWIN_TEMPLATE_ERROR"
    assert case.record.fault is None


def test_the_check_reads_the_state_as_it_is_now():
    tools = {
        **TOOLS,
        "give": mutate({"op": "set", "path": "rows.{ref}.tenant", "value": "south"}, response={}),
    }
    case = Case(tools, ROOMS, twin_spec={"tenantKey": "tenant"}, tenant="north")
    assert case.call("get", {"ref": "a"}).status == 200
    case.call("give", {"ref": "a"})
    assert case.call("get", {"ref": "a"}).status == 403
