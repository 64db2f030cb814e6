"""JSON Schema 2020-12, compiled once (FORMATS 2): patterns run in RE2, references stay inside.

`jsonschema` does the validating. What is ours: some keywords (`schema_keywords`), the check of a schema when
it is compiled, and the wording of problems, which never repeats a caller's values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators
from jsonschema.exceptions import SchemaError as JsonSchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from .acceptance import Accepts, quick_acceptance
from .paths import format_path
from .patterns import PatternError, compile_pattern
from .schema_keywords import IN_PLACE_LISTS, IN_PLACE_SINGLES, KEYWORDS, REFERENCES, OneJudgement
from .schema_values import with_options
from .values import describe, kind_of

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
        said: dict[tuple[str, int], str] = {}
        try:
            with OneJudgement():
                found = {_sentence(error, said) for error in self._validator.iter_errors(value)}
        except RecursionError:
            return ["the value is nested too deeply for its schema"]
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


_Validator: Final[Any] = validators.extend(Draft202012Validator, KEYWORDS)


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
        for keyword in REFERENCES:
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
    for keyword in REFERENCES:
        if keyword in schema:
            yield schema[keyword], resolver.lookup(schema[keyword]).contents
    for keyword in IN_PLACE_LISTS:
        for index, subschema in enumerate(schema.get(keyword, ())):
            yield f"{keyword}/{index}", subschema
    for keyword in IN_PLACE_SINGLES:
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
