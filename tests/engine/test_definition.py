from __future__ import annotations

import dataclasses

import pytest

from tests.engine.builders import read, twin
from twins.engine import definition as module
from twins.engine.definition import RISKS, compile_definition
from twins.engine.values import digest

ECHO = {"handler": {"kind": "echo"}}


def document(name: str = "small", **spec) -> dict:
    return {
        "apiVersion": "agenttwin.dev/v1",
        "kind": "TwinDefinition",
        "metadata": {"name": name},
        "spec": {"tools": {}, **spec},
    }


def test_the_smallest_document():
    small = compile_definition(document())
    assert (small.name, small.description, small.initial_state, dict(small.tools)) == ("small", "", {}, {})
    assert (small.tenant_key, small.secrets, small.kb_path.text) == (None, (), "kb")


def test_everything_a_document_says_is_there():
    full = compile_definition(
        {
            "metadata": {"name": "full", "description": "All of it"},
            "spec": {
                "initialState": {"a": 1},
                "tenantKey": "tenant",
                "secrets": ["abcd"],
                "retrieval": {"statePath": "docs.list"},
                "tools": {
                    "t.1-_": {
                        "description": "One",
                        "inputSchema": {"type": "object"},
                        "outputSchema": True,
                        "risk": "EXECUTE",
                        "idempotency": {"argument": "key", "header": "X-Key"},
                        "effectKey": "k",
                        "tenantPath": "rows.{ref}",
                        **ECHO,
                    }
                },
            },
        }
    )
    tool = full.tools["t.1-_"]
    assert (full.description, full.tenant_key, full.secrets, full.kb_path.segments) == (
        "All of it",
        "tenant",
        ("abcd",),
        ("docs", "list"),
    )
    assert (tool.name, tool.description, tool.risk, tool.handler_kind) == ("t.1-_", "One", "EXECUTE", "echo")
    assert (tool.input_schema, tool.output_schema) == ({"type": "object"}, True)
    assert (tool.idempotency.argument, tool.idempotency.header) == ("key", "x-key")
    assert tool.tenant_path.text == "rows.{ref}"
    assert not tool.expects_mutation


@pytest.mark.parametrize(
    ("handler", "risk"),
    [
        ({"kind": "read", "path": "a"}, "READ"),
        ({"kind": "echo"}, "WRITE_IRREVERSIBLE"),
        ({"kind": "static", "response": 1}, "WRITE_IRREVERSIBLE"),
        ({"kind": "recorded", "fixtures": []}, "WRITE_IRREVERSIBLE"),
        ({"kind": "mutate", "effects": [{"op": "delete", "path": "a"}]}, "WRITE_IRREVERSIBLE"),
    ],
)
def test_undeclared_risk(handler, risk):
    assert twin({"t": {"handler": handler}}).tools["t"].risk == risk
    for declared in RISKS:
        assert twin({"t": {"risk": declared, "handler": handler}}).tools["t"].risk == declared


def test_the_same_content_is_compiled_once_and_found_by_its_digest():
    first = compile_definition(document("cached", initialState={"n": 1}))
    assert compile_definition(document("cached", initialState={"n": 1.0})) is first
    assert first.digest == digest(document("cached", initialState={"n": 1}))
    assert compile_definition({}, digest=first.digest) is first  # not even looked at


def test_the_cache_is_bounded():
    first = compile_definition(document("first"))
    for index in range(module._CACHE_SIZE):
        compile_definition(document(f"other-{index}"))
    assert compile_definition(document("first")) is not first


def test_a_definition_is_frozen():
    small = twin({"t": read("a")})
    with pytest.raises(dataclasses.FrozenInstanceError):
        small.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        small.tools["new"] = None  # type: ignore[index]


@pytest.mark.parametrize(
    "tool",
    [
        {"handler": {"kind": "read", "path": "a..b"}},
        {"handler": {"kind": "static", "response": "{"}},
        {"handler": {"kind": "mutate", "effects": [{"op": "set", "path": "a", "value": "}"}]}},
        {
            "handler": {
                "kind": "mutate",
                "effects": [{"op": "delete", "path": "a"}],
                "preconditions": [{"path": "orders.x"}],
            }
        },
        {
            "handler": {
                "kind": "mutate",
                "effects": [{"op": "delete", "path": "a"}],
                "preconditions": [{"path": "{x}.y"}],
            }
        },
        {
            "handler": {
                "kind": "mutate",
                "effects": [{"op": "delete", "path": "a"}],
                "preconditions": [{"path": "args.x", "matches": "(?=a)"}],
            }
        },
        {"handler": {"kind": "mutate", "effects": [{"op": "append", "path": "a"}]}},
        {"inputSchema": {"type": "zzz"}, **ECHO},
        {"effectKey": "{", **ECHO},
        {"tenantPath": "", **ECHO},
    ],
)
def test_what_validation_should_have_refused_is_not_compiled(tool):
    with pytest.raises(ValueError, match=r"."):
        twin({"t": tool})
