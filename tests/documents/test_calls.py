"""What a calls file may say (FORMATS 6)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from scenarios.documents.calls import SearchRequest, ToolCallRequest, load_calls, validate_calls
from tests.documents.samples import only, said
from twins.documents.source import read_source
from twins.engine.case import ABSENT

OUTCOMES = ["SUCCESS", "PARTIAL", "FAILURE", "ESCALATED", "REFUSED", "UNKNOWN"]


@pytest.mark.parametrize(
    "document",
    [
        {"calls": []},
        {"calls": [{"tool": ""}, {"tool": "no such tool!"}], "caller_role": "admin", "tenant": "north"},
        {"calls": [{"tool": "a", "arguments": [1], "headers": {"Idempotency-Key": "k"}}]},
        {"calls": [{"search": "refund policy", "limit": 99}]},
        {"calls": [], "answer": {"output": "done", "proposal": {"a": [1]}, "steps": 0, "latency_ms": 1.5}},
        {"calls": [], "answer": {"usage": {"input_tokens": 1, "output_tokens": 0, "cost_usd": 0.5}}},
        {"calls": [], "answer": {"output": None, "claimed_outcome": None, "steps": None, "usage": None}},
        *({"calls": [], "answer": {"claimed_outcome": outcome}} for outcome in OUTCOMES),
    ],
)
def test_a_valid_calls_file_has_no_problem_and_loads(document: Any) -> None:
    assert said(validate_calls(document)) == ""
    assert len(load_calls(document).calls) == len(document["calls"])


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], "$: must be an object, found a list"),
        ({}, "calls: is required"),
        ({"calls": {}}, "calls: must be a list, found an object"),
        ({"calls": [{}]}, "calls[0]: needs tool or search"),
        ({"calls": [{"tool": "a", "search": "b"}]}, "calls[0].search: cannot be given together with tool"),
        (
            {"calls": [{"search": "b", "arguments": {}}]},
            "calls[0].arguments: cannot be given together with search",
        ),
        ({"calls": [{"tool": "a", "args": {}}]}, "calls[0].args: is not a known field here"),
        (
            {"calls": [{"tool": "a", "headers": {"K": 1}}]},
            "calls[0].headers.K: must be text, found 1 (quote it)",
        ),
        (
            {"calls": [], "answer": {"claimed_outcome": "DONE"}},
            'answer.claimed_outcome: found "DONE", allowed SUCCESS',
        ),
        ({"calls": [], "answer": {"status": "ok"}}, "answer.status: is not a known field here"),
        ({"calls": [], "answer": {"steps": -1}}, "answer.steps: must be at least 0, found -1"),
        ({"calls": [], "answer": "done"}, 'answer: must be an object, found "done"'),
        ({"calls": [], "caller_role": "root"}, 'caller_role: found "root", allowed agent, admin'),
        (
            {"calls": [{"tool": "a", "arguments": {"n": math.nan}}]},
            "calls[0].arguments.n: nan is not a JSON value",
        ),
        (
            {"calls": [{"tool": "a", "arguments": {"n": math.inf}}]},
            "calls[0].arguments.n: inf is not a JSON value",
        ),
    ],
)
def test_a_wrong_calls_file_is_refused_with_place_and_reason(document: Any, problem: str) -> None:
    assert problem in only(validate_calls(document))


@pytest.mark.parametrize("text", ['{"calls": [{"tool": "a", "arguments": {"n": NaN}}]}'])
def test_nan_in_json_text_is_a_problem(text: str) -> None:
    assert (
        only(validate_calls(read_source(text, kind="json")))
        == "calls[0].arguments.n: NaN is not a JSON value"
    )


def test_a_tenant_belongs_to_the_scenario_when_there_is_one() -> None:
    assert only(validate_calls({"calls": [], "tenant": "north"}, with_scenario=True)).startswith(
        "tenant: is only for"
    )


def test_absent_arguments_are_not_null_arguments() -> None:
    loaded = load_calls({"calls": [{"tool": "a"}, {"tool": "a", "arguments": None}, {"search": "x"}]})
    assert loaded.calls == (
        ToolCallRequest("a", ABSENT, {}),
        ToolCallRequest("a", None, {}),
        SearchRequest("x", None),
    )


def test_a_calls_file_may_hold_an_argument_the_twin_will_refuse() -> None:
    # 5 MB is more than a document may have; whether a tool takes it is the twin's decision (413).
    calls = load_calls({"calls": [{"tool": "top_up", "arguments": {"note": "x" * 5_000_000}}]})
    assert len(calls.calls) == 1
