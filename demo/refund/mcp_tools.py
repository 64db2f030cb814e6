"""The tools of a case as the planner sees them, when they are called over MCP with the official client.

The request names the tools by their plain URL, ``…/wire/ID``; the same session is an MCP server at
``…/mcp/ID/`` with the same token.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from demo.refund.remote_tools import TIMEOUT_SECONDS, ToolReply
from demo.scripted import Tools

# Where an MCP result keeps the status that the same call has over plain HTTP.
STATUS = "agenttwin.dev/status"
SEARCH_TOOL = "kb_search"


def mcp_url(tools_base_url: str) -> str:
    """The MCP address of a session. ValueError for an address of another form."""
    address = urlsplit(tools_base_url.rstrip("/"))
    before, found, session = address.path.rpartition("/wire/")
    if address.scheme not in ("http", "https") or not found or not session:
        raise ValueError("tools_base_url must be the http or https address of a session, …/wire/ID")
    return address._replace(path=f"{before}/mcp/{session}/").geturl()


@contextmanager
def over_mcp(base_url: str, headers: Mapping[str, str]) -> Iterator[Tools]:
    """The tools of a connected MCP client. It lives in an event loop of its own; the planner waits."""
    url = mcp_url(base_url)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(_connected(url, headers)) as client,
    ):
        yield McpTools(portal, client)


@asynccontextmanager
async def _connected(url: str, headers: Mapping[str, str]) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=dict(headers), trust_env=False, timeout=TIMEOUT_SECONDS) as connection,
        Client(streamable_http_client(url, http_client=connection)) as client,
    ):
        yield client


class McpTools:
    """The planner's tools object over one MCP client."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    def call(self, name: str, arguments: Any, headers: Mapping[str, str] | None = None) -> ToolReply:
        try:
            result = self._portal.call(self._client.call_tool, name, arguments)
        except MCPError:
            # The client tells a broken connection in no other way; nobody can know what happened.
            return ToolReply(0, None, "drop")
        status = int((result.meta or {}).get(STATUS, 500 if result.is_error else 200))
        return ToolReply(status, result.structured_content)

    def search(self, query: str, limit: int | None = None) -> list[dict[str, str]]:
        asked: dict[str, Any] = {"query": query} if limit is None else {"query": query, "limit": limit}
        result = self._portal.call(self._client.call_tool, SEARCH_TOOL, asked)
        return list((result.structured_content or {}).get("documents", []))
