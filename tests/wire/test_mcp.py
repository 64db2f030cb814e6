"""The same sessions through MCP: the official client in both of its eras, and an agent framework."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.wire.documents import fault, twin
from tests.wire.installation import CLIENT, Installation, Session

REFUND = {"order_id": "A-1", "amount": 20}
ERAS = ["legacy", "auto"]  # a handshake first; every request for itself


@asynccontextmanager
async def _connected(session: Session, era: str = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=session.headers, timeout=30) as http,
        Client(streamable_http_client(session.mcp, http_client=http), mode=era) as client,
    ):
        yield client


def _with_client(session: Session, work: Callable[[Client], Any], era: str = "auto") -> Any:
    async def run() -> Any:
        with anyio.fail_after(60):
            async with _connected(session, era) as client:
                return await work(client)

    return anyio.run(run)


def _call(session: Session, tool: str, arguments: Any = None, era: str = "auto", **options: Any) -> Any:
    return _with_client(session, lambda client: client.call_tool(tool, arguments, **options), era)


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_are_the_twins_with_their_schemas(served: Installation, era: str) -> None:
    session = served.open()
    listed = _with_client(session, lambda client: client.list_tools(), era).tools
    described = {tool.name: (tool.description, tool.input_schema) for tool in listed}
    written = twin()["spec"]["tools"]
    assert set(described) == {*written, "kb_search"}
    assert described["get_order"] == ("Reads an order.", written["get_order"]["inputSchema"])
    assert described["count"] == (None, {"type": "object"})
    assert session.close()["records"] == []


@pytest.mark.parametrize("era", ERAS)
def test_a_call_gives_the_result_and_is_recorded_as_over_http(served: Installation, era: str) -> None:
    session, over_http = served.open(), served.open()
    result = _call(session, "refund", REFUND, era)
    body = over_http.call("refund", REFUND).json()
    assert result.is_error is False
    assert json.loads(result.content[0].text) == body["result"]
    assert result.structured_content == body
    assert session.close() == over_http.close()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("tool", "arguments", "status", "code"),
    [
        ("nothing", {}, 404, "UNKNOWN_TOOL"),
        ("get_order", {"order_id": 5}, 422, "INVALID_ARGUMENT"),
        ("get_order", {}, 422, "INVALID_ARGUMENT"),
        ("get_order", {"order_id": "A-9"}, 404, "NOT_FOUND"),
        ("refund", REFUND, 403, "TOOL_NOT_ALLOWED"),
        ("echo", {"text": "x" * 300_000}, 413, "ARGUMENTS_TOO_LARGE"),
    ],
)
def test_what_the_twin_refuses_is_a_tool_error_and_recorded(
    site: Installation, tool: str, arguments: Any, status: int, code: str, era: str
) -> None:
    session = site.open(allowed_tools=["get_order", "echo"])
    result = _call(session, tool, arguments, era)
    assert result.is_error is True
    assert json.loads(result.content[0].text)["error"]["code"] == code
    assert result.meta["agenttwin.dev/status"] == status
    [record] = session.close()["records"]
    assert (record["tool"], record["http_status"], record["error_code"]) == (tool, status, code)


def test_a_wait_is_said_in_words_and_in_meta(site: Installation) -> None:
    session = site.open(faults=[fault("http_429", retryAfterSeconds=7)])
    result = _call(session, "refund", REFUND)
    assert [one.text for one in result.content][1:] == ["Retry-After: 7"]
    assert result.meta["agenttwin.dev/headers"] == {"Retry-After": "7"}


def test_a_search_is_a_tool_and_recorded_as_a_search(served: Installation) -> None:
    session = served.open()
    result = _call(session, "kb_search", {"query": "refund", "limit": 1})
    assert [one["id"] for one in result.structured_content["documents"]] == ["kb-1"]
    [record] = session.close()["records"]
    assert (record["kind"], record["query"], record["limit"]) == ("retrieval", "refund", 1)


def test_an_idempotency_key_may_come_with_the_call(site: Installation) -> None:
    session = site.open()
    key = {"agenttwin.dev/headers": {"Idempotency-Key": "k"}}
    first = _call(session, "refund", REFUND, meta=key)
    again = _call(session, "refund", REFUND, meta=key)
    assert again.structured_content == first.structured_content
    assert again.meta["agenttwin.dev/headers"] == {"Idempotent-Replayed": "true"}


# ---------------------------------------------------------------------------------------- faults


def _of(error: BaseException) -> list[BaseException]:
    """The errors inside groups of errors."""
    return (
        [one for part in error.exceptions for one in _of(part)]
        if isinstance(error, ExceptionGroup)
        else [error]
    )


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("kind", "status"), [("dropped_connection", "dropped"), ("partial_response", "partial")]
)
def test_a_broken_connection_ends_the_clients_connection(
    served: Installation, kind: str, status: str, era: str
) -> None:
    session = served.open(faults=[fault(kind)])
    with pytest.raises(ExceptionGroup) as broken:
        _call(session, "refund", REFUND, era)
    assert any(isinstance(one, httpx2.RemoteProtocolError) for one in _of(broken.value))
    assert _call(session, "refund", REFUND, era).is_error is False  # a new connection works
    assert session.statuses() == [status, "ok"]


@pytest.mark.parametrize("era", ERAS)
def test_malformed_json_is_an_answer_the_client_cannot_parse(served: Installation, era: str) -> None:
    session = served.open(faults=[fault("malformed_json")])

    async def work(client: Client) -> Any:
        with pytest.raises(MCPError, match="parse"):
            await client.call_tool("refund", REFUND)
        return await client.call_tool("get_order", {"order_id": "A-1"})

    assert _with_client(session, work, era).structured_content["result"]["refunds"] == [20]
    assert session.statuses() == ["malformed", "ok"]


def test_half_of_a_partial_answer_arrives_as_bytes(site: Installation) -> None:
    session = site.open(faults=[fault("partial_response")])
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "refund", "arguments": REFUND},
    }
    headers = {**session.headers, "Accept": "application/json, text/event-stream"}
    received = b""
    with (
        contextlib.suppress(httpx.RemoteProtocolError),
        CLIENT.stream("POST", session.mcp, json=call, headers=headers) as answer,
    ):
        for chunk in answer.iter_raw():
            received += chunk
    assert len(received) == int(answer.headers["content-length"]) // 2
    assert received.startswith(b'{"jsonrpc":"2.0","id":1')


def test_a_delay_is_slept_here_too(site: Installation) -> None:
    session = site.open(faults=[fault("delay", "count", delayMs=600)])

    async def timed(client: Client) -> float:
        begun = anyio.current_time()
        await client.call_tool("count", {})
        return anyio.current_time() - begun

    assert _with_client(session, timed) >= 0.6


# ---------------------------------------------------------------------------------- who is let in


def test_without_its_token_there_is_no_server(site: Installation) -> None:
    session = site.open()
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        answer = CLIENT.post(session.mcp, json={}, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["error"]["code"] == "UNAUTHORIZED"


def test_a_closed_session_lists_and_calls_nothing(served: Installation) -> None:
    session = served.open()

    async def work(client: Client) -> None:
        await client.call_tool("count", {})
        closed = await anyio.to_thread.run_sync(session.close)
        assert closed["state"]["count"] == 1
        for request in (client.call_tool("count", {}), client.list_tools()):
            with pytest.raises(MCPError):
                await request

    _with_client(session, work)
    assert (
        CLIENT.post(session.mcp, json={}, headers=session.headers).json()["error"]["code"] == "SESSION_CLOSED"
    )


def test_the_call_over_the_limit_is_refused_like_over_http(site: Installation) -> None:
    session = site.open(max_calls=1)

    async def work(client: Client) -> None:
        assert (await client.call_tool("count", {})).is_error is False
        with pytest.raises(MCPError):
            await client.call_tool("count", {})

    _with_client(session, work)
    assert session.close()["limit_reached"] == "more than 1 tool calls"


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_to_open_or_to_end(site: Installation, method: str) -> None:
    session = site.open()
    answer = CLIENT.request(method, session.mcp, headers=session.headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_the_address_works_without_its_last_slash(site: Installation) -> None:
    session = site.open()
    session.mcp = session.mcp.rstrip("/")
    assert _call(session, "count", {}).structured_content == {"result": {"count": 1}}


# ------------------------------------------------------------------------------ an agent framework


def test_an_unmodified_agent_of_a_framework_works_a_case(served: Installation) -> None:
    """pydantic-ai with a scripted model: it reads, refunds into a timeout, looks again and answers."""
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    plan = iter(
        [
            ToolCallPart("get_order", {"order_id": "A-1"}),
            ToolCallPart("refund", {**REFUND, "key": "k"}),
            ToolCallPart("refund", {**REFUND, "key": "k"}),
            TextPart("Refunded."),
        ]
    )
    seen: list[set[str]] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append({tool.name for tool in info.function_tools})
        return ModelResponse(parts=[next(plan)])

    session = served.open(faults=[fault("timeout_after_mutation")])
    agent = Agent(
        FunctionModel(model), toolsets=[MCPToolset(session.mcp, headers=session.headers)], retries=3
    )
    assert agent.run_sync("Please refund 20 of A-1.").output == "Refunded."
    assert {"get_order", "refund", "kb_search"} <= seen[0]
    closed = session.close()
    assert [record["status"] for record in closed["records"]] == ["ok", "timeout", "ok"]
    assert closed["records"][2]["replayed"] is True
    assert closed["state"]["orders"]["A-1"]["refunds"] == [20]
