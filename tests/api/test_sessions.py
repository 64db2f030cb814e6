"""Manual sessions over the API: opened, worked on, closed and read, each with the right answer."""

from __future__ import annotations

from typing import Any

import pytest

from evaluations.models import ManualSession
from twins.wire import services as wire

pytestmark = pytest.mark.django_db
ASKED = {"scenario": "refund", "agent_label": "mine 0.1"}


def work(body: Any, tool: str, **arguments: Any) -> Any:
    public_id = body["tools_base_url"].rsplit("/", 1)[1]
    token = body["tool_headers"]["Authorization"].removeprefix("Bearer ")
    return wire.call(wire.admit(public_id, token), tool, arguments).reply


def test_a_session_from_opening_to_grades(given: Any, api: Any) -> None:
    given()
    editor = api("run", role="editor", name="ed")
    opened = editor.post("sessions/", ASKED)
    assert opened.status_code == 201
    assert opened.body["state"] == "OPEN"
    assert work(opened.body, "refund", order_id="A", amount=10).status == 200
    address = f"sessions/{opened.body['id']}/"
    live = editor.get(address)
    assert [record["tool"] for record in live.body["records"]] == ["refund"]
    assert "tool_headers" not in live.body
    closed = editor.post(f"{address}close/", {"answer": {"output": "paid", "claimed_outcome": "SUCCESS"}})
    assert closed.status_code == 200
    assert (closed.body["state"], closed.body["verdict"]) == ("CLOSED", "PASSED")
    assert {one["id"]: one["status"] for one in closed.body["results"]} == {
        "once": "PASS",
        "no-retry": "PASS",
    }
    assert closed.body["answer"]["output"] == "paid"
    again = editor.post(f"{address}close/", {})
    assert (again.status_code, again.body["code"]) == (409, "already_ended")
    assert [one["id"] for one in editor.get("sessions/?state=CLOSED").body["results"]] == [opened.body["id"]]


def test_the_same_request_under_a_key_opens_one_session(given: Any, api: Any) -> None:
    given()
    editor = api("run", role="editor", name="ed")
    key = {"Idempotency-Key": "k1"}
    first, second = (editor.post("sessions/", ASKED, headers=key) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.body["id"] == second.body["id"]
    assert second.body["tool_headers"] is None
    other = editor.post("sessions/", {**ASKED, "agent_label": "other"}, headers=key)
    assert (other.status_code, other.body["code"]) == (409, "idempotency_conflict")
    assert ManualSession.objects.count() == 1


@pytest.mark.parametrize(
    "change",
    [{"scenario": "nowhere"}, {"agent_label": ""}, {"lifetime_seconds": 1}, {"trial": 0}, {"unknown": 1}],
)
def test_what_cannot_be_opened_is_400_and_opens_nothing(given: Any, api: Any, change: Any) -> None:
    given()
    answer = api("run", role="editor", name="ed").post("sessions/", {**ASKED, **change})
    assert answer.status_code == 400
    assert answer.body["problems"]
    assert not ManualSession.objects.exists()


@pytest.mark.parametrize("answer", [{"output": 5}, {"claimed_outcome": "DONE"}, "text"])
def test_an_answer_that_cannot_be_read_leaves_it_open(given: Any, api: Any, answer: Any) -> None:
    given()
    editor = api("run", role="editor", name="ed")
    opened = editor.post("sessions/", ASKED).body
    refused = editor.post(f"sessions/{opened['id']}/close/", {"answer": answer})
    assert refused.status_code == 400
    assert ManualSession.objects.get().is_open


def test_scopes_and_roles_are_asked_for(given: Any, api: Any) -> None:
    given()
    opened = api("run", role="editor", name="ed").post("sessions/", ASKED).body
    reader = api("read", "run", role="viewer", name="vi")
    assert reader.get(f"sessions/{opened['id']}/").status_code == 200
    for path, body in (("sessions/", ASKED), (f"sessions/{opened['id']}/close/", {})):
        assert reader.post(path, body).status_code == 403
    assert api("read", role="editor", name="ed").post("sessions/", ASKED).status_code == 403
    assert reader.get("sessions/999/").status_code == 404
    assert ManualSession.objects.get().is_open
