"""Idempotency keys and the output contract: steps 8 and 10."""

from __future__ import annotations

import pytest

from tests.engine.builders import Case, code, mutate

ADD = mutate({"op": "increment", "path": "n"}, response={"n": "{state.n}", "key": "{idempotency_key?}"})
BY_ARGUMENT = {"idempotency": {"argument": "key"}, **ADD}
BY_HEADER = {"idempotency": {"header": "Idempotency-Key"}, **ADD}
BOTH = {"idempotency": {"argument": "key", "header": "X-Key"}, **ADD}


def test_the_same_key_and_arguments_replay_the_stored_answer():
    case = Case({"add": BY_ARGUMENT})
    first = case.call("add", {"key": "k", "x": 1})
    again = case.call("add", {"x": 1.0, "key": "k"})
    assert (again.status, again.body, again.headers) == (200, first.body, {"Idempotent-Replayed": "true"})
    assert case.root == {"n": 1}
    record = case.record
    assert (record.replayed, record.mutated, record.changes, record.status) == (True, False, (), "ok")
    assert first.headers == {}


def test_other_arguments_under_a_key_are_a_conflict():
    case = Case({"add": BY_ARGUMENT})
    case.call("add", {"key": "k"})
    assert code(case.call("add", {"key": "k", "more": None})) == "IDEMPOTENCY_CONFLICT"
    assert (case.record.http_status, case.record.status, case.record.replayed) == (409, "invalid", False)
    assert case.root == {"n": 1}
    assert case.call("add", {"key": "k"}).headers  # the first answer is still the stored one


@pytest.mark.parametrize("key", [None, "", ...])
def test_missing_null_and_empty_are_no_key(key):
    case = Case({"add": BY_ARGUMENT})
    for _ in range(2):
        assert case.call("add", {} if key is ... else {"key": key}).body["result"]["key"] is None
    assert case.root == {"n": 2}
    assert case.record.idempotency_key is None


@pytest.mark.parametrize(
    ("key", "text"), [(5, "5"), (5.0, "5"), (0, "0"), (False, "false"), ({"b": 1, "a": 2}, '{"a":2,"b":1}')]
)
def test_a_key_may_be_any_other_value(key, text):
    case = Case({"add": BY_ARGUMENT})
    for _ in range(2):
        assert case.call("add", {"key": key}).body["result"]["key"] == key
    assert case.root == {"n": 1}
    assert case.record.idempotency_key == text


@pytest.mark.parametrize("name", ["Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY"])
def test_a_header_is_found_in_any_case(name):
    case = Case({"add": BY_HEADER})
    case.call("add", {}, {"Idempotency-Key": "k"})
    assert case.call("add", {}, {"x": "y", name: "k"}).headers
    assert case.record.idempotency_key == "k"


@pytest.mark.parametrize(
    "headers", [None, {}, {"Idempotency-Key": ""}, {"Idempotency-Key": 5}, {5: "k"}, "k", [("a", "b")]]
)
def test_headers_without_a_key_are_no_key(headers):
    case = Case({"add": BY_HEADER})
    case.call("add", {}, headers)
    assert case.record.idempotency_key is None


def test_a_header_is_kept_storable():
    case = Case({"add": BY_HEADER})
    case.call("add", {}, {"idempotency-key": "a\0\ud800"})
    assert case.record.idempotency_key == "a\ufffd\ufffd"


def test_the_argument_goes_before_the_header():
    case = Case({"add": BOTH})
    case.call("add", {"key": "a"}, {"x-key": "h"})
    case.call("add", {"key": ""}, {"x-key": "h"})
    assert [one.idempotency_key for one in case.records] == ["a", "h"]


def test_a_key_belongs_to_its_tool():
    case = Case({"one": BY_ARGUMENT, "two": BY_ARGUMENT})
    case.call("one", {"key": "k"})
    case.call("two", {"key": "k"})
    assert (case.record.replayed, case.root) == (False, {"n": 2})


def test_a_tool_without_idempotency_has_no_key():
    case = Case({"add": ADD})
    for _ in range(2):
        case.call("add", {"key": "k"}, {"Idempotency-Key": "k"})
    assert case.root == {"n": 2}


def test_an_error_is_not_stored():
    tool = {
        "idempotency": {"argument": "key"},
        **mutate({"op": "increment", "path": "n"}, preconditions=[{"path": "state.open"}]),
    }
    case = Case({"add": tool, "open": mutate({"op": "set", "path": "open", "value": 1})})
    assert case.call("add", {"key": "k"}).status == 409
    case.call("open")
    assert case.call("add", {"key": "k"}).status == 200
    assert not case.record.replayed


def test_any_2xx_is_stored_with_its_status():
    fixtures = [{"match": {}, "status": 201, "response": 1}]
    case = Case(
        {"t": {"idempotency": {"argument": "key"}, "handler": {"kind": "recorded", "fixtures": fixtures}}}
    )
    case.call("t", {"key": "k"})
    assert (case.call("t", {"key": "k"}).status, case.record.replayed) == (201, True)


def test_a_refused_call_neither_stores_nor_replays():
    case = Case({"add": {"inputSchema": {"required": ["x"]}, **BY_ARGUMENT}})
    case.call("add", {"key": "k"})
    assert case.call("add", {"key": "k", "x": 1}).status == 200
    assert case.call("add", {"key": "k"}).status == 422
    assert not case.record.replayed


def test_an_answer_that_breaks_the_output_schema_has_no_effect():
    tool = {"outputSchema": {"properties": {"n": {"maximum": 1}}}, "idempotency": {"argument": "key"}, **ADD}
    case = Case({"add": tool})
    assert case.call("add").status == 200
    reply = case.call("add", {"key": "k"})
    assert (reply.status, code(reply)) == (500, "TWIN_CONTRACT_VIOLATION")
    assert "n: must be at most 1" in reply.body["error"]["message"]
    assert (case.root, case.record.mutated, case.record.changes) == ({"n": 1}, False, ())
    case.call("add", {"key": "k"})
    assert not case.record.replayed


def test_an_error_answer_is_not_held_to_the_output_schema():
    fixtures = [{"match": {}, "status": 409, "error": {"code": "X"}}]
    case = Case(
        {"t": {"outputSchema": {"type": "object"}, "handler": {"kind": "recorded", "fixtures": fixtures}}}
    )
    assert code(case.call("t")) == "X"
