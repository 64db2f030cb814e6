"""What a judge's verdicts are worth: by the latest completed calibration of exactly this judge and rubric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from evaluations.judges.rendering import rubric_digest
from evaluations.models import Calibration
from evaluations.services.calibrating import run_calibration
from evaluations.services.calibration import Standing, standing, standings, start_calibration
from tests.calibration.conftest import RUBRIC, ScriptedJudge, good_and_bad, label_all

pytestmark = pytest.mark.django_db
People = Callable[..., User]


@pytest.fixture
def calibrated(people: People, judge: ScriptedJudge) -> Calibration:
    version = good_and_bad(10, 10)
    label_all(version, people("ann"), wrong=1)
    return _run(version)


def _run(version: Any) -> Calibration:
    calibration, _ = start_calibration(version=version, wake=False)
    run_calibration(calibration.pk)
    calibration.refresh_from_db()
    return calibration


def of(criterion: str = "handover", rubric: str = RUBRIC, **changed: str) -> Standing:
    return standing(ScriptedJudge(**changed).identity, criterion, rubric_digest(rubric))


def test_exactly_this_judge_and_rubric_is_calibrated_by_its_own_sentence(calibrated: Calibration) -> None:
    found = of()
    assert (found.state, found.calibration_id, found.tag) == ("calibrated", calibrated.pk, "calibrated")
    assert found.sentence == calibrated.decision
    assert found.is_calibrated


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"model": "two"}, "since then the model (one, now two) changed"),
        (
            {"prompt_version": "2", "prompt_sha256": "b" * 64},
            "since then the prompt (version 1, now 2) changed",
        ),
        ({"rubric": "Other words."}, "since then the rubric (then version 1) changed"),
        (
            {"model": "two", "rubric": "Other words."},
            "since then the model (one, now two) and the rubric (then version 1) changed",
        ),
    ],
)
def test_a_change_makes_it_stale_and_says_what_changed(
    calibrated: Calibration, changed: dict[str, str], words: str
) -> None:
    found = of(**changed)
    assert (found.state, found.calibration_id, found.tag) == ("stale", calibrated.pk, "calibration stale")
    assert words in found.sentence
    assert not found.is_calibrated


@pytest.mark.parametrize("changed", [{"provider": "other"}, {"criterion": "tone"}])
def test_another_judge_or_criterion_was_never_calibrated(
    calibrated: Calibration, changed: dict[str, str]
) -> None:
    found = of(**changed)
    assert (found.state, found.calibration_id, found.tag) == ("never", None, "uncalibrated")


def test_the_same_prompt_under_another_version_number_is_the_same_judge(calibrated: Calibration) -> None:
    assert of(prompt_version="1.0").state == "calibrated"


def test_only_the_latest_completed_calibration_counts(
    calibrated: Calibration, people: People, judge: ScriptedJudge
) -> None:
    version = calibrated.criterion_version
    label_all(version, people("ben"), wrong=20)
    label_all(version, people("cleo"), wrong=20)
    later = _run(version)
    assert not later.is_calibrated
    assert of() == Standing("not_calibrated", later.decision, later.pk)

    start_calibration(version=version, wake=False)
    assert of().calibration_id == later.pk, "one that has not ended says nothing"
    Calibration.objects.filter(state="QUEUED").update(state="FAILED")
    assert of().calibration_id == later.pk, "and one that failed neither"


def test_going_back_to_what_was_calibrated_is_calibrated_again(
    calibrated: Calibration, people: People, judge: ScriptedJudge
) -> None:
    judge.identity = ScriptedJudge(model="two").identity
    _run(calibrated.criterion_version)
    assert of().calibration_id == calibrated.pk


def test_many_cost_two_queries(
    calibrated: Calibration, people: People, django_assert_num_queries: Any
) -> None:
    identity = ScriptedJudge().identity
    keys = [(identity, f"criterion {number}", rubric_digest(RUBRIC)) for number in range(30)]
    keys.append((identity, "handover", rubric_digest(RUBRIC)))
    with django_assert_num_queries(2):
        found = standings(keys)
    assert [one.state for one in found.values()].count("calibrated") == 1
    assert len(found) == 31
    with django_assert_num_queries(0):
        assert standings([]) == {}
