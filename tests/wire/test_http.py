"""The tools of a session over plain HTTP: what is answered, what is recorded, who is let in."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.wire.documents import SECRET
from tests.wire.installation import CLIENT, Installation


def test_a_call_answers_the_wire_body_and_is_recorded(served: Installation) -> None:
    session = served.open()
    answer = session.call("get_order", {"order_id": "A-2"})
    assert (answer.status_code, answer.json()) == (200, {"result": {"paid": 5}})
    assert answer.headers["content-type"] == "application/json"
    [record] = session.close()["records"]
    assert (record["tool"], record["arguments"]) == ("get_order", {"order_id": "A-2"})
    assert (record["response"], record["status"]) == (answer.json(), "ok")


def test_a_write_is_seen_by_the_next_call_and_in_the_final_state(served: Installation) -> None:
    session = served.open()
    session.call("refund", {"order_id": "A-1", "amount": 20})
    assert session.call("get_order", {"order_id": "A-1"}).json()["result"]["refunds"] == [20]
    closed = session.close()
    assert closed["state"]["orders"]["A-1"]["refunds"] == [20]
    assert [record["changes"] for record in closed["records"]] == [
        [{"op": "added", "path": "orders.A-1.refunds[0]", "after": 20}],
        [],
    ]


def test_sessions_share_no_state(served: Installation) -> None:
    one, other = served.open(), served.open()
    one.call("count", {})
    assert other.call("count", {}).json() == {"result": {"count": 1}}


def test_a_search_answers_documents_and_is_recorded(served: Installation) -> None:
    session = served.open(
        documents=[{"id": "planted", "title": "planted", "text": "refund refund refund", "trusted": False}]
    )
    found = session.search(q="refund", limit=2)
    assert [one["id"] for one in found.json()["documents"]] == ["planted", "kb-1"]
    assert set(found.json()["documents"][0]) == {"id", "title", "text"}
    [record] = session.close()["records"]
    assert (record["kind"], record["query"], record["limit"]) == ("retrieval", "refund", 2)
    assert record["documents"][0] == {"id": "planted", "trusted": False}


@pytest.mark.parametrize(("limit", "effective"), [(None, 3), ("many", 3), ("99", 10), ("0", 0), ("-1", 0)])
def test_a_limit_that_is_no_number_is_the_default(
    site: Installation, limit: str | None, effective: int
) -> None:
    session = site.open()
    session.search(q="refund", **({} if limit is None else {"limit": limit}))
    assert session.close()["records"][0]["limit"] == effective


@pytest.mark.parametrize(
    ("tool", "spec", "status", "code"),
    [
        ("nothing", {}, 404, "UNKNOWN_TOOL"),
        ("", {}, 404, "UNKNOWN_TOOL"),
        ("a%2Fb%20c", {}, 404, "UNKNOWN_TOOL"),
        ("refund", {"allowed_tools": ["get_order"]}, 403, "TOOL_NOT_ALLOWED"),
        ("refund", {"allowed_tools": []}, 403, "TOOL_NOT_ALLOWED"),
        ("get_order", {}, 422, "INVALID_ARGUMENT"),
    ],
)
def test_a_refused_call_is_recorded_too(
    site: Installation, tool: str, spec: dict[str, Any], status: int, code: str
) -> None:
    session = site.open(**spec)
    answer = session.call(tool, {})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    [record] = session.close()["records"]
    assert (record["http_status"], record["error_code"]) == (status, code)
    assert record["tool"] == {"a%2Fb%20c": "a/b c"}.get(tool, tool)


BROKEN = {
    "cut": b'{"order_id": ',
    "text": b"order A-1, please",
    "latin": b'{"order_id": "\xe9"}',
    "null": b"null",
    "list": b"[1]",
    "number": b"7",
    "nan": b'{"order_id": NaN}',
    "nul": b'{"order_id": "\\u0000"}',
    "surrogate": b'{"order_id": "\\ud800"}',
    "deep": b'{"a":' * 70 + b"1" + b"}" * 70,
    "deepest": b"[" * 100_000,
    "digits": b'{"order_id": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
def test_a_body_that_is_no_json_object_is_the_twins_400(served: Installation, body: bytes) -> None:
    session = served.open()
    answer = session.call("get_order", content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_ARGUMENT")
    closed = session.close()
    assert [record["status"] for record in closed["records"]] == ["invalid"]


def test_what_was_sent_instead_of_json_is_in_the_record(site: Installation) -> None:
    session = site.open()
    session.call("get_order", content=b"order A-1, please")
    assert session.close()["records"][0]["arguments"] == "order A-1, please"


def test_no_body_is_no_arguments(site: Installation) -> None:
    session = site.open()
    assert session.call("count", content=b"").json() == {"result": {"count": 1}}
    assert session.close()["records"][0]["arguments"] == {}


@pytest.mark.parametrize("size", [300_000, 3_000_000, 9_000_000])
def test_arguments_over_the_limit_are_413_and_recorded_by_a_mark(served: Installation, size: int) -> None:
    session = served.open()
    answer = session.call("echo", {"text": "x" * size})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "ARGUMENTS_TOO_LARGE")
    [record] = session.close()["records"]
    assert set(record["arguments"]) == {"too_large"}


def test_arguments_within_the_limit_pass_however_they_are_escaped(site: Installation) -> None:
    session = site.open()
    arguments = {"text": "é" * 120_000}  # 240 KB of compact JSON, 720 KB as httpx's peers may escape it
    answer = session.call("echo", content=json.dumps(arguments, ensure_ascii=True).encode())
    assert answer.json()["result"]["arguments"] == arguments


def test_the_idempotency_header_counts_in_any_case(served: Installation) -> None:
    session = served.open()
    refund = {"order_id": "A-1", "amount": 7}
    first = session.call("refund", refund, headers={"Idempotency-Key": "k"})
    second = session.call("refund", refund, headers={"idempotency-KEY": "k"})
    assert second.json() == first.json()
    assert second.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert session.close()["state"]["orders"]["A-1"]["refunds"] == [7]


# ---------------------------------------------------------------------------------- who is let in


def _form(answer: httpx.Response) -> tuple[int, str]:
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"code", "message"}
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer wrong", "Basic dXNlcjpwYXNz", "Bearer {other}", "{own}"],
)
def test_without_its_own_token_nobody_calls_and_nothing_is_recorded(
    served: Installation, authorization: str | None
) -> None:
    session, other = served.open(), served.open()
    headers = {}
    if authorization is not None:
        headers["Authorization"] = authorization.format(other=other.token, own=session.token)
    for method, path in (("POST", "tools/count"), ("GET", "kb/search?q=refund")):
        answer = CLIENT.request(method, f"{session.tools}/{path}", headers=headers)
        assert _form(answer) == (401, "UNAUTHORIZED")
        assert answer.headers["www-authenticate"] == "Bearer"
    assert session.close()["records"] == []


def test_an_unknown_session_answers_like_a_wrong_token(served: Installation) -> None:
    session = served.open()
    known = session.call("count", {}, headers={"Authorization": "Bearer wrong"})
    unknown = CLIENT.post(
        session.tools.rpartition("/")[0] + "/0123456789ab/tools/count", headers=session.headers
    )
    assert (unknown.status_code, unknown.text) == (known.status_code, known.text)


def test_the_scheme_of_the_token_is_read_in_any_case(site: Installation) -> None:
    session = site.open()
    assert session.call("count", {}, headers={"Authorization": f"bearer {session.token}"}).status_code == 200


def test_the_token_is_stored_nowhere(served: Installation) -> None:
    session = served.open()
    session.call("echo", {"order_id": "A-1"})
    for table in ("twins_wiresession", "twins_wirerecord"):
        assert session.token not in repr(served.query(f"SELECT * FROM {table}"))
    logs = [path.read_text() for path in served.folder.glob("*.log")]
    assert logs
    assert not any(session.token in log for log in logs)


def test_a_closed_session_takes_no_call_and_says_so(served: Installation) -> None:
    session = served.open()
    session.call("count", {})
    assert session.close()["state"]["count"] == 1
    for answer in (session.call("count", {}), session.search(q="refund")):
        assert _form(answer) == (401, "SESSION_CLOSED")


def test_closing_leaves_no_real_value_behind(served: Installation) -> None:
    session = served.open(documents=[{"id": "d", "title": "d", "text": SECRET, "trusted": True}])
    session.call("echo", {"text": SECRET})
    assert session.close()["records"][0]["arguments"] == {"text": SECRET}
    rows = served.query(f"SELECT * FROM twins_wiresession WHERE id = {session.id}")
    assert SECRET not in repr(rows)
    assert served.query(f"SELECT * FROM twins_wirerecord WHERE session_id = {session.id}") == []


def test_a_session_whose_time_is_over_takes_no_call(served: Installation) -> None:
    session = served.open(lifetime=0)
    assert _form(session.call("count", {})) == (401, "SESSION_CLOSED")
    assert session.close()["records"] == []


def test_the_call_after_the_last_allowed_ends_the_session(served: Installation) -> None:
    session = served.open(max_calls=2)
    assert [session.call("count", {}).status_code for _ in range(4)] == [200, 200, 401, 401]
    closed = session.close()
    assert closed["limit_reached"] == "more than 2 tool calls"
    assert closed["state"]["count"] == 2
    assert len(closed["records"]) == 2


def test_a_twin_that_breaks_ends_its_session_and_leaves_no_record(served: Installation) -> None:
    session = served.open()
    assert session.call("fragile", {}).json() == {"result": {"fine": True}}
    assert _form(session.call("fragile", {"break": True})) == (500, "TWIN_BROKEN")
    assert _form(session.call("fragile", {})) == (401, "SESSION_CLOSED")
    closed = session.close()
    assert closed["twin_error"] == "RuntimeError: the adapter is broken"
    assert len(closed["records"]) == 1


# --------------------------------------------------------------------------------- other requests


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("GET", "tools/count", "POST"), ("PUT", "tools/count", "POST"), ("POST", "kb/search", "GET")],
)
def test_another_method_is_405_in_the_same_form(
    site: Installation, method: str, path: str, allowed: str
) -> None:
    session = site.open()
    answer = CLIENT.request(method, f"{session.tools}/{path}", headers=session.headers)
    assert _form(answer) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == allowed
    assert session.close()["records"] == []


@pytest.mark.parametrize("path", ["", "/tools", "/other", "/kb/searching"])
def test_another_address_is_404_in_the_same_form(site: Installation, path: str) -> None:
    session = site.open()
    assert _form(CLIENT.post(session.tools + path, headers=session.headers)) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Host": ""}, {"Origin": "https://evil.example"}, {"Origin": "null"}],
)
def test_a_foreign_host_or_origin_is_refused(site: Installation, headers: dict[str, str]) -> None:
    session = site.open()
    for url in (f"{session.tools}/tools/count", session.mcp):
        assert _form(CLIENT.post(url, headers={**session.headers, **headers})) == (400, "HOST_REFUSED")
    assert session.close()["records"] == []


def test_no_cookie_is_set_and_no_form_token_asked(site: Installation) -> None:
    answer = site.open().call("count", {}, headers={"Cookie": "sessionid=stale"})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


def test_the_pages_are_still_djangos(site: Installation) -> None:
    base = site.environment["AGENTTWIN_PUBLIC_URL"]
    assert CLIENT.get(f"{base}/login/").status_code == 200
    assert CLIENT.get(f"{base}/wires/").headers["content-type"].startswith("text/html")
