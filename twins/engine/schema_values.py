"""What JSON Schema says of single values, in time that grows with the value alone: equality and multiples.

Equality is that of the dialect: `1` is `1.0`, `true` is not `1`, and no tolerance. Two values are equal
exactly if their canonical texts are, which a set finds at once where `jsonschema` compares each with each.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from .values import canonical_json, is_finite, is_number

# As powers of ten: the tolerance of numbers, and the smallest step beside which it is small.
_TOLERANCE: Final = -9
_FINE: Final = -6


class Options(list[Any]):
    """The list of an `enum` with its texts and the canonical forms of the rest, made once."""

    __slots__ = ("forms", "texts")

    def __init__(self, options: Iterable[Any]) -> None:
        super().__init__(options)
        self.texts = frozenset(one for one in self if isinstance(one, str))
        self.forms = frozenset(canonical_json(one) for one in self if not isinstance(one, str))

    def hold(self, value: Any) -> bool:
        """Whether one of them equals the value."""
        if isinstance(value, str):
            return value in self.texts
        return bool(self.forms) and canonical_json(value) in self.forms


def with_options(schema: Any) -> Any:
    """A copy of a schema whose `enum` lists are Options; one that is only data stays the list it is."""
    if isinstance(schema, dict):
        return {
            key: Options(value) if key == "enum" and isinstance(value, list) else with_options(value)
            for key, value in schema.items()
        }
    if isinstance(schema, list):
        return [with_options(item) for item in schema]
    return schema


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal. It ends at the first difference, so a long constant costs little."""
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(
            key in right and same(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if is_number(left) and is_number(right):
        return bool(left == right)
    return type(left) is type(right) and bool(left == right)


def all_differ(items: list[Any]) -> bool:
    """Whether no two of them are equal."""
    seen: set[str] = set()
    for item in items:
        form = canonical_json(item)
        if form in seen:
            return False
        seen.add(form)
    return True


def is_multiple(value: float, of: float) -> bool:
    """Whether a number is a multiple of another, both as they are written: 19.99 is one of 0.01.

    Numbers within 1e-9 are the same (FORMATS 1.2), so 0.1 + 0.2 is a multiple of 0.1. That holds where the
    tolerance is small beside the step; of very small steps only exact multiples count.
    """
    if not is_finite(value):
        return False
    (digits, exponent), (step_digits, step_exponent) = _written(value), _written(of)
    lowest = min(exponent, step_exponent, _TOLERANCE)
    step = step_digits * 10 ** (step_exponent - lowest)
    rest = digits * 10 ** (exponent - lowest) % step
    if rest == 0:
        return True
    return step >= 10 ** (_FINE - lowest) and min(rest, step - rest) <= 10 ** (_TOLERANCE - lowest)


@lru_cache(maxsize=1024)
def _written(number: float) -> tuple[int, int]:
    """The digits of a number and the power of ten that they count: 19.99 is (1999, -2).

    Of a double, the shortest digits that mean it; its exponent is within a few hundred, so what is made of
    these stays small.
    """
    if isinstance(number, int):
        return number, 0
    digits, _, exponent = repr(number).partition("e")
    whole, _, part = digits.partition(".")
    return int(whole + part), int(exponent or 0) - len(part)
