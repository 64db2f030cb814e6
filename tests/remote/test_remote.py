"""Cases of agents that are asked over HTTP: what is stored, what is not, and when a session ends."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from django.db import OperationalError

from evaluations import tasks
from evaluations.errors import NotRunnableError
from evaluations.models import Case, ExpectationResult, ToolCall
from evaluations.services import claims, kits, outcomes, remote, running
from evaluations.services.comparisons import cancel_comparison
from evaluations.services.remote import session_spec
from evaluations.services.running import run_chunk
from scenarios.models import ScenarioVersion
from tests.remote.fake_agent import Asked, answers, hangs, resets, response, sends
from tests.running import documents
from twins.models import TwinVersion
from twins.wire.models import WireRecord, WireSession

ANSWER = {"output": "done", "claimed_outcome": "REFUSED"}


def open_sessions() -> int:
    return WireSession.objects.filter(emptied_at=None).count()


# ------------------------------------------------------------------------------ how a case ends


def test_an_answer_is_graded_and_stored_as_in_process(given: Any, compared: Any, serve: Any) -> None:
    given()
    agent = serve(answers(ANSWER))
    comparison = compared()
    assert comparison.state == "COMPLETED"
    for case in Case.objects.all():
        assert (case.state, case.verdict, case.claimed_outcome) == ("FINISHED", "FAILED", "REFUSED")
        assert dict(case.results.values_list("expectation_id", "status")) == {
            "once": "FAIL",
            "no-retry": "PASS",
        }
        assert case.initial_state_digest == case.final_state_digest == case.pair.initial_state_id
        assert case.used_seed == case.pair.seed
    assert sorted(asked.body["agent_version"] for asked in agent.asked) == ["1.0.0", "2.0.0"]
    assert {asked.body["run_context"]["case_id"] for asked in agent.asked} == {
        str(pk) for pk in Case.objects.values_list("pk", flat=True)
    }
    assert len({asked.body["tool_headers"]["Authorization"] for asked in agent.asked}) == 2
    assert (WireSession.objects.count(), open_sessions()) == (2, 0)


@pytest.mark.parametrize(
    ("behave", "kind", "verdict"),
    [
        (answers({"detail": "no"}, status=422), "refused", "ERRORED"),
        (answers({"error": {"code": "VERSION_UNAVAILABLE"}}, status=404), "version_unavailable", "ERRORED"),
        (sends(response(302, "")), "unreachable", "ERRORED"),
        (sends(response(500, "boom")), "crashed", "FAILED"),
        (resets(), "crashed", "FAILED"),
        (sends(response(200, "hello")), "garbage", "FAILED"),
        (hangs(), "timeout", "FAILED"),
    ],
)
def test_a_failure_is_a_finding_about_the_run(
    behave: Any, kind: str, verdict: str, given: Any, compared: Any, serve: Any
) -> None:
    given(documents.scenario("refund", timeoutSeconds=1))
    serve(behave)
    comparison = compared()
    case = Case.objects.first()
    assert case is not None
    finding = case.results.get(type="agentRun")
    assert (case.verdict, finding.evidence["kind"], finding.critical) == (verdict, kind, True)
    others = set(case.results.exclude(type="agentRun").values_list("status", flat=True))
    if verdict == "ERRORED":
        # Whoever never got to work is not judged.
        assert (finding.status, others) == ("ERROR", {"SKIPPED"})
        assert comparison.state == "INCOMPLETE"
    else:
        assert finding.status == "FAIL"
        assert "SKIPPED" not in others
    assert open_sessions() == 0


def test_nobody_listening_is_an_error(given: Any, compared: Any, settings: Any) -> None:
    given()
    settings.AGENTTWIN_AGENT_ENDPOINTS = {documents.AGENT: "http://127.0.0.1:1"}
    assert compared().state == "INCOMPLETE"
    assert set(ExpectationResult.objects.filter(type="agentRun").values_list("status", flat=True)) == {
        "ERROR"
    }


@pytest.mark.parametrize(
    ("closing", "verdict", "reason"),
    [
        ({"limit_reached": "more than 200 tool calls"}, "FAILED", "used up its tool calls"),
        ({"twin_error": "KeyError: x"}, "ERRORED", "the twin broke: KeyError: x"),
        ({"disturbed": "the database went away"}, "ERRORED", "did not reach the agent"),
    ],
)
def test_how_the_session_ended_decides_before_the_answer(
    closing: Any, verdict: str, reason: str, given: Any, compared: Any, serve: Any, monkeypatch: Any
) -> None:
    given()
    serve(answers(ANSWER))
    real = remote.close_session
    monkeypatch.setattr(remote, "close_session", lambda pk: replace(real(pk), **closing))
    compared()
    case = Case.objects.first()
    assert case is not None
    assert case.verdict == verdict
    assert reason in case.error_reason


@pytest.mark.parametrize("behave", [answers(ANSWER), answers({"a": 1}, status=500), resets(), sends(b"no")])
def test_an_agent_that_could_not_reach_its_tools_is_not_judged(
    behave: Any, given: Any, compared: Any, serve: Any, settings: Any
) -> None:
    """However it ends then: an agent may well crash of that, and no version is better or worse for it."""
    given()
    serve(behave)
    settings.AGENTTWIN_PUBLIC_URL = "http://127.0.0.1:1"
    comparison = compared()
    assert comparison.state == "INCOMPLETE"
    for case in Case.objects.all():
        assert case.verdict == "ERRORED"
        assert "nothing answers at http://127.0.0.1:1" in case.error_reason
        assert set(case.results.values_list("status", flat=True)) == {"SKIPPED"}


def test_an_agent_whose_session_is_over_is_not_waited_for(
    given: Any, compared: Any, serve: Any, monkeypatch: Any
) -> None:
    given()
    serve(hangs())
    monkeypatch.setattr(remote, "ended_early", lambda pk: "more than 200 tool calls")
    real = remote.close_session
    monkeypatch.setattr(
        remote, "close_session", lambda pk: replace(real(pk), limit_reached="more than 200 tool calls")
    )
    started = time.monotonic()
    compared()
    assert time.monotonic() - started < 25
    assert set(Case.objects.values_list("verdict", flat=True)) == {"FAILED"}


def test_a_session_is_closed_before_anything_is_graded(
    given: Any, compared: Any, serve: Any, monkeypatch: Any
) -> None:
    given()
    serve(answers(ANSWER))
    seen = []
    real = outcomes.grade

    def grading(*arguments: Any) -> Any:
        seen.append((open_sessions(), WireRecord.objects.count()))
        return real(*arguments)

    monkeypatch.setattr(outcomes, "grade", grading)
    monkeypatch.setattr("django.conf.settings.AGENTTWIN_REMOTE_CASES", 1)
    compared()
    assert seen == [(0, 0), (0, 0)]


# -------------------------------------------------------------------------- several at a time


def slow_agent(seconds: float) -> tuple[Any, list[int]]:
    """An agent that takes its time, and how many of its requests were under way at each one's start."""
    lock, under_way, seen = threading.Lock(), [0], []

    def behave(asked: Asked, connection: Any) -> None:
        with lock:
            under_way[0] += 1
            seen.append(under_way[0])
        time.sleep(seconds)
        with lock:
            under_way[0] -= 1
        answers(ANSWER)(asked, connection)

    return behave, seen


