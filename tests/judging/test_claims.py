"""Who judges what, and what a crash, a cancel or a full provider does to it."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, transaction
from django.utils import timezone

from evaluations import tasks
from evaluations.judges.interface import JudgeError
from evaluations.models import Case, ExpectationResult, JudgePlace, JudgeVerdict
from evaluations.services import judging
from evaluations.services.comparisons import cancel_comparison
from evaluations.services.judging import claims, running
from evaluations.services.judging.cases import CaseShelf
from evaluations.services.recovery import recover
from evaluations.services.running import run_chunk
from evaluations.services.waiting import run_here
from tests.judging.conftest import SEMANTIC, expecting, verdict
from tests.running import documents


@pytest.fixture
def waiting(given: Any, start: Any) -> Any:
    """A comparison whose two cases ran and wait for their judge."""
    given(expecting(), candidate=(*documents.GOOD, 'answer {"output": "All done here."}'))
    comparison = start()
    report = run_chunk(comparison.pk)
    assert (report.stored, report.to_judge) == (2, 2)
    return comparison


def states() -> set[str]:
    return set(Case.objects.values_list("state", flat=True))


def test_what_waits_has_its_other_results_and_no_verdict(waiting: Any) -> None:
    assert states() == {"JUDGING"}
    case = Case.objects.first()
    assert (case.verdict, case.effective_verdict, case.finished_at) == (None, None, None)
    assert (case.claim_token, case.lease_expires_at, case.judging_attempts) == ("", None, 0)
    assert [row.expectation_id for row in case.results.all()] == ["once"]
    assert case.answer["output"]
    assert case.tool_calls.count() == 2
    waiting.refresh_from_db()
    assert waiting.state == "RUNNING"


def test_a_lost_judge_is_found_again(waiting: Any) -> None:
    assert len(claims.claim(claims.cases_to_judge(waiting.pk), token="dead", limit=9)) == 2
    assert judging.judge_cases(waiting.pk).claimed == 0
    Case.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    woken: list[int] = []
    report = recover(wake=lambda pk, cases: woken.append(pk))
    assert (report.expired, woken) == (2, [waiting.pk])
    # One by one, so that one that kills its judge takes no other down with it.
    assert judging.judge_cases(waiting.pk).claimed == 1
    assert judging.judge_cases(waiting.pk).claimed == 1
    waiting.refresh_from_db()
    assert waiting.state == "COMPLETED"
    assert set(Case.objects.values_list("judging_attempts", flat=True)) == {2}


def test_the_first_judge_stores_nothing_once_its_lease_is_somebody_elses(waiting: Any) -> None:
    shelf = CaseShelf(waiting.pk)
    ids = claims.claim(shelf.waiting, token="slow", limit=9)
    subjects = shelf.load(ids)
    for subject in subjects:
        for question in subject.questions:
            subject.outcomes[question.position] = running.unasked(question, JudgeError("timeout", "x"))
    Case.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    run_here(waiting.pk)
    before = list(JudgeVerdict.objects.values())
    assert shelf.store(subjects, "slow") == 0
    assert list(JudgeVerdict.objects.values()) == before
    assert ExpectationResult.objects.count() == 4


def test_what_used_up_its_attempts_is_an_error(waiting: Any, remote: Any) -> None:
    Case.objects.update(judging_attempts=3)
    report = judging.judge_cases(waiting.pk)
    assert (report.claimed, report.stored) == (0, 2)
    assert remote.asked == []
    row = JudgeVerdict.objects.first()
    assert (row.status, row.error_kind) == ("ERROR", "unavailable")
    assert "given up after 3 attempts" in row.error_detail
    waiting.refresh_from_db()
    assert waiting.state == "INCOMPLETE"


def test_a_failure_of_the_harness_gives_back_what_was_claimed(
    waiting: Any, remote: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(CaseShelf, "load", lambda self, ids: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            judging.judge_cases(waiting.pk)
    assert set(Case.objects.values_list("claim_token", "lease_expires_at")) == {("", None)}
    assert set(JudgePlace.objects.values_list("claim_token", flat=True)) == {""}
    run_here(waiting.pk)
    waiting.refresh_from_db()
    assert waiting.state == "COMPLETED"


def test_a_database_that_is_away_says_nothing_about_verdicts(
    waiting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any) -> int:
        raise OperationalError("gone")

    with monkeypatch.context() as broken:
        broken.setattr(CaseShelf, "store", away)
        with pytest.raises(OperationalError):
            judging.judge_cases(waiting.pk)
    run_here(waiting.pk)
    assert set(JudgeVerdict.objects.values_list("status", flat=True)) == {"PASS"}


def test_a_verdict_that_cannot_be_stored_is_an_error_of_its_case_alone(
    waiting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = running.CaseShelf.store
    poison = Case.objects.order_by("pk").first().pk

    def refuse(self: Any, subjects: Any, token: str) -> int:
        if any(one.id == poison and one.outcomes[1].error is None for one in subjects):
            raise IntegrityError("no")
        return real(self, subjects, token)

    monkeypatch.setattr(CaseShelf, "store", refuse)
    run_here(waiting.pk)
    found = dict(JudgeVerdict.objects.values_list("result__case", "error_kind"))
    assert found.pop(poison) == "malformed"
    assert set(found.values()) == {""}


def test_cancelling_wins_over_a_judge(waiting: Any, remote: Any) -> None:
    def cancel(request: Any) -> Any:
        return verdict()

    shelf = CaseShelf(waiting.pk)
    ids = claims.claim(shelf.waiting, token="late", limit=9)
    subjects = shelf.load(ids)
    cancel_comparison(waiting)
    assert states() == {"CANCELLED"}
    assert claims.renew(shelf.waiting, "late") == 0
    for subject in subjects:
        for question in subject.questions:
            subject.outcomes[question.position] = running.unasked(question, JudgeError("timeout", "x"))
    assert shelf.store(subjects, "late") == 0
    assert not JudgeVerdict.objects.exists()
    assert judging.judge_cases(waiting.pk).claimed == 0


def test_a_judge_whose_claim_is_gone_stops_asking(
    given: Any, start: Any, remote: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.JUDGE_CONCURRENCY = 1
    settings.JUDGE_CACHE = False
    monkeypatch.setattr(running, "RENEW_SECONDS", 0.0)
    remote.seconds = 0.05
    given(expecting(*({**SEMANTIC, "id": f"e{n}"} for n in range(20))))
    comparison = start()
    run_chunk(comparison.pk)
    beats = iter(range(1000))
    real = claims.renew

    def renew(waiting: Any, token: str) -> int:
        if next(beats) == 2:
            cancel_comparison(comparison)
        return real(waiting, token)

    monkeypatch.setattr(claims, "renew", renew)
    judging.judge_cases(comparison.pk)
    assert 0 < len(remote.asked) < 10
    assert not JudgeVerdict.objects.exists()


# ------------------------------------------------------------------------------------------- places


def test_no_more_questions_are_under_way_than_there_are_places(
    given: Any, compared: Any, remote: Any, settings: Any
) -> None:
    settings.JUDGE_CONCURRENCY = 3
    settings.JUDGE_CACHE = False
    remote.seconds = 0.05
    given(expecting(*({**SEMANTIC, "id": f"e{n}"} for n in range(6))))
    started = time.monotonic()
    compared()
    assert (len(remote.asked), remote.most_at_once) == (12, 3)
    assert time.monotonic() - started < 12 * 0.05 + 5
    assert JudgePlace.objects.count() == 3
    assert set(JudgePlace.objects.values_list("claim_token", flat=True)) == {""}


def test_where_all_places_are_taken_nothing_is_claimed(waiting: Any, remote: Any, settings: Any) -> None:
    settings.JUDGE_CONCURRENCY = 2
    soon = timezone.now() + timedelta(minutes=1)
    for number in (1, 2):
        JudgePlace.objects.create(provider="remote", number=number, claim_token="x", lease_expires_at=soon)
    report = judging.judge_cases(waiting.pk)
    assert (report.is_full, report.claimed) == (True, 0)
    assert set(Case.objects.values_list("judging_attempts", flat=True)) == {0}
    # A place of a process that died is free again, others' are not touched.
    JudgePlace.objects.filter(number=1).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    run_here(waiting.pk)
    assert remote.most_at_once == 1
    assert list(JudgePlace.objects.order_by("number").values_list("claim_token", flat=True)) == ["", "x"]


def test_a_pause_holds_no_place(given: Any, compared: Any, remote: Any, settings: Any) -> None:
    settings.JUDGE_CONCURRENCY = 1
    settings.JUDGE_CACHE = False
    seen: dict[str, int] = {}

    def says(request: Any) -> Any:
        seen[request.rubric] = seen.get(request.rubric, 0) + 1
        if request.rubric == "busy" and seen["busy"] == 1:
            return JudgeError("rate_limited", "x", retry_after=0.3)
        return verdict()

    remote.says = says
    given(expecting({**SEMANTIC, "id": "a", "rubric": "busy"}, {**SEMANTIC, "id": "b", "rubric": "other"}))
    compared()
    order = [request.rubric for request in remote.asked]
    # The other questions went out while the first one waited.
    assert order[0] == "busy"
    assert order.index("other") < len(order) - 1 - order[::-1].index("busy")


# ------------------------------------------------------------------------------------------- Celery


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[Any, ...]]]:
    """The messages that would have gone out."""
    messages: list[tuple[str, tuple[Any, ...]]] = []

    def deliver(task: Any, *args: Any, **more: Any) -> bool:
        messages.append((task.name, args))
        return True

    monkeypatch.setattr("evaluations.dispatch.deliver", deliver)
    return messages


def test_storing_wakes_a_judge_and_the_task_finishes_the_comparison(
    given: Any, start: Any, remote: Any, sent: Any, django_capture_on_commit_callbacks: Any
) -> None:
    given(expecting(), candidate=documents.GOOD)
    comparison = start()
    with django_capture_on_commit_callbacks(execute=True):
        tasks.run_chunk(comparison.pk)
    assert sent == [("evaluations.tasks.judge_cases", (comparison.pk,))]
    tasks.judge_cases(comparison.pk)
    tasks.judge_cases(comparison.pk)  # delivered twice
    comparison.refresh_from_db()
    assert comparison.state == "COMPLETED"
    assert JudgeVerdict.objects.count() == 2


def test_the_sweep_wakes_judges_for_what_waits(
    waiting: Any, sent: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        assert recover().woken == (waiting.pk,)
    assert sent == [("evaluations.tasks.judge_cases", (waiting.pk,))]
    # One that is at it is left alone.
    claims.claim(claims.cases_to_judge(waiting.pk), token="busy", limit=9)
    with django_capture_on_commit_callbacks(execute=True):
        assert recover().woken == ()


# --------------------------------------------------------------------------------- rows say no nonsense


@pytest.mark.parametrize(
    "change",
    [
        {"score": None}, {"score": 1.5}, {"label": None}, {"label": "good"}, {"confidence": None},
        {"status": "ERROR"}, {"error_kind": "timeout"}, {"status": "SKIPPED"}, {"result": None},
    ],
)  # fmt: skip
def test_the_database_refuses_a_verdict_that_is_none(waiting: Any, change: dict[str, Any]) -> None:
    run_here(waiting.pk)
    row = JudgeVerdict.objects.first()
    fields = {name: getattr(row, name) for name in [one.attname for one in row._meta.concrete_fields]}
    del fields["id"]
    case = Case.objects.first()
    fresh = ExpectationResult.objects.create(
        case=case, position=9, expectation_id="other", type="semantic", status="PASS", effective_status="PASS"
    )
    fields["result_id"] = fresh.pk
    if "result" in change:
        fields["result_id"] = None
    fields.update({name: value for name, value in change.items() if name != "result"})
    with pytest.raises(IntegrityError), transaction.atomic():
        JudgeVerdict.objects.create(**fields)


def test_a_verdict_is_never_changed(waiting: Any) -> None:
    run_here(waiting.pk)
    with pytest.raises(IntegrityError), transaction.atomic():
        JudgeVerdict.objects.update(score=1.0)
    with pytest.raises(IntegrityError), transaction.atomic():
        JudgeVerdict.objects.all()._raw_delete("default")


def test_a_case_with_a_judge_has_no_verdict(waiting: Any) -> None:
    for change in ({"verdict": "PASSED"}, {"claim_token": "x"}, {"lease_expires_at": timezone.now()}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Case.objects.update(**change)


def test_threads_of_a_judge_touch_no_row(
    given: Any, compared: Any, remote: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would find another transaction, or lock the one that waits for them."""
    seen: set[str] = set()

    def says(request: Any) -> Any:
        seen.add(threading.current_thread().name)
        return verdict()

    remote.says = says
    given(expecting(), candidate=documents.GOOD)
    compared()
    assert seen == {"judge"}
