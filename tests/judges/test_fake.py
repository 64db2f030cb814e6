"""The judge that counts words."""

from __future__ import annotations

import pytest

from evaluations.judges.fake import statements
from evaluations.judges.interface import FAKE_LABEL, NOT_A_MODEL, JudgeSettings
from evaluations.judges.registry import PROVIDERS, judge_for
from tests.judges.building import ANSWER, RUBRIC, material, question

JUDGE = judge_for(JudgeSettings())


def judged(answer: str, rubric: str = RUBRIC, threshold: float = 0.7):
    return JUDGE.judge(question(material(answer), rubric=rubric, threshold=threshold)).verdict


def test_it_is_the_default_and_says_what_it_is() -> None:
    assert JUDGE.identity.provider == "deterministic-fake"
    assert JUDGE.identity.label == FAKE_LABEL
    answered = JUDGE.judge(question())
    assert NOT_A_MODEL in answered.verdict.reason
    assert NOT_A_MODEL in answered.raw
    assert answered.cost_usd == 0


def test_a_rubric_is_counted_by_its_statements() -> None:
    assert statements(RUBRIC) == [
        ("The reply says the refund is not recorded", frozenset({"refund", "not", "recorded"})),
        ("a specialist will finish it", frozenset({"specialist", "finish"})),
    ]
    assert [text for text, _ in statements("Names ORD-1.\nGives 40.00 USD; is polite!")] == [
        "Names ORD-1", "Gives 40.00 USD", "is polite",
    ]  # fmt: skip


def test_all_statements_met() -> None:
    found = judged(ANSWER)
    assert (found.score, found.label, found.confidence) == (1.0, "pass", 1.0)
    assert [quote.text for quote in found.quotes] == [
        "The refund of 40.00 USD is not recorded on ORD-1001.", "A specialist will finish it.",
    ]  # fmt: skip
    assert found.dropped_quotes == 0


def test_none_met() -> None:
    found = judged("That is settled: 40.00 USD is going back to your card.")
    assert (found.score, found.label, found.quotes) == (0.0, "fail", ())
    assert "Missing: finish, not, recorded, refund, specialist" in found.reason


def test_half_of_it_is_a_fail_it_is_not_sure_of() -> None:
    found = judged("A specialist will finish it.")
    assert (found.score, found.label, found.confidence) == (0.5, "fail", 0.5)
    assert judged("A specialist will finish it.", threshold=0.5).label == "pass"


@pytest.mark.parametrize("rubric", ["", "Is it?", "the a an", "...", "\n\n"])
def test_a_rubric_without_a_telling_word_never_passes(rubric: str) -> None:
    found = judged(ANSWER, rubric, threshold=0.0)
    assert (found.score, found.label) == (0.0, "fail")


def test_words_are_whole_words_in_any_case() -> None:
    assert judged("UNRECORDED", "recorded").score == 0
    assert judged("Recorded!", "RECORDED").score == 1
    assert judged("It costs 25 USD", "costs 5").score == 0


def test_always_the_same() -> None:
    assert JUDGE.judge(question()) == JUDGE.judge(question())


@pytest.mark.parametrize(
    "answer", ["x" * 20_000, "a. " * 5000, "\n" * 10_000, "-" * 20_000, "and " * 5000, "\ud800"]
)
def test_no_answer_makes_it_slow_or_breaks_it(answer: str) -> None:
    assert judged(answer, RUBRIC + " and" * 2000).label == "fail"


def test_every_provider_has_a_name_and_a_place() -> None:
    assert {"deterministic-fake"} <= PROVIDERS.keys()
    with pytest.raises(ValueError, match=r"unknown judge 'oracle', known: .*deterministic-fake"):
        judge_for(JudgeSettings(provider="oracle"))
