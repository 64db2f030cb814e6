"""A tools object that answers from a script: what the planner's own tests need, without a twin."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Said:
    """One reply of a tool."""

    result: Any = None
    status: int = 200
    transport: str = "normal"

    @property
    def ok(self) -> bool:
        return self.transport == "normal" and 200 <= self.status < 300


@dataclass
class ScriptedTools:
    """Answers the n-th call of a tool with the n-th reply of its list; the last one goes on."""

    replies: Mapping[str, list[Said]]
    documents: list[dict[str, str]] = field(default_factory=list)
    calls: list[tuple[str, Any]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    def call(self, name: str, arguments: Any, headers: Mapping[str, str] | None = None) -> Said:
        self.calls.append((name, arguments))
        script = self.replies.get(name, [Said(status=404)])
        reply = script[min(self.names.count(name), len(script)) - 1]
        return reply if reply.ok else Said(None, reply.status, reply.transport)

    def search(self, query: str, limit: int | None = None) -> list[dict[str, str]]:
        self.queries.append(query)
        return [dict(document) for document in self.documents]

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


@dataclass(frozen=True)
class Asked:
    """The part of a request that the planner reads."""

    input: str
    customer_id: str | None = "CUST-100"


@dataclass(frozen=True)
class Told:
    """The part of a manifest that the planner reads."""

    instructions: str | None
