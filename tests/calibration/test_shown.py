"""What a judge is worth stands in the comparison's head, in every report and in the API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from evaluations.judges.rendering import rubric_digest
from evaluations.models import Comparison, ComparisonJudge, ExpectationResult
from evaluations.page_queries.judged import by_judge, judged_by
from evaluations.reporting.json_format import render_json
from evaluations.reporting.junit_format import render_junit
from evaluations.reporting.markdown_format import render_markdown
from evaluations.reporting.report import load_report
from evaluations.reporting.text_format import render_text
from evaluations.services.calibrating import run_calibration
from evaluations.services.calibration import start_calibration
from reviews.services.tokens import create_token
from tests.calibration.conftest import RUBRIC, examples_of, label_all
from tests.running import documents
from tests.running.conftest import _agents, compared, given, start

__all__ = ["_agents", "compared", "given", "start"]

pytestmark = pytest.mark.django_db
NAME = "deterministic-fake keyword-overlap-1 (not a language model)"


@pytest.fixture
def comparison(given: Any, compared: Any) -> Comparison:
    """Graded by the fake judge on two criteria."""
    read = {"type": "semantic", "rubric": RUBRIC}
    one = documents.scenario(
        "refund",
        expectations=[{**read, "id": "a", "category": "handover"}, {**read, "id": "b", "category": "tone"}],
    )
    given(one, candidate=documents.GOOD)
    done: Comparison = compared()
    return done


@pytest.fixture
def calibrated(people: Callable[..., User]) -> Callable[[], None]:
    """Calibrates the fake judge for handover: it agrees with people on what is in its rubric's words."""

    def calibrate() -> None:
        good = [f"A colleague takes over, case {number}." for number in range(12)]
        version = examples_of(*good, *(f"Done, number {number}." for number in range(12)))
        label_all(version, people("ann"))
        calibration, _ = start_calibration(version=version, wake=False)
        run_calibration(calibration.pk)

    return calibrate


def test_who_judged_is_noted_once_for_each_criterion(comparison: Comparison) -> None:
    rows = ComparisonJudge.objects.filter(comparison=comparison).order_by("criterion")
    assert [(row.criterion, row.rubric_sha256) for row in rows] == [
        ("handover", rubric_digest(RUBRIC)),
        ("tone", rubric_digest(RUBRIC)),
    ]
    assert ExpectationResult.objects.filter(case__run__comparison=comparison).count() == 4
    [judge] = by_judge(judged_by([comparison.pk])[comparison.pk])
    assert judge.judge.label == "deterministic-fake"
    assert [one.standing.state for one in judge.criteria] == ["never", "never"]


def test_a_comparison_that_no_judge_graded_costs_one_query(
    given: Any, compared: Any, django_assert_num_queries: Any
) -> None:
    given(candidate=documents.GOOD)
    plain = compared()
    with django_assert_num_queries(1):
        assert judged_by([plain.pk]) == {}
    assert "judges" not in json.loads(render_json(load_report(plain.pk)))


def test_reports_say_who_judged_and_what_that_is_worth(
    comparison: Comparison, calibrated: Callable[[], None]
) -> None:
    def words() -> str:
        return f"judged by {NAME}: handover {state}, tone uncalibrated"

    for state in ("uncalibrated", "calibrated"):
        report = load_report(comparison.pk)
        assert words() in render_text(report)
        assert f'<property name="judge" value="{words()}" />' in render_junit(report)
        assert words().replace("-", "\\-").replace("(", "\\(").replace(")", "\\)") in render_markdown(report)
        told = json.loads(render_json(report))["judges"]
        assert [(one["criterion"], one["standing"]["state"]) for one in told] == [
            ("handover", "calibrated" if state == "calibrated" else "never"),
            ("tone", "never"),
        ]
        assert told[0]["judge"]["label"] == "deterministic-fake"
        if state == "uncalibrated":
            calibrated()


def test_the_head_of_the_comparison_says_it(
    comparison: Comparison, calibrated: Callable[[], None], people: Callable[..., User]
) -> None:
    viewer = Client()
    viewer.force_login(people("vic", "viewer"))
    page = " ".join(viewer.get(f"/comparisons/{comparison.pk}/").content.decode().split())
    assert "judged by deterministic-fake keyword-overlap-1" in page
    assert page.count(">uncalibrated<") == 2
    calibrated()
    page = viewer.get(f"/comparisons/{comparison.pk}/").content.decode()
    assert page.count(">uncalibrated<") == 1
    assert 'class="tag tag--good" href="/judges/calibrations/1/"' in page


def test_the_api_says_it(comparison: Comparison, people: Callable[..., User]) -> None:
    account = people("ci", "viewer")
    _, secret = create_token(user=account, name="ci", scopes=("read",), actor=account)
    headers = {"Authorization": f"Bearer {secret}"}
    one = Client().get(f"/api/v1/comparisons/{comparison.pk}/", headers=headers).json()
    assert [(by["criterion"], by["standing"]["state"]) for by in one["judges"]] == [
        ("handover", "never"),
        ("tone", "never"),
    ]


@pytest.mark.parametrize(("role", "offered"), [("editor", True), ("reviewer", False), ("viewer", False)])
def test_the_case_page_offers_a_judged_reply_as_an_example_to_who_may(
    comparison: Comparison, people: Callable[..., User], role: str, offered: bool
) -> None:
    client = Client()
    client.force_login(people("someone", role))
    page = client.get(f"/comparisons/{comparison.pk}/cases/refund/").content.decode()
    result = ExpectationResult.objects.get(
        case__run__comparison=comparison, case__run__side="CANDIDATE", expectation_id="a"
    )
    action = f"/judges/examples/from/{result.pk}/"
    assert (f'action="{action}"' in page) is offered
    answer = client.post(action)
    if not offered:
        assert answer.status_code == 403
        return
    shown = client.get(answer["Location"]).content.decode()
    assert "is an example of handover version 1 now" in shown
    assert "case of refund, candidate" in shown
