"""What is started, stopped, opened and closed stands in the audit log, with the account and its token."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from evaluations.models import ManualSession
from evaluations.services.manual import end_overdue
from reviews.models import AuditEntry
from tests.api.conftest import account
from tests.running import documents

pytestmark = pytest.mark.django_db
PAIR = {"agent": documents.AGENT, "baseline": "1.0.0", "candidate": "2.0.0"}


def last(action: str) -> AuditEntry:
    """The one entry of this action."""
    return AuditEntry.objects.get(action=action)


def test_starting_and_cancelling_a_comparison(given: Any, api: Any) -> None:
    given()
    editor = api("run", role="editor", name="ed")
    number = editor.post("comparisons/", PAIR, headers={"Idempotency-Key": "k1"}).body["id"]
    editor.post("comparisons/", PAIR, headers={"Idempotency-Key": "k1"})
    assert editor.post(f"comparisons/{number}/cancel/").status_code == 200
    assert editor.post(f"comparisons/{number}/cancel/").status_code == 409

    started, cancelled = last("comparison_started"), last("comparison_cancelled")
    for entry in (started, cancelled):
        assert (entry.actor_name, entry.via) == ("ed", "token 1")
        assert (entry.subject_type, entry.subject_id) == ("comparison", str(number))
    assert started.after == {**PAIR, "seed": 0, "cases": 1}
    assert (cancelled.before, cancelled.after) == ({"state": "QUEUED"}, {"state": "CANCELLED"})


def test_a_comparison_that_cannot_be_started_leaves_no_entry(given: Any, api: Any) -> None:
    given()
    refused = api("run", role="editor", name="ed").post("comparisons/", {**PAIR, "candidate": "9.9.9"})
    assert refused.status_code == 400
    assert not AuditEntry.objects.filter(subject_type="comparison").exists()


def test_opening_and_closing_a_session_never_the_token(given: Any, api: Any) -> None:
    given()
    editor = api("run", role="editor", name="ed")
    body = editor.post("sessions/", {"scenario": "refund", "agent_label": "mine 0.1"}).body
    editor.post(f"sessions/{body['id']}/close/", {})

    opened, closed = last("session_opened"), last("session_closed")
    for entry in (opened, closed):
        assert (entry.actor_name, entry.via) == ("ed", "token 1")
        assert (entry.subject_type, entry.subject_id) == ("manualsession", str(body["id"]))
    assert (opened.after["scenario"], opened.after["agent_label"]) == ("refund", "mine 0.1")
    assert (closed.before["state"], closed.after["state"]) == ("OPEN", "CLOSED")
    secret = body["tool_headers"]["Authorization"].removeprefix("Bearer ")
    assert secret not in str(list(AuditEntry.objects.values()))


def test_a_session_whose_time_is_over_is_closed_by_nobody(given: Any, api: Any) -> None:
    given()
    number = api("run").post("sessions/", {"scenario": "refund", "agent_label": "mine 0.1"}).body["id"]
    ManualSession.objects.filter(pk=number).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert end_overdue() == 1
    assert (last("session_closed").actor, last("session_closed").via) == (None, "command")


def test_from_the_pages_the_entry_says_session_and_leads_back(given: Any) -> None:
    given()
    client = Client()
    client.force_login(account("ed", "editor"))
    form = {"scenario": "refund", "agent_label": "mine", "minutes": "15", "form_token": str(uuid4())}
    client.post("/sessions/open/", form)
    assert last("session_opened").via == "session"
    page = client.get("/audit/").content.decode()
    assert f'href="/sessions/{ManualSession.objects.get().pk}/"' in page
