"""The smallest valid documents, for a test to change one thing of, and how a test reads problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from twins.documents.problems import Problem


def twin(**spec: Any) -> dict[str, Any]:
    """A twin with one tool of every handler kind that needs no registration."""
    tools = {
        "get_order": {"handler": {"kind": "read", "path": "orders.{order_id}"}},
        "refund": {"handler": {"kind": "mutate", "effects": [{"op": "increment", "path": "refunds"}]}},
    }
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "TwinDefinition",
        "metadata": {"name": "shop"},
        "spec": {"initialState": {"orders": {}}, "tools": tools, **spec},
    }


def tool(**fields: Any) -> dict[str, Any]:
    """A twin whose only tool is ``t``."""
    return twin(tools={"t": {"handler": {"kind": "echo"}, **fields}})


def handler(**fields: Any) -> dict[str, Any]:
    """A twin whose only tool ``t`` has this handler."""
    return twin(tools={"t": {"handler": fields}})


def effect(**fields: Any) -> dict[str, Any]:
    return handler(kind="mutate", effects=[fields])


def precondition(**fields: Any) -> dict[str, Any]:
    effects = [{"op": "set", "path": "x", "value": 1}]
    return handler(kind="mutate", effects=effects, preconditions=[fields])


def scenario(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "Scenario",
        "metadata": {"name": "late-refund"},
        "spec": {
            "agent": "desk-bot",
            "twin": "shop",
            "input": {"message": "Where is my money?"},
            "expectations": [{"type": "toolCalled", "tool": "refund"}],
            **spec,
        },
    }


def expecting(**expectation: Any) -> dict[str, Any]:
    return scenario(expectations=[expectation])


def faulting(**rule: Any) -> dict[str, Any]:
    return scenario(faults=[{"target": "refund", "behavior": {"type": "http_500"}, **rule}])


def agent(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "Agent",
        "metadata": {"name": "desk-bot", "version": "1.2.4"},
        "spec": {"model": {"provider": "none", "name": "scripted"}, "tools": [{"name": "refund"}], **spec},
    }


def gate_policy(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "GatePolicy",
        "metadata": {"name": "careful"},
        "spec": spec,
    }


def dataset(*scenarios: str, **spec: Any) -> dict[str, Any]:
    """A dataset with a case for each scenario, C-1 and so on."""
    cases = [{"id": f"C-{number}", "scenario": name} for number, name in enumerate(scenarios, start=1)]
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "Dataset",
        "metadata": {"name": "suite"},
        "spec": {"purpose": "development", "cases": cases, **spec},
    }


def with_metadata(document: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], **metadata}}


def without(document: dict[str, Any], *path: str) -> dict[str, Any]:
    """The document without the field at the path."""
    first, *rest = path
    copy = dict(document)
    if rest:
        copy[first] = without(copy[first], *rest)
    else:
        del copy[first]
    return copy


def said(problems: Iterable[Problem]) -> str:
    """All problems as one text, a line each."""
    return "\n".join(str(problem) for problem in problems)


def only(problems: list[Problem]) -> str:
    """The text of the one problem there is."""
    assert len(problems) == 1, said(problems)
    return str(problems[0])


Validate = Callable[[Any], list[Problem]]
