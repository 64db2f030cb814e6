from __future__ import annotations

import pytest

from twins.engine.schemas import SchemaError, compile_schema

ORDER = {
    "type": "object",
    "required": ["order_id", "amount"],
    "additionalProperties": False,
    "properties": {
        "order_id": {"type": "string", "pattern": "^ORD-[0-9]+$"},
        "amount": {"type": "number", "exclusiveMinimum": 0},
        "lines": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
}


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ({"order_id": "ORD-1", "amount": 1.5}, []),
        ({}, ["misses order_id, amount"]),
        ([], ["must be of type object, got a list"]),
        ({"order_id": 5, "amount": 1}, ["order_id: must be of type string, got a number"]),
        ({"order_id": "x", "amount": 1}, ['order_id: must match "^ORD-[0-9]+$"']),
        ({"order_id": "ORD-1", "amount": 0}, ["amount: must be more than 0"]),
        ({"order_id": "ORD-1", "amount": 1, "odd key": 1}, ["['odd key']: is not an allowed field"]),
        ({"order_id": "ORD-1", "amount": 1, "lines": ["a", "c"]}, ['lines[1]: must be one of ["a","b"]']),
        ({"order_id": "ORD-1", "amount": True}, ["amount: must be of type number, got a boolean"]),
    ],
)
def test_problems_name_the_place_and_what_is_allowed(value, problems):
    assert compile_schema(ORDER).problems(value) == problems


def test_up_to_three_problems_in_an_order_that_never_changes():
    schema = compile_schema({"additionalProperties": {"type": "integer"}})
    value = dict.fromkeys("dcba", "x")
    assert [one[0] for one in schema.problems(value)] == ["a", "b", "c"]
    assert len(schema.problems(value, limit=10)) == 4


def test_a_problem_never_repeats_the_callers_value():
    for schema in (
        ORDER,
        {"properties": {"order_id": {"const": "x", "maxLength": 2, "not": {"type": "string"}}}},
    ):
        text = " ".join(compile_schema(schema).problems({"order_id": "my-secret-value", "amount": 1}))
        assert text
        assert "my-secret-value" not in text


def test_boolean_schemas():
    assert compile_schema(True).problems({"a": 1}) == []
    assert compile_schema(False).problems(1) == ["is not allowed"]


def test_format_is_an_annotation():
    assert compile_schema({"format": "email"}).problems("no mail") == []


def test_an_integer_may_be_written_with_a_point():
    assert compile_schema({"type": "integer"}).problems(1.0) == []
    assert compile_schema({"type": "integer"}).problems(1.5) == ["must be of type integer, got a number"]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (5, "is not of type"),
        ({"type": "objekt"}, "type: "),
        ({"properties": {"a": {"minimum": "x"}}}, "properties.a.minimum"),
        ({"pattern": "(?=a)"}, "pattern: .*RE2"),
        ({"patternProperties": {"(?=a)": {}}}, "RE2"),
        ({"properties": {"a": {"pattern": "("}}}, "properties.a.pattern"),
        ({"$ref": "http://example.com/x"}, "leaves the schema"),
        ({"$ref": "other.json#/x"}, "leaves the schema"),
        ({"items": {"$dynamicRef": "file:///etc/passwd"}}, "leaves the schema"),
        ({"$ref": "#/$defs/none"}, "leads nowhere"),
        ({"$ref": "#none"}, "leads nowhere"),
        ({"properties": {"a": {"$ref": "#/x"}}, "x": {"type": "zzz"}}, "not a schema"),
        ({"properties": {"a": {"$ref": "#/x"}}, "x": {"$ref": "http://example.com"}}, "leaves the schema"),
        ({"properties": {"a": {"$ref": "#/x"}}, "x": [1]}, "to a list, not to a schema"),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            "must be https://json-schema.org/draft/2020-12",
        ),
        ({"properties": {"a": {"$id": "http://example.com/a"}}}, r"\$id is not supported"),
        ({"$ref": "#"}, "contains itself without end"),
        ({"allOf": [{"not": {"$ref": "#"}}]}, "contains itself without end"),
        ({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "items": {"$ref": "#/$defs/a"}}, "without end"),
        (
            {"$defs": {"a": {"if": {"$ref": "#/$defs/b"}}, "b": {"then": {"$ref": "#/$defs/a"}}}},
            "without end",
        ),
    ],
)
def test_unusable_schemas(schema, words):
    with pytest.raises(SchemaError, match=words):
        compile_schema(schema)


