"""The quick yes and jsonschema must never disagree: a yes of the one is a yes of the other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from twins.engine.acceptance import quick_acceptance

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.0, 1.0, 1.5, -2.5]),
    st.sampled_from(["", "a", "ab", "ü"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
type_names = st.sampled_from(["object", "array", "string", "number", "integer", "boolean", "null"])
small = st.integers(0, 3)
bounds = st.one_of(st.integers(-2, 2), st.sampled_from([0.5, 1.0]))


def schemas_over(inner):
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(type_names, st.lists(type_names, min_size=1, max_size=2, unique=True)),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": st.booleans(),
            "items": inner,
            "enum": st.lists(st.sampled_from(["", "a", "ab"]), min_size=1, max_size=2, unique=True),
            "pattern": st.sampled_from(["^a", "b$", "."]),
            "minimum": bounds,
            "maximum": bounds,
            "exclusiveMinimum": bounds,
            "exclusiveMaximum": bounds,
            "minLength": small,
            "maxLength": small,
            "minItems": small,
            "maxItems": small,
            "title": st.just("t"),
        },
    )


schemas = st.recursive(st.one_of(st.just({}), st.just(True)), schemas_over, max_leaves=6)


@settings(max_examples=400)
@given(schemas, values)
def test_a_quick_verdict_is_the_verdict_of_jsonschema(schema, value):
    accepts = quick_acceptance(schema)
    assert accepts is not None
    assert bool(accepts(value)) is Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"const": 1},
        {"enum": [1]},
        {"anyOf": [{}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {}}},
        {"items": False},
        {"properties": {"a": {"not": {}}}},
        {"additionalProperties": {"type": "null"}},
        {"patternProperties": {}},
        {"uniqueItems": True},
        {"multipleOf": 2},
        {"unheard-of": 1},
    ],
)
def test_anything_unusual_is_left_to_jsonschema(schema):
    assert quick_acceptance(schema) is None
