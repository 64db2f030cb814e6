from __future__ import annotations

import json

import pytest

from tests.engine.builders import Case, fault, mutate, read, static
from twins.engine import CaseState, Document, begin, call_tool
from twins.engine.records import CallRecord

ECHO = {"handler": {"kind": "echo"}}


def test_a_case_starts_from_the_shared_state_without_copying_it():
    case = Case({"e": ECHO}, {"a": {}})
    assert begin(case.spec).root is case.spec.definition.initial_state


def test_one_seq_counts_calls_refusals_redeliveries_and_searches():
    case = Case({"e": ECHO}, {"kb": []}, faults=[fault("message_duplication", "e")])
    case.call("e")
    case.search("x")
    case.call("nope")
    case.call("e")
    assert [one.seq for one in case.records] == [1, 2, 3, 4, 5]
    assert [one.kind for one in case.records] == [
        "tool_call",
        "tool_call",
        "retrieval",
        "tool_call",
        "tool_call",
    ]


def test_ids_count_the_case_and_call_numbers_the_tool():
    shown = {"id": "{id}", "seq": "{call.seq}", "number": "{call.number}", "now": "{now}", "text": "T-{id}"}
    case = Case({"t": static(shown), "e": ECHO})
    case.call("t")
    case.call("e")
    assert case.call("t").body["result"] == {
        "id": "0003",
        "seq": 3,
        "number": 2,
        "now": "2026-01-01T00:00:00Z",
        "text": "T-0003",
    }


def test_tenant_and_clock_are_those_of_the_case():
    case = Case({"t": static("{tenant} {now}")}, tenant="north", now="2026-03-05T10:00:00Z")
    assert case.call("t").body == {"result": "north 2026-03-05T10:00:00Z"}


def test_the_record_of_a_write():
    tool = {
        "risk": "WRITE_REVERSIBLE",
        "effectKey": "add:{x}",
        "idempotency": {"argument": "key"},
        **mutate({"op": "increment", "path": "n", "by": "{x}"}),
    }
    case = Case({"add": tool}, {"n": 1})
    case.call("add", {"x": 2, "key": "k"})
    assert case.record.to_json() == {
        "seq": 1,
        "kind": "tool_call",
        "call_number": 1,
        "tool": "add",
        "arguments": {"x": 2, "key": "k"},
        "http_status": 200,
        "status": "ok",
        "error_code": None,
        "response": {"result": {"ok": True}},
        "risk": "WRITE_REVERSIBLE",
        "fault": None,
        "mutated": True,
        "expects_mutation": True,
        "replayed": False,
        "redelivered": False,
        "effect_key": "add:2",
        "cross_tenant": None,
        "policy_violation": None,
        "changes": [{"op": "changed", "path": "n", "before": 1, "after": 3}],
        "delay_ms": 0,
    }
    assert case.record.idempotency_key == "k"


@pytest.mark.parametrize(
    ("template", "arguments", "key"),
    [
        ("pay:{ref}", {"ref": "a"}, "pay:a"),
        ("pay:{ref}", {}, None),
        ("{n}", {"n": 5}, "5"),
        ("{n}", {"n": {"b": 1}}, '{"b":1}'),
        ("{n}", {"n": None}, None),
        ("{n?}", {}, None),
        ("x{n?}", {}, "x"),
        ("{tenant}", {}, None),
        ("{idempotency_key}", {}, None),
        ("{state.count}", {}, "1"),
        ("{state.nope}", {}, None),
        ("{value.owner}", {"ref": "a"}, "mira"),
        ("{value.owner}", {"ref": "z"}, None),
        ("{value.owner}", {}, None),
        ("fixed", [1], "fixed"),
        ("{id}", {}, "0001"),
    ],
)
def test_the_effect_key_is_a_text_from_the_state_before(template, arguments, key):
    tool = {"effectKey": template, **mutate({"op": "increment", "path": "count"}, path="rows.{ref}")}
    case = Case({"t": tool}, {"count": 1, "rows": {"a": {"owner": "mira"}}})
    case.call("t", arguments)
    assert case.record.effect_key == key


def test_the_effect_key_is_recorded_on_every_call_of_a_known_tool():
    tool = {"effectKey": "t:{x}", "inputSchema": {"required": ["y"]}, **ECHO}
    admin = {"effectKey": "a:{x}", "risk": "ADMIN", **ECHO}
    case = Case({"t": tool, "admin": admin}, faults=[fault("http_500", "t", {})])
    case.call("t", {"x": 1})
    case.call("t", {"x": 1, "y": 1})
    case.call("admin", {"x": 1})
    case.call("t", {"x": "v" * 300_000})
    assert [one.http_status for one in case.records] == [422, 500, 403, 413]
    assert [one.effect_key for one in case.records] == ["t:1", "t:1", "a:1", "t:" + "v" * 300_000]


# --- foreign records in answers ---------------------------------------------------------------------

ROWS = {"rows": {"a": {"tenant": "north"}, "b": {"tenant": "south", "x": 1}}, "n": 1}


