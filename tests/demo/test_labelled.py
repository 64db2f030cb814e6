"""The demo's labelled examples: stored once, by two people, and what the fake judge is worth on them."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command

from evaluations.grading.agreement import agreement_of
from evaluations.labelling import read_examples
from evaluations.models import Calibration, Example, Label
from evaluations.services.demo_examples import files_in
from evaluations.services.labelling import labelled

FOLDER = Path(settings.BASE_DIR) / "demo" / "labelled"
STORED = (Calibration, Example, Label)


def seed() -> str:
    said = StringIO()
    call_command("seed_demo", "--demo", "refund", "--no-comparisons", stdout=said)
    return said.getvalue()


def counts() -> list[int]:
    return [model.objects.count() for model in STORED]


@pytest.mark.parametrize("path", files_in(FOLDER), ids=lambda path: path.name)
def test_every_example_has_two_labels_and_people_mostly_agree(path: Path) -> None:
    examples = read_examples(path.read_bytes()).examples
    assert len(examples) == 24
    assert len({example.material for example in examples}) == 24
    labels = yaml.safe_load(path.with_name(f"{path.stem}.labels.yaml").read_text())["labels"]
    assert [len(one) for one in labels.values()] == [24, 24]
    people = agreement_of(list(zip(*labels.values(), strict=True)))
    assert (people.agreed, people.kappa is not None and people.kappa > 0.8) == (22, True)
    assert {label for one in labels.values() for label in one} == {"pass", "fail"}


@pytest.mark.django_db
def test_seeding_stores_examples_labels_and_a_calibration_once(settings: Any) -> None:
    settings.BROKER_IS_CONFIGURED = False
    said = seed()
    assert counts() == [1, 24, 48]
    calibration = Calibration.objects.get()
    assert (calibration.state, calibration.judge_label) == ("COMPLETED", "deterministic-fake")
    # 24 examples of which people are split over 2. The keyword counter misses six replies in other words and
    # is taken in by three that use the rubric's words to say something else.
    assert (calibration.counted, calibration.agreed, calibration.is_calibrated) == (22, 13, False)
    assert calibration.decision in said
    assert labelled(calibration.criterion_version_id).split == 2

    again = seed()
    assert counts() == [1, 24, 48]
    assert "refund-handover version 1: no new examples, no new labels" in again


@pytest.mark.django_db
def test_the_labellers_cannot_log_in() -> None:
    seed()
    for person in get_user_model().objects.filter(username__startswith="demo-labeller"):
        assert not person.is_active
        assert not person.has_usable_password()


@pytest.mark.django_db
def test_another_judge_than_the_fake_is_not_asked_by_seeding(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.calibration.conftest import ScriptedJudge

    judge = ScriptedJudge()
    monkeypatch.setattr("evaluations.services.calibration.configured_judge", lambda: judge)
    seed()
    assert (judge.asked, Calibration.objects.count(), Label.objects.count()) == ([], 0, 48)
