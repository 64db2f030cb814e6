"""People who label, a criterion with examples, and a judge that answers as it is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from evaluations.judges.interface import (
    Answered,
    JudgeError,
    JudgeIdentity,
    JudgeRequest,
    Verdict,
)
from evaluations.models import CriterionVersion, Example
from evaluations.services import labelling
from evaluations.services.criteria import import_examples

RUBRIC = "The reply says that a colleague takes over."


class ScriptedJudge:
    """Passes what contains "colleague"; errs where the answer says so. Counts what it is asked."""

    address = ""

    def __init__(self, **identity: str) -> None:
        given = {"provider": "scripted", "model": "one", "prompt_version": "1", "prompt_sha256": "a" * 64}
        self.identity = JudgeIdentity(**{**given, **identity})
        self.asked: list[str] = []
        self.kills_its_worker = True

    def judge(self, request: JudgeRequest) -> Answered:
        answer = request.material.answer
        self.asked.append(answer)
        if "refuses" in answer:
            raise JudgeError("refused", "it declined")
        if "kills" in answer and self.kills_its_worker:
            raise KeyboardInterrupt
        passes = "colleague" in answer
        score = 0.6 if "barely" in answer else float(passes)
        verdict = Verdict(score, "pass" if passes else "fail", 0.9, "As it is written.")
        return Answered(verdict, '{"the": "reply"}', cost_usd=0.01)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> ScriptedJudge:
    """The configured judge; a test may give it another identity."""
    one = ScriptedJudge()
    for place in ("calibration", "calibrating"):
        monkeypatch.setattr(f"evaluations.services.{place}.configured_judge", lambda: one)
    return one


@pytest.fixture
def people(db: Any) -> Callable[[str], User]:
    """`people("ann")`: an account that may label."""

    def person(name: str, *roles: str) -> User:
        user, _ = User.objects.get_or_create(username=name)
        user.groups.set(Group.objects.filter(name__in=roles or ("reviewer",)))
        return user

    return person


def examples_of(*answers: str, criterion: str = "handover", rubric: str = RUBRIC) -> CriterionVersion:
    """The version of this rubric with an example for each answer."""
    lines = [{"answer": answer} for answer in answers]
    document = {"criterion": criterion, "rubric": rubric, "examples": lines}
    return import_examples(text=json.dumps(document), kind="json").version


def good_and_bad(good: int, bad: int) -> CriterionVersion:
    """Examples that say that a colleague takes over, and ones that do not."""
    answers = [f"A colleague has case {number}." for number in range(good)]
    return examples_of(*answers, *(f"Done, number {number}." for number in range(bad)))


def label_all(version: CriterionVersion, person: User, *, wrong: int = 0) -> None:
    """Label what the scripted judge would, but for the first `wrong` of them."""
    for position, example in enumerate(version.examples.order_by("pk")):
        passes = "colleague" in example.material["answer"]
        passes = not passes if position < wrong else passes
        labelling.add_label(example=example, label="PASS" if passes else "FAIL", actor=person)


def example_at(version: CriterionVersion, position: int) -> Example:
    return version.examples.order_by("pk")[position]