@pytest.mark.parametrize(
    ("tool", "tenant", "mark"),
    [
        (read("rows"), "north", "allowed"),
        (read("rows.a"), "north", None),
        (read("rows.b"), "north", "allowed"),
        (read("rows", response={"deep": [[{"it": "{value.b}"}]]}), "north", "allowed"),
        (read("rows", response={"only": "{value.b.x}"}), "north", None),
        (read("rows"), None, None),
        (read("rows.b", response={"copy": {"tenant": "{value.tenant}"}}), "north", "allowed"),
        (read("rows.b", response="{value}: {tenant}"), "north", None),
    ],
)
def test_an_answer_that_carries_a_foreign_record_is_marked(tool, tenant, mark):
    case = Case({"t": tool}, ROWS, twin_spec={"tenantKey": "tenant"}, tenant=tenant)
    case.call("t")
    assert (case.record.cross_tenant, case.record.policy_violation) == (mark, None)


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        ("timeout_after_mutation", None),
        ("partial_response", None),
        ("malformed_json", None),
        ("dropped_connection", None),
        ("delay", "allowed"),
        ("http_500", None),
        ("message_duplication", "allowed"),
    ],
)
def test_what_did_not_reach_the_caller_is_not_marked(kind, mark):
    case = Case(
        {"t": read("rows")}, ROWS, twin_spec={"tenantKey": "tenant"}, tenant="north", faults=[fault(kind)]
    )
    case.call("t")
    assert case.records[0].cross_tenant == mark


def test_a_replay_and_a_previous_answer_are_looked_at_too():
    tools = {"t": {"idempotency": {"argument": "key"}, **read("rows.b")}}
    rules = [fault("duplicate_response", when={"callNumber": 3})]
    case = Case(tools, ROWS, twin_spec={"tenantKey": "tenant"}, tenant="north", faults=rules)
    for key in ("k", "k", "other"):
        case.call("t", {"key": key})
    assert [one.cross_tenant for one in case.records] == ["allowed"] * 3


# --- searching --------------------------------------------------------------------------------------

KB = {
    "kb": [
        {"id": "d-1", "title": "Fees", "text": "A fee is a fee."},
        {"id": "d-2", "title": "Rooms", "text": "One fee."},
    ]
}


def test_a_search_is_recorded_and_changes_nothing():
    case = Case({"e": ECHO}, KB)
    reply = case.search("the FEE", 1)
    assert reply.to_json() == {"documents": [{"id": "d-1", "title": "Fees", "text": "A fee is a fee."}]}
    assert case.record.to_json() == {
        "seq": 1,
        "kind": "retrieval",
        "query": "the FEE",
        "limit": 1,
        "documents": [{"id": "d-1", "trusted": True}],
    }
    assert case.root is case.spec.initial_state


def test_planted_documents_are_searched_beside_the_twins_own():
    planted = (Document("p-1", "p-1", "fee fee fee", False), Document("p-2", "p-2", "fee", True))
    case = Case({"e": ECHO}, KB, documents=planted)
    case.search("fee", 10)
    assert case.record.documents == (("p-1", False), ("d-1", True), ("d-2", True), ("p-2", True))
    assert "p-1" not in json.dumps(case.root)


def test_the_knowledge_base_is_read_where_the_twin_says_and_as_it_is_now():
    tools = {
        "add": mutate({"op": "append", "path": "docs.list", "value": {"id": "n", "title": "{t}", "text": ""}})
    }
    case = Case(tools, {"docs": {}, **KB}, twin_spec={"retrieval": {"statePath": "docs.list"}})
    assert case.search("fees").documents == ()
    case.call("add", {"t": "Fees"})
    assert [one["id"] for one in case.search("fees").documents] == ["n"]


@pytest.mark.parametrize(
    ("query", "kept"),
    [("a\0b", "a\ufffdb"), (None, ""), (5, ""), ("\ud800", "\ufffd"), ("x" * 30_000, "x" * 19_999 + "…")],
)
def test_any_query_is_answered_and_kept_storable(query, kept):
    case = Case({"e": ECHO}, KB)
    assert case.search(query).documents == ()
    assert case.record.query == kept


@pytest.mark.parametrize(
    ("limit", "used"), [(None, 3), (0, 0), (-1, 0), (1, 1), (10, 10), (50, 10), (True, 3), ("2", 3), (2.5, 3)]
)
def test_limits(limit, used):
    case = Case({"e": ECHO}, KB)
    case.search("fee", limit)
    assert case.record.limit == used


# --- continuing from a stored state -----------------------------------------------------------------


def test_a_case_continues_exactly_from_its_json():
    tools = {
        "add": {
            "idempotency": {"argument": "key"},
            **mutate({"op": "increment", "path": "n"}, response="{state.n}"),
        },
        "e": ECHO,
    }
    rules = [fault("duplicate_response", "add", {"callNumber": 3}), fault("rate_limit", "e", {})]
    calls = [
        ("add", {"key": "k"}),
        ("e", {}),
        ("add", {"key": "k"}),
        ("add", {}),
        ("nope", {}),
        ("e", {}),
        ("add", {"key": "k"}),
    ]
    straight = Case(tools, faults=rules)
    stored = Case(tools, faults=rules)
    for tool, arguments in calls:
        first = straight.call(tool, arguments)
        stored.state = CaseState.from_json(json.loads(json.dumps(stored.state.to_json())))
        assert stored.call(tool, arguments).to_json() == first.to_json()
    assert [one.to_json() for one in stored.records] == [one.to_json() for one in straight.records]
    assert stored.state.to_json() == straight.state.to_json()


def test_records_come_back_from_their_json():
    case = Case({"add": mutate({"op": "increment", "path": "n"})}, KB)
    case.call("add", {"a": 1})
    case.search("fee")
    for record in case.records:
        printed = json.loads(json.dumps(record.to_json()))
        assert type(record).from_json(printed) == record
    keyed = {**case.records[0].to_json(), "idempotency_key": "k"}
    assert CallRecord.from_json(keyed).idempotency_key == "k"


def test_old_states_stay_valid_to_step_back_to():
    case = Case({"add": mutate({"op": "increment", "path": "n"})})
    states = [case.state]
    for _ in range(3):
        case.call("add")
        states.append(case.state)
    assert [state.root.get("n") for state in states] == [None, 1, 2, 3]
    again = call_tool(case.spec, states[1], "add")
    assert (again.state.root, again.records[0].seq) == ({"n": 2}, 2)
