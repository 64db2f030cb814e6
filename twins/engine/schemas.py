"""JSON Schema 2020-12, compiled once (FORMATS 2): patterns run in RE2, references stay inside.

`jsonschema` does the validating. What is ours: the keywords that search with a pattern, those whose work in
the library is out of proportion to the value, the check of a schema when it is compiled, and the wording of
problems, which never repeats a caller's values.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators
from jsonschema._utils import find_evaluated_item_indexes_by_schema
from jsonschema.exceptions import SchemaError as JsonSchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from .acceptance import Accepts, quick_acceptance
from .paths import format_path
from .patterns import PatternError, compile_pattern
from .schema_values import all_differ, is_multiple, same, with_options
from .values import describe, is_number, kind_of

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLES: Final = (
    "items",
    "contains",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
)
MAX_IN_PLACE: Final = 10_000
"""Schemas that judge one value. A choice of a thousand forms, each with a common part, has some thousands."""

# Keywords whose subschemas judge the same value: a circle of them would never end.
_IN_PLACE_LISTS: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE_SINGLES: Final = ("not", "if", "then", "else")
_REFERENCES: Final = ("$ref", "$dynamicRef")


class SchemaError(ValueError):
    """A schema that cannot be used; the message names the place inside it."""


class Schema:
    """A compiled schema."""

    __slots__ = ("_accepts", "_validator")

    def __init__(self, validator: Any, accepts: Accepts | None) -> None:
        self._validator = validator
        self._accepts = accepts

    def problems(self, value: Any, limit: int = 3) -> list[str]:
        """Up to `limit` problems, `PATH: what is expected`; empty when the value is valid.

        The order does not depend on the process: by path, then by wording.
        """
        if self._accepts is not None and self._accepts(value):
            return []
        _judged.by_key = {}
        said: dict[tuple[str, int], str] = {}
        try:
            found = {_sentence(error, said) for error in self._validator.iter_errors(value)}
        except RecursionError:
            return ["the value is nested too deeply for its schema"]
        finally:
            del _judged.by_key
        return sorted(found)[:limit]


def compile_schema(schema: Any) -> Schema:
    """The schema of a JSON value (an object or a boolean).

    SchemaError for what the metaschema refuses, another dialect, a pattern that RE2 refuses, a reference
    that leaves the schema or leads nowhere, or a schema that contains itself without end or nearly so.
    """
    try:
        _check_against_metaschema(schema)
        registry: Registry[Any] = Registry()
        _check_references(schema, registry)
        _check_circles(schema, registry)
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None
    prepared = with_options(schema)
    return Schema(_Validator(prepared, registry=registry, format_checker=None), quick_acceptance(schema))


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
    for reference in _REFERENCES:
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
    for keyword in _IN_PLACE_LISTS:
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


_OURS: Final = {
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
_Validator: Final[Any] = validators.extend(Draft202012Validator, _OURS)


def _is_pattern(value: object) -> bool:
    if isinstance(value, str):
        compile_pattern(value)
    return True


_REGEX_FORMAT: Final = FormatChecker(formats=())
_REGEX_FORMAT.checks("regex", raises=PatternError)(_is_pattern)


def _check_against_metaschema(schema: Any) -> None:
    """SchemaError for what is no schema, and for a pattern, wherever it stands, that RE2 refuses."""
    try:
        Draft202012Validator.check_schema(schema, format_checker=_REGEX_FORMAT)
    except JsonSchemaError as error:
        reason = str(error.cause) if isinstance(error.cause, PatternError) else error.message[:200]
        raise SchemaError(_place(error) + reason) from None


# --- references -----------------------------------------------------------------------------------


def _subschemas(schema: Any) -> Iterator[Any]:
    """The schemas directly inside one, at the places where schemas stand: an `enum` may hold anything."""
    if not isinstance(schema, dict):
        return
    for keyword in _MAPS:
        yield from schema.get(keyword, {}).values()
    for keyword in _LISTS:
        yield from schema.get(keyword, ())
    for keyword in _SINGLES:
        if keyword in schema:
            yield schema[keyword]


def _check_references(schema: Any, registry: Any) -> None:
    """Visit every schema that validation could reach, also through references to unusual places."""
    waiting = [schema]
    seen: set[int] = set()
    targets: dict[int, Any] = {}
    resolver = _resolver(schema, registry)
    while waiting:
        current = waiting.pop()
        if id(current) in seen or not isinstance(current, dict):
            continue
        seen.add(id(current))
        if current.get("$schema", DIALECT).rstrip("#") != DIALECT:
            raise SchemaError(f"$schema must be {DIALECT}, got {describe(current['$schema'])}")
        if "$id" in current and current is not schema:
            raise SchemaError("$id is not supported inside a schema: every reference points into this one")
        for keyword in _REFERENCES:
            if keyword in current:
                waiting.append(_target(current[keyword], keyword, resolver, targets))
        waiting.extend(_subschemas(current))


def _resolver(schema: Any, registry: Any) -> Any:
    resource = DRAFT202012.create_resource(schema if isinstance(schema, dict) else {})
    return registry.resolver_with_root(resource)


def _target(reference: str, keyword: str, resolver: Any, known: dict[int, Any]) -> Any:
    """The schema referred to; `known` holds those that were checked before."""
    if not reference.startswith("#"):
        raise SchemaError(f"{keyword} {describe(reference)} leaves the schema; it must start with '#'")
    try:
        target = resolver.lookup(reference).contents
    except Unresolvable:
        raise SchemaError(f"{keyword} {describe(reference)} leads nowhere") from None
    if not isinstance(target, (dict, bool)):
        raise SchemaError(f"{keyword} {describe(reference)} leads to {kind_of(target)}, not to a schema")
    if id(target) in known:
        return target
    try:
        _check_against_metaschema(target)  # it may stand where the metaschema expects no schema
    except SchemaError:
        raise SchemaError(
            f"{keyword} {describe(reference)} leads to something that is not a schema"
        ) from None
    known[id(target)] = target
    return target


def _check_circles(schema: Any, registry: Any) -> None:
    """Refuse a schema whose judgement of a value needs its own judgement of that same value, or that judges
    one value by far more schemas than it writes: references that fan out at each step double with each.
    """
    resolver = _resolver(schema, registry)
    sizes: dict[int, int] = {}
    waiting = [schema]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict) and id(current) not in sizes:
            _size_in_place(current, "#", resolver, sizes, set())
            waiting.extend(_subschemas(current))
        elif isinstance(current, dict):
            waiting.extend(item for item in _subschemas(current) if id(item) not in sizes)


def _size_in_place(schema: Any, place: str, resolver: Any, sizes: dict[int, int], open_: set[int]) -> int:
    """How many schemas judge a value that this one judges, each counted as often as it is reached."""
    if not isinstance(schema, dict):
        return 1
    if id(schema) in sizes:
        return sizes[id(schema)]
    if id(schema) in open_:
        raise SchemaError("the schema contains itself without end")
    open_.add(id(schema))
    size = 1
    for below, subschema in _in_place(schema, resolver):
        inner = below if below.startswith("#") else f"{place}/{below}"
        size += _size_in_place(subschema, inner, resolver, sizes, open_)
    if size > MAX_IN_PLACE:
        raise SchemaError(
            f"{place} judges one value by more than {MAX_IN_PLACE:,} schemas, its references followed"
        )
    open_.discard(id(schema))
    sizes[id(schema)] = size
    return size


def _in_place(schema: Mapping[str, Any], resolver: Any) -> Iterator[tuple[str, Any]]:
    """The schemas that judge the same value, and where they are: references by their target."""
    for keyword in _REFERENCES:
        if keyword in schema:
            yield schema[keyword], resolver.lookup(schema[keyword]).contents
    for keyword in _IN_PLACE_LISTS:
        for index, subschema in enumerate(schema.get(keyword, ())):
            yield f"{keyword}/{index}", subschema
    for keyword in _IN_PLACE_SINGLES:
        if keyword in schema:
            yield keyword, schema[keyword]
    for key, subschema in schema.get("dependentSchemas", {}).items():
        yield f"dependentSchemas/{key}", subschema


# --- wording --------------------------------------------------------------------------------------


def _place(error: JsonSchemaError) -> str:
    path = format_path([part if isinstance(part, str) else int(part) for part in error.absolute_path])
    return "" if path == "$" else f"{path}: "


def _sentence(error: ValidationError, said_before: dict[tuple[str, int], str]) -> str:
    """The problem in words. What a keyword wants of any value is worded once: an operand may be long."""
    path = format_path([part if isinstance(part, str) else int(part) for part in error.absolute_path])
    if error.validator is None:  # the schema `false`
        said = "is not allowed"
    elif error.validator in _OF_THE_VALUE:
        said = _OF_THE_VALUE[error.validator](error)
    else:
        key = (str(error.validator), id(error.validator_value))
        if key not in said_before:
            words = _WORDS.get(str(error.validator))
            said_before[key] = words(error) if words else f"does not satisfy {error.validator}"
        said = said_before[key]
    return said if path == "$" else f"{path}: {said}"


def _expected(text: str) -> Callable[[ValidationError], str]:
    return lambda error: text.format(describe(error.validator_value))


def _type_words(error: ValidationError) -> str:
    wanted: Any = error.validator_value
    names = wanted if isinstance(wanted, str) else " or ".join(wanted)
    return f"must be of type {names}, got {kind_of(error.instance)}"


def _required_words(error: ValidationError) -> str:
    required: Any = error.validator_value
    found: Any = error.instance
    missing = [name for name in required if name not in found]
    return f"misses {', '.join(missing)}"


_OF_THE_VALUE: Final[dict[Any, Callable[[ValidationError], str]]] = {
    "type": _type_words,
    "required": _required_words,
}
_WORDS: Final[dict[str, Callable[[ValidationError], str]]] = {
    "enum": _expected("must be one of {}"),
    "const": _expected("must be {}"),
    "minimum": _expected("must be at least {}"),
    "maximum": _expected("must be at most {}"),
    "exclusiveMinimum": _expected("must be more than {}"),
    "exclusiveMaximum": _expected("must be less than {}"),
    "multipleOf": _expected("must be a multiple of {}"),
    "minLength": _expected("must have at least {} characters"),
    "maxLength": _expected("must have at most {} characters"),
    "pattern": _expected("must match {}"),
    "minItems": _expected("must have at least {} items"),
    "maxItems": _expected("must have at most {} items"),
    "uniqueItems": lambda _error: "must not repeat an item",
    "minProperties": _expected("must have at least {} fields"),
    "maxProperties": _expected("must have at most {} fields"),
    "additionalProperties": lambda _error: "is not an allowed field",
    "unevaluatedProperties": lambda _error: "is not an allowed field",
    "anyOf": lambda _error: "matches none of the allowed forms",
    "oneOf": lambda _error: "must match exactly one of the allowed forms",
    "not": lambda _error: "has a form that is not allowed",
}
