"""The values of a case: what it depends on, where it stands, one call as it came in and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .bounds import Admitted
from .definition import Definition, Tool
from .dependency import Attempt, StoredAnswer, StoredAnswers
from .faults import FaultRule
from .records import Answer, Record, Reply, SearchReply, Transport
from .retrieval import Document
from .templates import Scope
from .values import MISSING

DEFAULT_NOW: Final = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class CaseSpec:
    """Everything a case depends on. `initial_state` is the twin's, after the scenario's patch.

    `allowed_tools` None allows every tool, an empty set none. `documents` are planted in the knowledge base.
    """

    definition: Definition
    initial_state: dict[str, Any]
    seed: int = 0
    faults: tuple[FaultRule, ...] = ()
    allowed_tools: frozenset[str] | None = None
    tenant: str | None = None
    now: str = DEFAULT_NOW
    caller_role: str = "agent"
    documents: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseState:
    """Where a case stands: the twin's state and what it remembers of its calls.

    `last_replies` holds the last answer of each tool that fully reached the caller; `growth` counts what
    effects have added (bounds.MAX_GROWTH).
    """

    root: dict[str, Any]
    seq: int = 0
    call_counts: Mapping[str, int] = field(default_factory=dict)
    stored_answers: StoredAnswers = field(default_factory=dict)
    last_replies: Mapping[str, Answer] = field(default_factory=dict)
    growth: int = 0

    def to_json(self) -> dict[str, Any]:
        """The state as one JSON value, from which `from_json` continues exactly."""
        return {
            "schema_version": 1,
            "root": self.root,
            "seq": self.seq,
            "growth": self.growth,
            "call_counts": dict(self.call_counts),
            "stored_answers": [
                {"tool": tool, "key": key, "arguments": one.arguments, "status": one.status, "body": one.body}
                for (tool, key), one in self.stored_answers.items()
            ],
            "last_replies": {
                tool: {"status": one.status, "body": one.body, "code": one.code, "headers": dict(one.headers)}
                for tool, one in self.last_replies.items()
            },
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> CaseState:
        """The state of what `to_json` wrote."""
        stored = {
            (one["tool"], one["key"]): StoredAnswer(one["arguments"], one["status"], one["body"])
            for one in fields["stored_answers"]
        }
        last = {tool: Answer(**one) for tool, one in fields["last_replies"].items()}
        return cls(fields["root"], fields["seq"], fields["call_counts"], stored, last, fields["growth"])


@dataclass(frozen=True, slots=True)
class Step:
    """One call or search done: the next state, the reply, one record, or two of a call delivered twice."""

    state: CaseState
    reply: Reply | SearchReply
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a known tool, or of an unknown one (`tool` None), as it came in.

    `key` is the idempotency key as a template sees it, `key_text` the text it is known by.
    """

    name: str
    tool: Tool | None
    seq: int
    number: int
    admitted: Admitted
    key: Any = MISSING
    key_text: str | None = None

    def scope(self, spec: CaseSpec, root: Any) -> Scope:
        """What templates see of this call over a state."""
        return Scope(
            self.admitted.value,
            root,
            tenant=spec.tenant or MISSING,
            idempotency_key=self.key,
            now=spec.now,
            seq=self.seq,
            number=self.number,
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: what the caller sees, what the dependency did, and why.

    `attempt` None: the dependency did nothing. `stores`: its own success is kept under the idempotency key.
    """

    answer: Answer
    transport: Transport = "normal"
    attempt: Attempt | None = None
    stores: bool = False
    rule: FaultRule | None = None
    violation: str | None = None
    cross_tenant: str | None = None
