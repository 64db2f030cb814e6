"""The smallest twins and cases; a test adds only what it is about."""

from __future__ import annotations

import itertools
from typing import Any

from twins.engine import (
    ABSENT,
    CallRecord,
    CaseSpec,
    Definition,
    Reply,
    begin,
    call_tool,
    compile_definition,
    compile_fault_rules,
    search,
)

_names = itertools.count()


def twin(tools: dict[str, Any], state: dict[str, Any] | None = None, **spec: Any) -> Definition:
    """A definition of these tools; `spec` adds fields such as tenantKey."""
    return compile_definition(
        {
            "apiVersion": "agenttwin.dev/v1",
            "kind": "TwinDefinition",
            "metadata": {"name": f"twin-{next(_names)}"},
            "spec": {"initialState": state or {}, "tools": tools, **spec},
        }
    )


def mutate(*effects: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A tool that applies effects; `more` goes to the handler."""
    return {"handler": {"kind": "mutate", "effects": list(effects), **more}}


def read(path: str, **more: Any) -> dict[str, Any]:
    """A tool that reads a path; `more` goes to the handler."""
    return {"handler": {"kind": "read", "path": path, **more}}


def static(response: Any) -> dict[str, Any]:
    """A tool that answers a response template."""
    return {"handler": {"kind": "static", "response": response}}


class Case:
    """A running case: calls go in order, `root` is the state now, `records` all records."""

    def __init__(
        self,
        tools: dict[str, Any],
        state: dict[str, Any] | None = None,
        *,
        faults: list[dict[str, Any]] | None = None,
        twin_spec: dict[str, Any] | None = None,
        definition: Definition | None = None,
        **spec: Any,
    ) -> None:
        definition = definition or twin(tools, state, **(twin_spec or {}))
        self.spec = CaseSpec(
            definition, definition.initial_state, faults=compile_fault_rules(faults or []), **spec
        )
        self.state = begin(self.spec)
        self.records: list[Any] = []

    @property
    def root(self) -> dict[str, Any]:
        return self.state.root

    @property
    def record(self) -> CallRecord:
        """The last record."""
        return self.records[-1]

    def call(self, tool: Any, arguments: Any = ABSENT, headers: Any = None) -> Reply:
        """One call with its arguments as a value."""
        return self._take(call_tool(self.spec, self.state, tool, arguments, headers))

    def search(self, query: Any, limit: Any = None) -> Any:
        """One search."""
        return self._take(search(self.spec, self.state, query, limit))

    def _take(self, step: Any) -> Any:
        self.state = step.state
        self.records.extend(step.records)
        return step.reply


def fault(
    kind: str, target: str = "*", when: dict[str, Any] | None = None, **behavior: Any
) -> dict[str, Any]:
    """A fault rule as a scenario writes it; by default for the first call of each tool."""
    return {
        "target": target,
        "when": {"callNumber": 1} if when is None else when,
        "behavior": {"type": kind, **behavior},
    }


def code(reply: Reply) -> str:
    """The error code of a reply."""
    return reply.body["error"]["code"]
