"""What a twin's document may say (FORMATS 2), and that every problem of one is told at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.documents.samples import (
    effect,
    handler,
    only,
    precondition,
    said,
    tool,
    twin,
    with_metadata,
    without,
)
from twins.documents.problems import DocumentError
from twins.documents.source import read_source
from twins.documents.twin import load_twin, validate_twin
from twins.engine import adapters
from twins.engine.definition import EFFECT_OPS, HANDLER_KINDS, RISKS


@pytest.mark.parametrize(
    "document",
    [
        twin(),
        twin(tools={}),
        without(twin(), "spec", "initialState"),
        with_metadata(twin(), name="a" * 63, description="d", source="openapi"),
        twin(tenantKey="owner", secrets=["abcd"], retrieval={"statePath": "help.articles"}),
        tool(risk="EXECUTE", description="d", inputSchema=True, outputSchema={"type": "object"}),
        tool(idempotency={"argument": "key", "header": "Idempotency-Key"}, effectKey="refund:{order_id}"),
        tool(tenantPath="orders.{order_id}"),
        twin(tools={"a.b-C_9": {"handler": {"kind": "echo"}}}),
        handler(kind="read", path="a[{index}].length()", notFound={"status": 410, "message": "no {id_of}"}),
        handler(kind="read", path="$", response={"any": ["{value}", "{{literal}}", {"{key": "{now}"}]}),
        handler(kind="static", response=None),
        handler(kind="recorded", fixtures=[{"match": {"a": "{"}, "response": "{"}]),
        handler(kind="recorded", fixtures=[{"match": {}, "error": {"status": 409, "code": "X"}}]),
        effect(op="increment", path="n", by="{amount}"),
        effect(op="set", path="a.{b}['c d']", value=None),
        effect(op="delete", path="a"),
        effect(op="merge", path="a", value="{args}"),
        precondition(path="args.n", gte="{state.least}", lte=5, matches="^{{2}}$", error={"status": 422}),
        precondition(path="tenant", equals="{value.owner}"),
        precondition(path="state.orders.{id_of}.n", **{"in": "{state.allowed}"}),
    ],
)  # fmt: skip
def test_a_valid_twin_has_no_problem_and_loads(document: Any) -> None:
    assert said(validate_twin(document)) == ""
    assert load_twin(document).name == document["metadata"]["name"]


PROBLEMS: list[tuple[Any, str]] = [
    ([], "$: must be an object, found a list"),
    (without(twin(), "apiVersion"), "apiVersion: is required"),
    ({**twin(), "apiVersion": "v2"}, 'apiVersion: found "v2", allowed agenttwin.dev/v1'),
    ({**twin(), "kind": "Twin"}, 'kind: found "Twin", allowed TwinDefinition'),
    (without(twin(), "metadata", "name"), "metadata.name: is required"),
    (without(twin(), "spec", "tools"), "spec.tools: is required"),
    (with_metadata(twin(), name="Shop"), 'metadata.name: found "Shop", allowed 1 to 63 lower-case letters'),
    (with_metadata(twin(), name="a" * 64), "metadata.name: found"),
    (with_metadata(twin(), name="shop\n"), "metadata.name: found"),
    (with_metadata(twin(), name=5), "metadata.name: must be text, found 5 (quote it)"),
    (
        with_metadata(twin(), source="magic"),
        'metadata.source: found "magic", allowed declarative, openapi, mcp',
    ),
    (
        with_metadata(twin(), nme="x"),
        "metadata.nme: is not a known field here, allowed name, description, source;",
    ),
    (twin(initialState=[]), "spec.initialState: must be an object, found a list"),
    (twin(secrets=["abc"]), "spec.secrets[0]: must have at least 4 characters, found 3"),
    (twin(retrieval={"statePath": "a..b"}), "spec.retrieval.statePath: 'a..b'"),
    (twin(tools={"no space": {"handler": {"kind": "echo"}}}), "spec.tools['no space']: found"),
    (twin(tools={"t": {}}), "spec.tools.t.handler.kind: is required"),
    (tool(risk="SOMETIMES"), 'spec.tools.t.risk: found "SOMETIMES", allowed READ, WRITE_REVERSIBLE'),
    (tool(risk="read"), "did you mean READ?"),
    (tool(idempotency={}), "spec.tools.t.idempotency: must have at least 1 field, found 0"),
    (tool(effectKey="refund:{"), "spec.tools.t.effectKey: 'refund:{'"),
    (tool(tenantPath="orders.{"), "spec.tools.t.tenantPath: "),
    (tool(inputSchema={"type": "strin"}), 'spec.tools.t.inputSchema.type: is not JSON Schema: found "strin"'),
    (
        tool(inputSchema={"pattern": "(?=a)"}),
        "spec.tools.t.inputSchema.pattern: is not JSON Schema: '(?=a)' is not",
    ),
    (tool(outputSchema={"patternProperties": {"(": {}}}), "spec.tools.t.outputSchema.patternProperties"),
    (tool(inputSchema={"$ref": "other.json"}), "leaves the schema"),
    (tool(inputSchema={"$ref": "#/$defs/none"}), "leads nowhere"),
    (handler(), "spec.tools.t.handler.kind: is required"),
    (handler(kind="write"), 'spec.tools.t.handler.kind: found "write", allowed read, mutate, static'),
    (handler(kind="read"), "spec.tools.t.handler.path: kind read needs a path"),
    (handler(kind="read", path="a b"), "spec.tools.t.handler.path: "),
    (handler(kind="read", path="a.*"), "wildcards"),
    (handler(kind="mutate"), "spec.tools.t.handler.effects: kind mutate needs effects"),
    (handler(kind="mutate", effects=[]), "spec.tools.t.handler.effects: must have at least 1 entry, found 0"),
    (handler(kind="static"), "spec.tools.t.handler.response: kind static needs a response"),
    (handler(kind="static", response={"a": ["{x"]}), "spec.tools.t.handler.response.a[0]: '{x'"),
    (
        handler(kind="echo", response=1),
        "spec.tools.t.handler.response: is not a known field here, allowed kind",
    ),
    (handler(kind="recorded"), "spec.tools.t.handler.fixtures: kind recorded needs fixtures"),
    (handler(kind="recorded", fixtures=[{}]), "spec.tools.t.handler.fixtures[0].match: is required"),
    (
        handler(kind="recorded", fixtures=[{"match": {}, "response": 1, "error": {}}]),
        "fixtures[0].error: cannot be given together with response",
    ),
    (handler(kind="custom"), "spec.tools.t.handler.adapter: kind custom needs an adapter"),
    (handler(kind="custom", adapter="nobody"), 'spec.tools.t.handler.adapter: no adapter is named "nobody"'),
    (effect(path="a"), "spec.tools.t.handler.effects[0].op: is required"),
    (effect(op="push", path="a"), 'effects[0].op: found "push", allowed set, increment, decrement, append'),
    (effect(op="set", value=1), "spec.tools.t.handler.effects[0].path: is required"),
    (effect(op="append", path="a"), "spec.tools.t.handler.effects[0]: op append needs a value"),
    (effect(op="set", path="a"), "spec.tools.t.handler.effects[0]: op set needs a value"),
    (effect(op="merge", path="a"), "spec.tools.t.handler.effects[0]: op merge needs a value"),
    (effect(op="merge", path="a", value=[1]), "effects[0].value: must be an object or text, found a list"),
    (effect(op="increment", path="a", value=1), "effects[0].value: op increment has no value"),
    (effect(op="set", path="a", value=1, by=1), "effects[0].by: op set has no by"),
    (effect(op="increment", path="a", by=[]), "effects[0].by: must be a number or text, found a list"),
    (effect(op="set", path="a.length()", value=1), "effects[0].path: a length cannot be changed, only read"),
    (effect(op="set", path="a.{b", value=1), "effects[0].path: "),
    (effect(op="set", path="a", value={"x": "}"}), "effects[0].value.x: "),
    (precondition(equals=1), "preconditions[0].path: is required"),
    (
        precondition(path="orders.x"),
        "preconditions[0].path: must start with args, state, value or tenant, found",
    ),
    (precondition(path="{x}.y"), "preconditions[0].path: must start with args"),
    (
        precondition(path="args.x", matches="(a)\\1"),
        "preconditions[0].matches: '(a)\\\\1' is not an RE2 pattern",
    ),
    (precondition(path="args.x", matches="{n"), "preconditions[0].matches: '{n'"),
    (precondition(path="args.x", matches=5), "preconditions[0].matches: matches needs a pattern"),
    (precondition(path="args.x", exists="yes"), "preconditions[0].exists: exists needs true or false"),
    (precondition(path="args.x", **{"in": 5}), "preconditions[0].in: in needs a list"),
    (precondition(path="args.x", equal=5), "preconditions[0].equal: is not a known field here"),
    (precondition(path="args.x", error={"status": "x"}), "error.status: must be a whole number, found"),
    (precondition(path="args.x", error={"status": 99}), "error.status: must be at least 400, found 99"),
    (precondition(path="args.x", error={"status": 200}), "error.status: must be at least 400, found 200"),
    (
        handler(kind="read", path="a", notFound={"status": 204}),
        "handler.notFound.status: must be at least 400, found 204",
    ),
    (
        handler(kind="recorded", fixtures=[{"match": {}, "error": {"status": 200}}]),
        "fixtures[0].error.status: must be at least 400, found 200",
    ),
    (
        handler(kind="recorded", fixtures=[{"match": {}, "status": 200, "error": {}}]),
        "fixtures[0].status: must be at least 400, found 200",
    ),
    (precondition(path="args.x", error={"message": "{"}), "error.message: '{'"),
]


@pytest.mark.parametrize(("document", "problem"), PROBLEMS, ids=range(len(PROBLEMS)))
def test_a_wrong_twin_is_refused_with_place_and_reason(document: Any, problem: str) -> None:
    assert problem in only(validate_twin(document))
    with pytest.raises(DocumentError) as refused:
        load_twin(document)
    assert problem in str(refused.value.problems[0])


def test_every_problem_is_told_at_once_in_the_order_of_the_document() -> None:
    text = """\
