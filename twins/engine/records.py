"""What a call leaves behind: the reply for the caller and the twin's own record (FORMATS 2.1, 6, 8).

Records hold real values; whoever stores, shows or prints them passes them through a redactor first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from .state import Change
from .values import compact_json

Transport = Literal["normal", "drop", "partial", "malformed"]

CUT: Final = frozenset(("partial", "malformed"))
"""The transports, and the statuses of the same names, whose answer is a text that breaks off."""

IDEMPOTENT_REPLAYED: Final = "Idempotent-Replayed"
RETRY_AFTER: Final = "Retry-After"
UNKNOWN_TOOL: Final = "UNKNOWN_TOOL"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer before transport: status, body on the wire, error code and the two headers a twin sends."""

    status: int
    body: Any
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether it is a success, with a result. A refusal is none, whatever status an adapter gives it."""
        return self.code is None and 200 <= self.status < 300

    @property
    def result(self) -> Any:
        """The value of a success answer."""
        return self.body["result"]


def success(result: Any, status: int = 200) -> Answer:
    """A success answer: `{"result": …}`."""
    return Answer(status, {"result": result})


def error(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An error answer: `{"error": {"code", "message"}}`."""
    return Answer(status, {"error": {"code": code, "message": message}}, code, headers or {})


_STATUS_WORDS: Final = {
    429: "rate_limited",
    401: "denied",
    403: "denied",
    404: "not_found",
    408: "timeout",
    504: "timeout",
    400: "invalid",
    409: "invalid",
    422: "invalid",
}
_TRANSPORT_WORDS: Final = {"drop": "dropped", "partial": "partial", "malformed": "malformed"}


def call_status(http_status: int, code: str | None, transport: Transport) -> str:
    """The one word for how a call ended; the transport decides first, then the code for an unknown tool."""
    if transport != "normal":
        return _TRANSPORT_WORDS[transport]
    if code == UNKNOWN_TOOL:
        return "unknown_tool"
    if 200 <= http_status < 300:
        return "ok"
    return _STATUS_WORDS.get(http_status, "error")


def first_half(body: Any) -> str:
    """What of an answer is sent before it breaks off: half its compact JSON, rounded down."""
    text = compact_json(body)
    return text[: len(text) // 2]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the caller gets. `body` may share parts of the state: copy it before anyone may change it.

    `status` is 0 and `body` None when nothing arrives; the cut text of a partial or malformed one.
    """

    status: int
    headers: dict[str, str]
    body: Any
    delay_ms: int = 0
    transport: Transport = "normal"

    def to_json(self) -> dict[str, Any]:
        """The fields as FORMATS 6 prints them."""
        return {
            "status": self.status,
            "headers": dict(self.headers),
            "body": self.body,
            "delay_ms": self.delay_ms,
            "transport": self.transport,
        }


@dataclass(frozen=True, slots=True)
class SearchReply:
    """The documents a search found, best first: `{id, title, text}` each."""

    documents: tuple[dict[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """The fields as FORMATS 6 prints them."""
        return {"documents": [dict(document) for document in self.documents]}


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call as the twin saw it, refused ones and second deliveries included.

    `idempotency_key` is the text of the key the call carried. `sent_arguments` holds arguments too large to
    keep, `sent_texts` the texts of a name, and of arguments that are no JSON, that are kept in part. Both are
    there for as long as the case runs: checks read them, nothing stores them.
    """

    seq: int
    call_number: int
    tool: str
    arguments: Any
    http_status: int
    status: str
    error_code: str | None
    response: Any
    risk: str | None
    fault: str | None
    mutated: bool
    expects_mutation: bool
    replayed: bool
    redelivered: bool
    effect_key: str | None
    cross_tenant: str | None
    policy_violation: str | None
    changes: tuple[Change, ...]
    delay_ms: int
    idempotency_key: str | None = None
    sent_arguments: Any = None
    sent_texts: tuple[str, ...] = ()
    kind: Literal["tool_call"] = "tool_call"

    def to_json(self) -> dict[str, Any]:
        """The fields as FORMATS 6 prints them; the internal ones stay behind."""
        fields = {name: getattr(self, name) for name in _PRINTED}
        fields["changes"] = [dict(change) for change in self.changes]
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> CallRecord:
        """The record of printed fields; `idempotency_key` is taken if it is among them."""
        known = {name: fields[name] for name in _PRINTED if name != "kind"}
        known["changes"] = tuple(fields["changes"])
        return cls(**known, idempotency_key=fields.get("idempotency_key"))


_PRINTED: Final = (
    "seq",
    "kind",
    "call_number",
    "tool",
    "arguments",
    "http_status",
    "status",
    "error_code",
    "response",
    "risk",
    "fault",
    "mutated",
    "expects_mutation",
    "replayed",
    "redelivered",
    "effect_key",
    "cross_tenant",
    "policy_violation",
    "changes",
    "delay_ms",
)


@dataclass(frozen=True, slots=True)
class RetrievalRecord:
    """One search of the knowledge base: the documents answered as (id, trusted), best first.

    `sent_texts` is the query where that was too long to keep, as of a call.
    """

    seq: int
    query: str
    limit: int
    documents: tuple[tuple[str, bool], ...]
    sent_texts: tuple[str, ...] = ()
    kind: Literal["retrieval"] = "retrieval"

    def to_json(self) -> dict[str, Any]:
        """The fields as FORMATS 6 prints them."""
        return {
            "seq": self.seq,
            "kind": self.kind,
            "query": self.query,
            "limit": self.limit,
            "documents": [{"id": id_, "trusted": trusted} for id_, trusted in self.documents],
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> RetrievalRecord:
        """The record of printed fields."""
        documents = tuple((one["id"], one["trusted"]) for one in fields["documents"])
        return cls(fields["seq"], fields["query"], fields["limit"], documents)


Record = CallRecord | RetrievalRecord
