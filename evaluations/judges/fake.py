"""A judge that is none: it counts words, always the same way. For demos, tests and machines without a key.

A statement of the rubric counts as met when all its telling words occur in the answer. It understands
nothing, a denial least of all, and says "not a language model" wherever it shows.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass

from evaluations.judges.interface import (
    ANSWER,
    FAIL,
    FAKE_PROVIDER,
    NOT_A_MODEL,
    PASS,
    Answered,
    JudgeIdentity,
    JudgeRequest,
    JudgeSettings,
    TokenUsage,
)
from evaluations.judges.prompt import Prompt
from evaluations.judges.verdicts import read_verdict

# Another way of counting is another judge.
MODEL = "keyword-overlap-1"

# Words that say nothing about what a reply must hold. `not` and `no` do: they turn a statement round.
_PLAIN_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a an and are as at be been but by can do does for from has have if in into is it its of on or so than
        that the their them then there they this to was were what when which who will with would you your he
        she his her we our i my me agent answer answers customer mention mentions must reply replies say says
        said should states tell tells
        """,
    )
)
_STATEMENT_END = re.compile(r"[.;!?\n]+(?:\s|$)|\n|,?\s+and\s+", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
_WORD = re.compile(r"\w+(?:[-'.]\w+)*")


@dataclass(frozen=True, slots=True)
class FakeJudge:
    """The share of the rubric's statements whose words occur in the answer."""

    identity: JudgeIdentity
    address: str = ""

    @classmethod
    def configured(cls, settings: JudgeSettings, prompt: Prompt) -> FakeJudge:
        return cls(JudgeIdentity(FAKE_PROVIDER, MODEL, prompt.version, prompt.sha256))

    def judge(self, request: JudgeRequest) -> Answered:
        """Its verdict goes the way of every other: written as JSON, read by the same strict reader."""
        reply = _verdict(request)
        raw = json.dumps(reply, ensure_ascii=False)
        return Answered(read_verdict(reply, request.material), raw, TokenUsage(0, 0), cost_usd=0.0)


def statements(rubric: str) -> list[tuple[str, frozenset[str]]]:
    """The statements of a rubric with their telling words; those without any are left out."""
    parts = (part.strip() for part in _STATEMENT_END.split(rubric))
    found = [(part, frozenset(_words(part)) - _PLAIN_WORDS) for part in parts if part]
    return [(part, words) for part, words in found if words]


def _verdict(request: JudgeRequest) -> dict[str, object]:
    answer = request.material.answer
    present = frozenset(_words(answer))
    found = statements(request.rubric)
    met = [words for _, words in found if words <= present]
    missing = sorted({word for _, words in found for word in words - present})
    score = len(met) / len(found) if found else 0.0
    return {
        "score": score,
        "label": PASS if found and score >= request.threshold else FAIL,
        # Between all and nothing it cannot tell; the queue then asks a person.
        "confidence": max(score, 1 - score) if found else 0.0,
        "reason": _reason(len(met), len(found), missing),
        "quotes": [{"source": ANSWER, "text": text} for text in _quoted(answer, met)],
    }


def _reason(met: int, all_: int, missing: list[str]) -> str:
    if not all_:
        return f"The rubric holds no word to look for ({NOT_A_MODEL})."
    counted = f"{met} of {all_} statements of the rubric have all their words in the answer ({NOT_A_MODEL})"
    more = f", and {len(missing) - 8} more" if len(missing) > 8 else ""
    return f"{counted}. Missing: {', '.join(missing[:8])}{more}." if missing else f"{counted}."


def _quoted(answer: str, met: list[frozenset[str]]) -> list[str]:
    """For each statement that is met, the sentence with most of its words; each sentence once."""
    sentences = [match.group().strip() for match in _SENTENCE.finditer(answer)]
    if not sentences:
        return []
    best = [max(sentences, key=lambda text: len(words & frozenset(_words(text)))) for words in met]
    return list(dict.fromkeys(text for text in best if text))[:5]


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
