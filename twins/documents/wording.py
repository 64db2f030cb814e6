"""How a refusal is put: what was found and what is allowed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import Any

# A jsonschema.ValidationError; its stubs call every field perhaps unset, which one from a validator never is.
Failure = Any

_SHOWN = 60
_ALLOWED_SHOWN = 40
_SUGGESTED_BELOW = 100
_TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


def found(value: Any) -> str:
    """A value for a sentence: scalars as they are, cut; a list or object only named."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def allowed(values: Iterable[Any]) -> str:
    """The allowed values as a list for a sentence."""
    names = [value if isinstance(value, str) else json.dumps(value) for value in values]
    more = f" and {len(names) - _ALLOWED_SHOWN} more" if len(names) > _ALLOWED_SHOWN else ""
    return ", ".join(names[:_ALLOWED_SHOWN]) + more


def suggestion(name: Any, known: Iterable[Any]) -> str:
    """``; did you mean NAME?`` when a known name is close, else nothing."""
    # A very long name is no slip of the pen, and comparing it would cost its length times every known name.
    if not isinstance(name, str) or len(name) > _SUGGESTED_BELOW:
        return ""
    names = [one for one in known if isinstance(one, str)]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    if not close:
        same = [one for one in names if one.casefold() == name.casefold()]
        close = same[:1]
    return f"; did you mean {close[0]}?" if close else ""


def not_allowed(value: Any, choices: Sequence[Any]) -> str:
    """``found X, allowed A, B, C``."""
    return f"found {found(value)}, allowed {allowed(choices)}{suggestion(value, choices)}"


def sentence(error: Failure) -> str:
    """What a failed keyword of a schema means to the author of the document."""
    words = _WORDS.get(str(error.validator))
    return str(words(error) if words else error.message)


def _type(error: Failure) -> str:
    wanted = error.validator_value
    kinds = [wanted] if isinstance(wanted, str) else list(wanted)
    said = f"must be {' or '.join(_TYPES[kind] for kind in kinds)}, found {found(error.instance)}"
    is_scalar = not isinstance(error.instance, (dict, list))
    return f"{said} (quote it)" if "string" in kinds and is_scalar and error.instance is not None else said


def _pattern(error: Failure) -> str:
    told = error.schema.get("patternErrorMessage") if isinstance(error.schema, dict) else None
    return f"found {found(error.instance)}, allowed {told or f'text that matches {error.validator_value}'}"


def _length(error: Failure) -> str:
    least, most = error.schema.get("minLength"), error.schema.get("maxLength")
    size = len(error.instance)
    if least == 1 and size == 0:
        return "must not be empty"
    limit = f"at least {least}" if error.validator == "minLength" else f"at most {most:,}"
    return f"must have {limit} characters, found {size:,}"


def _count(one: str, many: str) -> Any:
    def words(error: Failure) -> str:
        limit = error.validator_value
        bound = "at least" if str(error.validator).startswith("min") else "at most"
        return f"must have {bound} {limit} {one if limit == 1 else many}, found {len(error.instance)}"

    return words


def _bound(phrase: str) -> Any:
    return lambda error: f"must be {phrase} {error.validator_value}, found {found(error.instance)}"


_WORDS: dict[str, Any] = {
    "type": _type,
    "enum": lambda error: not_allowed(error.instance, error.validator_value),
    "const": lambda error: not_allowed(error.instance, [error.validator_value]),
    "pattern": _pattern,
    "minLength": _length,
    "maxLength": _length,
    "minItems": _count("entry", "entries"),
    "maxItems": _count("entry", "entries"),
    "minProperties": _count("field", "fields"),
    "maxProperties": _count("field", "fields"),
    "minimum": _bound("at least"),
    "maximum": _bound("at most"),
    "exclusiveMinimum": _bound("more than"),
    "exclusiveMaximum": _bound("less than"),
    "uniqueItems": lambda _error: "holds an entry twice",
}
