"""The schema keywords that check meaning, so that one pass over a document finds every problem.

An editor that reads the shipped schemas ignores them; the product runs them beside the standard keywords.

==================  ==================================================================================
keyword             the value it stands on
==================  ==================================================================================
``x-path``          is a path (FORMATS 1.1)
``x-path-template`` is a path whose segments may hold placeholders; ``"target"``: what an effect can change
``x-roots``         (beside it) starts with one of these names
``x-template``      is JSON whose texts may hold placeholders (FORMATS 1.3)
``x-pattern``       is a regular expression in RE2 syntax
``x-json-schema``   is a usable JSON Schema 2020-12 that refers to nothing outside itself
``x-comparators``   is an object some of whose fields are comparators (FORMATS 1.2): ``true``; ``"some"``: at
                    least one must be given; ``"templates"``: their values may hold placeholders
``x-tool``          names a tool: ``"known"`` one of the twin, ``"any"`` perhaps one it does not have,
                    ``"target"`` one of the twin or ``*``, ``"covers"`` the tool behind ``tool:``
``x-adapter``       names a custom handler registered in code
``x-secret``        (beside ``minLength``) is a secret: a problem never repeats it
``x-needs``         (beside ``required``) the sentence for a missing field; ``{name}`` is the field ``name``
``x-unused``        has none of these fields
``x-not-together``  has at most one field of each of these groups
``x-one-of``        has at least one of these fields
==================  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators

from twins.documents.wording import Failure, allowed, found, not_allowed, sentence, suggestion
from twins.engine.adapters import adapter_names
from twins.engine.comparators import COMPARATORS, compile_comparators
from twins.engine.paths import parse_path, split_path
from twins.engine.patterns import PatternError, compile_pattern
from twins.engine.schemas import SchemaError, compile_schema
from twins.engine.templates import Scope, parse_path_template, parse_template, template_problems

Errors = Iterator[ValidationError]

# Beyond this many unknown fields in one object nobody reads a suggestion, and each one costs a search.
_SUGGESTED = 20


def _path(_validator: Any, _on: Any, value: Any, _schema: Any) -> Errors:
    if isinstance(value, str):
        try:
            parse_path(value)
        except ValueError as error:
            yield ValidationError(str(error))


def _path_template(_validator: Any, use: Any, value: Any, schema: Mapping[str, Any]) -> Errors:
    if not isinstance(value, str):
        return
    try:
        parsed = parse_path_template(value)
    except ValueError as error:
        yield ValidationError(str(error))
        return
    if use == "target" and parsed.length:
        yield ValidationError("a length cannot be changed, only read")
    roots = schema.get("x-roots")
    if roots and parsed.first not in roots:
        yield ValidationError(f"must start with {', '.join(roots[:-1])} or {roots[-1]}, found {found(value)}")


def _template(_validator: Any, _on: Any, value: Any, _schema: Any) -> Errors:
    for error in template_problems(value):
        yield ValidationError(str(error), path=split_path(error.path)[0] if error.path else ())


def _pattern(_validator: Any, _on: Any, value: Any, _schema: Any) -> Errors:
    if isinstance(value, str):
        try:
            compile_pattern(value)
        except PatternError as error:
            yield ValidationError(str(error))


def _is_pattern(value: object) -> bool:
    if isinstance(value, str):
        compile_pattern(value)
    return True


_FORMATS = FormatChecker(formats=())
_FORMATS.checks("regex", raises=PatternError)(_is_pattern)
_METASCHEMA = Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=_FORMATS)


def _json_schema(_validator: Any, _on: Any, value: Any, _schema: Any) -> Errors:
    if not isinstance(value, (dict, bool)):
        return
    try:
        compile_schema(value)
    except SchemaError as refusal:
        # Compiling stops at the first fault; the metaschema knows the others, but nothing of references.
        faults = list(_METASCHEMA.iter_errors(value))
        for error in faults:
            yield ValidationError(f"is not JSON Schema: {_fault(error)}", path=error.absolute_path)
        if not faults:
            yield ValidationError(str(refusal))


def _fault(error: Failure) -> str:
    if isinstance(error.cause, PatternError):
        return str(error.cause)
    for inner in error.context or ():
        if inner.validator == "enum":
            return not_allowed(inner.instance, inner.validator_value)
    return sentence(error)[:200]


def _comparators(_validator: Any, use: Any, value: Any, schema: Mapping[str, Any]) -> Errors:
    if not isinstance(value, dict):
        return
    given = [name for name in COMPARATORS if name in value]
    has_own_path = "path" in schema.get("properties", {}) and "path" not in schema.get("required", ())
    if given and has_own_path and "path" not in value:
        yield ValidationError("is required to compare", path=["path"])
    if use == "some" and not given:
        kind = value.get("type")
        who = kind if isinstance(kind, str) else "this"
        yield ValidationError(f"{who} needs at least one comparator: {', '.join(COMPARATORS)}")
    if use == "templates":
        for name in given:
            yield from _template_operand(name, value[name])


def _template_operand(name: str, written: Any) -> Errors:
    """What the plain schema cannot say: an operand is judged as soon as it holds no placeholder."""
    problems = template_problems(written)
    for error in problems:
        yield ValidationError(str(error), path=[name, *(split_path(error.path)[0] if error.path else ())])
    if problems:
        return
    template = parse_template(written)
    if template.constant:
        try:
            compile_comparators({name: template.render(Scope({}, {}))})
        except ValueError as error:
            yield ValidationError(str(error), path=[name])


def _mention(_validator: Any, _use: Any, value: Any, _schema: Any) -> Errors:
    """Not an error: the caller, who knows the twin, sorts these out."""
    if isinstance(value, str):
        yield ValidationError(value)


def _adapter(_validator: Any, _on: Any, value: Any, _schema: Any) -> Errors:
    if isinstance(value, str):
        known = adapter_names()
        if value not in known:
            there_are = f"registered are {allowed(known)}" if known else "none is registered"
            yield ValidationError(
                f"no adapter is named {found(value)}; {there_are}{suggestion(value, known)}"
            )


def _required(validator: Any, names: Iterable[str], value: Any, schema: Mapping[str, Any]) -> Errors:
    if not isinstance(value, dict):
        return
    needs = schema.get("x-needs", {})
    for name in names:
        if name in value:
            continue
        said = needs.get(name)
        if said is None:
            yield from _missing(validator, name, schema)
        elif said.startswith("op "):
            # What an effect lacks is told of the effect: its fields mean nothing without the op.
            yield ValidationError(said.replace("{op}", str(value.get("op"))))
        else:
            yield ValidationError(said, path=[name])


def _missing(validator: Any, name: str, schema: Mapping[str, Any]) -> Errors:
    """A missing object that has required fields is told by them: they are what the author has to write."""
    inner = schema.get("properties", {}).get(name, {})
    errors = [error for error in validator.descend({}, inner, path=name) if error.validator == "required"]
    yield from errors or [ValidationError("is required", path=[name])]


def _items(validator: Any, items: Any, value: Any, schema: Mapping[str, Any]) -> Errors:
    """Each entry; of a list that is too long those that fit, for the rest is refused already."""
    if isinstance(value, list):
        for index, one in enumerate(value[: schema.get("maxItems")]):
            yield from validator.descend(one, items, path=index)


def _additional(validator: Any, rest: Any, value: Any, schema: Mapping[str, Any]) -> Errors:
    if not isinstance(value, dict):
        return
    known = schema.get("properties", {})
    unknown = [key for key in value if key not in known]
    if rest is not False:
        for key in unknown[: schema.get("maxProperties")]:
            yield from validator.descend(value[key], rest, path=key)
        return
    for position, key in enumerate(unknown):
        hint = suggestion(key, known) if position < _SUGGESTED else ""
        yield ValidationError(f"is not a known field here, allowed {allowed(known)}{hint}", path=[key])


def _property_names(validator: Any, names: Any, value: Any, _schema: Any) -> Errors:
    if isinstance(value, dict):
        for key in value:
            for error in validator.evolve(schema=names).iter_errors(key):
                error.path.appendleft(key)
                yield error


def _re2_pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Errors:
    if isinstance(value, str) and not compile_pattern(pattern).search(value):
        yield ValidationError("pattern")


def _unused(_validator: Any, names: Iterable[str], value: Any, _schema: Any) -> Errors:
    for name in names:
        if isinstance(value, dict) and name in value:
            yield ValidationError(f"op {value.get('op')} has no {name}", path=[name])


def _not_together(_validator: Any, groups: Iterable[list[str]], value: Any, _schema: Any) -> Errors:
    for group in groups:
        given = [name for name in group if isinstance(value, dict) and name in value]
        for name in given[1:]:
            yield ValidationError(f"cannot be given together with {given[0]}", path=[name])


def _one_of(_validator: Any, names: list[str], value: Any, _schema: Any) -> Errors:
    if isinstance(value, dict) and not any(name in value for name in names):
        yield ValidationError(f"needs {' or '.join(names)}")


KEYWORDS: dict[str, Any] = {
    "x-path": _path,
    "x-path-template": _path_template,
    "x-template": _template,
    "x-pattern": _pattern,
    "x-json-schema": _json_schema,
    "x-comparators": _comparators,
    "x-tool": _mention,
    "x-adapter": _adapter,
    "x-unused": _unused,
    "x-not-together": _not_together,
    "x-one-of": _one_of,
    "items": _items,
    "required": _required,
    "additionalProperties": _additional,
    "propertyNames": _property_names,
    "pattern": _re2_pattern,
}

DocumentValidator: Any = validators.extend(Draft202012Validator, KEYWORDS)
