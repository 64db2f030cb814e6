"""Faults and expectations in words, held against the registries they follow. No database."""

from __future__ import annotations

from typing import Any

import pytest

from evaluations.grading.expectations import EXPECTATION_TYPES
from scenarios.expectation_words import expectation_types, expectation_words
from scenarios.fault_words import condition_words, fault_words
from tests.pages.test_twin_words import read
from twins.engine.faults import FAULTS


def asked(**written: Any) -> str:
    [words] = expectation_words([written])
    return read(words.asks)


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        (None, "every call"),
        ({}, "every call"),
        ({"everyCall": True}, "every call"),
        ({"everyCall": False}, "never (everyCall is false)"),
        ({"callNumber": 2}, "call 2"),
        ({"callNumbers": [1]}, "call 1"),
        ({"callNumbers": [1, 2, 5]}, "calls 1, 2 and 5"),
        ({"callNumbers": []}, "no call"),
        ({"firstN": 1}, "the first call"),
        ({"firstN": 3}, "the first 3 calls"),
        ({"probability": 0.125}, "with a chance of 12.5 %"),
        ({"callNumber": 1, "argsMatch": {"a": 1}}, 'call 1, if the arguments contain {"a":1}'),
    ],
)
def test_when_a_fault_fires(when: dict[str, Any] | None, expected: str) -> None:
    assert condition_words({"target": "t", **({} if when is None else {"when": when})}) == expected


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_as_its_two_facts(fault: str) -> None:
    words = fault_words({"target": "*", "behavior": {"type": fault}})

    assert (words.did, words.sees) == (FAULTS[fault].did.value, FAULTS[fault].sees.value)
    assert words.is_for_every_tool


def test_what_a_rule_changes_is_told() -> None:
    behavior = {"type": "delay", "delayMs": 99_000, "retryAfterSeconds": 3, "message": "m", "body": {"a": 1}}

    assert fault_words({"target": "t", "behavior": behavior}).details == (
        ("Waits", "30,000 ms"),
        ("Retry-After", "3 s"),
        ("Message", "m"),
        ("Body", {"a": 1}),
    )


def test_the_types_are_those_of_the_registry() -> None:
    assert set(expectation_types()) == set(EXPECTATION_TYPES)
    assert all(kind.asks for kind in expectation_types().values())


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"type": "state", "path": "a.b", "equals": 1}, "At the end `a.b` is `1`."),
        ({"type": "state", "path": "a.b"}, "At the end `a.b` is there and not null."),
        (
            {"type": "state", "path": "a", "gt": 1, "lt": 3},
            "At the end `a` is more than `1` and is less than `3`.",
        ),
        ({"type": "stateUnchanged", "path": "a"}, "At the end `a` is what it was at the start."),
        (
            {"type": "stateCount", "path": "a", "where": {"x": 1}, "equals": 2},
            'At the end the number of entries of `a` that contain `{"x":1}` is `2`.',
        ),
        ({"type": "onlyChanged", "paths": ["a", "b"]}, "Nothing is changed outside `a` and `b`."),
        ({"type": "onlyChanged", "paths": []}, "Nothing in the state is changed."),
        ({"type": "finalOutcome", "equals": "SUCCESS"}, "The agent claims `SUCCESS`."),
        (
            {"type": "outcomeVerified", "path": "a", "equals": 1},
            "If the agent claims success, then `a` is `1` at the end.",
        ),
        ({"type": "toolCalled", "tool": "t"}, "`t` is called at least once, whatever it answers."),
        (
            {"type": "toolCalled", "tool": "t", "min": 2},
            "`t` is called at least 2 times, whatever it answers.",
        ),
        ({"type": "toolNotCalled", "tool": "t"}, "`t` is never called, not even in vain."),
        ({"type": "maxToolCalls", "value": 3, "tool": "t"}, "At most `3` tool calls of `t`."),
        ({"type": "maxRetries", "value": 0}, "At most `0` retries."),
        (
            {"type": "toolArgs", "tool": "t", "path": "x", "lte": 5, "ifCalled": True},
            "Every call of `t` has arguments where `x` is at most `5`. No call at all is fine.",
        ),
        (
            {"type": "toolArgs", "tool": "t", "path": "x", "call": 2, "exists": True},
            "Call 2 of `t` has arguments where `x` exists. It must be called.",
        ),
        ({"type": "toolStatus", "tool": "t", "status": 200}, "The last call of `t` answers `200`."),
        (
            {"type": "order", "mustCall": ["a", "b"], "before": ["c", "d", "e"]},
            "`a` and `b` answered before the first call of `c`, `d` or `e`.",
        ),
        (
            {"type": "requiredEscalation"},
            "The case is handed to a person by `escalate_to_human`, and the hand-over takes effect.",
        ),
        ({"type": "outputContains", "value": "hi"}, 'The answer contains `"hi"`.'),
        ({"type": "outputRegex", "pattern": "a+"}, "Something in the answer matches `a+`."),
        (
            {"type": "semantic", "rubric": "Polite?", "threshold": 0.9},
            "A judge passes the answer with a score of at least 0.9: Polite?",
        ),
    ],
)
def test_an_expectation_with_its_parameters_filled_in(written: dict[str, Any], expected: str) -> None:
    assert asked(**written) == expected


def test_another_type_is_told_by_the_schema_with_its_parameters_beside_it() -> None:
    [words] = expectation_words([{"type": "goalState", "actions": [{"tool": "t"}], "ignore": ["a"]}])

    assert read(words.asks) == "The final state is the one that `actions` lead to, outside `ignore`."
    assert [(name, value) for name, value, _ in words.parameters] == [
        ("actions", [{"tool": "t"}]),
        ("ignore", ["a"]),
    ]
    assert read(words.parameters[0][2]) == "What should have been done, in order."


def test_ids_are_given_by_position_where_the_author_gave_none() -> None:
    words = expectation_words([{"type": "repeatSafe"}, {"type": "repeatSafe", "id": "own", "critical": True}])

    assert [(one.id, one.is_critical) for one in words] == [("e1", False), ("own", True)]
