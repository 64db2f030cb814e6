"""Asking an HTTP agent: what is sent, what is believed, and what each way to fail is called."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from typing import Any

import httpx
import pytest

from evaluations.agents import endpoints, http
from evaluations.agents.base import (
    AgentEnd,
    AgentRequest,
    Installation,
    NoAdapterError,
    RunContext,
    RunLimits,
)
from evaluations.agents.http import HttpAgent, ToolAccess
from evaluations.agents.in_process import InProcessAgent
from evaluations.agents.registry import adapter_for
from scenarios.documents.agent import load_agent
from tests.remote.fake_agent import (
    FakeAgent,
    Handler,
    answers,
    fake_agent,
    hangs,
    resets,
    response,
    sends,
    trickles,
)
from tests.running import documents

ACCESS = ToolAccess("http://127.0.0.1:8000/wire/abc", {"Authorization": "Bearer s3cr3t-token"})
GOOD = {"output": "done", "claimed_outcome": "SUCCESS", "steps": 2}


def request_of(**fields: Any) -> AgentRequest:
    return AgentRequest(
        **{
            "input": "Refund order A, please. ✓",
            "agent_version": "1.0.0",
            "session_id": "case-7",
            "run_context": RunContext(run_id="3", case_id="7", scenario_name="refund", trial=1, seed=5),
            **fields,
        }
    )


def ask(url: str, *, seconds: float = 5, request: AgentRequest | None = None, **options: Any) -> AgentEnd:
    adapter = HttpAgent(load_agent(documents.agent("1.0.0")), url, is_trusted=options.get("is_trusted", True))
    limits = RunLimits(seconds=seconds, tool_calls=10)
    return asyncio.run(adapter.run(request or request_of(), ACCESS, limits=limits))


def end_of(behave: Handler, **options: Any) -> tuple[AgentEnd, FakeAgent]:
    with fake_agent(behave) as agent:
        return ask(agent.url, **options), agent


def failure_of(behave: Handler, **options: Any) -> tuple[str, str]:
    end, _ = end_of(behave, **options)
    assert end.answer is None
    assert end.failure is not None
    return end.failure.kind, end.failure.detail


# ------------------------------------------------------------------------------------ what is sent


def test_the_request_is_the_one_of_the_contract() -> None:
    request = request_of(tenant="north", customer_id="C-1", context={"tenant": "north", "channel": "mail"})
    _, agent = end_of(answers(GOOD), request=request)
    [asked] = agent.asked
    assert asked.line == "POST /run HTTP/1.1"
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["host"] == f"127.0.0.1:{agent.port}"
    assert "authorization" not in asked.headers
    assert asked.body == {
        "input": "Refund order A, please. ✓",
        "agent_version": "1.0.0",
        "session_id": "case-7",
        "tenant": "north",
        "customer_id": "C-1",
        "context": {"tenant": "north", "channel": "mail"},
        "tools_base_url": "http://127.0.0.1:8000/wire/abc",
        "tool_headers": {"Authorization": "Bearer s3cr3t-token"},
        "run_context": {
            "source": "simulation",
            "run_id": "3",
            "case_id": "7",
            "scenario_name": "refund",
            "trial": 1,
        },
    }


def test_what_a_request_does_not_have_is_left_out() -> None:
    _, agent = end_of(answers(GOOD))
    assert {"tenant", "customer_id", "context"}.isdisjoint(agent.asked[0].body)


@pytest.mark.parametrize(("path", "line"), [("/", "/run"), ("/a/b/", "/a/b/run"), ("/x%2Fy", "/x%2Fy/run")])
def test_run_is_appended_to_the_path(path: str, line: str) -> None:
    with fake_agent(answers(GOOD)) as agent:
        ask(agent.url + path)
    assert agent.asked[0].line == f"POST {line} HTTP/1.1"


# -------------------------------------------------------------------------------- what is believed


def test_an_answer_is_read_as_in_process() -> None:
    end, _ = end_of(answers({**GOOD, "proposal": {"amount": 5}, "unknown": 1, "usage": {"cost_usd": 0.1}}))
    assert end.failure is None
    assert end.answer is not None
    assert (end.answer.output, end.answer.claimed_outcome, end.answer.steps) == ("done", "SUCCESS", 2)
    assert end.answer.proposal == {"amount": 5}
    assert end.answer.usage.cost_usd == 0.1
    assert end.answer.latency_ms is not None


def test_an_answer_in_chunks_is_read() -> None:
    data = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n"
        + b'{"output": "yes"}'
        + b"\r\n0\r\n\r\n"
    )
    end, _ = end_of(sends(data))
    assert end.answer is not None
    assert end.answer.output == "yes"


def test_the_token_does_not_come_back() -> None:
    end, _ = end_of(answers({"output": "I was given s3cr3t-token", "transcript": [{"x": "s3cr3t-token"}]}))
    assert "s3cr3t" not in repr(end)
    assert "s3cr3t" not in repr(failure_of(answers({"detail": "bad s3cr3t-token"}, status=403)))
    assert "s3cr3t" not in repr(ACCESS)


BIG = json.dumps({"output": "x" * (1024 * 1024 - 14)})


def test_an_answer_of_one_mebibyte_is_read() -> None:
    assert len(BIG) == 1024 * 1024
    end, _ = end_of(sends(response(200, BIG)))
    assert end.answer is not None


def _endless(asked: Any, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")


@pytest.mark.parametrize(
    ("behave", "said"),
    [
        (sends(response(200, "")), "not JSON"),
        (sends(response(200, "<html>hello</html>")), "not JSON"),
        (sends(response(200, "[1]")), "must be an object"),
        (sends(response(200, b'{"output": "\xff"}')), "not JSON"),
        (sends(response(200, '{"proposal": NaN}')), "NaN"),
        (sends(response(200, '{"proposal": ' + "[" * 100_000)), "not JSON"),
        (sends(response(200, '{"proposal": ' + "[" * 80 + "]" * 80 + "}")), "nested deeper"),
        (sends(response(200, '{"proposal": ' + "9" * 5000 + "}")), "not JSON"),
        (answers({"output": 5, "claimed_outcome": "DONE"}), "output: must be a text, got 5; claimed_outcome"),
        (sends(response(200, BIG + " ")), "more than 1048576 bytes"),
        (_endless, "more than 1048576 bytes"),
        (sends(response(200, b"\x1f\x8b", "Content-Encoding: gzip")), "encoded as 'gzip'"),
        (sends(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "no HTTP"),
        (sends(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 30_000), "no HTTP"),
        (sends(response(204, "")), "not JSON"),
    ],
)
def test_what_is_no_answer_is_garbage(behave: Handler, said: str) -> None:
    kind, detail = failure_of(behave)
    assert (kind, said in detail) == ("garbage", True), detail


# ------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("behave", "kind", "detail"),
    [
        (answers({"detail": "not my customer"}, status=422), "refused", "HTTP 422: not my customer"),
        (
            answers({"error": {"code": "BUSY", "message": "later"}}, status=429),
            "refused",
            "HTTP 429: BUSY: later",
        ),
        (sends(response(404, "Not Found")), "refused", "HTTP 404: Not Found"),
        (sends(response(401, "")), "refused", "HTTP 401"),
        (sends(response(400, '{"detail": [1]}')), "refused", "HTTP 400: [1]"),
        (sends(response(400, "short", length=5000)), "refused", "HTTP 400"),
        (
            answers({"error": {"code": "VERSION_UNAVAILABLE", "message": "no 9.9.9"}}, status=404),
            "version_unavailable",
            "HTTP 404: VERSION_UNAVAILABLE: no 9.9.9",
        ),
        (
            answers({"code": "VERSION_UNAVAILABLE"}, status=409),
            "version_unavailable",
            "HTTP 409: VERSION_UNAVAILABLE",
        ),
        (answers({"error": {"message": "boom"}}, status=500), "crashed", "HTTP 500: boom"),
        (answers({"code": "VERSION_UNAVAILABLE"}, status=503), "crashed", "HTTP 503: VERSION_UNAVAILABLE"),
        (sends(response(502, "Bad Gateway")), "crashed", "HTTP 502: Bad Gateway"),
    ],
)
def test_a_status_says_who_is_at_fault(behave: Handler, kind: str, detail: str) -> None:
    assert failure_of(behave) == (kind, detail)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(status: int) -> None:
    with fake_agent(answers(GOOD)) as other:
        kind, detail = failure_of(sends(response(status, "", f"Location: {other.url}/run")))
    assert (kind, other.asked) == ("unreachable", [])
    assert "redirects are not followed" in detail


def test_a_reason_is_bounded() -> None:
    kind, detail = failure_of(sends(response(400, "x" * 3_000_000)))
    assert kind == "refused"
    assert len(detail) == http.DETAIL_CHARACTERS


# ------------------------------------------------------------------------- connections that break


@pytest.mark.parametrize(
    "behave",
    [
        sends(b""),
        resets(),
        sends(b"HTTP/1.1 200 OK\r\nContent-Le"),
        sends(response(200, '{"output": "do', length=400)),
        sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nabc"),
    ],
)
def test_a_connection_that_breaks_after_the_request_is_a_crash(behave: Handler) -> None:
    kind, detail = failure_of(behave)
    assert kind == "crashed"
    assert "connection" in detail


def test_nobody_listening_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        end = ask(f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert end.failure is not None
    assert end.failure.kind == "unreachable"


def test_an_unknown_name_is_unreachable() -> None:
    end = ask("http://agent.invalid")
    assert end.failure is not None
    assert end.failure.kind == "unreachable"
    assert "agent.invalid cannot be resolved" in end.failure.detail


def test_plain_http_behind_https_is_unreachable() -> None:
    with fake_agent(answers(GOOD)) as agent:
        end = ask(agent.url.replace("http:", "https:"))
    assert end.failure is not None
    assert end.failure.kind == "unreachable"


@pytest.mark.parametrize(
    "behave", [hangs(), trickles(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500), trickles(response(200, BIG))]
)
def test_the_whole_exchange_has_one_time_limit(behave: Handler) -> None:
    started = time.monotonic()
    kind, detail = failure_of(behave, seconds=0.4)
    assert (kind, detail) == ("timeout", "no answer within 0.4 s")
    assert time.monotonic() - started < 20


def test_time_used_up_before_a_connection_is_no_fault_of_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slowly(endpoint: Any) -> tuple[str, ...]:
        await asyncio.sleep(30)
        return ()

    monkeypatch.setattr(http, "addresses_of", slowly)
    end = ask("http://127.0.0.1:1", seconds=0.2)
    assert end.failure is not None
    assert end.failure.kind == "unreachable"


# ------------------------------------------------------------------------------- whose endpoint


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_agent(answers({"output": "proxy"})) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        end, agent = end_of(answers(GOOD))
    assert end.answer is not None
    assert (proxy.connections, agent.connections) == (0, 1)


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is looked up once: a second answer of the name server changes nothing."""
    lookups: list[str] = []

    async def lookup(self: Any, host: Any, port: Any, **_: Any) -> Any:
        lookups.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", lookup)
    monkeypatch.setattr(endpoints, "refused_address", lambda address: None)
    with fake_agent(answers(GOOD)) as agent:
        end = ask(f"http://agent.example:{agent.port}/x", is_trusted=False)
    assert end.answer is not None
    assert [name for name in lookups if name == "agent.example"] == ["agent.example"]
    assert agent.asked[0].headers["host"] == f"agent.example:{agent.port}"


