"""The statistics of trials over the API, and running errored ones again."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.contrib.auth.models import User
from django.test import Client

from evaluations.models import PairedCase
from evaluations.services.effective import set_effective_status
from evaluations.services.waiting import run_here
from tests.running import documents


@pytest.fixture
def flaky(given: Any, compared: Any, tmp_path: Path) -> Any:
    """Three trials: all pass for the baseline; the candidate's second could not be run, the others fail."""
    steps = (f"refuse-until {tmp_path / 'back'} 2", *documents.TWICE)
    given(documents.scenario("refund", trials=3), candidate=steps)
    comparison = compared()
    (tmp_path / "back").touch()
    return comparison


def test_figures_stand_above_their_tasks_with_null_for_what_is_not_available(api: Any, flaky: Any) -> None:
    body = api("read").get(f"comparisons/{flaky.pk}/statistics/").body
    (task,) = body["tasks"]
    assert (task["candidate"]["n"], task["candidate"]["c"], task["candidate"]["errored"]) == (3, 0, 1)
    assert task["baseline"]["pass_rate"] == 1.0
    assert task["baseline"]["interval"][1] == 1.0
    assert [one["k"] for one in task["baseline"]["by_k"]] == [1, 2, 3]
    assert task["candidate"]["cost_per_success"] == {"state": "never", "usd": None}
    assert task["baseline"]["cost_per_success"] == {"state": "unknown", "usd": None}
    assert body["suite"]["baseline"]["mean_pass_rate"] == {"value": 1.0, "tasks": 1, "tasks_with_a_figure": 1}
    assert body["paired"]["only_baseline"] == 2
    assert body["paired"]["without_evidence"] == 1
    assert body["paired"]["test"]["words"] == "p = 0.50, could be noise"
    assert {check["id"] for check in body["checks"]} == {"once"}
    assert body["unequal"] == [
        "Errored trials leave the sides with different numbers of graded ones of refund."
    ]


def test_the_report_holds_the_same_figures(api: Any, flaky: Any) -> None:
    client = api("read")
    report = client.get(f"comparisons/{flaky.pk}/report/").body
    assert report["statistics"] == client.get(f"comparisons/{flaky.pk}/statistics/").body
    assert [case["trial"] for case in report["cases"]] == [1, 2, 3]


def test_one_trial_each_leaves_the_report_as_it_was(api: Any, given: Any, compared: Any) -> None:
    given()
    assert "statistics" not in api("read").get(f"comparisons/{compared().pk}/report/").body


def test_statistics_of_a_running_comparison_are_a_conflict(api: Any, given: Any, start: Any) -> None:
    given()
    answer = api("read").get(f"comparisons/{start().pk}/statistics/")
    assert (answer.status_code, answer.body["code"]) == (409, "not_ended")


@pytest.mark.parametrize("query", ["tool_call_usd=-1", "review_minutes=nan", "review_usd_per_hour=x", "k=3"])
def test_rates_that_cannot_be_meant_are_refused(api: Any, flaky: Any, query: str) -> None:
    answer = api("read").get(f"comparisons/{flaky.pk}/statistics/?{query}")
    assert (answer.status_code, answer.body["code"]) == (400, "invalid")


def test_an_errored_trial_is_run_again_and_counts_in_its_place(
    api: Any, given: Any, compared: Any, tmp_path: Path
) -> None:
    given(candidate=(f"refuse-until {tmp_path / 'back'} 1", *documents.GOOD))
    comparison = compared()
    (tmp_path / "back").touch()
    client = api("run", "read")
    original = comparison.pairs.get()
    answer = client.post(f"comparisons/{comparison.pk}/rerun/", {"cases": [original.pk]})
    assert (answer.status_code, answer.body["state"], answer.body["blocks"]) == (200, "RUNNING", None)
    assert answer.body["progress"] == {"cases": 2, "ended": 0}
    run_here(comparison.pk)
    (counted,) = client.get(f"cases/?comparison={comparison.pk}").body["results"]
    (first,) = client.get(f"cases/?comparison={comparison.pk}&replaced=true").body["results"]
    assert (counted["rerun_of"], counted["replaced"], counted["class"]) == (original.pk, False, "UNCHANGED")
    assert (first["id"], first["replaced"], first["class"]) == (original.pk, True, "INCOMPLETE")
    assert first["links"]["page"].endswith("/cases/refund/?original=1")
    assert client.get(f"comparisons/{comparison.pk}/").body["summary"]["UNCHANGED"] == 1


