"""Manual sessions: opening, working on one over the wire, closing, and what the pages show of it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from evaluations.errors import AlreadyEndedError, ConflictError, RequestError
from evaluations.models import ManualSession
from evaluations.services import manual
from evaluations.services.manual import (
    close_manual_session,
    end_overdue,
    open_manual_session,
    recorded_so_far,
)
from tests.running import documents
from twins.wire import services as wire
from twins.wire.errors import SessionClosedError
from twins.wire.models import WireRecord, WireSession

SECRET = documents.SECRET


@pytest.fixture
def opened(given: Any) -> Any:
    given()
    return open_manual_session(scenario="refund", agent_label=" my agent 0.1 ")


def call(opened: Any, tool: str, **arguments: Any) -> Any:
    session = opened.session.wire_session
    return wire.call(wire.admit(session.public_id, opened.token), tool, arguments).reply


def expire(session: ManualSession) -> None:
    past = timezone.now() - timedelta(seconds=1)
    ManualSession.objects.filter(pk=session.pk).update(expires_at=past)
    WireSession.objects.filter(pk=session.wire_session_id).update(expires_at=past)


# ------------------------------------------------------------------------------------ services


def test_a_session_is_worked_on_closed_and_graded(opened: Any) -> None:
    assert call(opened, "lookup", order_id="A").status == 200
    assert call(opened, "refund", order_id="A", amount=10, key="k").status == 200
    session = close_manual_session(opened.session, answer={"output": "done", "claimed_outcome": "SUCCESS"})
    session.refresh_from_db()
    assert (session.state, session.verdict, session.agent_label) == ("CLOSED", "PASSED", "my agent 0.1")
    assert (session.tool_call_count, session.claimed_outcome) == (2, "SUCCESS")
    assert {one["id"]: one["status"] for one in session.results} == {"once": "PASS", "no-retry": "PASS"}
    assert [one["tool"] for one in session.records] == ["lookup", "refund"]
    assert [record.tool for record in recorded_so_far(session)] == ["lookup", "refund"]
    assert recorded_so_far(session)[1].idempotency_key == "k"
    assert session.final_state_digest != session.initial_state_id
    assert not WireRecord.objects.exists()


def test_a_closed_session_takes_no_more_calls(opened: Any) -> None:
    close_manual_session(opened.session)
    with pytest.raises(SessionClosedError):
        call(opened, "refund", order_id="A", amount=10)
    assert ManualSession.objects.get().verdict == "FAILED"


def test_the_token_is_revoked_before_anything_is_graded(opened: Any, monkeypatch: Any) -> None:
    seen = []
    real = manual.graded

    def grading(*arguments: Any) -> Any:
        seen.append(WireSession.objects.get().revoked_at is not None)
        return real(*arguments)

    monkeypatch.setattr(manual, "graded", grading)
    close_manual_session(opened.session)
    assert seen == [True]


def test_without_an_answer_nothing_is_said_about_the_run(opened: Any) -> None:
    call(opened, "refund", order_id="A", amount=10)
    session = close_manual_session(opened.session)
    assert session.answer is None
    assert session.verdict == "PASSED"
    assert "agentRun" not in [one["id"] for one in session.results]


def test_it_is_closed_once(opened: Any) -> None:
    close_manual_session(opened.session)
    with pytest.raises(AlreadyEndedError):
        close_manual_session(opened.session)


@pytest.mark.parametrize(
    "answer", ["text", {"output": 5}, {"claimed_outcome": "DONE"}, {"proposal": float("nan")}]
)
def test_an_answer_that_cannot_be_read_leaves_it_open(opened: Any, answer: Any) -> None:
    with pytest.raises(RequestError, match="answer"):
        close_manual_session(opened.session, answer=answer)
    assert ManualSession.objects.get().is_open
    assert call(opened, "lookup", order_id="A").status == 200


def test_the_limit_of_calls_is_a_finding(opened: Any, monkeypatch: Any) -> None:
    WireSession.objects.update(limit_reached="more than 200 tool calls")
    session = close_manual_session(opened.session)
    assert session.results[-1]["id"] == "agentRun"
    assert session.verdict == "FAILED"


def test_secrets_are_hidden_while_it_is_open_and_after(opened: Any) -> None:
    call(opened, "config")
    call(opened, "note", name="x", text=f"key {SECRET}")
    assert SECRET not in repr(recorded_so_far(opened.session))
    session = close_manual_session(opened.session, answer={"output": f"it is {SECRET}"})
    session.refresh_from_db()
    assert SECRET not in repr([session.records, session.results, session.answer])
    assert "[REDACTED]" in repr(session.records)


def test_its_time_ends_it_by_itself(opened: Any) -> None:
    call(opened, "refund", order_id="A", amount=10)
    expire(opened.session)
    with pytest.raises(SessionClosedError):
        call(opened, "refund", order_id="A", amount=10)
    assert end_overdue() == 1
    session = ManualSession.objects.get()
    assert (session.state, session.verdict, session.closed_by, session.tool_call_count) == (
        "CLOSED",
        "PASSED",
        None,
        1,
    )
    assert end_overdue() == 0


def test_the_sweep_empties_what_no_worker_closes_and_leaves_what_is_open(opened: Any) -> None:
    from evaluations.services.kits import build_kit
    from evaluations.services.recovery import recover
    from evaluations.services.remote import session_spec

    kit = build_kit(opened.session.scenario_version, opened.session.twin_version)
    abandoned, _ = wire.open_session(
        spec=session_spec(kit, 1, max_calls=5), label="case 1", lifetime_seconds=60
    )
    WireSession.objects.filter(pk=abandoned.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    recover(wake=lambda *_: None)
    assert list(WireSession.objects.filter(emptied_at=None)) == [opened.session.wire_session]
    assert ManualSession.objects.get().is_open


def test_records_that_are_gone_are_said(opened: Any) -> None:
    wire.close_session(opened.session.wire_session_id)
    session = close_manual_session(opened.session)
    assert session.verdict == "ERRORED"
    assert "emptied" in session.error_reason


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"scenario": "nowhere"}, "unknown scenario 'nowhere'"),
        ({"agent_label": "  "}, "agent_label"),
        ({"agent_label": "x" * 201}, "agent_label"),
        ({"lifetime_seconds": 59}, "lifetime_seconds"),
        ({"lifetime_seconds": 86_401}, "lifetime_seconds"),
        ({"trial": 0}, "trial"),
        ({"seed": 2**63}, "seed"),
    ],
)
def test_what_cannot_be_opened_is_refused_with_every_problem(given: Any, fields: Any, said: str) -> None:
    given()
    with pytest.raises(RequestError, match=said):
        open_manual_session(**{"scenario": "refund", "agent_label": "x", **fields})
    assert not WireSession.objects.exists()


def test_the_same_form_opens_one_session_and_shows_its_token_once(given: Any) -> None:
    given()
    token = uuid4()
    first = open_manual_session(scenario="refund", agent_label="x", form_token=token)
    second = open_manual_session(scenario="refund", agent_label="x", form_token=token)
    for other in ({"agent_label": "y"}, {"seed": 1}, {"trial": 2}, {"trial": 0}, {"lifetime_seconds": 61}):
        with pytest.raises(ConflictError, match=f"opened session {first.session.pk} "):
            open_manual_session(**{"scenario": "refund", "agent_label": "x", "form_token": token} | other)
    assert (first.created, second.created, second.token) == (True, False, None)
    assert first.session == second.session
    assert WireSession.objects.count() == 1


def test_the_token_is_stored_nowhere(opened: Any) -> None:
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            assert opened.token not in repr(cursor.fetchall()), table


def test_trials_and_seeds_are_those_of_a_comparison(given: Any) -> None:
    from scenarios.documents.cases import case_seed
    from scenarios.documents.scenario import load_scenario

    given()
    session = open_manual_session(scenario="refund", agent_label="x", trial=3, seed=7).session
    assert session.seed == case_seed(load_scenario(documents.scenario("refund")), 7, 3)


def test_the_database_refuses_to_change_a_closed_one(opened: Any) -> None:
    close_manual_session(opened.session)
    for change in ({"verdict": "PASSED"}, {"records": []}, {"state": "OPEN"}):
        with pytest.raises(DatabaseError, match="manualsession"), transaction.atomic():
            ManualSession.objects.update(**change)


# --------------------------------------------------------------------------------------- pages


def form_of(client: Client, **values: str) -> dict[str, str]:
    page = client.get("/sessions/open/").content.decode()
    token = re.search(r'name="form_token" value="([^"]+)"', page)
    assert token
    return {"form_token": token[1], "scenario": "refund", "agent_label": "mine 1", "minutes": "60", **values}


def opened_by(client: Client) -> tuple[str, ManualSession]:
    page = client.post("/sessions/open/", form_of(client))
    assert page.status_code == 201
    found = re.search(r'id="session-token">([^<]+)<', page.content.decode())
    assert found
    return found[1], ManualSession.objects.get()


def test_opening_shows_addresses_and_the_token_once(given: Any, editor: Client) -> None:
    given()
    token, session = opened_by(editor)
    assert wire.admit(session.wire_session.public_id, token)
    page = editor.get(f"/sessions/{session.pk}/")
    assert token not in page.content.decode()
    for address in (session.wire_session.tools_base_url, session.wire_session.mcp_url):
        assert address in page.content.decode()
    assert session.created_by is not None
    assert session.created_by.username == "editor"


def test_sending_the_form_again_leads_to_the_session_without_its_token(given: Any, editor: Client) -> None:
    given()
    form = form_of(editor)
    first = editor.post("/sessions/open/", form)
    again = editor.post("/sessions/open/", form)
    assert (first.status_code, again.status_code) == (201, 303)
    assert again["Location"] == ManualSession.objects.get().get_absolute_url()


def test_a_form_that_was_changed_after_it_was_sent_is_a_conflict(given: Any, editor: Client) -> None:
    given()
    form = form_of(editor)
    editor.post("/sessions/open/", form)
    again = editor.post("/sessions/open/", {**form, "agent_label": "other"})
    assert again.status_code == 409
    assert ManualSession.objects.count() == 1


def test_the_scenario_is_chosen_by_the_link(given: Any, editor: Client) -> None:
    given(documents.scenario("a"), documents.scenario("refund"))
    assert '<a class="btn btn--small" href="/sessions/open/?scenario=refund">' in (
        editor.get("/scenarios/refund/").content.decode()
    )
    assert (
        '<option value="refund" selected>' in editor.get("/sessions/open/?scenario=refund").content.decode()
    )


@pytest.mark.parametrize("values", [{"agent_label": ""}, {"scenario": "nowhere"}, {"minutes": "7"}])
def test_a_form_that_does_not_hold_comes_back(given: Any, editor: Client, values: dict[str, str]) -> None:
    given()
    page = editor.post("/sessions/open/", form_of(editor, **values))
    assert page.status_code == 422
    assert b"field__error" in page.content
    assert not ManualSession.objects.exists()


def test_what_is_called_shows_live_and_only_when_it_is_new(given: Any, editor: Client) -> None:
    given()
    token, session = opened_by(editor)
    address = f"/sessions/{session.pk}/"
    nothing = editor.get(address, {"seen": "0"}, headers={"HX-Request": "true"})
    assert (nothing.status_code, nothing.content) == (204, b"")
    wire.call(wire.admit(session.wire_session.public_id, token), "refund", {"order_id": "A", "amount": 10})
    fragment = editor.get(address, {"seen": "0"}, headers={"HX-Request": "true"})
    assert fragment.status_code == 200
    text = fragment.content.decode()
    assert "<html" not in text
    assert "refund" in text
    assert "seen=1" in text
    assert 'hx-trigger="every 2s"' in text


def test_an_ended_session_stops_the_polling(given: Any, editor: Client) -> None:
    given()
    _, session = opened_by(editor)
    address = f"/sessions/{session.pk}/"
    expire(session)
    over = editor.get(address, {"seen": "0"}, headers={"HX-Request": "true"})
    assert b"its time is over" in over.content
    assert b"hx-trigger" not in over.content
    close_manual_session(session)
    closed = editor.get(address, {"seen": "0"}, headers={"HX-Request": "true"})
    assert closed["HX-Redirect"] == address


def test_closing_grades_and_shows_it(given: Any, editor: Client) -> None:
    given()
    token, session = opened_by(editor)
    for _ in range(2):
        wire.call(
            wire.admit(session.wire_session.public_id, token), "refund", {"order_id": "A", "amount": 10}
        )
    answered = editor.post(f"/sessions/{session.pk}/close/", {"output": "paid", "claimed_outcome": "SUCCESS"})
    assert answered.status_code == 303
    page = editor.get(answered["Location"]).content.decode()
    session.refresh_from_db()
    assert session.verdict == "FAILED"
    assert session.closed_by is not None
    assert "FAILED" in page
    assert "applied AGAIN (first by #1)" in page
    assert "The claim is contradicted" in page
    assert "hx-trigger" not in page
    assert "/close/" not in page
    again = editor.post(f"/sessions/{session.pk}/close/", {})
    assert again.status_code == 303


def test_a_claim_that_cannot_be_read_keeps_the_form(given: Any, editor: Client) -> None:
    given()
    _, session = opened_by(editor)
    page = editor.post(f"/sessions/{session.pk}/close/", {"output": "typed", "claimed_outcome": "DONE"})
    assert page.status_code == 422
    assert b"typed" in page.content
    assert ManualSession.objects.get().is_open


@pytest.mark.parametrize("role", ["viewer", "reviewer"])
def test_who_may_not_run_may_only_look(given: Any, person: Any, role: str) -> None:
    given()
    session = open_manual_session(scenario="refund", agent_label="x").session
    client = person(role)
    assert client.get("/sessions/").status_code == 200
    page = client.get(f"/sessions/{session.pk}/")
    assert page.status_code == 200
    assert b"/close/" not in page.content
    assert client.get("/sessions/open/").status_code == 403
    assert client.post("/sessions/open/", {}).status_code == 403
    assert client.post(f"/sessions/{session.pk}/close/", {}).status_code == 403
    assert ManualSession.objects.get().is_open


def test_the_list_costs_the_same_for_many(
    given: Any, viewer: Client, django_assert_max_num_queries: Any
) -> None:
    given()
    for number in range(5):
        open_manual_session(scenario="refund", agent_label=f"agent {number}")
    with django_assert_max_num_queries(8):
        page = viewer.get("/sessions/")
    assert page.content.count(b"row-link") == 5


def test_no_session_and_no_scenario_say_what_to_do(editor: Client, db: Any) -> None:
    assert b"No sessions yet" in editor.get("/sessions/").content
    assert b"No scenarios yet" in editor.get("/sessions/open/").content
    assert editor.get("/sessions/99/").status_code == 404
