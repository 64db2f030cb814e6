"""The calls file of a rehearsal (FORMATS 6): what is done in place of an agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twins.documents.problems import DocumentError, Problem
from twins.documents.source import CALLS_BYTES, Finding, as_source
from twins.documents.validation import DocumentSchema, Mention
from twins.engine.case import ABSENT

CALLS_SCHEMA = DocumentSchema(Path(__file__).parent / "schemas" / "calls.schema.json")


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """A call to make. ``arguments`` is ABSENT where the file gives none, which is not the same as null."""

    tool: str
    arguments: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search of the knowledge base."""

    query: str
    limit: int | None


@dataclass(frozen=True, slots=True)
class Calls:
    """A valid calls file. ``answer`` is the agent's answer as FORMATS 5 names its fields, or None."""

    calls: tuple[ToolCallRequest | SearchRequest, ...] = ()
    answer: Mapping[str, Any] | None = None
    caller_role: str = "agent"
    tenant: str | None = None


def validate_calls(document: Any, *, with_scenario: bool = False) -> list[Problem]:
    """Every problem of a calls file: a Source or a parsed value.

    ``with_scenario``: a scenario is rehearsed too, and it names the tenant.
    """

    def tenant_once(value: Any, _mentions: Sequence[Mention]) -> Iterator[Finding]:
        if with_scenario and isinstance(value, dict) and value.get("tenant") is not None:
            yield Finding(
                ("tenant",),
                "is only for a rehearsal without a scenario: set the scenario's input.context.tenant",
            )

    return CALLS_SCHEMA.problems(as_source(document, limit=CALLS_BYTES), tenant_once)


def load_calls(document: Any, *, with_scenario: bool = False) -> Calls:
    """The calls of a document (a Source or a parsed value). DocumentError with every problem."""
    source = as_source(document, limit=CALLS_BYTES)
    problems = validate_calls(source, with_scenario=with_scenario)
    if problems:
        raise DocumentError(problems)
    written = source.value
    return Calls(
        calls=tuple(_request(one) for one in written["calls"]),
        answer=written.get("answer"),
        caller_role=written.get("caller_role", "agent"),
        tenant=written.get("tenant"),
    )


def _request(written: Mapping[str, Any]) -> ToolCallRequest | SearchRequest:
    if "search" in written:
        limit = written.get("limit")
        return SearchRequest(written["search"], None if limit is None else int(limit))
    return ToolCallRequest(written["tool"], written.get("arguments", ABSENT), written.get("headers", {}))
