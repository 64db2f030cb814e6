"""Attempts, pauses, and what they cost."""

from __future__ import annotations

import logging

import pytest

from evaluations.judges.asking import LONGEST_PAUSE, MAX_ATTEMPTS, ask
from evaluations.judges.interface import Answered, JudgeError, JudgeIdentity, TokenUsage, Verdict
from tests.judges.building import question

GOOD = Answered(Verdict(1.0, "pass", 1.0, "So."), "{}", TokenUsage(10, 5), 0.25)


class Scripted:
    """Says one thing after the other."""

    identity = JudgeIdentity("scripted", "m", "1", "ab" * 32)
    address = ""

    def __init__(self, *says: object) -> None:
        self.says = list(says)
        self.asked = 0

    def judge(self, request: object) -> Answered:
        self.asked += 1
        said = self.says.pop(0)
        if isinstance(said, Exception):
            raise said
        return said


def asked(*says: object, **options):
    judge, pauses = Scripted(*says), []
    return ask(judge, question(), sleep=pauses.append, **options), pauses, judge


def test_the_first_answer_is_the_answer() -> None:
    found, pauses, judge = asked(GOOD)
    assert (found.answer, found.error, found.attempts, found.cost_usd) == (GOOD, None, 1, 0.25)
    assert (pauses, judge.asked) == ([], 1)


@pytest.mark.parametrize("kind", ["unavailable", "rate_limited", "timeout"])
def test_what_may_go_by_is_tried_again_with_growing_pauses(kind: str) -> None:
    found, pauses, _ = asked(JudgeError(kind, "x"), JudgeError(kind, "x"), GOOD)
    assert (found.answer, found.attempts, pauses) == (GOOD, 3, [0.5, 1.0])


@pytest.mark.parametrize("kind", ["unavailable", "rate_limited", "timeout"])
def test_attempts_are_bounded(kind: str) -> None:
    found, pauses, judge = asked(*[JudgeError(kind, str(n)) for n in range(9)])
    assert found.answer is None
    assert (found.error.kind, found.error.detail) == (kind, "2")
    assert (found.attempts, judge.asked, len(pauses)) == (MAX_ATTEMPTS, MAX_ATTEMPTS, MAX_ATTEMPTS - 1)


@pytest.mark.parametrize("kind", ["rejected", "malformed", "refused"])
def test_what_stays_is_not_tried_again(kind: str) -> None:
    found, pauses, judge = asked(JudgeError(kind, "x"), GOOD)
    assert (found.error.kind, found.attempts, pauses, judge.asked) == (kind, 1, [], 1)


def test_a_pause_the_provider_asks_for_is_kept() -> None:
    assert asked(JudgeError("rate_limited", "x", retry_after=7.5), GOOD)[1] == [7.5]
    assert asked(JudgeError("rate_limited", "x", retry_after=0), GOOD)[1] == [0.5]


def test_a_pause_that_is_too_long_is_not_waited_for() -> None:
    found, pauses, _ = asked(JudgeError("rate_limited", "x", retry_after=LONGEST_PAUSE + 1), GOOD)
    assert (found.error.kind, found.attempts, pauses) == ("rate_limited", 1, [])


def test_a_budget_that_is_used_up_ends_the_attempts() -> None:
    found, pauses, judge = asked(JudgeError("timeout", "x"), GOOD, may_ask_again=lambda: False)
    assert (found.error.kind, found.attempts, pauses, judge.asked) == ("timeout", 1, [], 1)


def test_replies_that_are_no_verdict_cost_too() -> None:
    paid = JudgeError("malformed", "x", raw="prose", cost_usd=0.5)
    assert asked(paid)[0].cost_usd == 0.5
    assert asked(JudgeError("unavailable", "x"), GOOD)[0].cost_usd == 0.25
    assert asked(JudgeError("malformed", "x", raw="prose"))[0].cost_usd is None


def test_a_judge_that_breaks_is_an_error_and_its_words_are_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG):
        found, _, _ = asked(RuntimeError("Illegal header value b'Bearer sk-secret'"))
    assert (found.error.kind, found.error.detail) == ("rejected", "asking it failed: RuntimeError")
    assert "sk-secret" not in caplog.text
    assert "RuntimeError" in caplog.text