def test_a_slow_agent_is_asked_several_times_at_once_and_no_more(
    given: Any, compared: Any, serve: Any, settings: Any
) -> None:
    settings.AGENTTWIN_REMOTE_CASES = 4
    given(*(documents.scenario(f"s{number}") for number in range(6)))
    behave, seen = slow_agent(0.5)
    serve(behave)
    assert compared().state == "COMPLETED"
    assert max(seen) == 4


def test_a_slow_agent_does_not_shrink_the_next_chunk(
    given: Any, start: Any, serve: Any, settings: Any, monkeypatch: Any
) -> None:
    settings.AGENTTWIN_REMOTE_CASES = 3
    given(*(documents.scenario(f"s{number}") for number in range(6)))
    behave, _ = slow_agent(0.3)
    serve(behave)
    comparison = start()
    limits = []
    real = running.run_chunk

    def chunk(comparison_id: int, *, limit: int, **more: Any) -> Any:
        limits.append(limit)
        return real(comparison_id, limit=limit, **more)

    monkeypatch.setattr(running, "run_chunk", chunk)
    monkeypatch.setattr(tasks, "TURN_SECONDS", 60.0)
    tasks.run_chunk(comparison.pk)
    assert limits[:2] == [4, 6]


# ----------------------------------------------------------------- what interrupts, and what is left


def test_cancelling_ends_the_waiting_and_stores_nothing(
    given: Any, start: Any, serve: Any, monkeypatch: Any
) -> None:
    given()
    serve(hangs())
    comparison = start()
    renewed = claims.renew

    def cancelled(token: str) -> int:
        if Case.objects.filter(state="RUNNING").exists():
            cancel_comparison(comparison)
        return renewed(token)

    monkeypatch.setattr(claims, "renew", cancelled)
    started = time.monotonic()
    run_chunk(comparison.pk)
    assert time.monotonic() - started < 25
    assert set(Case.objects.values_list("state", flat=True)) == {"CANCELLED"}
    assert (ToolCall.objects.count(), ExpectationResult.objects.count(), open_sessions()) == (0, 0, 0)


