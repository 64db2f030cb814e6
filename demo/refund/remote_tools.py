"""The tools of a case as the planner sees them, when they are called over HTTP (FORMATS 5).

The same object as in process: a broken connection is a reply that says so, never an exception.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

# A fault may delay an answer by 30 seconds.
TIMEOUT_SECONDS = 60.0


class SessionOverError(RuntimeError):
    """The tools do not answer this agent any more: its case is over."""


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a call answered; `transport` is normal, drop, partial or malformed."""

    status: int
    body: Any
    transport: str = "normal"

    @property
    def ok(self) -> bool:
        return self.transport == "normal" and 200 <= self.status < 300

    @property
    def result(self) -> Any:
        return self.body.get("result") if self.ok and isinstance(self.body, dict) else None


class HttpTools:
    """Tools at ``{base_url}/tools/{tool}`` and ``{base_url}/kb/search``."""

    def __init__(self, base_url: str, headers: Mapping[str, str]) -> None:
        self._base = urlsplit(base_url.rstrip("/"))
        if self._base.scheme not in ("http", "https") or not self._base.hostname:
            raise ValueError("tools_base_url must be an http or https address")
        self._headers = {"Accept": "application/json", **headers}

    def call(self, name: str, arguments: Any, headers: Mapping[str, str] | None = None) -> ToolReply:
        content = json.dumps(arguments).encode()
        own = {**self._headers, "Content-Type": "application/json", **(headers or {})}
        reply = self._exchange("POST", f"/tools/{quote(name, safe='')}", own, content)
        _require_open(reply)
        return reply

    def search(self, query: str, limit: int | None = None) -> list[dict[str, str]]:
        asked = urlencode({"q": query, **({} if limit is None else {"limit": limit})})
        reply = self._exchange("GET", f"/kb/search?{asked}", self._headers)
        if not reply.ok or not isinstance(reply.body, dict):
            raise SessionOverError(f"the knowledge base answered {reply.status}")
        return list(reply.body.get("documents", []))

    def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> ToolReply:
        # A connection for each call: on a kept one, the end of its idle time would look like a drop.
        kind = http.client.HTTPSConnection if self._base.scheme == "https" else http.client.HTTPConnection
        connection = kind(str(self._base.hostname), self._base.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, self._base.path + path, body=content, headers=dict(headers))
            response = connection.getresponse()
            try:
                text = response.read().decode()
            except (http.client.IncompleteRead, OSError):
                return ToolReply(response.status, None, "partial")
            return ToolReply(response.status, json.loads(text))
        except ValueError:
            return ToolReply(response.status, None, "malformed")
        except (OSError, http.client.HTTPException):
            return ToolReply(0, None, "drop")
        finally:
            connection.close()


def _require_open(reply: ToolReply) -> None:
    """A twin denies with a code of its own; this one says that the session takes no more calls."""
    body = reply.body if isinstance(reply.body, dict) else {}
    if reply.status == 401 and body.get("error", {}).get("code") in ("SESSION_CLOSED", "UNAUTHORIZED"):
        raise SessionOverError("the session of the tools is closed")
