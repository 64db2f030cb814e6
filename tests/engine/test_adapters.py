from __future__ import annotations

import pytest

from tests.engine.builders import Case, fault
from twins.engine import adapters
from twins.engine.adapters import (
    AdapterAnswer,
    AdapterEffect,
    AdapterRefusal,
    UnknownAdapter,
    adapter,
    adapter_names,
    find_adapter,
)
from twins.engine.definition import compile_definition


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    monkeypatch.setattr(adapters, "_ADAPTERS", {})


def tool(name: str) -> dict:
    return {"t": {"idempotency": {"argument": "key"}, "handler": {"kind": "custom", "adapter": name}}}


def register_ledger() -> None:
    @adapter("ledger", mutates=True)
    def run(call):
        if call.arguments.get("refuse"):
            return AdapterRefusal(418, "TEAPOT", "no")
        entry = {
            "seq": call.seq,
            "number": call.number,
            "tenant": call.tenant,
            "now": call.now,
            "key": call.idempotency_key,
        }
        return AdapterAnswer(
            {"entries": len(call.state.get("log", [])) + 1, "seed": call.seed},
            (AdapterEffect("append", ("log",), entry), AdapterEffect("increment", ("count",), 2)),
        )


def test_an_adapter_answers_and_its_effects_are_applied_and_recorded():
    register_ledger()
    case = Case(tool("ledger"), tenant="north", seed=5)
    reply = case.call("t", {"key": "k"})
    assert reply.body == {"result": {"entries": 1, "seed": 5}}
    entry = {"seq": 1, "number": 1, "tenant": "north", "now": "2026-01-01T00:00:00Z", "key": "k"}
    assert case.root == {"log": [entry], "count": 2}
    assert [one["path"] for one in case.record.changes] == ["count", "log"]
    assert (case.record.mutated, case.record.expects_mutation, case.record.risk) == (
        True,
        True,
        "WRITE_IRREVERSIBLE",
    )
    assert case.call("t", {"key": "k"}).headers == {"Idempotent-Replayed": "true"}


def test_a_refusal_changes_nothing():
    register_ledger()
    case = Case(tool("ledger"))
    reply = case.call("t", {"refuse": True})
    assert (reply.status, reply.body["error"]["code"], case.root) == (418, "TEAPOT", {})


def test_faults_act_on_adapters_as_on_any_tool():
    register_ledger()
    case = Case(
        tool("ledger"), faults=[fault("inconsistent_state"), fault("stale_response", when={"callNumber": 2})]
    )
    assert case.call("t").status == 500
    assert set(case.root) == {"log"}  # the first effect only
    assert case.call("t").status == 200
    assert case.root["count"] == 2


def test_an_effect_that_cannot_be_applied_is_the_twins_error():
    @adapter("broken", mutates=True)
    def run(call):
        return AdapterAnswer(1, (AdapterEffect("set", ("a",), 1), AdapterEffect("append", ("n",), 1)))

    case = Case(tool("broken"), {"n": 5})
    assert case.call("t").body["error"]["code"] == "TWIN_EFFECT_ERROR"
    assert case.root == {"n": 5}


def test_an_exception_in_an_adapter_comes_out():
    @adapter("crash")
    def run(call):
        raise RuntimeError("bug")

    with pytest.raises(RuntimeError, match="bug"):
        Case(tool("crash")).call("t")


def test_an_adapter_that_writes_must_say_so():
    @adapter("sneaky")
    def run(call):
        return AdapterAnswer(1, (AdapterEffect("set", ("a",), 1),))

    with pytest.raises(ValueError, match="without mutates"):
        Case(tool("sneaky")).call("t")


def test_a_reading_adapter_runs_on_the_initial_state_when_stale():
    @adapter("look")
    def run(call):
        return AdapterAnswer(call.state.get("n"))

    tools = {
        **tool("look"),
        "add": {"handler": {"kind": "mutate", "effects": [{"op": "increment", "path": "n"}]}},
    }
    case = Case(tools, {"n": 1}, faults=[fault("stale_response", "t")])
    case.call("add")
    assert case.call("t").body == {"result": 1}
    assert case.root == {"n": 2}


@pytest.mark.parametrize(
    "rule", [[], [fault("http_500", body={"would_be": "{result?}"})]], ids=["plain", "fault"]
)
def test_a_refusal_with_a_2xx_status_is_no_success(rule):
    @adapter("odd")
    def run(call):
        return AdapterRefusal(200, "NOPE", "not today")

    tools = {"t": {**tool("odd")["t"], "outputSchema": {"type": "object"}}}
    case = Case(tools, faults=rule)
    reply = case.call("t", {"key": "k"})
    wanted = {"would_be": None} if rule else {"error": {"code": "NOPE", "message": "not today"}}
    assert reply.body == wanted
    assert not case.state.stored_answers
    assert not case.record.mutated


@pytest.mark.parametrize(
    "handler",
    [
        {
            "kind": "mutate",
            "preconditions": [{"path": "args.a", "equals": 1, "error": {"status": 200, "code": "NOPE"}}],
            "effects": [{"op": "set", "path": "z", "value": 1}],
        },
        {"kind": "read", "path": "q", "notFound": {"status": 204}},
        {"kind": "recorded", "fixtures": [{"match": {}, "error": {"status": 200}}]},
    ],
    ids=["precondition", "notFound", "fixture"],
)
def test_a_stored_document_whose_errors_are_2xx_still_answers_and_changes_nothing(handler):
    case = Case({"t": {"outputSchema": {"type": "object"}, "handler": handler}})
    assert "error" in case.call("t", {"a": 2}).body
    assert case.root == {}


def test_names_are_unique_and_the_unknown_lists_the_known():
    register_ledger()
    assert adapter_names() == ("ledger",)
    with pytest.raises(ValueError, match="already an adapter"):
        register_ledger()
    with pytest.raises(UnknownAdapter, match="no adapter 'nope' here; known: ledger"):
        find_adapter("nope")
    document = {"metadata": {"name": "x"}, "spec": {"tools": tool("nope")}}
    with pytest.raises(UnknownAdapter, match="no adapter"):
        compile_definition(document)
