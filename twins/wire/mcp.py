"""The same session as an MCP server at ``/mcp/ID/``: Streamable HTTP, stateless, one JSON answer a request.

Everything the protocol asks is the official SDK's; here a request is matched to its session and its token
checked, and a tool call handed to the same service as over plain HTTP. What the twin refuses is a tool error
that a model can read. Faults of the connection break the HTTP connection of the call: no byte, half of the
JSON-RPC answer, or JSON that ends too early.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from twins.engine.bounds import ABSENT
from twins.engine.definition import Tool
from twins.engine.records import Reply, Transport
from twins.engine.retrieval import MAX_LIMIT
from twins.engine.values import compact_json
from twins.errors import TwinError
from twins.wire.asgi import (
    AsgiMessage,
    AsgiReceive,
    AsgiScope,
    AsgiSend,
    Response,
    bearer_token,
    check_host,
    headers_of,
    refusal,
    send_response,
)
from twins.wire.gateway import Gateway
from twins.wire.services import Admission

PREFIX: Final = "/mcp/"
SEARCH_TOOL: Final = "kb_search"
STATUS_META: Final = "agenttwin.dev/status"
HEADERS_META: Final = "agenttwin.dev/headers"

_ROUTE: Final = re.compile(r"/mcp/(?P<session>[^/]+)/?")
_EXCHANGE: Final = "agenttwin.exchange"
# Host and Origin were checked before, by the same rule as everywhere on this site.
_CHECKED: Final = TransportSecuritySettings(enable_dns_rebinding_protection=False)


@dataclass(slots=True)
class _Exchange:
    """One HTTP request: whose it is, and what its tool call wants done to the answer."""

    admission: Admission
    headers: Mapping[str, str]
    transport: Transport = "normal"
    instead: Response | None = None


class McpEndpoint:
    """The ASGI application; see the module. It works inside `running`, the server's lifespan."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The time in which requests are served."""
        server: Server[Any] = Server(
            "agenttwin",
            version="1",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            # The engine judges arguments, after the gates that come first; the SDK shall not ask for schemas.
            get_tool_input_schema=lambda name: None,
        )
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, security_settings=_CHECKED
        )
        async with self._manager.run():
            yield
        self._manager = None

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        try:
            exchange = await self._admitted(scope)
        except TwinError as problem:
            await send_response(refusal(problem), receive, send)
            return
        if isinstance(exchange, Response):
            await send_response(exchange, receive, send)
            return
        if self._manager is None:
            raise RuntimeError("the MCP endpoint needs a server that runs the lifespan of its application")
        answer = _Held()
        await self._manager.handle_request({**scope, _EXCHANGE: exchange}, receive, answer)
        await _release(answer, exchange, receive, send)

    async def _admitted(self, scope: AsgiScope) -> _Exchange | Response:
        headers = headers_of(scope)
        check_host(headers)
        route = _ROUTE.fullmatch(scope["path"])
        if route is None:
            return Response.error(404, "NOT_FOUND", "there is nothing at this address")
        admission = await self._gateway.admit(route["session"], bearer_token(headers))
        if scope["method"] != "POST":
            text = "this MCP server answers every request where it is sent: there is no stream to open"
            return Response.error(405, "METHOD_NOT_ALLOWED", text, {"Allow": "POST"})
        await self._gateway.check_open(admission)
        del headers["authorization"]
        return _Exchange(admission, headers)

    async def _list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        tools = _tools_of(_exchange(context).admission)
        return types.ListToolsResult(tools=[*map(_listed, tools.values()), *_search_tool(tools)])

    async def _call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        exchange = _exchange(context)
        try:
            return await self._answered(exchange, params)
        except TwinError as problem:
            exchange.instead = refusal(problem)
            return types.CallToolResult(content=[])

    async def _answered(
        self, exchange: _Exchange, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = ABSENT if params.arguments is None else params.arguments
        if params.name == SEARCH_TOOL and SEARCH_TOOL not in _tools_of(exchange.admission):
            asked = params.arguments or {}
            found = await self._gateway.search(exchange.admission, asked.get("query"), asked.get("limit"))
            return _result(200, {}, found.to_json(), found.to_json())
        headers = {**exchange.headers, **_headers_in(params.meta)}
        answered = await self._gateway.call(exchange.admission, params.name, arguments, headers)
        reply = answered.reply
        exchange.transport = reply.transport
        body = reply.body if reply.transport == "normal" else answered.whole
        return _of_reply(reply, body)


# ------------------------------------------------------------------------------------ the tools


def _exchange(context: Any) -> _Exchange:
    exchange: _Exchange = context.request.scope[_EXCHANGE]
    return exchange


def _tools_of(admission: Admission) -> Mapping[str, Tool]:
    return {} if admission.case is None else admission.case.definition.tools


def _listed(tool: Tool) -> types.Tool:
    """A tool as its twin describes it. The protocol wants an object's schema at the root."""
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    return types.Tool(
        name=tool.name, description=tool.description or None, input_schema={**schema, "type": "object"}
    )


def _search_tool(tools: Mapping[str, Tool]) -> list[types.Tool]:
    """The search of the knowledge base as a tool, unless the twin has one of its own by this name."""
    if SEARCH_TOOL in tools:
        return []
    properties = {
        "query": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
    }
    schema = {"type": "object", "properties": properties, "required": ["query"]}
    about = "Searches the knowledge base for the words of the query and returns the best documents."
    return [types.Tool(name=SEARCH_TOOL, description=about, input_schema=schema)]


def _headers_in(meta: Any) -> dict[str, str]:
    """The headers of one call, as for an idempotency key. MCP has none, so they come in `_meta`."""
    given = meta.get(HEADERS_META) if isinstance(meta, Mapping) else None
    if not isinstance(given, Mapping):
        return {}
    return {name.lower(): value for name, value in given.items() if isinstance(value, str)}


def _of_reply(reply: Reply, body: Any) -> types.CallToolResult:
    is_ok = 200 <= reply.status < 300
    shown = body["result"] if is_ok and isinstance(body, dict) and "result" in body else body
    return _result(reply.status, reply.headers, body, shown)


def _result(status: int, headers: Mapping[str, str], body: Any, shown: Any) -> types.CallToolResult:
    """A tool result: what a model reads as text, the body as structured content, the rest as `_meta`.

    A header such as Retry-After is a text of its own, since a model sees no `_meta`.
    """
    texts = [compact_json(shown), *(f"{name}: {value}" for name, value in headers.items())]
    content: list[Any] = [types.TextContent(type="text", text=text) for text in texts]
    return types.CallToolResult(
        content=content,
        structured_content=body if isinstance(body, dict) else None,
        is_error=not 200 <= status < 300,
        _meta={STATUS_META: status, HEADERS_META: dict(headers)},
    )


# ------------------------------------------------------------------------------------ the answer


class _Held:
    """An ASGI `send` that keeps the SDK's answer until it is known how it leaves."""

    def __init__(self) -> None:
        self.messages: list[AsgiMessage] = []

    async def __call__(self, message: AsgiMessage) -> None:
        self.messages.append(message)


async def _release(answer: _Held, exchange: _Exchange, receive: AsgiReceive, send: AsgiSend) -> None:
    """Send the held answer as it is, broken as the tool call's fault says, or another in its place."""
    if exchange.instead is not None:
        await send_response(exchange.instead, receive, send)
        return
    if exchange.transport == "normal":
        for message in answer.messages:
            await send(message)
        return
    whole = b"".join(message.get("body", b"") for message in answer.messages[1:])
    cut = whole[: len(whole) // 2]
    await send_response(Response(200, {}, cut, exchange.transport, whole), receive, send)
