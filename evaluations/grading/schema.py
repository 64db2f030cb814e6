"""The expectation part of the scenario's JSON Schema, derived from the registry.

One definition per type with its full list of fields, and one that picks by `type`. Custom keywords (`x-path`,
`x-pattern`, …) are those that `twins.documents.validation` understands; an editor ignores them.
"""

from __future__ import annotations

from typing import Any

from evaluations.grading.expectations import EXPECTATION_TYPES, ExpectationType
from evaluations.grading.parameters import Kind, default_of, is_required, kinds_of
from twins.engine.comparators import COMPARATORS

#: The fields every expectation may have besides its own (FORMATS 3.1).
COMMON_FIELDS: dict[str, dict[str, Any]] = {
    "type": {"type": "string"},
    "id": {
        "type": "string",
        "minLength": 1,
        "maxLength": 100,
        "description": "Unique in the scenario; without it e1, e2, … by position.",
    },
    "critical": {"type": "boolean", "default": False},
    "description": {"type": "string"},
    "category": {"type": "string"},
}

#: What each comparator is compared with (FORMATS 1.2). The ordering ones take anything: a wrong operand fails
#: with a reason when it is compared.
COMPARATOR_FIELDS: dict[str, Any] = {
    **dict.fromkeys(COMPARATORS, True),
    "in": {"type": "array"},
    "exists": {"type": "boolean"},
    "matches": {"type": "string", "x-pattern": True},
}


def expectation_definitions() -> dict[str, Any]:
    """The `$defs` entries `expectation` and `expectation_TYPE` of scenario.schema.json."""
    names = sorted(EXPECTATION_TYPES)
    definitions = {f"expectation_{name}": _definition(EXPECTATION_TYPES[name]) for name in names}
    own = sorted({field for one in definitions.values() for field in one["properties"]} - set(COMMON_FIELDS))
    picked: dict[str, Any] = {
        "type": "object",
        "required": ["type"],
        # Every field of any type: a field that no type knows is a problem also where the type is wrong.
        "properties": {**COMMON_FIELDS, "type": {"enum": names}, **dict.fromkeys(own, True)},
        "additionalProperties": False,
        "allOf": [
            {
                "if": {"required": ["type"], "properties": {"type": {"const": name}}},
                "then": {"$ref": f"#/$defs/expectation_{name}"},
            }
            for name in names
        ],
    }
    return {"expectation": picked, **definitions}


def _definition(kind: ExpectationType) -> dict[str, Any]:
    definition: dict[str, Any] = {"description": kind.description, "additionalProperties": False}
    properties: dict[str, Any] = dict.fromkeys(COMMON_FIELDS, True)
    required = []
    for name, parameter in kinds_of(kind.parameters).items():
        if parameter.spread:
            properties |= COMPARATOR_FIELDS
            definition["x-comparators"] = "some" if parameter.required else True
        else:
            properties[name] = _field(kind.parameters, name, parameter)
            required += [name] if is_required(kind.parameters, name) else []
    if required:
        definition["required"] = required
    return definition | {"properties": properties}


def _field(parameters: type, name: str, parameter: Kind) -> dict[str, Any]:
    default = default_of(parameters, name)
    shown = {"default": default} if isinstance(default, str | int | float) else {}
    return {**parameter.schema, "description": parameter.description, **shown}
