"""The kinds of parameters an expectation can have: how each is written in a document and read once.

A parameter is a dataclass field made by one of the functions here. Its part of the JSON Schema, its default
and its compiled value all come from that one declaration. Documents are validated before they are read here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evaluations.grading.evidence import OUTCOMES
from twins.engine.comparators import COMPARATORS, compile_comparators
from twins.engine.paths import parse_path
from twins.engine.patterns import compile_pattern
from twins.engine.schemas import compile_schema

_NO_DEFAULT: Any = object()
_KIND = "agenttwin_parameter"


@dataclass(frozen=True, slots=True)
class Kind:
    """How one parameter is written (`schema`) and read; `spread`: its keys stand beside the others."""

    schema: dict[str, Any]
    read: Callable[[Any], Any]
    description: str
    spread: bool = False
    required: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparators as they were written and as they are checked (FORMATS 1.2)."""

    written: Mapping[str, Any]
    check: Callable[[Any], str | None]


@dataclass(frozen=True, slots=True)
class Action:
    """One call of `goalState`; absent arguments are none."""

    tool: str
    arguments: Any


def state_path(description: str, default: Any = _NO_DEFAULT) -> Any:
    """A path (FORMATS 1.1)."""
    return _parameter({"type": "string", "x-path": True}, parse_path, description, default)


def state_paths(description: str, default: Any = _NO_DEFAULT) -> Any:
    """A list of paths."""
    schema = {"type": "array", "items": {"type": "string", "x-path": True}}
    return _parameter(schema, lambda paths: tuple(map(parse_path, paths)), description, default)


def tool_name(description: str, default: Any = _NO_DEFAULT, *, known: bool = True) -> Any:
    """The name of a tool; `known`: the twin must have it, else it could never be called as asked."""
    return _parameter(_tool(known), str, description, default)


def tool_names(description: str, *, known: bool = True) -> Any:
    """A list of tools, at least one."""
    schema = {"type": "array", "minItems": 1, "items": _tool(known)}
    return _parameter(schema, tuple, description, _NO_DEFAULT)


def count(
    description: str, default: Any = _NO_DEFAULT, *, minimum: int = 0, maximum: int | None = None
) -> Any:
    """A whole number."""
    schema: dict[str, Any] = {"type": "integer", "minimum": minimum}
    if maximum is not None:
        schema["maximum"] = maximum
    return _parameter(schema, int, description, default)


def amount(description: str, default: Any = _NO_DEFAULT, maximum: float | None = None) -> Any:
    """A number from 0."""
    schema: dict[str, Any] = {"type": "number", "minimum": 0}
    if maximum is not None:
        schema["maximum"] = maximum
    return _parameter(schema, lambda value: value, description, default)


def flag(description: str, default: bool = False) -> Any:
    """true or false."""
    return _parameter({"type": "boolean"}, bool, description, default)


def text(description: str, default: Any = _NO_DEFAULT, *, min_length: int = 0) -> Any:
    """A text."""
    schema: dict[str, Any] = {"type": "string"} | ({"minLength": min_length} if min_length else {})
    return _parameter(schema, str, description, default)


def choice(options: tuple[str, ...], description: str, default: Any = _NO_DEFAULT) -> Any:
    """One of some words."""
    return _parameter({"enum": list(options)}, str, description, default)


def outcome(description: str) -> Any:
    """One of the outcomes an agent can claim."""
    return choice(OUTCOMES, description)


def any_json(description: str, default: Any = _NO_DEFAULT) -> Any:
    """Any JSON value, null included."""
    return _parameter({}, lambda value: value, description, default)


def secret_texts(description: str) -> Any:
    """Further texts that must not leave the agent, four characters and more."""
    schema = {"type": "array", "items": {"type": "string", "minLength": 4, "x-secret": True}}
    return _parameter(schema, tuple, description, ())


def pattern(description: str) -> Any:
    """A regular expression in RE2 syntax."""
    return _parameter({"type": "string", "x-pattern": True}, compile_pattern, description, _NO_DEFAULT)


def json_schema(description: str) -> Any:
    """A JSON Schema 2020-12."""
    schema = {"type": ["object", "boolean"], "x-json-schema": True}
    return _parameter(schema, compile_schema, description, _NO_DEFAULT)


def actions(description: str) -> Any:
    """Tool calls, in order."""
    schema = {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["tool"],
            "properties": {"tool": _tool(True), "arguments": {"type": "object"}},
        },
    }
    return _parameter(
        schema,
        lambda calls: tuple(Action(call["tool"], call.get("arguments", {})) for call in calls),
        description,
        _NO_DEFAULT,
    )


def comparators(description: str, *, required: bool = False) -> Any:
    """Comparators beside the other parameters. None given: the value must exist (FORMATS 1.2)."""
    kind = Kind({}, _comparison, description, spread=True, required=required)
    return dataclasses.field(default_factory=lambda: _comparison({}), metadata={_KIND: kind})


def kinds_of(parameters: type) -> dict[str, Kind]:
    """The declared parameters of a dataclass, by name, in order."""
    return {field.name: field.metadata[_KIND] for field in dataclasses.fields(parameters)}


def is_required(parameters: type, name: str) -> bool:
    """Whether a document must give this parameter."""
    field = parameters.__dataclass_fields__[name]  # type: ignore[attr-defined]
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def default_of(parameters: type, name: str) -> Any:
    """The value of a parameter that a document does not give; None where there is none."""
    default = parameters.__dataclass_fields__[name].default  # type: ignore[attr-defined]
    return None if default is dataclasses.MISSING else default


def read_parameters(parameters: type, written: Mapping[str, Any]) -> Any:
    """The compiled parameters of one expectation of a valid document.

    Raises:
        ValueError: something that validation refuses (a path, a pattern, a schema that is none).
        TypeError: a required parameter is missing.
    """
    values: dict[str, Any] = {}
    for name, kind in kinds_of(parameters).items():
        if kind.spread:
            values[name] = kind.read({key: written[key] for key in COMPARATORS if key in written})
        elif name in written:
            values[name] = kind.read(written[name])
    return parameters(**values)


def _tool(known: bool) -> dict[str, Any]:
    return {"type": "string", "x-tool": "known" if known else "any"}


def _parameter(schema: dict[str, Any], read: Callable[[Any], Any], description: str, default: Any) -> Any:
    metadata = {_KIND: Kind(schema, read, description)}
    if default is _NO_DEFAULT:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def _comparison(written: Mapping[str, Any]) -> Comparison:
    return Comparison(dict(written), compile_comparators(written).check)
