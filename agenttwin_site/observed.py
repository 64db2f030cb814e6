"""Around the whole site: an id for each request, a log line when it is answered, its figures."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from agenttwin_site.logs import bound
from agenttwin_site.metrics import area_of, count_request

logger = logging.getLogger("agenttwin.request")

AsgiApplication = Callable[[Any, Any, Any], Awaitable[None]]
_HEADER: Final = b"x-request-id"
# An id that a proxy gave is kept, if it can be one: it goes into log lines and an answer's header.
_GIVEN: Final = re.compile(rb"[A-Za-z0-9._=+/-]{1,128}")
# Their answers are the twin's, to the last header.
_TWINS: Final = frozenset({"wire", "mcp"})


class Observed:
    """An ASGI application that names, counts and logs the requests of another."""

    def __init__(self, site: AsgiApplication) -> None:
        self._site = site

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._site(scope, receive, send)
            return
        started = time.perf_counter()
        given = next((value for name, value in scope["headers"] if name == _HEADER), b"")
        request_id = given if _GIVEN.fullmatch(given) else uuid.uuid4().hex.encode()
        path, method = scope["path"], scope["method"]
        noting = _Noting(send, None if area_of(path) in _TWINS else request_id)
        with bound(request_id=request_id.decode()):
            try:
                await self._site(scope, receive, noting)
            finally:
                seconds = time.perf_counter() - started
                count_request(path=path, method=method, status=noting.status, seconds=seconds)
                figures = {"method": method, "path": path, "status": noting.status}
                figures["duration_ms"] = round(1000 * seconds, 1)
                logger.info("%s %s %s", method, path, noting.status, extra=figures)


class _Noting:
    """The server's `send`, taking note of the status. 0: no answer was begun."""

    def __init__(self, send: Any, request_id: bytes | None) -> None:
        self._send, self._request_id = send, request_id
        self.status = 0
        # The wire breaks connections by what this leads to (twins.wire.asgi).
        self.__self__ = getattr(send, "__self__", None)

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self._request_id is not None:
                message = {**message, "headers": [*message["headers"], (_HEADER, self._request_id)]}
        await self._send(message)
