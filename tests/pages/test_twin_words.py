"""Tools in plain sentences, held against the engine. No database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from twins.describing import (
    COMPARATOR_WORDS,
    EFFECT_WORDS,
    RISK_WORDS,
    VALUE_CHARACTERS,
    Sentence,
    ToolWords,
    compared,
    tool_words,
    value,
)
from twins.documents.source import read_source
from twins.engine import CaseSpec, begin, call_tool, compile_definition
from twins.engine.comparators import COMPARATORS
from twins.engine.definition import EFFECT_OPS, HANDLER_KINDS, RISKS

DEMO = Path(__file__).parents[2] / "demo" / "refund" / "twin.yaml"


def read(sentence: Sentence) -> str:
    return "".join(f"`{part.text}`" if part.is_code else part.text for part in sentence)


def told(words: ToolWords) -> list[str]:
    effects = [read(words.changes), *map(read, words.effects)] if words.effects else []
    return [*map(read, words.first), *effects, read(words.answer)]


def words_of(handler: dict[str, Any], tenant_key: str | None = None, **tool: Any) -> ToolWords:
    return tool_words({"handler": handler, **tool}, tenant_key=tenant_key)


def test_the_refund_of_the_demo() -> None:
    tool = read_source(DEMO.read_text()).value["spec"]["tools"]["refund_payment"]
    words = tool_words(tool, tenant_key="tenant")

    assert told(words) == [
        "Works on the record at `orders.{order_id}`; where there is none: `404 ORDER_NOT_FOUND` "
        "“No order {order_id}”.",
        "Refuses with `409 ORDER_NOT_DELIVERED` “Order {order_id} is {value.status}; a refund needs a "
        'delivered order” unless `value.status` is `"delivered"`.',
        "Refuses with `409 AMOUNT_NOT_REFUNDABLE` “Order {order_id} has {value.refundable_amount} left to "
        "refund, not {amount}” unless `value.refundable_amount` is at least `{amount}`.",
        "Changes `orders.{order_id}`:",
        "adds `{amount}` to `refunded_amount`",
        "adds `1` to `refund_count`",
        "subtracts `{amount}` from `refundable_amount`",
        'appends `{"id":"RF-{id}","amount":"{amount}","at":"{now}"}` to `refunds`',
        'Answers `{"status":"succeeded","refund_id":"RF-{id}","order_id":"{order_id}","amount":"{amount}",'
        '"currency":"{value.currency}"}`.',
    ]
    assert {label: read(sentence) for label, sentence in words.facts} == {
        "Idempotency": "key from the argument `idempotency_key`; the same key and arguments replay the first "
        "answer",
        "Effect key": "`refund:{order_id}`: two effects with one key are duplicates, whatever the arguments",
        "Tenant check": "the `tenant` of `orders.{order_id}` must be the tenant of the case, else "
        "`403 ACCESS_DENIED`",
    }


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (
            {"kind": "read", "path": "a.{b}"},
            ["Reads the record at `a.{b}`.", "Where there is none: `404 NOT_FOUND`.", "Answers that record."],
        ),
        (
            {"kind": "read", "path": "a", "response": "{value.b}"},
            ["Looks up `a`.", "Where there is none: `404 NOT_FOUND`.", "Answers `{value.b}`."],
        ),
        (
            {"kind": "mutate", "effects": [{"op": "delete", "path": "a.b"}]},
            ["Then:", "deletes `a.b`", 'Answers `{"ok":true}`.'],
        ),
        (
            {
                "kind": "mutate",
                "path": "a.{b}",
                "effects": [
                    {"op": "set", "path": "a.{b}.c", "value": None},
                    {"op": "merge", "path": "log", "value": {"x": 1}},
                    {"op": "decrement", "path": "a.{b}.n"},
                ],
            },
            [
                "Works on the record at `a.{b}`; where there is none: `404 NOT_FOUND`.",
                "Then:",
                "sets `a.{b}.c` to `null`",
                'merges `{"x":1}` into `log`',
                "subtracts `1` from `a.{b}.n`",
                "Answers the changed record.",
            ],
        ),
        ({"kind": "static", "response": 7}, ["Answers `7` to every call."]),
        ({"kind": "echo"}, ["Answers its own name and the arguments it was given."]),
        (
            {"kind": "recorded", "fixtures": [{"match": {}}]},
            [
                "Holds 1 recorded answer.",
                "Where no answer’s match is contained in the arguments: `404 NO_FIXTURE`.",
                "Answers the first whose match is contained in the arguments, as it was recorded.",
            ],
        ),
        ({"kind": "custom", "adapter": "x"}, ["Does what the adapter `x` says, a function in code."]),
    ],
)
def test_each_kind_of_handler(handler: dict[str, Any], expected: list[str]) -> None:
    assert told(words_of(handler)) == expected


@pytest.mark.parametrize("kind", HANDLER_KINDS)
def test_every_kind_of_the_engine_is_told(kind: str) -> None:
    fields = {"path": "a", "effects": [], "response": 1, "fixtures": [], "adapter": "x"}

    assert "not written down" not in read(words_of({"kind": kind, **fields}).answer)


def test_the_tables_have_the_words_of_the_engine_and_no_others() -> None:
    assert set(EFFECT_WORDS) == set(EFFECT_OPS)
    assert set(COMPARATOR_WORDS) == set(COMPARATORS)
    assert tuple(RISK_WORDS) == RISKS


def test_errors_that_a_document_leaves_out_are_those_of_the_engine() -> None:
    handler = {
        "kind": "mutate",
        "path": "a.{b}",
        "preconditions": [{"path": "value.ok", "equals": True}],
        "effects": [{"op": "set", "path": "a.{b}.c", "value": 1}],
    }
    spec = {"initialState": {"a": {"x": {"ok": False}}}, "tools": {"t": {"handler": handler}}}
    spec_of_case = CaseSpec(
        compile_definition({"metadata": {"name": "n"}, "spec": spec}), spec["initialState"]
    )
    sentences = told(words_of(handler))

    for argument, sentence in (("nobody", sentences[0]), ("x", sentences[1])):
        reply = call_tool(spec_of_case, begin(spec_of_case), "t", {"b": argument}).reply
        assert f"`{reply.status} {reply.body['error']['code']}`" in sentence  # type: ignore[index]


@pytest.mark.parametrize(
    ("idempotency", "expected"),
    [
        ({"argument": "key"}, "key from the argument `key`;"),
        ({"header": "X-Key"}, "key from the header `X-Key`;"),
        ({"argument": "key", "header": "X-Key"}, "key from the argument `key`, else the header `X-Key`;"),
        ({}, "takes no key"),
    ],
)
def test_where_the_key_comes_from(idempotency: dict[str, str], expected: str) -> None:
    handler = {"kind": "mutate", "effects": [{"op": "delete", "path": "a"}]}
    facts = dict(words_of(handler, idempotency=idempotency).facts)

    assert read(facts["Idempotency"]).startswith(expected)


def test_a_tenant_path_without_a_tenant_key_checks_nothing_and_says_so() -> None:
    facts = dict(words_of({"kind": "echo"}, tenantPath="a.{b}").facts)

    assert read(facts["Tenant check"]).endswith("this twin has no tenant key: nothing is checked")


def test_comparators_read_as_one_sentence() -> None:
    assert read(compared({"gte": 1, "lte": "{max}"})) == " is at least `1` and is at most `{max}`"
    assert read(compared({"exists": False})) == " does not exist"


def test_a_long_value_is_cut() -> None:
    assert len(value("x" * 1000).text) == VALUE_CHARACTERS
