"""From a verdict to PASS, FAIL, ERROR or SKIPPED."""

from __future__ import annotations

import pytest

from evaluations.judges.findings import beyond_budget, judged, not_judged, unanswered
from evaluations.judges.interface import JUDGE_ERROR_KINDS, JudgeError, JudgeIdentity, Verdict

WHO = JudgeIdentity("openai", "small", "1", "ab" * 32)


def found(score: float, label: str, threshold: float = 0.7):
    return judged(Verdict(score, label, 0.9, "So."), threshold=threshold, identity=WHO, criterion="tone")


@pytest.mark.parametrize(
    ("score", "label", "threshold", "status"),
    [
        (0.7, "pass", 0.7, "PASS"),
        (1.0, "pass", 0.7, "PASS"),
        (0.1 + 0.2, "pass", 0.3, "PASS"),
        (0.3 - 1e-12, "pass", 0.3, "PASS"),
        (0.69, "pass", 0.7, "FAIL"),
        (0.0, "pass", 0.7, "FAIL"),
        (1.0, "fail", 0.7, "FAIL"),
        (0.0, "fail", 0.7, "FAIL"),
        (0.0, "fail", 0.0, "FAIL"),
        # A threshold of 0 is one that was written down, and is honoured.
        (0.0, "pass", 0.0, "PASS"),
        (0.99, "pass", 1.0, "FAIL"),
    ],
)
def test_it_passes_only_with_the_label_and_the_score(
    score: float, label: str, threshold: float, status: str
) -> None:
    finding = found(score, label, threshold)
    assert finding.status == status
    assert finding.label == (None if status == "PASS" else "SEMANTIC_FAIL")
    assert finding.more["score"] == score
    assert finding.more["judge"] == WHO.to_json()
    assert finding.more["criterion"] == "tone"


def test_a_verdict_that_contradicts_itself_fails_and_says_so() -> None:
    assert found(0.5, "pass").reason == (
        "the verdict contradicts itself: label pass, but the score 0.5 is below the threshold 0.7. So."
    )
    assert "label fail, but the score 0.9 reaches" in found(0.9, "fail").reason
    assert found(0.5, "fail").reason == "So."


@pytest.mark.parametrize("kind", JUDGE_ERROR_KINDS)
def test_no_verdict_is_an_error_without_a_score(kind: str) -> None:
    finding = not_judged(JudgeError(kind, "because"), identity=WHO, criterion="tone", attempts=3)
    assert (finding.status, finding.label) == ("ERROR", None)
    assert finding.reason.endswith("(3 attempts): because")
    assert finding.more["error"] == kind
    assert "score" not in finding.more


def test_the_other_two_ways_not_to_be_judged() -> None:
    assert (unanswered("tone").status, unanswered("tone").label) == ("FAIL", "SEMANTIC_FAIL")
    skipped = beyond_budget("10 of 10 calls are spent", identity=WHO, criterion="tone")
    assert (skipped.status, skipped.reason) == ("SKIPPED", "no judge was asked: 10 of 10 calls are spent")


def test_an_unknown_kind_of_error_is_a_mistake_of_the_provider() -> None:
    with pytest.raises(ValueError, match="known: unavailable"):
        JudgeError("grumpy", "x")