def test_references_inside_the_schema_and_recursion_through_values():
    schema = compile_schema(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": {"id": {"$anchor": "id", "type": "string"}},
            "properties": {"id": {"$ref": "#id"}, "kids": {"type": "array", "items": {"$ref": "#"}}},
        }
    )
    assert schema.problems({"id": "a", "kids": [{"id": "b", "kids": []}]}) == []
    assert schema.problems({"kids": [{"id": 5}]}) == ["kids[0].id: must be of type string, got a number"]


def test_data_that_looks_like_a_reference_is_data():
    assert (
        compile_schema({"enum": [{"$ref": "http://example.com"}]}).problems({"$ref": "http://example.com"})
        == []
    )
    assert compile_schema({"properties": {"$ref": {"type": "string"}}}).problems({"$ref": "x"}) == []


def test_a_root_id_does_not_turn_references_away():
    schema = compile_schema(
        {"$id": "https://example.com/s", "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}
    )
    assert schema.problems(1) == ["must be of type null, got a number"]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"patternProperties": {"^x": {"type": "integer"}}}, {"x1": 1, "y": "a"}, {"x1": "a"}),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"x1": 1}, {"y": 1}),
        ({"patternProperties": {"^x": {}}, "additionalProperties": {"type": "null"}}, {"y": None}, {"y": 1}),
        ({"patternProperties": {"^x": {}}, "unevaluatedProperties": False}, {"x": 1}, {"y": 1}),
        ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        (
            {"allOf": [{"additionalProperties": {"type": "integer"}}], "unevaluatedProperties": False},
            {"b": 1},
            {"b": ""},
        ),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"properties": {"a": True}}},
                "unevaluatedProperties": False,
            },
            {"a": 1},
            {"b": 1},
        ),
        (
            {
                "if": {"properties": {"k": {"const": 1}}},
                "then": {"properties": {"x": True}},
                "else": {"properties": {"y": True}},
                "unevaluatedProperties": False,
            },
            {"k": 1, "x": 1},
            {"k": 1, "y": 1},
        ),
        (
            {
                "dependentSchemas": {"a": {"properties": {"a": True, "b": True}}},
                "unevaluatedProperties": False,
            },
            {"a": 1, "b": 1},
            {"b": 1},
        ),
        (
            {
                "anyOf": [{"required": ["a"], "properties": {"a": True}}, True],
                "unevaluatedProperties": {"type": "null"},
            },
            {"a": 1, "b": None},
            {"a": 1, "b": 1},
        ),
    ],
)
def test_keywords_that_search_keys(schema, good, bad):
    compiled = compile_schema(schema)
    assert compiled.problems(good) == []
    assert compiled.problems(bad)


def test_a_schema_deeper_than_python_is_refused_and_no_crash():
    schema: dict = {}
    for _ in range(400):
        schema = {"allOf": [schema]}
    with pytest.raises(SchemaError, match="nested too deeply"):
        compile_schema(schema)


def test_nested_values_deeper_than_python_are_a_problem_and_no_crash():
    value = None
    for _ in range(5000):
        value = [value]
    schema = compile_schema({"type": "array", "items": {"$ref": "#"}, "uniqueItems": True})
    assert schema.problems(value) == ["the value is nested too deeply for its schema"]
