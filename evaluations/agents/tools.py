"""The tools of an in-process agent: one case's twin behind a gate that closes.

The gate matters more than the agent: once it is closed (answer given, time up, case cancelled) nothing the
agent still does can change a record or the state. Calls are serialised, so an agent with threads of its own
gets the same guarantees as one without.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from twins.engine.bounds import ABSENT
from twins.engine.case import CaseSpec, begin, call_tool
from twins.engine.case import search as search_documents
from twins.engine.records import Record, Transport

MAX_SLEEP_MS = 30_000


class AgentStopped(BaseException):
    """Raised inside an agent that has to end. Not an Exception, so a plain ``except`` does not swallow it."""


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What one call answered: the wire body, or the text that came through before the connection broke."""

    status: int
    headers: Mapping[str, str]
    body: Any
    transport: Transport

    @property
    def ok(self) -> bool:
        """A whole answer with a 2xx status."""
        return self.transport == "normal" and 200 <= self.status < 300

    @property
    def result(self) -> Any:
        """The value of a good answer, else None."""
        return self.body.get("result") if self.ok and isinstance(self.body, dict) else None

    @property
    def error(self) -> dict[str, Any] | None:
        """``{"code", "message"}`` of a refused or failed call that answered in full, else None."""
        return self.body.get("error") if self.transport == "normal" and isinstance(self.body, dict) else None


class AgentTools:
    """What an agent is handed: it can call and search. What the twin recorded is not in its reach."""

    __slots__ = ("call", "search")

    def __init__(self, case: CaseTools) -> None:
        self.call, self.search = case.call, case.search


class CaseTools:
    """Tool calls and searches of one case, recorded by its twin, until `close`."""

    def __init__(self, spec: CaseSpec, *, max_calls: int) -> None:
        self.spec = spec
        self._max_calls = max_calls
        # Searches change nothing but leave a record each, so they are bounded too, on a count of their own.
        self._max_searches = max(max_calls, 200)
        self._calls = self._searches = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self.state = begin(spec)
        self.records: list[Record] = []
        self.limit_reached: str | None = None
        self.twin_error: BaseException | None = None

    def call(self, name: str, arguments: Any = ABSENT, headers: Mapping[str, str] | None = None) -> ToolReply:
        """Call a tool of the twin. Never raises for a refused or failed call: the reply says it."""
        with self._lock:
            self._require_open()
            if self._calls >= self._max_calls:
                self._stop_at_limit(f"more than {self._max_calls} tool calls")
            self._calls += 1
            reply = self._step(call_tool, name, copied(arguments), headers)
        # Slept outside the lock, so that closing never waits for a delay.
        if reply.delay_ms and self._closed.wait(min(reply.delay_ms, MAX_SLEEP_MS) / 1000):
            raise AgentStopped
        return ToolReply(reply.status, dict(reply.headers), copied(reply.body), reply.transport)

    def search(self, query: str, limit: int | None = None) -> list[dict[str, str]]:
        """The knowledge base's best documents for a query, as ``{"id", "title", "text"}``."""
        with self._lock:
            self._require_open()
            if self._searches >= self._max_searches:
                self._stop_at_limit(f"more than {self._max_searches} searches")
            self._searches += 1
            reply = self._step(search_documents, query, limit)
        return [dict(document) for document in reply.documents]

    def close(self, *, patience: float = 5.0) -> bool:
        """Let nothing more in. False when the twin is still inside a call after `patience` seconds."""
        self._closed.set()
        if not self._lock.acquire(timeout=patience):
            return False
        self._lock.release()
        return True

    def _require_open(self) -> None:
        if self._closed.is_set():
            raise AgentStopped

    def _stop_at_limit(self, what: str) -> None:
        self.limit_reached = what
        self._closed.set()
        raise AgentStopped

    def _step(self, operation: Any, *arguments: Any) -> Any:
        try:
            step = operation(self.spec, self.state, *arguments)
        except Exception as broken:
            # The engine answers every call; an exception is a bug of the twin, and no agent is judged by it.
            self.twin_error = broken
            self._closed.set()
            raise AgentStopped from broken
        self.state = step.state
        self.records.extend(step.records)
        return step.reply


def copied(value: Any, depth: int = 0) -> Any:
    """A copy that shares no container with `value`, so that neither side can change the other's.

    Only plain JSON containers are copied; anything else, or anything nested too deep to be JSON of ours, is
    handed on as it is for the engine to refuse.
    """
    kind = type(value)
    if kind is dict and depth < 80:
        return {key: copied(item, depth + 1) for key, item in value.items()}
    if kind is list and depth < 80:
        return [copied(item, depth + 1) for item in value]
    return value
