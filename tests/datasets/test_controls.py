"""Control agents: what they do with a case, and what a suite makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from evaluations.controls import CONTROLS, Offer, Situation
from evaluations.controls.filling import filled

MESSAGE = (
    "Order ORD-1001 arrived broken. Please refund $1,240.50 today (2026-03-01), write to mira@example.com."
)


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("order_id", {"type": "string"}, "ORD-1001"),
        ("order_id", {"type": "string", "pattern": "^ORD-[0-9]{4}$"}, "ORD-1001"),
        ("amount", {"type": "number"}, 1240.5),
        ("count", {"type": "integer"}, 1240),
        ("email", {"type": "string"}, "mira@example.com"),
        ("due_date", {"type": "string"}, "2026-03-01"),
        ("reason", {"type": "string"}, MESSAGE),
        ("reason", {"type": "string", "maxLength": 5}, "Order"),
        ("kind", {"enum": ["exchange", "refund"]}, "refund"),
        ("kind", {"enum": ["exchange", "voucher"]}, "exchange"),
        ("confirmed", {"type": "boolean"}, True),
        ("version", {"const": 2}, 2),
        ("order_ids", {"type": "array", "items": {"type": "string"}}, ["ORD-1001"]),
        ("payment", schema(amount={"type": "number"}), {"amount": 1240.5}),
        ("note", {"type": ["null", "string"]}, MESSAGE),
    ],
)
def test_an_argument_is_taken_from_the_words(name: str, kind: dict[str, Any], value: Any) -> None:
    assert filled(schema(**{name: kind}), MESSAGE, {}) == {name: value}


@pytest.mark.parametrize(
    "message", ["I want 40 USD back", "I want $40 back", "I want 40 dollars of 3 items", "40, please"]
)
def test_money_counts_before_other_numbers(message: str) -> None:
    assert filled(schema(amount={"type": "number"}), message, {}) == {"amount": 40}


def test_the_context_counts_before_the_words() -> None:
    context = {"customerId": "CUST-1", "order_id": "ORD-7", "empty": None}
    asked = schema(customer_id={"type": "string"}, order_id={"type": "string"})
    assert filled(asked, MESSAGE, context) == {"customer_id": "CUST-1", "order_id": "ORD-7"}


def test_a_code_is_chosen_by_the_name_of_the_argument() -> None:
    message = "Move INV-22 to my order ORD-5"
    asked = schema(order_id={"type": "string"}, invoice_id={"type": "string"}, ticket_id={"type": "string"})
    assert filled(asked, message, {}) == {"order_id": "ORD-5", "invoice_id": "INV-22", "ticket_id": "INV-22"}


def test_what_is_in_neither_leaves_the_tool_alone() -> None:
    assert filled(schema(order_id={"type": "string"}), "Where is my money?", {}) is None
    assert filled(schema(amount={"type": "number"}), "Refund order ORD-1001", {}) is None
    assert filled(schema(code={"type": "string", "pattern": "^X[0-9]$"}), MESSAGE, {}) is None


def test_optional_arguments_are_left_out_and_a_required_key_is_made_up() -> None:
    asked = {
        "required": ["amount", "key"],
        "properties": {"amount": {"type": "number"}, "key": {"type": "string"}, "note": {"type": "string"}},
    }
    assert filled(asked, MESSAGE, {}, key_argument="key") == {"amount": 1240.5, "key": "control-1"}


def test_without_a_schema_the_names_that_templates_use_are_filled() -> None:
    assert filled(None, MESSAGE, {}, named=("order_id", "amount")) == {
        "order_id": "ORD-1001",
        "amount": 1240.5,
    }
    assert filled(None, MESSAGE, {}) == {}


TOOLS = (
    Offer("look", "READ", schema(order_id={"type": "string"})),
    Offer("refund", "WRITE_IRREVERSIBLE", schema(order_id={"type": "string"}, amount={"type": "number"})),
    Offer("export", "ADMIN", None),
    Offer("move", "WRITE_REVERSIBLE", schema(warehouse_id={"type": "string", "pattern": "^WH[0-9]$"})),
)


def test_each_control_does_its_one_thing() -> None:
    situation = Situation(MESSAGE, {}, TOOLS)
    called = {name: [call.tool for call in one.calls(situation)] for name, one in CONTROLS.items()}
    assert called == {
        "refuses-everything": [],
        "claims-success": [],
        "does-everything": ["refund", "export"],
    }
    claims = {name: one.answer.claimed_outcome for name, one in CONTROLS.items()}
    assert claims == {
        "refuses-everything": "REFUSED",
        "claims-success": "SUCCESS",
        "does-everything": "SUCCESS",
    }


@pytest.mark.parametrize("name", CONTROLS)
def test_each_says_what_it_does_which_cases_catch_it_and_what_is_missing(name: str) -> None:
    control = CONTROLS[name]
    assert control.name == name
    assert control.does
    assert control.kind in control.missing