def test_leases_are_renewed_while_an_agent_works(
    given: Any, start: Any, serve: Any, monkeypatch: Any
) -> None:
    given()
    behave, _ = slow_agent(2.5)
    serve(behave)
    renewals = []
    real = claims.renew
    monkeypatch.setattr(claims, "renew", lambda token: renewals.append(token) or real(token))
    run_chunk(start().pk)
    assert len(renewals) >= 2
    assert set(Case.objects.values_list("state", "attempts")) == {("FINISHED", 1)}


def test_a_failing_database_releases_the_cases_and_revokes_their_tokens(
    given: Any, start: Any, serve: Any, monkeypatch: Any, settings: Any
) -> None:
    settings.AGENTTWIN_REMOTE_CASES = 1
    given(documents.scenario("a"), documents.scenario("b"))
    serve(answers(ANSWER))
    comparison = start()

    def away(*_: Any) -> Any:
        raise OperationalError("the server went away")

    with monkeypatch.context() as patch:
        patch.setattr(remote, "graded", away)
        with pytest.raises(OperationalError):
            run_chunk(comparison.pk)
    # The first was under way; the others get their attempt back.
    assert (
        list(Case.objects.order_by("pk").values_list("state", "attempts"))
        == [("QUEUED", 1)] + [("QUEUED", 0)] * 3
    )
    assert (ToolCall.objects.count(), open_sessions()) == (0, 0)


def test_a_bug_of_ours_errors_its_case_alone(given: Any, compared: Any, serve: Any, monkeypatch: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    serve(answers(ANSWER))
    real = remote.open_session

    def broken(**arguments: Any) -> Any:
        if arguments["label"] == f"case {Case.objects.order_by('pk')[0].pk}":
            raise RuntimeError("ours")
        return real(**arguments)

    monkeypatch.setattr(remote, "open_session", broken)
    compared()
    case = Case.objects.order_by("pk")[0]
    assert case.error_reason == "the harness failed: RuntimeError: ours"
    assert sorted(Case.objects.values_list("verdict", flat=True)) == ["ERRORED", "FAILED", "FAILED", "FAILED"]


def test_a_session_gone_is_an_error(given: Any, compared: Any, serve: Any, monkeypatch: Any) -> None:
    given()
    serve(answers(ANSWER))
    real = remote.close_session

    def twice(session_id: int) -> Any:
        real(session_id)
        return real(session_id)

    monkeypatch.setattr(remote, "close_session", twice)
    compared()
    assert set(Case.objects.values_list("verdict", flat=True)) == {"ERRORED"}


# ------------------------------------------------------------------------- what a case starts from


EVERYTHING = {
    "input": {
        "message": "hello",
        "context": {"tenant": "north", "customer_id": "C-1", "now": "2026-03-01T10:00:00Z"},
        "documents": [{"id": "d1", "content": "planted", "trusted": True}, {"id": "d2", "content": "x"}],
    },
    "state": {"orders": {"A": {"total": 7}, "B": None}},
    "allowedTools": ["refund", "lookup"],
    "faults": [
        {"target": "refund", "when": {"callNumber": 1}, "behavior": {"type": "timeout_after_mutation"}},
        {"target": "lookup", "behavior": {"type": "delay", "delayMs": 10}},
    ],
    "seed": 99,
}


@pytest.mark.parametrize("spec", [{}, EVERYTHING, {"allowedTools": []}])
def test_a_session_starts_from_the_very_case(spec: dict[str, Any], given: Any) -> None:
    given(documents.scenario("refund", **spec))
    scenario, twin = ScenarioVersion.objects.get(), TwinVersion.objects.get()
    kit = kits.build_kit(scenario, twin)
    stored = session_spec(kit, 5, max_calls=12)
    assert stored.max_calls == 12
    assert type(stored).from_json(stored.to_json()).case_spec() == kit.spec_for(5)


def test_an_address_nobody_could_ask_is_refused_at_the_start(given: Any, start: Any, settings: Any) -> None:
    given()
    settings.AGENTTWIN_AGENT_ENDPOINTS = {documents.AGENT: "http://user:pass@127.0.0.1"}
    with pytest.raises(NotRunnableError, match="credentials"):
        start()
    assert not Case.objects.exists()


def test_a_manifest_that_points_inside_is_refused_at_the_start(given: Any, start: Any, settings: Any) -> None:
    settings.AGENTTWIN_IN_PROCESS_AGENTS = {}
    given(runtime={"endpoint": "http://127.0.0.1:9000"})
    with pytest.raises(NotRunnableError, match="loopback"):
        start()