apiVersion: agenttwin.dev/v1
kind: TwinDefinition
metadata:
  name: Shop
spec:
  tools:
    a:
      risk: NEVER
      effectKey: '{'
      handler: {kind: mutate, effects: [{op: append, path: x}, {op: set, path: 'x..y', value: '}'}], hue: 1}
    b:
      colour: red
      handler: {kind: read, path: '[', notFound: {status: 1}}
      inputSchema: {properties: {n: {type: whole}, m: {pattern: '('}}}
  colour: red
"""
    found = [(problem.line, problem.path) for problem in validate_twin(read_source(text))]
    assert found == [
        (4, "metadata.name"),
        (8, "spec.tools.a.risk"),
        (9, "spec.tools.a.effectKey"),
        (10, "spec.tools.a.handler.effects[0]"),
        (10, "spec.tools.a.handler.effects[1].path"),
        (10, "spec.tools.a.handler.effects[1].value"),
        (10, "spec.tools.a.handler.hue"),
        (12, "spec.tools.b.colour"),
        (13, "spec.tools.b.handler.path"),
        (13, "spec.tools.b.handler.notFound.status"),
        (14, "spec.tools.b.inputSchema.properties.n.type"),
        (14, "spec.tools.b.inputSchema.properties.m.pattern"),
        (15, "spec.colour"),
    ]


def test_faults_of_the_text_and_of_the_meaning_are_told_together() -> None:
    head = "apiVersion: agenttwin.dev/v1\nkind: TwinDefinition\n"
    text = f"{head}metadata: {{name: A, name: B}}\nspec: {{tools: {{}}, x: !!str y}}\n"
    found = said(validate_twin(read_source(text)))
    assert [line[:30] for line in found.splitlines()] == [
        "metadata.name: the key is give",
        'metadata.name: found "B", allo',
        "spec.x: explicit tags are not ",
        "spec.x: is not a known field h",
    ]


def test_what_could_not_be_read_is_not_called_a_null_as_well() -> None:
    text = "apiVersion: agenttwin.dev/v1\nkind: TwinDefinition\nmetadata: {name: .nan}\nspec: {tools: {}}\n"
    assert "not a JSON value" in only(validate_twin(read_source(text)))


def test_an_unreadable_text_is_told_without_guesses_about_its_content() -> None:
    assert "not valid YAML" in only(validate_twin(read_source("spec: [")))


def test_an_unknown_field_of_an_unknown_kind_is_still_told() -> None:
    found = said(validate_twin(handler(kind="write", hue=1)))
    assert "handler.kind" in found
    assert "spec.tools.t.handler.hue: is not a known field" in found


def test_a_close_field_is_suggested() -> None:
    assert "did you mean effectKey?" in only(validate_twin(tool(effektKey="x")))


def test_a_secret_is_never_repeated() -> None:
    assert "s3c" not in said(validate_twin(twin(secrets=["s3c"])))


@pytest.mark.parametrize(("count", "fine"), [(500, True), (501, False)])
def test_a_twin_has_at_most_500_tools(count: int, fine: bool) -> None:
    problems = validate_twin(twin(tools={f"t{n}": {"handler": {"kind": "echo"}} for n in range(count)}))
    assert fine == (problems == [])
    if not fine:
        assert only(problems) == "spec.tools: must have at most 500 fields, found 501"


def test_an_initial_state_is_measured_as_compact_json_with_its_aliases_written_out() -> None:
    # "[x,x]" is 5 bytes of YAML and 9 of JSON: 200,000 entries are within the document and beyond the state.
    entries = "x," * 300_000
    head = "apiVersion: agenttwin.dev/v1\nkind: TwinDefinition\nmetadata: {name: a}\n"
    text = f"{head}spec: {{tools: {{}}, initialState: {{a: [{entries}]}}}}\n"
    assert only(validate_twin(read_source(text))).startswith(
        "spec.initialState: the initial state is larger than 1 MiB (1,200,"
    )


def test_a_registered_adapter_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "_ADAPTERS", {})
    adapters.adapter("ledger")(lambda call: adapters.AdapterAnswer(None))
    assert validate_twin(handler(kind="custom", adapter="ledger")) == []
    assert "did you mean ledger?" in only(validate_twin(handler(kind="custom", adapter="leger")))


def test_the_schema_lists_what_the_engine_knows() -> None:
    from twins.documents.twin import TWIN_SCHEMA

    definitions = TWIN_SCHEMA.schema["$defs"]
    assert set(definitions["tool"]["properties"]["risk"]["enum"]) == set(RISKS)
    assert set(definitions["handler"]["properties"]["kind"]["enum"]) == set(HANDLER_KINDS)
    assert set(definitions["effect"]["properties"]["op"]["enum"]) == set(EFFECT_OPS)
