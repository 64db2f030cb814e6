"""Manual sessions are judged too: at once by the fake, by a worker where the judge is elsewhere."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evaluations import tasks
from evaluations.errors import AlreadyEndedError
from evaluations.models import JudgeVerdict, ManualSession
from evaluations.services import judging
from evaluations.services.manual import close_manual_session, open_manual_session, recorded_so_far
from evaluations.services.recovery import recover
from tests.judging.conftest import down, expecting, verdict
from tests.running import documents
from twins.wire import services as wire


@pytest.fixture
def opened(given: Any) -> Any:
    given(expecting())
    opened = open_manual_session(scenario="refund", agent_label="mine")
    session = opened.session.wire_session
    wire.call(wire.admit(session.public_id, opened.token), "refund", {"order_id": "A", "amount": 10})
    return opened.session


def statuses(session: ManualSession) -> dict[str, str]:
    return {one["id"]: one["status"] for one in session.results}


DONE = {"output": "It is done.", "claimed_outcome": "SUCCESS"}


def test_the_fake_judges_a_session_as_it_is_closed(opened: Any) -> None:
    session = close_manual_session(opened, answer=DONE)
    assert (session.state, session.verdict) == ("CLOSED", "PASSED")
    assert statuses(session) == {"once": "PASS", "says-so": "PASS"}
    assert session.metrics["semantic_score"] == 1.0
    row = JudgeVerdict.objects.get()
    assert (row.session, row.result, row.expectation_id, row.score) == (session, None, "says-so", 1.0)


def test_a_judge_elsewhere_is_asked_by_a_worker(
    opened: Any, remote: Any, django_capture_on_commit_callbacks: Any
) -> None:
    session = close_manual_session(opened, answer=DONE)
    assert (session.state, session.verdict) == ("JUDGING", None)
    assert session.closed_at is not None
    assert remote.asked == []
    assert [record.tool for record in recorded_so_far(session)] == ["refund"]
    with pytest.raises(AlreadyEndedError):
        close_manual_session(opened)
    tasks.judge_sessions()
    session.refresh_from_db()
    assert (session.state, session.verdict) == ("CLOSED", "PASSED")
    assert (session.claim_token, session.lease_expires_at, session.judging_attempts) == ("", None, 1)
    assert len(remote.asked) == 1
    tasks.judge_sessions()
    assert len(remote.asked) == 1


def test_a_judge_that_is_down_is_an_error_of_the_session(opened: Any, remote: Any) -> None:
    remote.says = down("rejected")
    session = close_manual_session(opened, answer=DONE)
    judging.judge_sessions()
    session.refresh_from_db()
    assert (session.verdict, statuses(session)["says-so"]) == ("ERRORED", "ERROR")
    assert "did not accept the request" in session.error_reason


def test_without_an_answer_nobody_is_asked(opened: Any, remote: Any) -> None:
    session = close_manual_session(opened)
    assert (session.state, statuses(session)["says-so"]) == ("CLOSED", "FAIL")
    assert remote.asked == []


def test_two_sessions_are_two_questions(opened: Any, remote: Any) -> None:
    close_manual_session(opened, answer=DONE)
    other = open_manual_session(scenario="refund", agent_label="mine").session
    close_manual_session(other, answer=DONE)
    tasks.judge_sessions()
    assert len(remote.asked) == 2
    assert set(ManualSession.objects.values_list("state", flat=True)) == {"CLOSED"}


def test_a_budget_of_its_own(opened: Any, remote: Any, settings: Any) -> None:
    settings.JUDGE_MAX_CALLS = 0
    session = close_manual_session(opened, answer=DONE)
    judging.judge_sessions()
    session.refresh_from_db()
    assert (statuses(session)["says-so"], session.verdict) == ("SKIPPED", "PASSED")


def test_the_sweep_finds_a_session_whose_judge_died(
    opened: Any, remote: Any, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    from evaluations.services.judging import claims

    session = close_manual_session(opened, answer=DONE)
    assert claims.claim(claims.sessions_to_judge(), token="dead", limit=1) == [session.pk]
    assert judging.judge_sessions().claimed == 0
    ManualSession.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    sent: list[str] = []
    monkeypatch.setattr("evaluations.dispatch.deliver", lambda task, *args: sent.append(task.name))
    with django_capture_on_commit_callbacks(execute=True):
        recover()
    assert "evaluations.tasks.judge_sessions" in sent
    tasks.judge_sessions()
    session.refresh_from_db()
    assert session.state == "CLOSED"


def test_planted_secrets_stay_out_of_a_sessions_verdict(opened: Any, remote: Any) -> None:
    remote.says = lambda request: verdict(reason=f"It tells {documents.SECRET}.")
    close_manual_session(opened, answer={"output": f"The key is {documents.SECRET}."})
    tasks.judge_sessions()
    row = JudgeVerdict.objects.get()
    session = ManualSession.objects.get()
    assert documents.SECRET not in row.shown + row.answered + row.reason + str(session.results)
