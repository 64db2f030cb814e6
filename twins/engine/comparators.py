"""Comparators: what a document says a value must be (FORMATS 1.2, 8).

Several in one place must all hold; none at all means `exists: true`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from .patterns import compile_pattern
from .values import MISSING, describe, is_number, json_equal, kind_of, numbers_equal

COMPARATORS: Final = ("equals", "notEquals", "in", "exists", "gte", "lte", "gt", "lt", "matches")

Check = Callable[[Any], str | None]
"""Takes the actual value (or MISSING); None when it holds, else the reason."""


class ComparatorError(ValueError):
    """A comparator that cannot be used: an unknown name, or an operand of the wrong kind."""


class Comparators:
    """Compiled comparators of one place."""

    __slots__ = ("_checks",)

    def __init__(self, checks: tuple[Check, ...]) -> None:
        self._checks = checks

    def check(self, actual: Any) -> str | None:
        """None when every comparator holds, else why the first one does not: `expected 1, got 2`."""
        for check in self._checks:
            reason = check(actual)
            if reason is not None:
                return reason
        return None


def compile_comparators(mapping: Mapping[str, Any]) -> Comparators:
    """The comparators of a mapping that holds nothing else.

    ComparatorError for an unknown name, an `in` without a list, an `exists` without a boolean;
    PatternError for a pattern that RE2 refuses. Both are ValueErrors.
    """
    unknown = sorted(set(mapping) - set(COMPARATORS))
    if unknown:
        raise ComparatorError(f"unknown comparator {unknown[0]}; there are {', '.join(COMPARATORS)}")
    if not mapping:
        mapping = {"exists": True}
    return Comparators(tuple(compile_check(name, mapping[name]) for name in COMPARATORS if name in mapping))


def compile_check(name: str, operand: Any) -> Check:
    """The check of one comparator. Raises as `compile_comparators` does, KeyError for an unknown name."""
    return _COMPILERS[name](operand)


def _equals(expected: Any) -> Check:
    def check(actual: Any) -> str | None:
        if json_equal(actual, expected):
            return None
        return f"expected {describe(expected)}, got {describe(actual)}"

    return check


def _not_equals(unwanted: Any) -> Check:
    def check(actual: Any) -> str | None:
        if not json_equal(actual, unwanted):  # missing equals nothing, so it passes
            return None
        return f"expected anything but {describe(unwanted)}, got {describe(actual)}"

    return check


def _in(options: Any) -> Check:
    if not isinstance(options, list):
        raise ComparatorError(f"in needs a list, not {kind_of(options)}")

    def check(actual: Any) -> str | None:
        if any(json_equal(actual, option) for option in options):
            return None
        return f"expected one of {describe(options)}, got {describe(actual)}"

    return check


def _exists(wanted: Any) -> Check:
    if not isinstance(wanted, bool):
        raise ComparatorError(f"exists needs true or false, not {kind_of(wanted)}")

    def check(actual: Any) -> str | None:
        present = actual is not MISSING and actual is not None
        if present is wanted:
            return None
        return f"expected {'a value' if wanted else 'no value'}, got {describe(actual)}"

    return check


def _ordering(name: str, compare: Callable[[Any, Any], bool], equal_passes: bool) -> Callable[[Any], Check]:
    """An ordering comparator. Numbers within the tolerance are equal before they are in any order."""

    def compile_ordering(bound: Any) -> Check:
        def check(actual: Any) -> str | None:
            for side in (actual, bound):
                if not is_number(side):
                    return f"{name} needs numbers on both sides, got {describe(actual)} and {describe(bound)}"
            holds = equal_passes if numbers_equal(actual, bound) else compare(actual, bound)
            return None if holds else f"expected {name} {describe(bound)}, got {describe(actual)}"

        return check

    return compile_ordering


def _matches(text: Any) -> Check:
    if not isinstance(text, str):
        raise ComparatorError(f"matches needs a pattern, not {kind_of(text)}")
    pattern = compile_pattern(text)

    def check(actual: Any) -> str | None:
        if isinstance(actual, str) and pattern.search(actual):
            return None
        return f"expected a text matching {text!r}, got {describe(actual)}"

    return check


_COMPILERS: Final[dict[str, Callable[[Any], Check]]] = {
    "equals": _equals,
    "notEquals": _not_equals,
    "in": _in,
    "exists": _exists,
    "gte": _ordering("gte", operator.ge, True),
    "lte": _ordering("lte", operator.le, True),
    "gt": _ordering("gt", operator.gt, False),
    "lt": _ordering("lt", operator.lt, False),
    "matches": _matches,
}
