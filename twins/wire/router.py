"""Which requests of the site belong to the wire."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from twins.wire import http, mcp
from twins.wire.asgi import AsgiReceive, AsgiScope, AsgiSend
from twins.wire.gateway import Gateway

AsgiApplication = Callable[[Any, Any, Any], Awaitable[None]]


class Wire:
    """An ASGI application around the site's own."""

    def __init__(self, site: AsgiApplication) -> None:
        self._site = site
        gateway = Gateway()
        self._http = http.HttpEndpoint(gateway)
        self._mcp = mcp.McpEndpoint(gateway)

    async def __call__(self, scope: AsgiScope, receive: AsgiReceive, send: AsgiSend) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http" and scope["path"].startswith(http.PREFIX):
            await self._http(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].startswith(mcp.PREFIX):
            await self._mcp(scope, receive, send)
        else:
            await self._site(scope, receive, send)

    async def _live(self, receive: AsgiReceive, send: AsgiSend) -> None:
        """The server's start and end. Django takes no part: it refuses the very word."""
        await receive()
        async with self._mcp.running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
