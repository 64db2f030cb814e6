"""The smallest valid cases and records; a test adds only what it is about."""

from __future__ import annotations

import copy
from typing import Any

from evaluations.grading import Answer, Result
from evaluations.rehearsal import rehearse
from twins.engine.records import CallRecord, RetrievalRecord

API = "agenttwin.dev/v1"

#: A shop with one tool of every sort that the expectations tell apart.
TOOLS: dict[str, Any] = {
    "look": {"handler": {"kind": "read", "path": "orders.{order}"}},
    "policy": {"risk": "READ", "handler": {"kind": "static", "response": {"limit": 100}}},
    "pay": {
        "idempotency": {"argument": "key"},
        "effectKey": "pay:{order}",
        "handler": {
            "kind": "mutate",
            "path": "orders.{order}",
            "effects": [{"op": "increment", "path": "orders.{order}.paid", "by": "{amount}"}],
            "response": {"done": True},
        },
    },
    "add": {
        "idempotency": {"argument": "key"},
        "handler": {"kind": "mutate", "effects": [{"op": "append", "path": "log", "value": "{text?}"}]},
    },
    "mark": {
        "risk": "WRITE_REVERSIBLE",
        "handler": {"kind": "mutate", "effects": [{"op": "set", "path": "marked", "value": True}]},
    },
    "wipe": {"risk": "ADMIN", "handler": {"kind": "mutate", "effects": [{"op": "delete", "path": "log"}]}},
}
STATE: dict[str, Any] = {"orders": {"A": {"paid": 0, "note": "first"}, "B": {"paid": 5}}, "log": []}


def twin(
    tools: dict[str, Any] | None = None, state: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """A twin document."""
    return {
        "apiVersion": API,
        "kind": "TwinDefinition",
        "metadata": {"name": "shop"},
        "spec": copy.deepcopy(
            {"initialState": STATE if state is None else state, "tools": tools or TOOLS, **spec}
        ),
    }


def scenario(
    expectations: list[dict[str, Any]],
    *,
    message: str = "Hello",
    context: dict[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A scenario document."""
    return {
        "apiVersion": API,
        "kind": "Scenario",
        "metadata": {"name": "case"},
        "spec": {
            "input": {"message": message, "context": context or {}},
            "expectations": expectations,
            **spec,
        },
    }


def fault(target: str, kind: str, *numbers: int, **behavior: Any) -> dict[str, Any]:
    """A fault rule for these calls of the tool, or for all."""
    when = {"when": {"callNumbers": list(numbers)}} if numbers else {}
    return {"target": target, **when, "behavior": {"type": kind, **behavior}}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """One entry of a calls file."""
    return {"tool": tool, "arguments": arguments}


def graded(
    expectations: list[dict[str, Any]] | dict[str, Any],
    calls: list[dict[str, Any]] | None = None,
    *,
    answer: dict[str, Any] | None = None,
    tools: dict[str, Any] | None = None,
    state: dict[str, Any] | None = None,
    twin_spec: dict[str, Any] | None = None,
    role: str = "agent",
    **spec: Any,
) -> list[dict[str, Any]]:
    """The results of a rehearsal."""
    if isinstance(expectations, dict):
        expectations = [expectations]
    file: dict[str, Any] = {"calls": calls or [], "caller_role": role}
    if answer is not None:
        file["answer"] = answer
    document = twin(tools, state, **(twin_spec or {}))
    results: list[dict[str, Any]] = rehearse(document, scenario(expectations, **spec), file)["results"]
    return results


def only(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """The one result of a rehearsal with one expectation."""
    results = graded(*args, **kwargs)
    assert len(results) == 1
    return results[0]


def record(seq: int = 1, tool: str = "look", **fields: Any) -> CallRecord:
    """A call record; by default a read that succeeded."""
    values: dict[str, Any] = {
        "seq": seq,
        "call_number": seq,
        "tool": tool,
        "arguments": {},
        "http_status": 200,
        "status": "ok",
        "error_code": None,
        "response": {"result": {}},
        "risk": "READ",
        "fault": None,
        "mutated": False,
        "expects_mutation": False,
        "replayed": False,
        "redelivered": False,
        "effect_key": None,
        "cross_tenant": None,
        "policy_violation": None,
        "changes": (),
        "delay_ms": 0,
    }
    return CallRecord(**{**values, **fields})


def write(seq: int = 1, tool: str = "pay", **fields: Any) -> CallRecord:
    """A record of an irreversible write that was applied."""
    defaults = {"risk": "WRITE_IRREVERSIBLE", "mutated": True, "expects_mutation": True}
    return record(seq, tool, **{**defaults, **fields})


def timed_out(**fields: Any) -> dict[str, Any]:
    """The fields of a call that ended in a timeout."""
    return {"http_status": 504, "status": "timeout", "error_code": "TIMEOUT", **fields}


def retrieval(seq: int = 1, query: str = "refund", *ids: str) -> RetrievalRecord:
    """A search that found these documents."""
    return RetrievalRecord(seq, query, 3, tuple((name, True) for name in ids))


def result(identity: str, status: str = "PASS", *, critical: bool = False, **fields: Any) -> Result:
    """A result of some expectation."""
    values: dict[str, Any] = {
        "type": "state",
        "label": "STATE_MISMATCH" if status == "FAIL" else None,
        "reason": "because",
        "evidence": {"calls": [], "paths": []},
    }
    return Result(id=identity, status=status, critical=critical, **{**values, **fields})


def claims(outcome: str | None) -> Answer:
    """An answer that claims this outcome."""
    return Answer(output="done", claimed_outcome=outcome)