def test_the_next_address_is_tried_when_one_is_dead() -> None:
    with fake_agent(answers(GOOD)) as agent:
        # localhost may be ::1 first, where nobody listens.
        end = ask(f"http://localhost:{agent.port}")
    assert end.answer is not None


@pytest.mark.parametrize("found", [["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:93.184.216.34"]])
def test_a_manifest_name_that_leads_inside_is_not_connected(
    found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lookup(self: Any, host: Any, port: Any, **_: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    async def exchange(*_: Any) -> Any:
        raise AssertionError("connected")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", lookup)
    monkeypatch.setattr(http._Asking, "_exchange", exchange)
    end = ask("http://agent.example", is_trusted=False)
    assert end.failure is not None
    assert end.failure.kind == "unreachable"
    assert "AGENTTWIN_AGENT_ENDPOINTS" in end.failure.detail


def manifest_with(endpoint: str | None) -> Any:
    document = documents.agent("1.0.0")
    if endpoint is not None:
        document["spec"]["runtime"] = {"endpoint": endpoint}
    return load_agent(document)


def test_the_operator_comes_before_a_class_and_a_class_before_the_manifest() -> None:
    manifest = manifest_with("https://agent.example")
    step = {documents.AGENT: "tests.running.agents.StepAgent"}
    named = {documents.AGENT: "http://127.0.0.1:9"}
    operator = adapter_for(manifest, Installation(step, named))
    assert isinstance(operator, HttpAgent)
    assert operator._endpoint is not None
    assert (operator._endpoint.shown, operator._endpoint.is_trusted) == ("http://127.0.0.1:9/run", True)
    assert isinstance(adapter_for(manifest, Installation(step, {})), InProcessAgent)
    own = adapter_for(manifest, Installation({}, {"other": "http://127.0.0.1:9"}))
    assert isinstance(own, HttpAgent)
    assert own._endpoint is not None
    assert (own._endpoint.shown, own._endpoint.is_trusted) == ("https://agent.example/run", False)
    with pytest.raises(NoAdapterError, match="AGENTTWIN_AGENT_ENDPOINTS"):
        adapter_for(manifest_with(None), Installation())


def test_a_manifest_that_points_inside_has_a_problem_before_anything_runs() -> None:
    adapter = adapter_for(manifest_with("http://169.254.169.254/latest"), Installation())
    assert isinstance(adapter, HttpAgent)
    assert "metadata address" in (adapter.problem or "")
    end = asyncio.run(adapter.run(request_of(), ACCESS, limits=RunLimits(1, 1)))
    assert end.failure is not None
    assert end.failure.kind == "unreachable"


@pytest.mark.parametrize(
    ("provider", "kind"),
    [("deterministic-fake", "deterministic-fake"), ("acme", "llm")],
)
def test_the_label_is_what_the_manifest_declares(provider: str, kind: str) -> None:
    document = documents.agent("1.0.0")
    document["spec"]["model"]["provider"] = provider
    assert HttpAgent(load_agent(document), "http://127.0.0.1:9", is_trusted=True).model_kind == kind


def test_the_words_that_tell_a_closed_connection_are_still_those_of_the_pinned_client() -> None:
    assert httpx.__version__ == "0.28.1"
