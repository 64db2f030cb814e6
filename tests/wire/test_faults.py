"""Faults as real clients see them: httpx, curl, and the bare bytes of a socket."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import time
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.wire import documents
from tests.wire.documents import fault
from tests.wire.installation import Installation, Session
from twins.engine import begin, call_tool, compact_json, compile_definition, compile_fault_rules
from twins.engine.case import CaseSpec
from twins.engine.faults import FAULTS

REFUND = {"order_id": "A-1", "amount": 20}
WHOLE = compact_json({"result": {"note": "Größe 42 — “neu”", "paid": 80, "refunds": [20]}})
CLOSES = ("dropped_connection", "partial_response")


def _case(kind: str, **behavior: Any) -> CaseSpec:
    definition = compile_definition(documents.twin())
    return CaseSpec(
        definition, definition.initial_state, faults=compile_fault_rules([fault(kind, **behavior)])
    )


def _behavior(kind: str) -> dict[str, Any]:
    given = {"body": {"refunded": "yes"}} if kind == "semantic_bad_response" else {}
    return {**given, "delayMs": 5} if kind == "delay" else given


@pytest.mark.parametrize("kind", sorted(set(FAULTS) - set(CLOSES)))
def test_a_fault_answers_on_the_wire_what_the_engine_answers(served: Installation, kind: str) -> None:
    case = _case(kind, **_behavior(kind))
    session = served.open(faults=[fault(kind, **_behavior(kind))])
    state, replies = begin(case), []
    for _ in range(2):
        step = call_tool(case, state, "refund", REFUND)
        state = step.state
        replies.append(step.reply.to_json())
    for reply in replies:
        answer = session.call("refund", REFUND)
        assert answer.status_code == reply["status"]
        is_cut = reply["transport"] == "malformed"
        assert answer.text == (reply["body"] if is_cut else compact_json(reply["body"]))
        for name in ("Retry-After", "Idempotent-Replayed"):
            assert answer.headers.get(name) == reply["headers"].get(name)
    closed = session.close()
    assert compact_json(closed["state"]) == compact_json(state.root)
    assert closed["records"][0]["fault"] == kind


def _raw(session: Session, tool: str, arguments: Any) -> bytes:
    """Everything the server sends back on one connection, until it closes it."""
    where = urlsplit(session.tools)
    body = json.dumps(arguments).encode()
    head = (
        f"POST {where.path}/tools/{tool} HTTP/1.1\r\nHost: {where.netloc}\r\n"
        f"Authorization: Bearer {session.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((where.hostname, where.port), timeout=20) as connection:
        connection.sendall(head.encode() + body)
        received = b""
        try:
            while chunk := connection.recv(65536):
                received += chunk
        except ConnectionResetError:
            pass
    return received


def test_a_dropped_connection_sends_no_byte_and_does_nothing(served: Installation) -> None:
    session = served.open(faults=[fault("dropped_connection")])
    assert _raw(session, "refund", REFUND) == b""
    closed = session.close()
    assert closed["state"]["orders"]["A-1"]["refunds"] == []
    [record] = closed["records"]
    assert (record["http_status"], record["status"], record["response"]) == (0, "dropped", None)


def test_a_partial_response_names_the_full_length_and_sends_half(served: Installation) -> None:
    session = served.open(faults=[fault("partial_response")])
    head, _, body = _raw(session, "refund", REFUND).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert f"\r\ncontent-length: {len(WHOLE.encode())}\r\n".encode() in head
    assert body.decode() == WHOLE[: len(WHOLE) // 2]
    closed = session.close()
    assert closed["state"]["orders"]["A-1"]["refunds"] == [20]
    [record] = closed["records"]
    assert (record["status"], record["response"]) == ("partial", body.decode())


def test_a_partial_response_of_an_error_has_the_errors_status(site: Installation) -> None:
    session = site.open(faults=[fault("partial_response", "get_order")])
    head, _, body = _raw(session, "get_order", {"order_id": "A-9"}).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404 ")
    assert body.startswith(b'{"error":{"code":"NOT_FOUND"')


@pytest.mark.parametrize("kind", CLOSES)
def test_httpx_sees_a_protocol_error(served: Installation, kind: str) -> None:
    session = served.open(faults=[fault(kind)])
    with pytest.raises(httpx.RemoteProtocolError):
        session.call("refund", REFUND)
    assert session.call("refund", REFUND).status_code == 200


def test_httpx_on_a_kept_connection_sees_the_break_and_goes_on(served: Installation) -> None:
    session = served.open(faults=[fault("dropped_connection"), fault("partial_response", "count")])
    with httpx.Client(base_url=session.tools, headers=session.headers) as client:
        assert client.post("/tools/get_order", json={"order_id": "A-1"}).status_code == 200
        for tool in ("refund", "count"):
            with pytest.raises(httpx.RemoteProtocolError):
                client.post(f"/tools/{tool}", json=REFUND)
        assert client.post("/tools/count", json={}).json() == {"result": {"count": 2}}
    assert session.statuses() == ["ok", "dropped", "partial", "ok"]


def test_malformed_json_is_a_whole_answer_that_no_parser_takes(served: Installation) -> None:
    session = served.open(faults=[fault("malformed_json")])
    answer = session.call("refund", REFUND)
    assert answer.status_code == 200
    assert answer.text == WHOLE[: len(WHOLE) // 2]
    with pytest.raises(ValueError, match="line 1 column"):
        answer.json()
    assert session.statuses() == ["malformed"]


# ------------------------------------------------------------------------------------------ curl

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="NOT TESTED with curl: not installed")


def _curl(session: Session, tool: str, arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["curl", "-sS", "-m", "20", "-w", "\n%{http_code}", "-H", f"Authorization: Bearer {session.token}",
         "-d", json.dumps(arguments), f"{session.tools}/tools/{tool}"],
        capture_output=True, text=True,
    )  # fmt: skip


@needs_curl
@pytest.mark.parametrize(
    ("kind", "status", "exit_status"),
    [
        ("dropped_connection", "000", {52, 56}),  # empty reply; reset
        ("partial_response", "200", {18}),  # closed with data outstanding
        ("malformed_json", "200", {0}),
        ("timeout_after_mutation", "504", {0}),
        ("http_429", "429", {0}),
    ],
)
def test_curl_sees_the_fault(served: Installation, kind: str, status: str, exit_status: set[int]) -> None:
    session = served.open(faults=[fault(kind)])
    done = _curl(session, "refund", REFUND)
    assert (done.stdout.splitlines()[-1], done.returncode in exit_status) == (status, True), done
    assert _curl(session, "get_order", {"order_id": "A-2"}).stdout == '{"result":{"paid":5}}\n200'
    assert len(session.statuses()) == 2


# ---------------------------------------------------------------------------------------- delays


def test_a_delay_is_slept_after_the_call_is_recorded(served: Installation) -> None:
    session = served.open(faults=[fault("delay", "count", delayMs=700)])
    begun = time.monotonic()
    answer = session.call("count", {})
    assert time.monotonic() - begun >= 0.7
    assert answer.json() == {"result": {"count": 1}}
    assert session.close()["records"][0]["delay_ms"] == 700


def test_a_delay_works_with_a_broken_connection(site: Installation) -> None:
    session = site.open(faults=[fault("dropped_connection", delayMs=400)])
    begun = time.monotonic()
    assert _raw(session, "refund", REFUND) == b""
    assert time.monotonic() - begun >= 0.4


DELAY_MS = 8000


def test_fifty_delayed_cases_do_not_slow_another(served: Installation) -> None:
    """Twenty other calls are answered while all fifty still sleep: none waited for a delay."""
    delayed = [served.open(faults=[fault("delay", "count", delayMs=DELAY_MS)]) for _ in range(50)]
    quick = served.open()

    async def run() -> None:
        limits = httpx.Limits(max_connections=100)
        async with httpx.AsyncClient(limits=limits, timeout=60) as client:

            async def call(session: Session, tool: str) -> int:
                url = f"{session.tools}/tools/{tool}"
                answer = await client.post(url, json={}, headers=session.headers)
                return answer.status_code

            waiting = [asyncio.create_task(call(session, "count")) for session in delayed]
            await asyncio.sleep(1.5)  # by now all of them sleep
            assert not any(task.done() for task in waiting)
            # Other tools of delayed cases wait for nothing either.
            for session in [quick] * 10 + delayed[:10]:
                assert await call(session, "echo") == 200
            assert not any(task.done() for task in waiting)
            assert set(await asyncio.gather(*waiting)) == {200}

    asyncio.run(run())


def test_closing_does_not_wait_for_a_delay(site: Installation) -> None:
    session = site.open(faults=[fault("delay", "count", delayMs=20_000)])

    async def run() -> None:
        async with httpx.AsyncClient(timeout=60) as client:
            url = f"{session.tools}/tools/count"
            call = asyncio.create_task(client.post(url, json={}, headers=session.headers))
            await asyncio.sleep(0.5)
            closed = await asyncio.to_thread(session.close)
            assert [record["status"] for record in closed["records"]] == ["ok"]
            assert not call.done()
            call.cancel()

    asyncio.run(run())


def test_the_engine_case_used_here_is_the_sessions(site: Installation) -> None:
    """The comparisons above would prove nothing if both sides ignored the rule."""
    case = _case("http_500")
    assert call_tool(case, begin(case), "refund", REFUND).reply.status == 500
    assert call_tool(replace(case, faults=()), begin(case), "refund", REFUND).reply.status == 200
