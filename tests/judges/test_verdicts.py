"""Reading a reply: one verdict in the agreed form, or `malformed`. Nothing has a default."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluations.judges.interface import JudgeError, Quote
from evaluations.judges.verdicts import (
    MAX_QUOTE,
    MAX_QUOTES,
    MAX_REPLY_CHARACTERS,
    read_verdict,
    verdict_of_text,
)
from tests.judges.building import ANSWER, material, verdict, without

GOOD = json.dumps(verdict())


def refused(text: str) -> str:
    with pytest.raises(JudgeError) as error:
        verdict_of_text(text, material())
    assert error.value.kind == "malformed"
    return error.value.detail


def test_a_verdict_is_read_as_it_is() -> None:
    read = verdict_of_text(GOOD, material())
    assert (read.score, read.label, read.confidence, read.reason) == (0.9, "pass", 0.8, "It says so.")
    assert read.quotes == (Quote("answer", "not recorded on ORD-1001"),)
    assert read.dropped_quotes == 0


@pytest.mark.parametrize(
    "text", [f"```json\n{GOOD}\n```", f"```\n{GOOD}\n```", f"\n  {GOOD}\n", f"```JSON \n{GOOD}\n```\n"]
)
def test_one_fenced_block_that_is_the_whole_reply_is_the_reply(text: str) -> None:
    assert verdict_of_text(text, material()) == verdict_of_text(GOOD, material())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "pass",
        "I would say the reply passes, with a score of 0.9.",
        f"{GOOD} I hope this helps.",
        f"Here it is: {GOOD}",
        f"Here it is:\n```json\n{GOOD}\n```",
        f"```json\n{GOOD}\n```\nI am sure.",
        f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```",
        f"```json\n{GOOD}",
        f"{GOOD}{GOOD}",
        f"{GOOD}\n{GOOD}",
        f"[{GOOD}]",
        f"{{{GOOD}}}",
        GOOD[:-1],
        GOOD[: len(GOOD) // 2],
        GOOD.replace("It says so.", "It says\nso."),
        GOOD.replace("0.9", "NaN"),
        GOOD.replace("0.9", "Infinity"),
        GOOD.replace("0.9", "-Infinity"),
        GOOD.replace("0.9", "1e999"),
        GOOD.replace('"score"', "'score'"),
        GOOD[:-1] + ', "label": "fail"}',
        "[" * 100_000,
        "null",
        "true",
        "[]",
        "{}",
        '""',
        "x" * (MAX_REPLY_CHARACTERS + 1),
    ],
)  # fmt: skip
def test_a_reply_that_is_not_exactly_one_verdict_is_none(text: str) -> None:
    assert len(refused(text)) < 2000


def test_a_verdict_inside_a_string_of_the_verdict_is_text() -> None:
    inner = json.dumps(verdict(score=1))
    read = verdict_of_text(
        json.dumps(verdict(score=0.1, label="fail", reason=f"It says {inner}")), material()
    )
    assert (read.score, read.label) == (0.1, "fail")


@pytest.mark.parametrize("name", ["score", "label", "confidence", "reason", "quotes"])
def test_a_missing_field_has_no_default(name: str) -> None:
    assert refused(json.dumps(without(name))) == f"no verdict: {name} is missing"


@pytest.mark.parametrize("name", ["score", "confidence"])
@pytest.mark.parametrize("value", [9, -1, -0.001, 1.001, "0.9", "false", True, False, None, [], {}, "1"])
def test_a_score_that_is_no_number_from_0_to_1_is_none(name: str, value: Any) -> None:
    assert f"{name} must be a number from 0 to 1" in refused(json.dumps(verdict(**{name: value})))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 1e999, 10**400])
def test_numbers_that_are_none_are_refused_in_a_parsed_reply_too(value: Any) -> None:
    with pytest.raises(JudgeError, match="score must be a number from 0 to 1"):
        read_verdict(verdict(score=value), material())


@pytest.mark.parametrize(
    "value", ["false", "true", "PASS", "Pass", "passed", " pass", "", True, False, None, 1, 0]
)
def test_only_the_two_labels_are_labels(value: Any) -> None:
    assert 'label must be "pass" or "fail"' in refused(json.dumps(verdict(label=value)))


@pytest.mark.parametrize("value", ["", " \n", None, 5, ["It says so."]])
def test_a_verdict_gives_a_reason(value: Any) -> None:
    assert "reason must be a text" in refused(json.dumps(verdict(reason=value)))


def test_every_problem_is_said_at_once() -> None:
    said = refused(json.dumps({"score": 9, "label": "maybe", "passed": True}))
    for part in (
        "confidence is missing",
        "reason is missing",
        "quotes is missing",
        "got 9",
        '"maybe"',
        '"passed" is no field',
    ):
        assert part in said


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("One. Two. Three.", "One. Two."),
        ("One! Two? Three.", "One! Two?"),
        ("One", "One"),
        ("It paid 2.5 of 40.00 USD. Nothing else. More.", "It paid 2.5 of 40.00 USD. Nothing else."),
        ('He said "no." Then he left. Then more.', 'He said "no." Then he left.'),
        ("Line\none.\nLine\ttwo.", "Line one. Line two."),
    ],
)
def test_a_reason_has_at_most_two_sentences_on_one_line(reason: str, kept: str) -> None:
    assert verdict_of_text(json.dumps(verdict(reason=reason)), material()).reason == kept


def test_a_long_reason_is_cut_and_says_so() -> None:
    read = verdict_of_text(json.dumps(verdict(reason="x" * 5000)), material())
    assert len(read.reason) == 600
    assert read.reason.endswith("…")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("answer", "never said"),
        ("answer", ""),
        ("answer", "   "),
        ("customer_message", "not recorded on ORD-1001"),
        ("tool_call:3", "amount"),
        ("tool_call", "amount"),
        ("rubric", "a specialist"),
        ("answer ", "not recorded"),
        ("", "not recorded"),
        ("answer", "NOT RECORDED"),
    ],
)
def test_a_quote_that_is_not_where_it_says_is_dropped_and_counted(source: str, text: str) -> None:
    kept = {"source": "answer", "text": "A specialist"}
    read = verdict_of_text(json.dumps(verdict(quotes=[{"source": source, "text": text}, kept])), material())
    assert read.quotes == (Quote("answer", "A specialist"),)
    assert read.dropped_quotes == 1
    assert (read.score, read.label) == (0.9, "pass")


def test_a_quote_may_break_its_lines_elsewhere_and_may_be_of_a_call_or_the_message() -> None:
    quotes = [
        {"source": "answer", "text": "not recorded\n  on ORD-1001"},
        {"source": "tool_call:2", "text": '{"amount":40} answered 200'},
        {"source": "customer_message", "text": "a refund of $40?"},
    ]
    read = verdict_of_text(json.dumps(verdict(quotes=quotes)), material())
    assert [quote.source for quote in read.quotes] == ["answer", "tool_call:2", "customer_message"]
    assert read.quotes[0].text == "not recorded on ORD-1001"


def test_quotes_are_few_and_short() -> None:
    long = "word " * MAX_QUOTE
    shown = material(f"{ANSWER} {long}")
    quotes = [{"source": "answer", "text": "refund"}] * (MAX_QUOTES + 5) + [
        {"source": "answer", "text": long}
    ]
    read = verdict_of_text(json.dumps(verdict(quotes=quotes)), shown)
    assert (len(read.quotes), read.dropped_quotes) == (MAX_QUOTES, 6)


@pytest.mark.parametrize(
    "quotes",
    [
        "not recorded",
        {"source": "answer", "text": "x"},
        ["not recorded"],
        [{"source": "answer"}],
        [{"text": "x"}],
        [{"source": "answer", "text": 5}],
        [{"source": None, "text": "x"}],
        [{"source": "answer", "text": "x", "more": 1}],
        [None],
    ],
)
def test_quotes_that_are_none_make_no_verdict(quotes: Any) -> None:
    assert "quotes" in refused(json.dumps(verdict(quotes=quotes)))
