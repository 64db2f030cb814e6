"""Arguments of a tool from a customer's words: what somebody would put in who does not look anything up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from twins.engine.patterns import PatternError, compile_pattern

_FIGURE: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?|\d+(?:[.,]\d{1,2})?"
_MONEY: Final = re.compile(
    rf"(?:[$€£]\s?|\b(?:USD|EUR|GBP)\s?)({_FIGURE})"
    rf"|(?<![\w.,-])({_FIGURE})\s?(?:[$€£]|(?:USD|EUR|GBP|dollars?|euros?|pounds?)\b)",
    re.IGNORECASE,
)
_THOUSANDS: Final = re.compile(r",(?=\d{3})")
_NUMBER: Final = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")
_CODE: Final = re.compile(r"\b[A-Za-z]{1,12}[-_]?\d[\w-]*\b")
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+\w")
_DATE: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
# Ends of names whose values are codes and not sentences.
_CODED: Final = ("id", "ref", "reference", "number", "no", "code", "account", "iban", "token")
_KEY: Final = "control-1"


def filled(
    schema: Any,
    message: str,
    context: Mapping[str, Any],
    *,
    named: Iterable[str] = (),
    key_argument: str | None = None,
) -> dict[str, Any] | None:
    """The arguments that the schema requires, from the context and the message; None where one is in neither.

    Without a schema, the arguments `named` are taken for required texts or numbers.
    """
    properties = schema.get("properties") if isinstance(schema, dict) else None
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required", ()) if isinstance(schema, dict) else tuple(named)
    arguments = {}
    for name in required:
        value = _KEY if name == key_argument else _value(name, properties.get(name, {}), message, context)
        if value is None:
            return None
        arguments[name] = value
    return arguments


def _value(name: str, schema: Any, message: str, context: Mapping[str, Any]) -> Any:
    """What stands for the argument, or None."""
    schema = schema if isinstance(schema, dict) else {}
    for key, known in context.items():
        if _plain(key) == _plain(name) and known is not None:
            return known
    if "const" in schema:
        return schema["const"]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        words = message.casefold()
        return next((one for one in choices if isinstance(one, str) and one.casefold() in words), choices[0])
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), None)
    if kind in ("number", "integer"):
        return _amount(message, whole=kind == "integer")
    if kind == "boolean":
        return True
    if kind == "array":
        inner = _value(name.removesuffix("s"), schema.get("items"), message, context)
        return [] if inner is None else [inner]
    if kind == "object":
        return filled(schema, message, context)
    if kind is None and not schema and _plain(name) in ("amount", "quantity", "total", "price", "count"):
        return _amount(message, whole=False)
    return _text(name, schema, message)


def _text(name: str, schema: Mapping[str, Any], message: str) -> str | None:
    plain = _plain(name)
    if "email" in plain or schema.get("format") == "email":
        return _first(_EMAIL.findall(message))
    if "date" in plain or schema.get("format") == "date":
        return _first(_DATE.findall(message))
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        return _first(_matching(pattern, _CODE.findall(message) + re.findall(r"\S+", message)))
    if plain.endswith(_CODED):
        return _code(plain, message)
    longest = schema.get("maxLength")
    return message[: int(longest)] if isinstance(longest, int | float) else message


def _code(plain: str, message: str) -> str | None:
    """The code in the message whose letters begin as the name does: ORD-1 for order_id; else the first."""
    codes = _CODE.findall(message)
    alike = (code for code in codes if plain.startswith(re.match(r"[a-z]*", code.casefold())[0][:3]))  # type: ignore[index]
    return next(alike, None) or _first(codes)


def _amount(message: str, *, whole: bool) -> float | int | None:
    """An amount of money if one is named, else the first number that stands alone."""
    money = [first or second for first, second in _MONEY.findall(message)]
    found = _first(money or _NUMBER.findall(message))
    if found is None:
        return None
    number = float(_THOUSANDS.sub("", found).replace(",", "."))
    return int(number) if whole or number.is_integer() else number


def _matching(pattern: str, words: Iterable[str]) -> Iterable[str]:
    try:
        compiled = compile_pattern(pattern)
    except PatternError:
        return ()
    return (word for word in words if compiled.search(word.strip(".,;:!?\"'()")))


def _first(found: Iterable[str]) -> str | None:
    return next((one.strip(".,;:!?\"'()") for one in found), None)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())
