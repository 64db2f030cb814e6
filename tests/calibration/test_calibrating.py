"""A calibration finishes by itself, goes on where a killed worker stopped, and counts what it should."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import wait
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from evaluations.errors import ConflictError, RequestError
from evaluations.models import Calibration, CalibrationResult
from evaluations.services.calibrating import overdue_calibrations, run_calibration
from evaluations.services.calibration import start_calibration
from evaluations.services.recovery import recover
from reviews.models import AuditEntry
from tests.calibration.conftest import ScriptedJudge, examples_of, good_and_bad, label_all

pytestmark = pytest.mark.django_db
People = Callable[..., User]


def calibrated(version: Any, **options: Any) -> Calibration:
    calibration, is_new = start_calibration(version=version, wake=False, **options)
    assert is_new
    assert run_calibration(calibration.pk) is False
    calibration.refresh_from_db()
    return calibration


def test_a_judge_that_agrees_with_people_is_calibrated(people: People, judge: ScriptedJudge) -> None:
    from sklearn.metrics import cohen_kappa_score

    version = good_and_bad(10, 10)
    label_all(version, people("ann"), wrong=2)
    done = calibrated(version, actor=people("edi", "editor"))
    assert done.state == "COMPLETED"
    assert (done.counted, done.agreed, done.errors, done.is_calibrated) == (20, 18, 0, True)
    assert done.decision.startswith("Calibrated: it agrees with people on 18 of 20 examples (90%)")
    said = list(done.results.values_list("truth", "outcome"))
    assert done.kappa == pytest.approx(cohen_kappa_score(*zip(*said, strict=True)))
    assert done.kappa_low is not None
    assert done.kappa_low < done.kappa < done.kappa_high
    assert [
        entry.action for entry in AuditEntry.objects.filter(action__startswith="calib").order_by("pk")
    ] == [
        "calibration_started",
        "calibration_completed",
    ]


def test_every_answer_is_kept_with_what_was_shown_and_what_it_cost(
    people: People, judge: ScriptedJudge
) -> None:
    version = examples_of("A colleague has it.")
    label_all(version, people("ann"))
    row = calibrated(version).results.get()
    assert (row.outcome, row.agrees, row.score, row.confidence) == ("PASS", True, 1.0, 0.9)
    assert row.labels == [{"person": "ann", "label": "PASS"}]
    assert "A colleague has it." in row.shown
    assert row.answered == '{"the": "reply"}'
    assert str(row.cost_usd) == "0.010000"


def test_an_error_of_the_judge_is_a_disagreement(people: People, judge: ScriptedJudge) -> None:
    version = examples_of("A colleague has it.", "It refuses: a colleague.", "Done.")
    label_all(version, people("ann"))
    done = calibrated(version)
    assert (done.counted, done.agreed, done.errors) == (3, 2, 1)
    row = done.results.get(outcome="ERROR")
    assert (row.agrees, row.score, row.error_kind, row.error_detail) == (
        False,
        None,
        "refused",
        "it declined",
    )


def test_a_pass_without_the_score_is_graded_as_in_a_comparison(people: People, judge: ScriptedJudge) -> None:
    version = examples_of("A colleague has it, barely.")
    label_all(version, people("ann"))
    row = calibrated(version).results.get()
    assert (row.outcome, row.agrees, row.score) == ("FAIL", False, 0.6)


def test_split_examples_are_left_out_and_not_asked_about(people: People, judge: ScriptedJudge) -> None:
    version = good_and_bad(2, 2)
    label_all(version, people("ann"))
    label_all(version, people("ben"), wrong=1)
    done = calibrated(version)
    assert (done.counted, len(judge.asked)) == (3, 3)
    left_out = done.results.get(outcome="LEFT_OUT")
    assert (left_out.truth, left_out.agrees) == (None, None)
    assert {one["label"] for one in left_out.labels} == {"PASS", "FAIL"}


def test_kappa_that_is_undefined_is_null_and_not_calibrated(people: People, judge: ScriptedJudge) -> None:
    version = good_and_bad(20, 0)
    label_all(version, people("ann"))
    done = calibrated(version)
    assert (done.agreed, done.kappa, done.kappa_low, done.is_calibrated) == (20, None, None, False)
    assert "kappa is undefined" in done.decision


def test_labels_that_come_later_change_nothing_of_it(people: People, judge: ScriptedJudge) -> None:
    version = good_and_bad(2, 2)
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)
    label_all(version, people("ben"), wrong=4)
    run_calibration(calibration.pk)
    calibration.refresh_from_db()
    assert (calibration.counted, calibration.agreed) == (4, 4)


def test_nothing_labelled_is_refused_and_stores_nothing(people: People, judge: ScriptedJudge) -> None:
    version = good_and_bad(1, 1)
    with pytest.raises(RequestError, match="no example of handover version 1 is labelled"):
        start_calibration(version=version)
    label_all(version, people("ann"))
    label_all(version, people("ben"), wrong=2)
    with pytest.raises(RequestError, match="people are split over all of them"):
        start_calibration(version=version)
    assert not Calibration.objects.exists()
    assert not CalibrationResult.objects.exists()


def test_more_than_the_judge_may_be_asked_is_refused(
    people: People, judge: ScriptedJudge, settings: Any
) -> None:
    settings.JUDGE_MAX_CALLS = 3
    version = good_and_bad(2, 2)
    label_all(version, people("ann"))
    with pytest.raises(RequestError, match="4 examples are labelled, but JUDGE_MAX_CALLS allows 3"):
        start_calibration(version=version)


def test_one_under_way_is_answered_instead_of_a_second(people: People, judge: ScriptedJudge) -> None:
    version = good_and_bad(1, 1)
    label_all(version, people("ann"))
    first, _ = start_calibration(version=version, wake=False)
    assert start_calibration(version=version, wake=False) == (first, False)
    judge.identity = ScriptedJudge(model="two").identity
    other, is_new = start_calibration(version=version, wake=False)
    assert is_new
    assert other != first


def test_the_same_request_again_answers_the_same_calibration(people: People, judge: ScriptedJudge) -> None:
    from uuid import uuid4

    version, token = good_and_bad(1, 1), uuid4()
    label_all(version, people("ann"))
    first = calibrated(version, form_token=token)
    assert start_calibration(version=version, form_token=token, wake=False) == (first, False)
    other = examples_of("One.", criterion="other")
    label_all(other, people("ann"))
    with pytest.raises(ConflictError):
        start_calibration(version=other, form_token=token)


def test_starting_one_wakes_a_worker_after_the_commit(
    people: People, judge: ScriptedJudge, monkeypatch: Any, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(
        "evaluations.services.calibration.dispatch.deliver", lambda task, pk: sent.append((task.name, pk))
    )
    version = good_and_bad(1, 1)
    label_all(version, people("ann"))
    with django_capture_on_commit_callbacks(execute=True):
        calibration, _ = start_calibration(version=version)
        assert sent == []
    assert sent == [("evaluations.tasks.run_calibration", calibration.pk)]


def test_a_killed_worker_s_calibration_goes_on_where_it_stopped(
    people: People, judge: ScriptedJudge, settings: Any
) -> None:
    settings.JUDGE_CONCURRENCY = 1
    version = examples_of("A colleague has it.", "Done.", "It kills.", "Another colleague.")
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)
    with pytest.raises(KeyboardInterrupt):
        run_calibration(calibration.pk)
    calibration.refresh_from_db()
    assert calibration.state == "RUNNING"
    assert calibration.results.exclude(outcome="").count() == 2

    assert run_calibration(calibration.pk) is False, "its lease still holds: it is left alone"
    assert overdue_calibrations(timezone.now()) == []
    Calibration.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert overdue_calibrations(timezone.now()) == [calibration.pk]
    judge.kills_its_worker = False
    judge.asked.clear()
    assert run_calibration(calibration.pk) is False
    calibration.refresh_from_db()
    assert (calibration.state, calibration.agreed) == ("COMPLETED", 4)
    assert judge.asked == ["It kills.", "Another colleague."], "what was answered is not asked again"


def test_one_that_kills_every_worker_is_given_up(people: People, judge: ScriptedJudge) -> None:
    version = examples_of("It kills.")
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run_calibration(calibration.pk)
        Calibration.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    assert run_calibration(calibration.pk) is False
    calibration.refresh_from_db()
    assert (calibration.state, calibration.is_calibrated, calibration.kappa) == ("FAILED", None, None)
    assert "3 workers took it" in calibration.reason
    assert AuditEntry.objects.filter(action="calibration_failed").count() == 1


def test_a_turn_that_is_over_leaves_the_rest_to_the_next(
    people: People, judge: ScriptedJudge, settings: Any
) -> None:
    settings.JUDGE_CONCURRENCY = 1
    version = good_and_bad(2, 2)
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)
    assert run_calibration(calibration.pk, turn_seconds=0) is True
    calibration.refresh_from_db()
    assert (calibration.state, calibration.claim_token) == ("QUEUED", "")
    assert run_calibration(calibration.pk, turn_seconds=60) is False
    calibration.refresh_from_db()
    assert calibration.state == "COMPLETED"


def test_a_worker_that_lost_its_claim_stores_nothing(
    people: People, judge: ScriptedJudge, monkeypatch: Any
) -> None:
    version = examples_of("A colleague has it.")
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)

    def taken_over_meanwhile(*args: Any, **options: Any) -> Any:
        Calibration.objects.update(claim_token="another")
        return wait(*args, **options)

    monkeypatch.setattr("evaluations.services.calibrating.wait", taken_over_meanwhile)
    assert run_calibration(calibration.pk) is False
    assert calibration.results.get().outcome == ""
    calibration.refresh_from_db()
    assert calibration.state == "RUNNING"


def test_a_judge_that_was_changed_meanwhile_is_not_asked_in_its_place(
    people: People, judge: ScriptedJudge
) -> None:
    version = examples_of("A colleague has it.")
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)
    judge.identity = ScriptedJudge(model="two").identity
    run_calibration(calibration.pk)
    calibration.refresh_from_db()
    assert (calibration.state, judge.asked) == ("FAILED", [])
    assert "the judge is another one by now: scripted two" in calibration.reason


def test_it_stops_at_the_cost_that_is_allowed(people: People, judge: ScriptedJudge, settings: Any) -> None:
    settings.JUDGE_CONCURRENCY, settings.JUDGE_MAX_COST_USD = 1, 0.025
    version = good_and_bad(3, 3)
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)
    run_calibration(calibration.pk)
    calibration.refresh_from_db()
    assert (calibration.state, len(judge.asked)) == ("FAILED", 3)
    assert calibration.reason == "0.03 US dollars are spent, and JUDGE_MAX_COST_USD allows 0.025"


def test_the_sweep_wakes_a_worker_for_one_that_waits(
    people: People, judge: ScriptedJudge, monkeypatch: Any, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[int] = []
    monkeypatch.setattr("evaluations.services.calibration.dispatch.deliver", lambda task, pk: sent.append(pk))
    version = good_and_bad(1, 1)
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)
    with django_capture_on_commit_callbacks(execute=True):
        recover()
    assert sent == [calibration.pk]


def test_the_task_runs_one_to_its_end(people: People, judge: ScriptedJudge) -> None:
    from evaluations.tasks import run_calibration as task

    version = good_and_bad(1, 1)
    label_all(version, people("ann"))
    calibration, _ = start_calibration(version=version, wake=False)
    task(calibration.pk)
    task(calibration.pk)
    calibration.refresh_from_db()
    assert (calibration.state, len(judge.asked)) == ("COMPLETED", 2)
