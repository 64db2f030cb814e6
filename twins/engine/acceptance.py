"""A quick yes for the schemas tools usually have.

`jsonschema` interprets a schema anew for every value, which costs more than the rest of a call.
For a schema of plain keywords this module builds one predicate; True means valid. Everything else, a schema
with any other keyword as well as a value the predicate does not accept, is left to `jsonschema`, whose word
counts. So a missing case here costs time and never a verdict; `tests/engine/test_acceptance.py` holds the two
together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .patterns import compile_pattern
from .values import is_number

Accepts = Callable[[Any], bool]

_ANNOTATIONS: Final = frozenset(
    ("$schema", "$comment", "title", "description", "default", "examples", "format", "deprecated")
)

_TYPES: Final[dict[str, Accepts]] = {
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
    "string": lambda value: type(value) is str,
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "number": is_number,
    "integer": lambda value: type(value) is int or (type(value) is float and value.is_integer()),
}


def quick_acceptance(schema: Any) -> Accepts | None:
    """The predicate of a schema that `compile_schema` has checked; None when it uses anything unusual."""
    if schema is True:
        return lambda _value: True
    if not isinstance(schema, dict):
        return None
    checks: list[Accepts] = []
    for keyword, operand in schema.items():
        if keyword in _ANNOTATIONS or keyword == "additionalProperties":
            continue  # what is additional is told apart by `properties`, below
        compiler = _KEYWORDS.get(keyword)
        check = None if compiler is None else compiler(operand)
        if check is None:
            return None
        checks.append(check)
    if "additionalProperties" in schema:
        closed = _additional(schema["additionalProperties"], schema.get("properties", {}))
        if closed is None:
            return None
        checks.append(closed)
    return _all(checks)


def _all(checks: list[Accepts]) -> Accepts:
    def accepts(value: Any) -> bool:
        for check in checks:  # noqa: SIM110  a generator costs as much as the checks
            if not check(value):
                return False
        return True

    return accepts


def _type(operand: Any) -> Accepts:
    if isinstance(operand, str):
        return _TYPES[operand]
    options = [_TYPES[name] for name in operand]
    return lambda value: any(option(value) for option in options)


def _properties(operand: Mapping[str, Any]) -> Accepts | None:
    fields = [(name, quick_acceptance(subschema)) for name, subschema in operand.items()]
    known = [(name, check) for name, check in fields if check is not None]
    if len(known) != len(fields):
        return None

    def accepts(value: Any) -> bool:
        if type(value) is dict:
            for name, check in known:
                if name in value and not check(value[name]):
                    return False
        return True

    return accepts


def _additional(operand: Any, properties: Mapping[str, Any]) -> Accepts | None:
    if operand is not False:
        return None if operand is not True else lambda _value: True
    return lambda value: type(value) is not dict or value.keys() <= properties.keys()


def _required(operand: list[str]) -> Accepts:
    return lambda value: type(value) is not dict or all(name in value for name in operand)


def _items(operand: Any) -> Accepts | None:
    check = quick_acceptance(operand)
    if check is None:
        return None
    return lambda value: type(value) is not list or all(map(check, value))


def _enum(operand: list[Any]) -> Accepts | None:
    """Texts only: equality of other values is `jsonschema`'s to decide."""
    if not all(isinstance(option, str) for option in operand):
        return None
    options = frozenset(operand)
    return lambda value: type(value) is str and value in options


def _pattern(operand: str) -> Accepts:
    search = compile_pattern(operand).search
    return lambda value: type(value) is not str or search(value)


def _number(compare: Callable[[Any, Any], bool]) -> Callable[[Any], Accepts]:
    return lambda bound: lambda value: not is_number(value) or compare(value, bound)


def _sized(kind: Any, compare: Callable[[int, Any], bool]) -> Callable[[Any], Accepts]:
    return lambda bound: lambda value: type(value) is not kind or compare(len(value), bound)


_KEYWORDS: Final[dict[str, Callable[[Any], Accepts | None]]] = {
    "type": _type,
    "properties": _properties,
    "required": _required,
    "items": _items,
    "enum": _enum,
    "pattern": _pattern,
    "minimum": _number(lambda value, bound: value >= bound),
    "maximum": _number(lambda value, bound: value <= bound),
    "exclusiveMinimum": _number(lambda value, bound: value > bound),
    "exclusiveMaximum": _number(lambda value, bound: value < bound),
    "minLength": _sized(str, lambda size, bound: size >= bound),
    "maxLength": _sized(str, lambda size, bound: size <= bound),
    "minItems": _sized(list, lambda size, bound: size >= bound),
    "maxItems": _sized(list, lambda size, bound: size <= bound),
}
