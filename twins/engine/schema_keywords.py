"""Keywords of JSON Schema 2020-12 that are judged by us and not by `jsonschema`.

Those that search with a pattern, because the library would use a backtracking engine; and those whose work in
the library is out of proportion to the value. `KEYWORDS` is handed to its validator.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jsonschema import ValidationError
from jsonschema._utils import find_evaluated_item_indexes_by_schema

from .patterns import compile_pattern
from .schema_values import all_differ, is_multiple, same
from .values import is_number

# Keywords whose subschemas judge the same value: a circle of them would never end.
IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
IN_PLACE_SINGLES: Final = ("not", "if", "then", "else")
REFERENCES: Final = ("$ref", "$dynamicRef")

# --- keywords that search with a pattern ---------------------------------------------------------


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not compile_pattern(pattern).search(instance):
        yield ValidationError("pattern")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, _schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for key, value in instance.items():
            if compile_pattern(pattern).search(key):
                yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    named = schema.get("properties", {})
    patterns = [compile_pattern(text) for text in schema.get("patternProperties", {})]
    for key, value in instance.items():
        if key in named or any(pattern.search(key) for pattern in patterns):
            continue
        if allowed is False:
            yield ValidationError("additionalProperties", path=[key])
        elif allowed is not True:
            yield from validator.descend(value, allowed, path=key)


def _unevaluated_properties(
    validator: Any, allowed: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    evaluated = _evaluated_keys(validator, instance, schema)
    for key, value in instance.items():
        if key in evaluated:
            continue
        if allowed is False:
            yield ValidationError("unevaluatedProperties", path=[key])
        else:
            yield from validator.descend(value, allowed, path=key, schema_path=key)


def _evaluated_keys(validator: Any, instance: dict[str, Any], schema: Any) -> set[str]:
    """The keys that any keyword judging this same object has looked at (2020-12, core 11.3)."""
    if isinstance(schema, bool):
        return set()
    keys: set[str] = set()
    for reference in REFERENCES:
        if reference in schema:
            resolved = validator._resolver.lookup(schema[reference])
            inner = validator.evolve(schema=resolved.contents, _resolver=resolved.resolver)
            keys |= _evaluated_keys(inner, instance, resolved.contents)
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        keys |= {key for key in instance if _accepted_rest(validator, instance, schema, key)}
    keys |= schema.get("properties", {}).keys() & instance.keys()
    for pattern in schema.get("patternProperties", {}):
        keys |= {key for key in instance if compile_pattern(pattern).search(key)}
    for subschema in _applied_in_place(validator, instance, schema):
        keys |= _evaluated_keys(validator, instance, subschema)
    return keys


def _accepted_rest(validator: Any, instance: dict[str, Any], schema: Mapping[str, Any], key: str) -> bool:
    rest = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    return bool(validator.evolve(schema=rest).is_valid(instance[key]))


def _applied_in_place(validator: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in IN_PLACE_LISTS:
        for subschema in schema.get(keyword, ()):
            if validator.evolve(schema=subschema).is_valid(instance):
                yield subschema
    for key, subschema in schema.get("dependentSchemas", {}).items():
        if key in instance:
            yield subschema
    if "if" in schema:
        if validator.evolve(schema=schema["if"]).is_valid(instance):
            yield schema["if"]
            yield schema.get("then", True)
        else:
            yield schema.get("else", True)


# --- keywords whose work must stay in proportion ---------------------------------------------------
#
# The library compares each item with each, and writes every failing value and every operand into a message
# that nobody reads here.


@dataclass(frozen=True, slots=True)
class _Found:
    """What a schema found wrong with a value; an error of the library changes on its way up."""

    path: tuple[str | int, ...]
    keyword: Any
    operand: Any
    instance: Any


class _Judged(threading.local):
    """What was found in the judgement that this thread is at: a keyword has no other place to keep it."""

    by_key: dict[tuple[int, int], tuple[_Found, ...]]


_judged: Final = _Judged()


class OneJudgement:
    """The judgement of one whole value: what references found in it is remembered until its end."""

    def __enter__(self) -> None:
        _judged.by_key = {}

    def __exit__(self, *_: object) -> None:
        del _judged.by_key


def _reference(validator: Any, reference: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """Each schema that is referred to judges a value once, however many references lead to it.

    By identity: the schema and the whole value outlive the judgement.
    """
    resolved = validator._resolver.lookup(reference)
    key = (id(resolved.contents), id(instance))
    judged = _judged.by_key
    if key not in judged:
        found: dict[tuple[Any, ...], _Found] = {}
        for error in validator.descend(instance, resolved.contents, resolver=resolved.resolver):
            one = _Found(tuple(error.relative_path), error.validator, error.validator_value, error.instance)
            found[one.path, one.keyword, id(one.operand)] = one
        judged[key] = tuple(found.values())
    for one in judged[key]:
        yield ValidationError(
            "$ref",
            path=one.path,
            validator=one.keyword,
            validator_value=one.operand,
            instance=one.instance,
            schema=schema,
        )


def _enum(_validator: Any, options: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not options.hold(instance):
        yield ValidationError("enum")


def _const(_validator: Any, constant: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not same(instance, constant):
        yield ValidationError("const")


def _unique_items(_validator: Any, wanted: bool, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if wanted and isinstance(instance, list) and not all_differ(instance):
        yield ValidationError("uniqueItems")


def _unevaluated_items(
    validator: Any, _allowed: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    """As the library decides it; the library looks each index up in a list."""
    if isinstance(instance, list):
        evaluated = set(find_evaluated_item_indexes_by_schema(validator, instance, schema))
        if not evaluated.issuperset(range(len(instance))):
            yield ValidationError("unevaluatedItems")


def _multiple_of(_validator: Any, step: float, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if is_number(instance) and not is_multiple(instance, step):
        yield ValidationError("multipleOf")


def _required(_validator: Any, names: list[str], instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, dict) and any(name not in instance for name in names):
        yield ValidationError("required")


def _not(validator: Any, refused: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.evolve(schema=refused).is_valid(instance):
        yield ValidationError("not")


KEYWORDS: Final[dict[str, Any]] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": _unevaluated_properties,
    "$ref": _reference,
    "$dynamicRef": _reference,
    "enum": _enum,
    "const": _const,
    "uniqueItems": _unique_items,
    "unevaluatedItems": _unevaluated_items,
    "multipleOf": _multiple_of,
    "required": _required,
    "not": _not,
}