def test_a_failure_is_a_conflict_that_names_it_and_nothing_is_run(api: Any, flaky: Any) -> None:
    failed = flaky.pairs.get(trial=1)
    before = PairedCase.objects.count()
    answer = api("run").post(f"comparisons/{flaky.pk}/rerun/", {"cases": [failed.pk]})
    assert (answer.status_code, answer.body["code"]) == (409, "not_rerunnable")
    assert answer.body["problems"] == [
        {"path": "cases", "detail": "refund: a side failed, and a failure is not run again"}
    ]
    assert PairedCase.objects.count() == before


def test_who_may_not_start_comparisons_runs_nothing_again(api: Any, flaky: Any) -> None:
    for scopes, role in (("run", "viewer"), ("run", "reviewer"), ("read", "admin")):
        answer = api(scopes, role=role, name=f"{scopes}-{role}").post(f"comparisons/{flaky.pk}/rerun/")
        assert answer.status_code == 403
    assert not PairedCase.objects.replaced().exists()


def test_a_candidate_tried_alone_has_figures_of_its_own(api: Any, given: Any, compared: Any) -> None:
    given(candidate=documents.GOOD)
    comparison = compared(baseline=None, trials=4)
    client = api("read")
    body = client.get(f"comparisons/{comparison.pk}/statistics/").body
    assert list(body["suite"]) == ["candidate"]
    (task,) = body["tasks"]
    assert ("baseline" in task, task["paired"], task["candidate"]["c"]) == (False, None, 4)
    assert (body["checks"], body["unequal"]) == ([], [])
    text = client.get(f"comparisons/{comparison.pk}/report/?as=text").content.decode()
    assert "mean over tasks  candidate  100%, pass@3 100%, pass^3 100%" in text
    assert "both sides" not in text
    pages = Client()
    pages.force_login(User.objects.get(username="ci"))
    for address in (
        "",
        "cases/refund/?trial=2",
        "statistics/",
        "statistics/refund/",
        "statistics/pass-hat-k.svg",
    ):
        answer = pages.get(f"/comparisons/{comparison.pk}/{address}")
        assert answer.status_code == 200
        assert b"only the baseline" not in answer.content


def test_an_error_beside_a_failure_counts_as_a_failure_everywhere(
    api: Any, given: Any, compared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # TRAPS 2: the candidate's first trial has both a check that could not be evaluated and one that failed.
    given(candidate=documents.GOOD)
    comparison = compared(trials=2)
    case = comparison.pairs.get(trial=1).cases.get(run__side="CANDIDATE")
    for name, status in (("once", "FAIL"), ("no-retry", "ERROR")):
        set_effective_status(result=case.results.get(expectation_id=name), status=status)
    client = api("read")
    listed = client.get(f"comparisons/{comparison.pk}/cases/?class=NEW_CRITICAL_FAILURE").body["results"]
    assert [(one["trial"], one["candidate"]["verdict"]) for one in listed] == [(1, "FAILED")]
    assert client.get(f"cases/{listed[0]['id']}/").body["candidate"]["verdict"] == "FAILED"
    (task,) = client.get(f"comparisons/{comparison.pk}/statistics/").body["tasks"]
    assert (task["candidate"]["c"], task["candidate"]["failed"], task["candidate"]["errored"]) == (1, 1, 0)
    junit = ET.fromstring(client.get(f"comparisons/{comparison.pk}/report/?as=junit").content)
    assert (junit.get("tests"), junit.get("failures"), junit.get("errors")) == ("2", "1", "0")
    summary = client.get(f"comparisons/{comparison.pk}/").body["summary"]
    assert (summary["NEW_CRITICAL_FAILURE"], summary["INCOMPLETE"]) == (1, 0)
    assert not PairedCase.objects.worth_running_again().exists()
