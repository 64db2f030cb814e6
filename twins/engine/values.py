"""JSON values as the engine compares, writes and hashes them.

A value is what `json.loads` gives: dict with text keys, list, str, int, float, bool, None.
This module knows nothing of paths, templates or twins.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from typing import Any, Final

_KINDS: Final = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}

TOLERANCE: Final = 1e-9
"""Two numbers this close are the same number (FORMATS 1.2): 0.1 + 0.2 is 0.3."""


class _Missing:
    """What a path gives when it leads nowhere. Falsy, one of a kind, not a JSON value."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "missing"

    def __reduce__(self) -> str:
        return "MISSING"  # copies and pickles are the same object, so `is` keeps working


MISSING: Final = _Missing()


def json_equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal (FORMATS 1.2).

    `true` is not `1`, `1` is `1.0`, numbers within 1e-9 are equal, objects compare by key, lists by
    position. MISSING equals nothing, itself included (FORMATS 8).
    """
    if left is MISSING or right is MISSING:
        return False
    if left is right:
        return True
    if isinstance(left, str) or isinstance(right, str):
        return bool(left == right)
    if is_number(left) and is_number(right):
        return numbers_equal(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return len(left) == len(right) and all(
            key in right and json_equal(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    return False  # true, false and null are single objects: `is` has answered for them


def is_number(value: Any) -> bool:
    """Whether a value is a JSON number; Python would also count `True` as one."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def numbers_equal(left: float, right: float) -> bool:
    """Whether two numbers are the same within the tolerance."""
    if left == right:
        return True
    try:
        return abs(left - right) <= TOLERANCE
    except OverflowError:  # an integer beyond the range of a double, next to a double
        return False


def contains(expected: Any, actual: Any) -> bool:
    """Whether `actual` holds `expected`: objects by subset at every depth, lists and scalars by equality."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and contains(value, actual[key]) for key, value in expected.items()
        )
    return json_equal(expected, actual)


def text_form(value: Any) -> str:
    """A value inside a text: null is nothing, texts as they are, the rest compact JSON (FORMATS 8)."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return compact_json(value)


def _encoder(*, sort_keys: bool) -> Callable[[Any], str]:
    """What `json.dumps` does with these settings. It makes a new C encoder for every value, which costs as
    much as to write a small one; here one serves them all."""
    # The arguments are those of json.JSONEncoder.iterencode.
    encode = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
        None, _no_json, json.encoder.encode_basestring, None, ":", ",", sort_keys, False, False
    )
    return lambda value: "".join(encode(value, 0))


def _no_json(value: Any) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


_compact = _encoder(sort_keys=False)
_sorted = _encoder(sort_keys=True)


def compact_json(value: Any) -> str:
    """The shortest JSON text, in the order of the keys as they are. ValueError for NaN and Infinity."""
    return _compact(value)


def canonical_json(value: Any) -> str:
    """The one text of a value: keys sorted, and `1`, `1.0` written the same.

    Values that are equal but for the tolerance of numbers keep texts of their own: a hash tells exact
    contents apart.
    """
    return _sorted(_canonical(value))


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return value


def digest(value: Any) -> str:
    """SHA-256 (64 hex digits) of the canonical JSON in UTF-8."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def copy_json(value: Any) -> Any:
    """A copy that shares no container with the value: for handing state to code that may change it."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value


def describe(value: Any, limit: int = 200) -> str:
    """A value in a sentence for a person: compact JSON, cut; MISSING is `nothing`."""
    if value is MISSING:
        return "nothing"
    text = compact_json(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def kind_of(value: Any) -> str:
    """The JSON kind of a value with its article, for messages: `a list`, `null`."""
    return _KINDS.get(type(value), type(value).__name__)


def is_finite(value: float) -> bool:
    """Whether a number can be written as JSON (an int always can)."""
    return isinstance(value, int) or math.isfinite(value)
