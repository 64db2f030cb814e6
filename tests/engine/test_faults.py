"""The table of faults, row by row: what state, what reply, what record, what is stored under a key.

`ROWS` says again, in the words of the document, what each of the twenty does; the engine must agree.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.engine.builders import Case, fault, mutate
from twins.engine.faults import FAULTS, Did, Sees, SeesError, compile_fault_rules, draw

ERROR = "error"


@dataclass
class Row:
    """What is expected of a write of 5 (two effects) that meets the fault on its first call."""

    balance: int
    writes: int
    status: int
    record_status: str
    code: str | None
    transport: str = "normal"
    headers: dict[str, str] = field(default_factory=dict)
    stored: bool = False
    delay_ms: int = 0
    body: Any = ERROR
    refused_status: int = 0  # what is seen when the dependency itself refuses; 0: the same as else
    behavior: dict[str, Any] = field(default_factory=dict)


DONE, UNDONE = (95, 1), (100, 0)
ANSWER = {"result": {"left": 95}}
HALF = '{"result":{'

ROWS: dict[str, Row] = {
    "timeout_before_mutation": Row(*UNDONE, 504, "timeout", "TIMEOUT"),
    "timeout_after_mutation": Row(*DONE, 504, "timeout", "TIMEOUT", stored=True),
    "http_429": Row(*UNDONE, 429, "rate_limited", "RATE_LIMITED", headers={"Retry-After": "1"}),
    "rate_limit": Row(*UNDONE, 429, "rate_limited", "RATE_LIMITED", headers={"Retry-After": "1"}),
    "http_500": Row(*UNDONE, 500, "error", "UPSTREAM_ERROR"),
    "http_503": Row(*UNDONE, 503, "error", "UNAVAILABLE"),
    "transient_unavailable": Row(
        *UNDONE, 503, "error", "TRANSIENT_UNAVAILABLE", headers={"Retry-After": "1"}
    ),
    "permanent_unavailable": Row(*UNDONE, 503, "error", "PERMANENTLY_UNAVAILABLE"),
    "non_retryable_error": Row(*UNDONE, 422, "invalid", "NON_RETRYABLE_ERROR"),
    "auth_denied": Row(*UNDONE, 403, "denied", "AUTH_DENIED"),
    "dropped_connection": Row(*UNDONE, 0, "dropped", None, "drop", body=None),
    "partial_response": Row(
        *DONE, 200, "partial", None, "partial", stored=True, body=HALF, refused_status=409
    ),
    "malformed_json": Row(
        *DONE, 200, "malformed", None, "malformed", stored=True, body=HALF, refused_status=200
    ),
    "delay": Row(*DONE, 200, "ok", None, stored=True, delay_ms=1000, body=ANSWER, refused_status=409),
    "stale_response": Row(
        *DONE, 200, "ok", None, stored=True, body={"result": {"left": 100}}, refused_status=409
    ),
    "duplicate_response": Row(*DONE, 200, "ok", None, stored=True, body=ANSWER, refused_status=409),
    "semantic_bad_response": Row(
        *DONE,
        200,
        "ok",
        None,
        stored=True,
        body={"result": {"fine": True}},
        behavior={"body": {"fine": True}},
    ),
    "inconsistent_state": Row(95, 0, 500, "error", "INCONSISTENT_STATE"),
    "success_without_mutation": Row(*UNDONE, 200, "ok", None, body=ANSWER, refused_status=409),
    "message_duplication": Row(90, 2, 200, "ok", None, stored=True, body=ANSWER, refused_status=409),
}

TOP_UP = {
    "idempotency": {"argument": "key"},
    **mutate(
        {"op": "decrement", "path": "balance", "by": "{amount}"},
        {"op": "increment", "path": "writes"},
        preconditions=[{"path": "args.amount", "lte": 50, "error": {"status": 409, "code": "OVER_CAP"}}],
        response={"left": "{state.balance}"},
    ),
}


def case_with(kind: str, **more: Any) -> Case:
    return Case(
        {"top_up": TOP_UP},
        {"balance": 100, "writes": 0},
        faults=[fault(kind, "top_up", **ROWS[kind].behavior, **more)],
    )


def test_the_table_has_twenty_rows_of_two_facts_and_a_sentence():
    assert len(FAULTS) == 20
    assert set(FAULTS) == set(ROWS)
    for row in FAULTS.values():
        assert isinstance(row.did, Did)
        assert row.sees.value
        assert len(row.about) > 20
        assert set(row.__slots__) == {"did", "sees", "about"}


def test_no_module_but_the_table_names_a_fault():
    from pathlib import Path

    import twins.engine

    for module in Path(twins.engine.__file__).parent.glob("*.py"):
        if module.name != "faults.py":
            text = module.read_text()
            assert not [name for name in FAULTS if f'"{name}"' in text], module.name


@pytest.mark.parametrize("kind", FAULTS)
def test_state_reply_and_record(kind: str):
    row, case = ROWS[kind], case_with(kind)
    reply = case.call("top_up", {"amount": 5})
    first = case.records[0]

    assert (case.root["balance"], case.root["writes"]) == (row.balance, row.writes)
    assert (reply.status, reply.transport, reply.headers, reply.delay_ms) == (
        row.status,
        row.transport,
        row.headers,
        row.delay_ms,
    )
    if row.body is ERROR:
        assert reply.body["error"]["code"] == row.code
        assert reply.body["error"]["message"]
    else:
        assert reply.body == row.body
    assert (
        first.fault,
        first.http_status,
        first.status,
        first.error_code,
        first.response,
        first.delay_ms,
    ) == (
        kind,
        row.status,
        row.record_status,
        row.code,
        reply.body,
        row.delay_ms,
    )
    assert first.mutated is (row.balance != 100)
    assert bool(first.changes) is first.mutated
    assert first.expects_mutation
    assert not first.replayed


@pytest.mark.parametrize("kind", FAULTS)
def test_what_is_stored_under_a_key(kind: str):
    """Where the dependency succeeded the key is a replay of its own answer, else the call is executed."""
    row, case = ROWS[kind], case_with(kind)
    case.call("top_up", {"amount": 5, "key": "k"})
    balance = case.root["balance"]
    if kind == "message_duplication":
        assert [one.replayed for one in case.records] == [False, True]
        assert balance == 95  # with a key the second delivery is a replay
    again = case.call("top_up", {"amount": 5, "key": "k"})

    assert again.status == 200
    assert case.record.replayed is row.stored
    assert (case.root["balance"] == balance) is row.stored
    if row.stored:
        assert again.headers == {"Idempotent-Replayed": "true"}
        assert again.body == ANSWER


@pytest.mark.parametrize("kind", FAULTS)
def test_when_the_dependency_refuses(kind: str):
    row, case = ROWS[kind], case_with(kind)
    reply = case.call("top_up", {"amount": 80, "key": "k"})

    assert case.root == {"balance": 100, "writes": 0}
    assert reply.status == (row.refused_status or row.status)
    assert not any(record.mutated or record.changes for record in case.records)
    if row.refused_status == 409 and row.transport == "normal":
        assert reply.body["error"]["code"] == "OVER_CAP"
        assert case.records[0].error_code == "OVER_CAP"
    case.call("top_up", {"amount": 5, "key": "k"})
    assert not case.record.replayed  # an error is never stored


@pytest.mark.parametrize("kind", FAULTS)
def test_a_known_key_under_a_fault(kind: str):
    """`replayed` is kept whenever the dependency ran; nothing is applied a second time."""
    case = Case(
        {"top_up": TOP_UP},
        {"balance": 100, "writes": 0},
        faults=[fault(kind, "top_up", {"callNumber": 2}, **ROWS[kind].behavior)],
    )
    case.call("top_up", {"amount": 5, "key": "k"})
    reply = case.call("top_up", {"amount": 5, "key": "k"})
    record = case.records[1]

    assert (case.root["balance"], case.root["writes"]) == DONE
    ran = FAULTS[kind].did is not Did.NOTHING or kind == "success_without_mutation"
    assert record.replayed is ran
    assert not record.mutated
    if isinstance(FAULTS[kind].sees, SeesError):
        assert reply.status == ROWS[kind].status
    if kind in ("stale_response", "delay", "success_without_mutation", "message_duplication"):
        assert (reply.body, reply.headers) == (ANSWER, {"Idempotent-Replayed": "true"})


@pytest.mark.parametrize("kind", FAULTS)
def test_delay_works_on_every_type_and_is_cut(kind: str):
    for asked, slept in ((40, 40), (99_999, 30_000), (0, 0)):
        case = case_with(kind, delayMs=asked)
        assert case.call("top_up", {"amount": 5}).delay_ms == slept
        assert case.records[0].delay_ms == slept


RETRY_AFTER = {"http_429", "rate_limit", "http_503", "transient_unavailable"}


@pytest.mark.parametrize("kind", FAULTS)
def test_retry_after_only_on_the_rows_that_name_it(kind: str):
    reply = case_with(kind, retryAfterSeconds=9).call("top_up", {"amount": 5})
    assert reply.headers == ({"Retry-After": "9"} if kind in RETRY_AFTER else {})


ERROR_ROWS = [kind for kind, row in FAULTS.items() if isinstance(row.sees, SeesError)]
OTHER_ROWS = [kind for kind in FAULTS if kind not in ERROR_ROWS and kind != "semantic_bad_response"]


@pytest.mark.parametrize("kind", ERROR_ROWS)
def test_message_replaces_the_text_and_keeps_the_code(kind: str):
    case = case_with(kind, message="no {amount} today")
    reply = case.call("top_up", {"amount": 5})
    assert reply.body == {"error": {"code": ROWS[kind].code, "message": "no 5 today"}}


@pytest.mark.parametrize("kind", ERROR_ROWS)
def test_body_replaces_the_whole_wire_body_and_not_the_recorded_code(kind: str):
    case = case_with(kind, body={"oops": "{amount}", "would_be": "{result}"}, message="unused")
    reply = case.call("top_up", {"amount": 5})
    assert reply.body == {"oops": 5, "would_be": {"left": 95}}
    assert (reply.status, case.records[0].error_code) == (ROWS[kind].status, ROWS[kind].code)
    assert (case.root["balance"], case.root["writes"]) == (ROWS[kind].balance, ROWS[kind].writes)


@pytest.mark.parametrize("kind", OTHER_ROWS)
def test_body_and_message_are_ignored_on_other_rows(kind: str):
    reply = case_with(kind, body={"oops": "{nope}"}, message="{nope}").call("top_up", {"amount": 5})
    assert reply.body == ROWS[kind].body


@pytest.mark.parametrize("field_name", ["body", "message"])
@pytest.mark.parametrize("kind", ERROR_ROWS)
def test_what_cannot_be_rendered_answers_500_and_nothing_happens(kind: str, field_name: str):
    case = case_with(kind, **{field_name: "{nope}"})
    reply = case.call("top_up", {"amount": 5, "key": "k"})
    assert (reply.status, reply.body["error"]["code"]) == (500, "TWIN_TEMPLATE_ERROR")
    assert case.root == {"balance": 100, "writes": 0}
    assert (case.record.mutated, case.record.changes, case.record.fault) == (False, (), kind)
    case.call("top_up", {"amount": 5, "key": "k"})
    assert not case.record.replayed


def test_a_semantic_body_that_cannot_be_rendered_answers_500_and_nothing_happens():
    case = Case(
        {"top_up": TOP_UP},
        {"balance": 100, "writes": 0},
        faults=[fault("semantic_bad_response", body="{nope}")],
    )
    assert case.call("top_up", {"amount": 5}).body["error"]["code"] == "TWIN_TEMPLATE_ERROR"
    assert case.root["balance"] == 100


def test_a_semantic_body_sees_the_result_and_the_state_after():
    body = {"said": "{result.left}", "really": "{state.balance}", "n": "{call.number}"}
    case = Case(
        {"top_up": TOP_UP}, {"balance": 100, "writes": 0}, faults=[fault("semantic_bad_response", body=body)]
    )
    assert case.call("top_up", {"amount": 5}).body == {"result": {"said": 95, "really": 95, "n": 1}}


def test_a_fault_body_sees_the_record():
    tools = {"get": {"handler": {"kind": "read", "path": "orders.{id_}"}}}
    case = Case(tools, {"orders": {"a": {"x": 1}}}, faults=[fault("http_500", body={"had": "{value.x}"})])
    assert case.call("get", {"id_": "a"}).body == {"had": 1}


# --- which rule acts ------------------------------------------------------------------------------

WHEN = [
    ({}, [1, 2, 3, 4]),
    ({"everyCall": True}, [1, 2, 3, 4]),
    ({"everyCall": False}, []),
    ({"everyCall": False, "callNumber": 1}, []),
    ({"callNumber": 2}, [2]),
    ({"callNumbers": [1, 4]}, [1, 4]),
    ({"callNumbers": []}, []),
    ({"firstN": 3}, [1, 2, 3]),
    ({"firstN": 0}, []),
    ({"firstN": 3, "callNumbers": [3, 4]}, [3]),
    ({"callNumber": 4, "callNumbers": [1, 4]}, [4]),
    ({"argsMatch": {"even": True}}, [2, 4]),
    ({"argsMatch": {"deep": {"n": 3.0}}}, [3]),
    ({"argsMatch": {}}, [1, 2, 3, 4]),
    ({"argsMatch": {"even": 1}}, []),
    ({"argsMatch": {"even": True}, "firstN": 3}, [2]),
    ({"probability": 0}, []),
    ({"probability": 1}, [1, 2, 3, 4]),
]


@pytest.mark.parametrize(("when", "numbers"), WHEN)
def test_all_conditions_must_hold(when: dict[str, Any], numbers: list[int]):
    case = Case({"ping": {"handler": {"kind": "echo"}}}, faults=[fault("http_500", "ping", when)])
    for number in range(1, 5):
        case.call("ping", {"even": number % 2 == 0, "deep": {"n": number, "x": 1}})
    assert [one.call_number for one in case.records if one.fault] == numbers


def test_the_first_matching_rule_wins():
    rules = [
        fault("http_500", "ping", {"callNumber": 2}),
        fault("http_503", "*", {}),
        fault("delay", "ping", {}),
    ]
    case = Case({"ping": {"handler": {"kind": "echo"}}, "pong": {"handler": {"kind": "echo"}}}, faults=rules)
    for name in ("ping", "ping", "pong"):
        case.call(name)
    assert [one.fault for one in case.records] == ["http_503", "http_500", "http_503"]


def test_a_star_counts_the_calls_of_the_called_tool():
    case = Case(
        {"a": {"handler": {"kind": "echo"}}, "b": {"handler": {"kind": "echo"}}}, faults=[fault("http_500")]
    )
    for name in ("a", "a", "b", "b"):
        case.call(name)
    assert [one.fault for one in case.records] == ["http_500", None, "http_500", None]


def test_the_draw_is_the_documented_hash():
    expected = int.from_bytes(hashlib.sha256(b"7:1:ping:3").digest()[:8], "big")
    assert draw(7, 1, "ping", 3) == expected
    for shift, fires in ((-1e-9, False), (1e-9, True)):  # it fires below the probability
        probability = expected / 2**64 + shift
        rule = compile_fault_rules([fault("delay"), fault("http_500", "ping", {"probability": probability})])[
            1
        ]
        assert rule.matches(7, "ping", 3, {}) is fires


def test_a_rule_added_behind_reshuffles_nothing():
    def fired(rules: list[dict[str, Any]]) -> list[str | None]:
        case = Case({"ping": {"handler": {"kind": "echo"}}}, faults=rules, seed=11)
        for _ in range(30):
            case.call("ping")
        return [one.fault for one in case.records]

    first = fault("http_500", "ping", {"probability": 0.5})
    second = fault("http_503", "ping", {"callNumber": 99})
    assert fired([first]) == fired([first, second])
    assert 0 < fired([first]).count("http_500") < 30


# --- what only some rows do -----------------------------------------------------------------------


def test_the_previous_answer_is_the_last_that_fully_reached_the_caller():
    rules = [
        fault("duplicate_response", "top_up", {"callNumbers": [4, 5]}),
        fault("partial_response", "top_up", {"callNumber": 2}),
        fault("dropped_connection", "top_up", {"callNumber": 3}),
    ]
    case = Case({"top_up": TOP_UP}, {"balance": 100, "writes": 0}, faults=rules)
    case.call("top_up", [])
    for _ in range(4):
        reply = case.call("top_up", {"amount": 5})
        last = case.record
    assert (reply.status, reply.body["error"]["code"]) == (400, "INVALID_ARGUMENT")
    assert (last.mutated, last.status, last.error_code) == (True, "invalid", "INVALID_ARGUMENT")
    assert case.root["balance"] == 85  # three of the four went through


def test_the_previous_answer_keeps_its_headers():
    rules = [fault("rate_limit", when={"callNumber": 1}), fault("duplicate_response", when={"callNumber": 2})]
    case = Case({"top_up": TOP_UP}, {"balance": 100, "writes": 0}, faults=rules)
    case.call("top_up", {"amount": 5})
    assert case.call("top_up", {"amount": 5}).headers == {"Retry-After": "1"}


def test_a_stale_read_runs_on_the_initial_state_whole():
    tools = {
        "get": {"handler": {"kind": "read", "path": "orders.{ref}"}},
        "put": mutate({"op": "set", "path": "orders.{ref}", "value": {"new": True}}),
        "drop": mutate({"op": "delete", "path": "orders.{ref}"}),
        "view": {"handler": {"kind": "static", "response": "{state.orders.length()}"}},
    }
    rules = [fault("stale_response", "get", {}), fault("stale_response", "view", {})]
    case = Case(tools, {"orders": {"a": {"x": 1}}}, faults=rules)
    case.call("drop", {"ref": "a"})
    case.call("put", {"ref": "b"})
    case.call("put", {"ref": "c"})
    assert case.call("get", {"ref": "a"}).body == {"result": {"x": 1}}
    assert case.call("get", {"ref": "b"}).status == 404
    assert case.call("view").body == {"result": 1}
    assert sorted(case.root["orders"]) == ["b", "c"]  # and the state is not set back


@pytest.mark.parametrize("receipt", ["{state.order.receipt}", "{value.receipt}"])
def test_a_stale_write_stands_where_its_answer_needs_what_only_the_write_creates(receipt):
    effect = {"op": "set", "path": "order.receipt", "value": "R1"}
    make = mutate(effect, path="order", response={"receipt": receipt})
    tools = {"make": {**make, "idempotency": {"argument": "key"}}}
    case = Case(tools, {"order": {}}, faults=[fault("stale_response")])

    reply = case.call("make", {"key": "k"})

    assert (reply.status, reply.body["error"]["code"]) == (500, "TWIN_TEMPLATE_ERROR")
    assert case.root == {"order": {"receipt": "R1"}}
    assert case.record.mutated
    assert case.record.changes == ({"op": "added", "path": "order.receipt", "after": "R1"},)
    assert case.call("make", {"key": "k"}).body == {"result": {"receipt": "R1"}}


def test_inconsistent_state_applies_the_first_effect_even_if_the_second_never_could():
    tools = {"t": mutate({"op": "set", "path": "a", "value": 1}, {"op": "append", "path": "n", "value": 1})}
    case = Case(tools, {"n": 5}, faults=[fault("inconsistent_state")])
    assert case.call("t").status == 500
    assert case.root == {"n": 5, "a": 1}
    assert case.record.changes == ({"op": "added", "path": "a", "after": 1},)


def test_inconsistent_state_of_a_tool_without_effects_changes_nothing():
    case = Case(
        {"get": {"handler": {"kind": "read", "path": "n"}}}, {"n": 5}, faults=[fault("inconsistent_state")]
    )
    assert case.call("get").body["error"]["code"] == "INCONSISTENT_STATE"
    assert not case.record.mutated


def test_success_without_mutation_answers_as_if_and_still_checks_the_contract():
    tool = {**TOP_UP, "outputSchema": {"properties": {"left": {"minimum": 90}}}}
    case = Case(
        {"top_up": tool}, {"balance": 100, "writes": 0}, faults=[fault("success_without_mutation", when={})]
    )
    assert case.call("top_up", {"amount": 5}).body == {"result": {"left": 95}}
    assert case.call("top_up", {"amount": 50}).body["error"]["code"] == "TWIN_CONTRACT_VIOLATION"
    assert case.root["balance"] == 100


# --- the second delivery --------------------------------------------------------------------------


def test_a_second_delivery_has_its_own_record_and_no_reply():
    case = case_with("message_duplication", delayMs=7)
    case.call("top_up", {"amount": 5}, {"x": "y"})
    case.call("top_up", {"amount": 5})
    first, second, third = case.records
    assert [one.seq for one in case.records] == [1, 2, 3]
    assert [one.call_number for one in case.records] == [1, 1, 2]  # later numbers ignore it
    assert [one.redelivered for one in case.records] == [False, True, False]
    assert (second.fault, second.arguments, second.tool) == (first.fault, first.arguments, first.tool)
    assert second.response == {"result": {"left": 90}}  # what the dependency answered, not what was seen
    assert (first.delay_ms, second.delay_ms) == (7, 0)
    assert third.fault is None


def test_a_second_delivery_may_be_refused_where_the_first_succeeded():
    tools = {
        "close": mutate(
            {"op": "set", "path": "open", "value": False},
            preconditions=[{"path": "state.open", "equals": True}],
        )
    }
    case = Case(tools, {"open": True}, faults=[fault("message_duplication")])
    assert case.call("close").status == 200
    assert [(one.http_status, one.error_code) for one in case.records] == [
        (200, None),
        (409, "PRECONDITION_FAILED"),
    ]


def test_a_second_delivery_is_not_checked_for_tenant_again():
    tools = {
        "give": {
            "tenantPath": "rows.{ref}",
            **mutate({"op": "set", "path": "rows.{ref}.tenant", "value": "south"}, path="rows.{ref}"),
        }
    }
    case = Case(
        tools,
        {"rows": {"a": {"tenant": "north"}}},
        twin_spec={"tenantKey": "tenant"},
        tenant="north",
        faults=[fault("message_duplication")],
    )
    case.call("give", {"ref": "a"})
    first, second = case.records
    assert (first.cross_tenant, second.cross_tenant) == ("allowed", None)
    assert (second.http_status, second.policy_violation) == (200, None)


def test_a_second_delivery_is_not_the_previous_answer():
    rules = [fault("message_duplication"), fault("duplicate_response", when={"callNumber": 2})]
    case = Case({"top_up": TOP_UP}, {"balance": 100, "writes": 0}, faults=rules)
    case.call("top_up", {"amount": 5})
    assert case.call("top_up", {"amount": 5}).body == {"result": {"left": 95}}


def test_ids_of_a_second_delivery_come_from_its_own_number():
    tools = {"t": mutate({"op": "append", "path": "ids", "value": "{id}/{call.number}"}, response={})}
    case = Case(tools, faults=[fault("message_duplication")])
    case.call("t")
    assert case.root == {"ids": ["0001/1", "0002/1"]}


def test_every_sight_is_shown_by_some_row():
    assert {row.sees for row in FAULTS.values() if isinstance(row.sees, Sees)} == set(Sees)
