"""Keywords that are ours: the verdicts of jsonschema, in work that stays in proportion to the value."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.engine.test_acceptance import values
from twins.engine.schema_values import all_differ, is_multiple, same
from twins.engine.schemas import MAX_IN_PLACE, SchemaError, compile_schema

MANY = 20_000


def fanning_out(levels: int, **leaf: object) -> dict:
    """Each definition refers to the next one twice."""
    definitions: dict = {
        f"a{level}": {"allOf": [{"$ref": f"#/$defs/a{level + 1}"}, {"$ref": f"#/$defs/a{level + 1}"}]}
        for level in range(levels)
    }
    definitions[f"a{levels}"] = leaf
    return {"$defs": definitions, "$ref": "#/$defs/a0"}


def leading_down(levels: int, **leaf: object) -> dict:
    """The same through a field, so that no two levels judge the same value."""
    definitions: dict = {
        f"a{level}": {
            "allOf": [
                {"properties": {"x": {"$ref": f"#/$defs/a{level + 1}"}}},
                {"properties": {"x": {"$ref": f"#/$defs/a{level + 1}"}}},
            ]
        }
        for level in range(levels)
    }
    definitions[f"a{levels}"] = leaf
    return {"$defs": definitions, "$ref": "#/$defs/a0"}


# ------------------------------------------------------------------------------------- multiples


@pytest.mark.parametrize(
    ("value", "step"),
    [
        (19.99, 0.01),
        (4.35, 0.01),
        (0.07, 0.01),
        (1.1, 0.1),
        (0.1 + 0.2, 0.1),  # the same number as 0.3 (FORMATS 1.2)
        (-19.99, 0.01),
        (20, 0.01),
        (0, 0.01),
        (9, 3),
        (9.0, 3),
        (4.5, 1.5),
        (7 * 10**300, 7e-300),
        (1e300, 1e-300),
        (1e-300, 1e-300),
    ],
)
def test_a_multiple_is_one_of_the_numbers_as_they_are_written(value, step):
    assert is_multiple(value, step)
    assert compile_schema({"multipleOf": step}).problems(value) == []


@pytest.mark.parametrize(
    ("value", "step"),
    [(19.995, 0.01), (0.075, 0.01), (10, 3), (7.5, 2), (1.5e-9, 1e-9), (1e-300, 2e-300), (float("inf"), 2)],
)
def test_a_number_between_two_multiples_is_none(value, step):
    assert not is_multiple(value, step)


def test_the_problem_names_the_step():
    problems = compile_schema({"properties": {"n": {"multipleOf": 0.01}}}).problems({"n": 0.005})
    assert problems == ["n: must be a multiple of 0.01"]


def test_a_boolean_is_no_number_to_multiply():
    assert compile_schema({"multipleOf": 2}).problems(True) == []


# -------------------------------------------------------------------------------------- equality


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ([1], [True], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        (0.1 + 0.2, 0.3, False),  # JSON Schema knows no tolerance
        (10**20, 1e20, True),
        (2**53 + 1, float(2**53), False),
        (-0.0, 0, True),
        ("1", 1, False),
        (None, False, False),
        ("null", None, False),
    ],
)
def test_enum_const_and_unique_items_know_one_equality(left, right, equal):
    assert same(left, right) is equal
    assert all_differ([left, right]) is not equal
    for schema in ({"enum": ["other", left]}, {"const": left}):
        assert (compile_schema(schema).problems(right) == []) is equal
        assert Draft202012Validator(schema).is_valid(right) is equal


def schemas_over(inner):
    return st.fixed_dictionaries(
        {},
        optional={
            "enum": st.lists(values, min_size=1, max_size=3),
            "const": values,
            "uniqueItems": st.booleans(),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "not": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "unevaluatedItems": st.booleans(),
            "properties": st.dictionaries(st.sampled_from(["a", "b", "enum", "const"]), inner, max_size=2),
            "$ref": st.sampled_from(["#/$defs/one", "#/$defs/two"]),
        },
    )


schemas = st.recursive(st.one_of(st.just({}), st.booleans()), schemas_over, max_leaves=6)
definitions = st.recursive(
    st.one_of(st.just({"type": "object"}), st.just({"const": 1})),
    lambda inner: st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("ab"), inner)}),
    max_leaves=3,
)


@settings(max_examples=300, deadline=None)
@given(schemas, definitions, definitions, values)
def test_the_verdict_is_that_of_jsonschema(schema, one, two, value):
    whole = {"$defs": {"one": one, "two": {"allOf": [{"$ref": "#/$defs/one"}, two]}}, "allOf": [schema]}
    assert (compile_schema(whole).problems(value) == []) is Draft202012Validator(whole).is_valid(value)


# --------------------------------------------------------------------------- work in proportion
#
# Each of these takes minutes or does not end where items are compared in pairs or schemas repeated.


def test_many_different_objects_are_unique():
    different = [{"a": number} for number in range(MANY)]
    schema = compile_schema({"uniqueItems": True})
    assert schema.problems(different) == []
    assert schema.problems([*different, {"a": 7.0}]) == ["must not repeat an item"]


def test_many_items_are_looked_for_among_many_options():
    schema = compile_schema({"items": {"enum": [{"a": number} for number in range(MANY)]}})
    assert schema.problems([{"a": number} for number in range(MANY)]) == []
    assert len(schema.problems([{"a": -number} for number in range(1, MANY)], limit=3)) == 3


def test_a_long_constant_is_compared_only_as_far_as_it_is_the_same():
    schema = compile_schema({"items": {"const": [{"a": number} for number in range(MANY)]}})
    assert len(schema.problems([{"a": -number} for number in range(MANY)], limit=3)) == 3


def test_many_missing_fields_are_one_problem_an_item():
    schema = compile_schema({"items": {"required": [f"field-{number}" for number in range(1000)]}})
    assert len(schema.problems([{} for _ in range(1000)], limit=3)) == 3


def test_many_items_are_looked_for_among_those_evaluated():
    schema = compile_schema({"items": True, "unevaluatedItems": False})
    assert schema.problems(list(range(4 * MANY))) == []


@pytest.mark.parametrize("keyword", ["allOf", "anyOf"])
def test_a_schema_whose_references_fan_out_too_far_is_refused_with_the_place(keyword):
    schema = fanning_out(30, type="object")
    for one in schema["$defs"].values():
        if "allOf" in one:
            one[keyword] = one.pop("allOf")
    with pytest.raises(SchemaError, match=r"^#/\$defs/a18 judges one value by more than 10,000 schemas"):
        compile_schema(schema)


def test_a_choice_of_many_forms_with_a_common_part_is_no_such_schema():
    forms = [{"allOf": [{"$ref": "#/$defs/base"}, {"required": [f"f{number}"]}]} for number in range(1000)]
    schema = {"$defs": {"base": {"type": "object"}}, "oneOf": forms}
    assert len(forms) * 4 < MAX_IN_PLACE
    assert compile_schema(schema).problems({"f7": 1}) == []


@pytest.mark.parametrize("value", [1, "x"])
def test_a_schema_that_is_reached_in_many_ways_judges_each_value_once(value):
    nested: object = value
    for _ in range(40):
        nested = {"x": nested}
    place = ".".join(["x"] * 40)
    problems = compile_schema(leading_down(40, type="integer")).problems(nested)
    assert problems == ([] if value == 1 else [f"{place}: must be of type integer, got a text"])


def test_a_tree_that_branches_over_the_same_field_ends():
    forms = [{"properties": {"left": {"$ref": "#"}, "op": {"const": op}}} for op in ("and", "or")]
    schema = compile_schema({"anyOf": [{"type": "null"}, {"type": "object", "anyOf": forms}]})
    tree: object = None
    for _ in range(40):
        tree = {"left": tree, "op": "or"}
    assert schema.problems(tree) == []
    for _ in range(10):
        tree = {"left": tree, "op": "xor"}
    assert schema.problems(tree) == ["matches none of the allowed forms"]


def test_a_schema_found_wrong_twice_tells_the_same_problems_at_each_place():
    schema = compile_schema(
        {
            "$defs": {"price": {"required": ["amount"], "properties": {"amount": {"minimum": 0}}}},
            "properties": {
                "a": {"$ref": "#/$defs/price"},
                "b": {"allOf": [{"$ref": "#/$defs/price"}, {"$ref": "#/$defs/price"}]},
            },
        }
    )
    wrong = {"amount": -1}
    assert schema.problems({"a": wrong, "b": wrong}) == [
        "a.amount: must be at least 0",
        "b.amount: must be at least 0",
    ]
