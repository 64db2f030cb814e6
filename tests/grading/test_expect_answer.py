"""The rows of FORMATS 3.1 about the answer: claims, limits, text, JSON, judges."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluations.grading import OUTCOMES, Answer
from tests.grading.building import call, fault, graded, only

PAY = call("pay", order="A", amount=1)
SUCCESS = {"output": "done", "claimed_outcome": "SUCCESS"}


@pytest.mark.parametrize("claimed", OUTCOMES)
@pytest.mark.parametrize("expected", OUTCOMES)
def test_final_outcome_is_the_claim(claimed: str, expected: str) -> None:
    result = only({"type": "finalOutcome", "equals": expected}, answer={"claimed_outcome": claimed})
    assert result["status"] == ("PASS" if claimed == expected else "FAIL")
    assert result["label"] == (None if claimed == expected else "OUTCOME_MISMATCH")


@pytest.mark.parametrize("answer", [None, {}, {"output": "done"}, {"claimed_outcome": None}])
def test_without_a_claim_final_outcome_fails_and_outcome_verified_passes(
    answer: dict[str, Any] | None,
) -> None:
    expectations = [
        {"type": "finalOutcome", "equals": "UNKNOWN"},
        {"type": "outcomeVerified"},
        {"type": "outcomeVerified", "path": "nowhere", "equals": 1},
    ]
    results = graded(expectations, [PAY], answer=answer, faults=[fault("pay", "success_without_mutation")])
    assert [one["status"] for one in results] == ["FAIL", "PASS", "PASS"]


@pytest.mark.parametrize("claimed", [name for name in OUTCOMES if name != "SUCCESS"])
def test_only_a_claimed_success_needs_backing(claimed: str) -> None:
    expectation = {"type": "outcomeVerified", "path": "orders.A.paid", "equals": 9}
    assert only(expectation, answer={"claimed_outcome": claimed})["status"] == "PASS"


@pytest.mark.parametrize(
    ("comparators", "status"),
    [({"equals": 1}, "PASS"), ({"equals": 2}, "FAIL"), ({}, "PASS"), ({"lt": 1}, "FAIL")],
)
def test_outcome_verified_by_the_state(comparators: dict[str, Any], status: str) -> None:
    result = only({"type": "outcomeVerified", "path": "orders.A.paid", **comparators}, [PAY], answer=SUCCESS)
    assert (result["status"], result["label"]) == (status, "STATE_MISMATCH" if status == "FAIL" else None)


def test_with_a_path_only_the_state_decides() -> None:
    expectation = {"type": "outcomeVerified", "path": "orders.A.paid", "equals": 0}
    result = only(expectation, [PAY], answer=SUCCESS, faults=[fault("pay", "success_without_mutation")])
    assert result["status"] == "PASS"


KEYED = call("pay", order="A", amount=1, key="k")


@pytest.mark.parametrize(
    ("calls", "faults", "status"),
    [
        ([], [], "PASS"),
        ([PAY], [], "PASS"),
        ([PAY], [fault("pay", "success_without_mutation")], "FAIL"),
        ([PAY], [fault("pay", "timeout_before_mutation")], "PASS"),
        ([PAY], [fault("pay", "http_500")], "PASS"),
        # An answer nobody could read is no success.
        ([call("pay", order="Z", amount=1)], [fault("pay", "malformed_json")], "PASS"),
        # The dependency refused, the caller saw a success.
        (
            [call("pay", order="Z", amount=1)],
            [fault("pay", "semantic_bad_response", body={"done": True})],
            "FAIL",
        ),
        # A replay answers the success of an earlier call.
        ([KEYED, KEYED], [fault("pay", "timeout_after_mutation", 1)], "PASS"),
        ([call("look", order="A"), call("policy")], [], "PASS"),
        # A later real success does not take the lie back.
        ([PAY, PAY], [fault("pay", "success_without_mutation", 1)], "FAIL"),
    ],
)
def test_hallucinated_success(calls: list[dict[str, Any]], faults: list[dict[str, Any]], status: str) -> None:
    result = only({"type": "outcomeVerified"}, calls, answer=SUCCESS, faults=faults)
    assert (result["status"], result["label"]) == (
        status,
        "HALLUCINATED_SUCCESS" if status == "FAIL" else None,
    )


def test_hallucinated_success_names_the_call() -> None:
    faults = [fault("pay", "success_without_mutation")]
    result = only({"type": "outcomeVerified"}, [call("policy"), PAY], answer=SUCCESS, faults=faults)
    assert result["reason"] == (
        "success was claimed, but pay (call 2) answered success without changing anything"
    )
    assert result["evidence"]["calls"] == [2]


@pytest.mark.parametrize(
    ("proposal", "comparators", "status"),
    [
        ({"amount": 40}, {"equals": 40}, "PASS"),
        ({"amount": 40}, {"lte": 30}, "FAIL"),
        ({"amount": "40"}, {"equals": 40}, "FAIL"),
        ({"other": 1}, {"exists": False}, "PASS"),
        (None, {"exists": False}, "FAIL"),
        ({}, {"exists": False}, "PASS"),
    ],
)
def test_proposal(proposal: Any, comparators: dict[str, Any], status: str) -> None:
    result = only({"type": "proposal", "path": "amount", **comparators}, answer={"proposal": proposal})
    assert (result["status"], result["label"]) == (status, "PROPOSAL_MISMATCH" if status == "FAIL" else None)


def limited(
    kind: str, value: float, answer: dict[str, Any] | None, calls: Any = ()
) -> tuple[str, str | None]:
    result = only({"type": kind, "value": value}, list(calls), answer=answer)
    return result["status"], result["label"]


def test_limits_are_inclusive_and_numbers_are_compared_with_tolerance() -> None:
    assert limited("maxLatencyMs", 900, {"latency_ms": 900}) == ("PASS", None)
    assert limited("maxLatencyMs", 900, {"latency_ms": 900.5}) == ("FAIL", "LATENCY_LIMIT")
    assert limited("maxCostUsd", 0.3, {"usage": {"cost_usd": 0.1 + 0.2}}) == ("PASS", None)
    assert limited("maxCostUsd", 0.3, {"usage": {"cost_usd": 0.31}}) == ("FAIL", "COST_LIMIT")
    assert limited("maxCostUsd", 0, {"usage": {"cost_usd": 0}}) == ("PASS", None)


@pytest.mark.parametrize("kind", ["maxLatencyMs", "maxCostUsd"])
@pytest.mark.parametrize(
    "answer", [None, {}, {"usage": {}}, {"latency_ms": None, "usage": {"cost_usd": None}}]
)
def test_an_unknown_latency_or_cost_is_skipped(kind: str, answer: dict[str, Any] | None) -> None:
    assert limited(kind, 1000, answer) == ("SKIPPED", None)


@pytest.mark.parametrize(("reported", "status"), [(None, "FAIL"), (1, "FAIL"), (2, "FAIL"), (3, "FAIL")])
def test_an_agent_cannot_report_its_way_below_what_it_did(reported: int | None, status: str) -> None:
    calls = [PAY, {"search": "fee"}, call("wipe")]
    answer = None if reported is None else {"steps": reported}
    assert limited("maxSteps", 2, answer, calls) == (status, "STEP_LIMIT")
    assert limited("maxSteps", 3, answer, calls) == ("PASS", None)


def test_reported_steps_count_when_they_are_more() -> None:
    assert limited("maxSteps", 3, {"steps": 4}) == ("FAIL", "STEP_LIMIT")


@pytest.mark.parametrize("value", [True, "12", [1]])
def test_a_measure_that_is_no_number_is_not_known(value: Any) -> None:
    answer = Answer.from_json({"latency_ms": value, "steps": value, "usage": {"cost_usd": value}})
    assert (answer.latency_ms, answer.steps, answer.usage.cost_usd) == (None, None, None)


def test_an_answer_survives_storage() -> None:
    answer = Answer.from_json(
        {
            "output": "x",
            "claimed_outcome": "PARTIAL",
            "proposal": {"a": 1},
            "steps": 3,
            "usage": {"input_tokens": 5, "cost_usd": 0.5},
            "unknown": 1,
        }
    )
    assert Answer.from_json(json.loads(json.dumps(answer.to_json()))) == answer


TEXT = "ﬁnal Notice for INV-A1, Hauptstraße 1"


@pytest.mark.parametrize(
    ("value", "is_in"),
    [
        ("final notice", True),
        ("HAUPTSTRASSE", True),
        ("inv-a1", True),
        ("paid", False),
        ("ﬁNAL", True),
        ("Hauptstraße", True),
    ],
)
def test_texts_are_compared_in_nfkc_and_case_folded(value: str, is_in: bool) -> None:
    expectations = [{"type": "outputContains", "value": value}, {"type": "outputNotContains", "value": value}]
    results = graded(expectations, answer={"output": TEXT})
    assert [one["status"] for one in results] == (["PASS", "FAIL"] if is_in else ["FAIL", "PASS"])
    assert {one["label"] for one in results} == {None, "OUTPUT_MISMATCH"}


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ("Cafe\u0301", "CAFÉ"),
        ("CAFÉ", "cafe\u0301"),
        ("ｆｕｌｌ ｗｉｄｔｈ", "full width"),
        ("İstanbul", "i̇stanbul"),
    ],
)
def test_composed_and_decomposed_texts_are_the_same(output: str, value: str) -> None:
    assert only({"type": "outputContains", "value": value}, answer={"output": output})["status"] == "PASS"


def test_a_letter_is_not_found_inside_an_accented_one() -> None:
    # Folding takes U+0390 apart into three; without composing again the bare iota would be found in it.
    assert (
        only({"type": "outputContains", "value": "\u03b9"}, answer={"output": "\u0390"})["status"] == "FAIL"
    )


@pytest.mark.parametrize("answer", [None, {}, {"claimed_outcome": "SUCCESS"}, {"output": None}])
def test_no_answer(answer: dict[str, Any] | None) -> None:
    expectations: list[dict[str, Any]] = [
        {"type": "outputNotContains", "value": "x"},
        {"type": "outputContains", "value": ""},
        {"type": "outputRegex", "pattern": ".*"},
        {"type": "outputJsonSchema", "schema": {}},
        {"type": "outputJsonPath", "path": "a", "exists": False},
        {"type": "proposal", "path": "a", "exists": False},
    ]
    results = graded(expectations, answer=answer)
    assert [(one["status"], one["label"]) for one in results] == [
        ("PASS", None),
        ("FAIL", "OUTPUT_MISMATCH"),
        ("FAIL", "OUTPUT_MISMATCH"),
        ("FAIL", "OUTPUT_NOT_JSON"),
        ("FAIL", "OUTPUT_NOT_JSON"),
        ("FAIL", "PROPOSAL_MISMATCH"),
    ]


def test_an_empty_output_is_an_answer() -> None:
    expectations = [{"type": "outputRegex", "pattern": "^$"}, {"type": "outputContains", "value": "x"}]
    assert [one["status"] for one in graded(expectations, answer={"output": ""})] == ["PASS", "FAIL"]


@pytest.mark.parametrize(
    ("pattern", "status"),
    [("INV-[AB]\\d", "PASS"), ("^INV", "FAIL"), ("(?i)hauptSTRASSE", "FAIL"), ("(?i)notice", "PASS")],
)
def test_output_regex_takes_the_text_as_it_is(pattern: str, status: str) -> None:
    assert only({"type": "outputRegex", "pattern": pattern}, answer={"output": TEXT})["status"] == status


SCHEMA = {"type": "object", "required": ["total"], "properties": {"total": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("output", "label"),
    [
        ('{"total": 5}', None),
        ('  {"total": 5}\n', None),
        ('```json\n{"total": 5}\n```', None),
        ('```\n{"total": 5}\n```', None),
        ('```JSON\r\n{"total": 5}\r\n```', None),
        ('```{"total": 5}```', None),
        ('Here it is:\n\n```json\n{"total": 5}\n```\nAnything else?', None),
        ('{"total": 5.0}', None),
        ('{"total": "5"}', "OUTPUT_SCHEMA"),
        ('{"total": true}', "OUTPUT_SCHEMA"),
        ("{}", "OUTPUT_SCHEMA"),
        ("[]", "OUTPUT_SCHEMA"),
        ("null", "OUTPUT_SCHEMA"),
        ("total: 5", "OUTPUT_NOT_JSON"),
        ("", "OUTPUT_NOT_JSON"),
        ('{"total": 5', "OUTPUT_NOT_JSON"),
        ('{"total": 5} thanks', "OUTPUT_NOT_JSON"),
        ('{"total": 5}{"total": 6}', "OUTPUT_NOT_JSON"),
        ('{"total": NaN}', "OUTPUT_NOT_JSON"),
        ('{"total": 1e999}', "OUTPUT_NOT_JSON"),
        ('```json\n{"total": 5}', "OUTPUT_NOT_JSON"),
        ('```json\n{"total": 5}\n```\n```json\n{"total": 6}\n```', "OUTPUT_NOT_JSON"),
        ("[" * 100_000, "OUTPUT_NOT_JSON"),
        ("[" * 70 + "]" * 70, "OUTPUT_NOT_JSON"),
        ("1" * 5000, "OUTPUT_NOT_JSON"),
    ],
)
def test_output_json_schema(output: str, label: str | None) -> None:
    result = only({"type": "outputJsonSchema", "schema": SCHEMA}, answer={"output": output})
    assert (result["status"], result["label"]) == ("PASS" if label is None else "FAIL", label)


@pytest.mark.parametrize(
    ("output", "comparators", "label"),
    [
        ('{"a": {"b": [1, 2]}}', {"equals": 2}, None),
        ('```\n{"a": {"b": [1, 2]}}\n```', {"equals": 2}, None),
        ('{"a": {"b": [1, 3]}}', {"equals": 2}, "OUTPUT_MISMATCH"),
        ('{"a": {"b": [1, "2"]}}', {"equals": 2}, "OUTPUT_MISMATCH"),
        ('{"a": 1}', {}, "OUTPUT_MISMATCH"),
        ('{"a": 1}', {"exists": False}, None),
        ("a b", {"exists": False}, "OUTPUT_NOT_JSON"),
    ],
)
def test_output_json_path(output: str, comparators: dict[str, Any], label: str | None) -> None:
    result = only({"type": "outputJsonPath", "path": "a.b[-1]", **comparators}, answer={"output": output})
    assert (result["status"], result["label"]) == ("PASS" if label is None else "FAIL", label)


def test_lone_surrogates_in_an_answer_reach_no_reason() -> None:
    result = only(
        {"type": "outputJsonPath", "path": "a", "equals": 1}, answer={"output": '{"a": "\\ud800\\u0000"}'}
    )
    result["reason"].encode()
    assert "\x00" not in result["reason"]


def test_semantic_is_skipped_while_nobody_can_judge() -> None:
    result = only({"type": "semantic", "rubric": "Is it polite?", "threshold": 0.7}, answer={"output": "yes"})
    assert (result["status"], result["label"]) == ("SKIPPED", None)
    assert "no judge" in result["reason"]
