"""The twin that the tests of the wire call, and the adapter that breaks on demand."""

from __future__ import annotations

from typing import Any

from twins.engine.adapters import AdapterAnswer, AdapterCall, adapter

SECRET = "sk-planted-9431"


@adapter("breaks_on_demand")
def _breaks(call: AdapterCall) -> AdapterAnswer:
    if call.arguments.get("break"):
        raise RuntimeError("the adapter is broken")
    return AdapterAnswer({"fine": True})


def twin() -> dict[str, Any]:
    """Orders to read and to refund, a counter, a knowledge base."""
    order = {"type": "object", "required": ["order_id"], "properties": {"order_id": {"type": "string"}}}
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "TwinDefinition",
        "metadata": {"name": "shop"},
        "spec": {
            "secrets": [SECRET],
            "initialState": {
                "orders": {
                    "A-1": {"note": "Größe 42 — “neu”", "paid": 80, "refunds": []},
                    "A-2": {"paid": 5},
                },
                "count": 0,
                "kb": [
                    {
                        "id": "kb-1",
                        "title": "Refunds",
                        "text": "A refund takes five days. A refund is final.",
                    },
                    {"id": "kb-2", "title": "Shipping", "text": "No refund of shipping."},
                ],
            },
            "tools": {
                "get_order": {
                    "description": "Reads an order.",
                    "inputSchema": order,
                    "handler": {"kind": "read", "path": "orders.{order_id}"},
                },
                "refund": {
                    "description": "Refunds an order.",
                    "idempotency": {"argument": "key", "header": "Idempotency-Key"},
                    "handler": {
                        "kind": "mutate",
                        "path": "orders.{order_id}",
                        "effects": [
                            {"op": "append", "path": "orders.{order_id}.refunds", "value": "{amount}"}
                        ],
                    },
                },
                "count": {
                    "handler": {
                        "kind": "mutate",
                        "effects": [{"op": "increment", "path": "count"}],
                        "response": {"count": "{state.count}"},
                    }
                },
                "echo": {"handler": {"kind": "echo"}},
                "fragile": {"handler": {"kind": "custom", "adapter": "breaks_on_demand"}},
            },
        },
    }


def fault(kind: str, tool: str = "refund", **behavior: Any) -> dict[str, Any]:
    """A rule that acts on the first call of a tool."""
    return {"target": tool, "when": {"callNumber": 1}, "behavior": {"type": kind, **behavior}}
