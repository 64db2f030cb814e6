"""How fast the pure twin runs a case: five calls, records and changes included, on one core.

The case: a policy and an order are read, a refund applies and then times out, the order is read again and
a mail is sent. Every tool has an input schema, the refund a key and a precondition. Once over a state of 6 KB
and once over one of 2.8 MB (1,500 orders): a call costs its depth, so both should cost nearly the same.
"""

from __future__ import annotations

import gc
import statistics
import time
from typing import Any

from twins.engine import (
    CaseSpec,
    Definition,
    Step,
    begin,
    call_tool,
    compact_json,
    compile_definition,
    compile_fault_rules,
)

ROUNDS = 9
SECONDS_PER_ROUND = 0.4

_ORDER_ARGUMENT = {
    "type": "object",
    "required": ["order_id"],
    "additionalProperties": False,
    "properties": {"order_id": {"type": "string", "pattern": "^ORD-[0-9]{4,}$"}},
}
_TOOLS: dict[str, Any] = {
    "get_policy": {"inputSchema": {"type": "object"}, "handler": {"kind": "read", "path": "policy.refund"}},
    "get_order": {
        "inputSchema": _ORDER_ARGUMENT,
        "tenantPath": "orders.{order_id}",
        "handler": {"kind": "read", "path": "orders.{order_id}"},
    },
    "refund_payment": {
        "inputSchema": {
            "type": "object",
            "required": ["order_id", "amount"],
            "additionalProperties": False,
            "properties": {
                "order_id": {"type": "string", "pattern": "^ORD-[0-9]{4,}$"},
                "amount": {"type": "number", "exclusiveMinimum": 0},
                "idempotency_key": {"type": "string", "minLength": 1},
            },
        },
        "tenantPath": "orders.{order_id}",
        "idempotency": {"argument": "idempotency_key"},
        "effectKey": "refund:{order_id}",
        "handler": {
            "kind": "mutate",
            "path": "orders.{order_id}",
            "preconditions": [{"path": "value.refundable", "gte": "{amount}"}],
            "effects": [
                {"op": "decrement", "path": "orders.{order_id}.refundable", "by": "{amount}"},
                {"op": "increment", "path": "orders.{order_id}.refund_count"},
                {
                    "op": "append",
                    "path": "orders.{order_id}.refunds",
                    "value": {"id": "RF-{id}", "amount": "{amount}", "at": "{now}"},
                },
            ],
            "response": {"refund_id": "RF-{id}", "amount": "{amount}"},
        },
    },
    "send_email": {
        "inputSchema": {
            "type": "object",
            "required": ["to", "text"],
            "properties": {"to": {"type": "string"}, "text": {"type": "string", "maxLength": 5000}},
        },
        "handler": {
            "kind": "mutate",
            "effects": [{"op": "append", "path": "emails", "value": {"to": "{to}", "text": "{text}"}}],
        },
    },
}
_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_policy", {}),
    ("get_order", {"order_id": "ORD-1001"}),
    ("refund_payment", {"order_id": "ORD-1001", "amount": 80, "idempotency_key": "refund-1001"}),
    ("get_order", {"order_id": "ORD-1001"}),
    ("send_email", {"to": "mira@example.com", "text": "Your refund of 80 is on its way."}),
)
_FAULTS = compile_fault_rules(
    [{"target": "refund_payment", "when": {"callNumber": 1}, "behavior": {"type": "timeout_after_mutation"}}]
)


def _order(number: int, lines: int) -> dict[str, Any]:
    return {
        "id": f"ORD-{number}",
        "tenant": "demo-co",
        "customer_id": "CUST-100",
        "status": "delivered",
        "items": [
            {"sku": f"SKU-{number}-{line}", "title": "A reading lamp", "price": 40} for line in range(lines)
        ],
        "note": "Left with the neighbour at number 12; the customer was told by text message the same day.",
        "total": 120,
        "refundable": 120,
        "refund_count": 0,
        "refunds": [],
    }


def definition_with(orders: int, lines: int) -> Definition:
    """The refund twin with this many orders of this many lines in its state."""
    state = {
        "policy": {"refund": {"limit": 100, "currency": "USD", "days": 30}},
        "orders": {f"ORD-{1000 + number}": _order(1000 + number, lines) for number in range(1, orders + 1)},
        "emails": [],
    }
    document = {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "TwinDefinition",
        "metadata": {"name": "bench"},
        "spec": {"tenantKey": "tenant", "initialState": state, "tools": _TOOLS},
    }
    return compile_definition(document)


def run_case(spec: CaseSpec) -> list[Step]:
    """The five calls of one fresh case."""
    state = begin(spec)
    steps = []
    for tool, arguments in _CALLS:
        step = call_tool(spec, state, tool, arguments)
        state = step.state
        steps.append(step)
    return steps


def spec_with(orders: int, lines: int) -> CaseSpec:
    """The case over that twin, with the fault of the story."""
    definition = definition_with(orders, lines)
    return CaseSpec(definition, definition.initial_state, faults=_FAULTS, tenant="demo-co")


def cases_per_second(spec: CaseSpec) -> float:
    """Cases run in one round, per second of processor time: a busy machine does not slow the figure."""
    count = 0
    start = time.process_time()
    while True:
        for _ in range(50):
            run_case(spec)
        count += 50
        elapsed = time.process_time() - start
        if elapsed >= SECONDS_PER_ROUND:
            return count / elapsed


def engine_figures() -> dict[str, float]:
    """Medians of alternating rounds: cases/s and bytes of both states, and the ratio of their costs."""
    small, large = spec_with(orders=14, lines=2), spec_with(orders=1_500, lines=28)
    run_case(small)
    run_case(large)
    gc.freeze()  # a big fixture is not walked by every collection: what a worker does after loading, too
    rates: dict[str, list[float]] = {"small": [], "large": []}
    for _ in range(ROUNDS):
        rates["small"].append(cases_per_second(small))
        rates["large"].append(cases_per_second(large))
    gc.unfreeze()
    small_rate, large_rate = (statistics.median(rates[name]) for name in ("small", "large"))
    return {
        "small_state_bytes": len(compact_json(small.initial_state).encode()),
        "large_state_bytes": len(compact_json(large.initial_state).encode()),
        "small_state_cases_per_second": small_rate,
        "large_state_cases_per_second": large_rate,
        "cost_ratio_large_to_small": small_rate / large_rate,
    }


if __name__ == "__main__":
    for name, figure in engine_figures().items():
        print(f"{name:32} {figure:14,.2f}")
