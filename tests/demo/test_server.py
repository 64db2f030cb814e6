"""The refund agent as a server: what it refuses, and with which code. Runs are in tests/remote."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from demo.refund.mcp_tools import mcp_url
from demo.refund.remote_tools import HttpTools, SessionOverError
from demo.refund.server import main, make_server, manifests

REQUEST = {
    "input": "Please refund 40 USD of ORD-1001.",
    "agent_version": "1.2.4",
    "session_id": "s",
    "customer_id": "CUST-100",
    "tools_base_url": "http://127.0.0.1:1/wire/abc",
    "tool_headers": {"Authorization": "Bearer t"},
    "run_context": {"source": "simulation", "run_id": "1", "case_id": "1", "scenario_name": "x", "trial": 1},
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = make_server("127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def ask(url: str, body: Any = None, *, raw: bytes | None = None) -> tuple[int, Any]:
    data = raw if raw is not None else None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def test_it_says_which_versions_it_has(address: str) -> None:
    assert ask(f"{address}/health") == (
        200,
        {"status": "ok", "versions": ["0.9.0", "1.2.4", "1.3.0", "1.3.1"]},
    )
    assert all(one.instructions for one in manifests().values())


def test_a_version_it_does_not_have_is_unavailable(address: str) -> None:
    status, body = ask(f"{address}/run", {**REQUEST, "agent_version": "9.9.9"})
    assert (status, body["error"]["code"]) == (404, "VERSION_UNAVAILABLE")


@pytest.mark.parametrize(
    "change",
    [
        {"input": 5},
        {"agent_version": None},
        {"tools_base_url": None},
        {"tools_base_url": "ftp://x"},
        {"tool_headers": ["x"]},
        {"tool_headers": {"a": 1}},
    ],
)
def test_a_request_it_cannot_read_is_refused(address: str, change: dict[str, Any]) -> None:
    status, body = ask(f"{address}/run", {**REQUEST, **change})
    assert (status, body["error"]["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("raw", [b"[]", b"{", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(address: str, raw: bytes) -> None:
    assert ask(f"{address}/run", raw=raw)[0] == 400


def test_other_addresses_are_not_found(address: str) -> None:
    assert ask(f"{address}/other")[0] == 404
    assert ask(f"{address}/other", REQUEST)[0] == 404


def test_tools_that_do_not_answer_are_no_crash(address: str) -> None:
    status, body = ask(f"{address}/run", REQUEST)
    assert status == 200
    assert body["model_kind"] == "deterministic-fake"
    assert body["claimed_outcome"] != "SUCCESS"


def test_a_port_that_is_taken_is_status_2(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--port", address.rsplit(":", 1)[1]]) == 2
    assert "cannot listen" in capsys.readouterr().err


def test_the_mcp_address_is_beside_the_plain_one() -> None:
    assert mcp_url("http://h:1/wire/abc") == "http://h:1/mcp/abc/"
    assert mcp_url("https://h/base/wire/abc/") == "https://h/base/mcp/abc/"
    for other in ("http://h/tools/abc", "http://h/wire/", "ftp://h/wire/abc"):
        with pytest.raises(ValueError, match="tools_base_url"):
            mcp_url(other)


# ------------------------------------------------------------------------- what the tools client sees


@contextmanager
def tools_answering(data: bytes) -> Iterator[HttpTools]:
    from tests.remote.fake_agent import fake_agent, sends

    with fake_agent(sends(data)) as site:
        yield HttpTools(f"{site.url}/wire/abc", {"Authorization": "Bearer t"})


@pytest.mark.parametrize(
    ("data", "status", "transport"),
    [
        (b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"result": {}} ', 200, "normal"),
        (b'HTTP/1.1 504 X\r\nContent-Length: 12\r\n\r\n{"error":{}}', 504, "normal"),
        (b"", 0, "drop"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n{"resu', 200, "partial"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n{"resu', 200, "malformed"),
    ],
)
def test_a_broken_answer_is_a_reply_that_says_so(data: bytes, status: int, transport: str) -> None:
    with tools_answering(data) as tools:
        reply = tools.call("refund", {})
    assert (reply.status, reply.transport) == (status, transport)
    assert reply.ok is (status == 200 and transport == "normal")


def test_a_closed_session_ends_the_run() -> None:
    body = b'{"error":{"code":"SESSION_CLOSED","message":"over"}}'
    data = b"HTTP/1.1 401 X\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with tools_answering(data) as tools, pytest.raises(SessionOverError):
        tools.call("refund", {})
