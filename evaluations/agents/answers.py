"""An agent's answer, read as what it is: text from outside (FORMATS 5).

Typed, bounded, unknown fields dropped. What cannot be read is a `GarbageError` with every problem in one
sentence; it never becomes a half-believed answer. What can be read is still only a claim.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from evaluations.grading.evidence import Answer, Usage

MAX_ANSWER_BYTES = 1024 * 1024
MAX_NESTING = 64
OUTCOMES = ("SUCCESS", "PARTIAL", "FAILURE", "ESCALATED", "REFUSED", "UNKNOWN")

# NUL and lone surrogates are no text a database or another program can hold.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class GarbageError(ValueError):
    """The answer is not one: says what was found and what is allowed."""


def plain_answer(raw: Any) -> dict[str, Any]:
    """The answer as plain JSON that shares nothing with the agent's own objects.

    Raises:
        GarbageError: not an object, not JSON (NaN, cycles, foreign objects), too deep, or over 1 MiB of
            compact UTF-8.
    """
    if not isinstance(raw, dict):
        raise GarbageError(f"the answer must be an object, got {type(raw).__name__}")
    try:
        text = json.dumps(raw, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode("utf-8", "surrogatepass"))
    except (TypeError, ValueError, RecursionError, OverflowError) as problem:
        raise GarbageError(f"the answer is not JSON: {problem}") from None
    if size > MAX_ANSWER_BYTES:
        raise GarbageError(f"the answer has {size} bytes, at most {MAX_ANSWER_BYTES} are allowed")
    try:
        value = json.loads(_UNSTORABLE.sub("\ufffd", text))
    except (ValueError, RecursionError) as problem:
        raise GarbageError(f"the answer is not JSON: {problem}") from None
    if _too_deep(value):
        raise GarbageError(f"the answer is nested deeper than {MAX_NESTING}")
    return _storable(value)


def read_answer(plain: dict[str, Any], *, latency_ms: int | None = None) -> Answer:
    """The typed answer; null means absent and unknown fields are dropped.

    Raises:
        GarbageError: names every field of the wrong type at once.
    """
    problems: list[str] = []
    fields = {name: _field(plain, name, expected, problems) for name, expected in _FIELDS.items()}
    usage = _usage(plain.get("usage"), problems)
    if problems:
        raise GarbageError("; ".join(problems))
    return Answer(**fields, usage=usage, latency_ms=latency_ms)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _amount(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    )


def _outcome(value: Any) -> bool:
    return value in OUTCOMES if isinstance(value, str) else False


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _anything(value: Any) -> bool:
    return True


_Check = tuple[Callable[[Any], bool], str]
_FIELDS: dict[str, _Check] = {
    "output": (_text, "a text"),
    "claimed_outcome": (_outcome, f"one of {', '.join(OUTCOMES)}"),
    "business_outcome": (_text, "a text"),
    "proposal": (_anything, "JSON"),
    "status": (_text, "a text"),
    "steps": (_count, "a whole number from 0"),
    "tool_calls": (_objects, "a list of objects"),
    "transcript": (_objects, "a list of objects"),
    "trace_id": (_text, "a text"),
    "model": (_text, "a text"),
    "model_kind": (_text, "a text"),
}
_USAGE: dict[str, _Check] = {
    "input_tokens": (_count, "a whole number from 0"),
    "output_tokens": (_count, "a whole number from 0"),
    "cost_usd": (_amount, "a number from 0"),
}


def _field(source: dict[str, Any], name: str, expected: _Check, problems: list[str], where: str = "") -> Any:
    value = source.get(name)
    holds, description = expected
    if value is None or holds(value):
        return value
    problems.append(f"{where}{name}: must be {description}, got {_shown(value)}")
    return None


def _usage(value: Any, problems: list[str]) -> Usage:
    if value is None:
        return Usage(None, None, None)
    if not isinstance(value, dict):
        problems.append(f"usage: must be an object, got {_shown(value)}")
        return Usage(None, None, None)
    return Usage(**{name: _field(value, name, check, problems, "usage.") for name, check in _USAGE.items()})


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_NESTING + 1):
        level = [
            item
            for container in level
            if isinstance(container, dict | list)
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, dict | list)
        ]
        if not level:
            return False
    return True


def _storable(value: Any) -> Any:
    """Escapes such as ``\\u0000`` survive the text above; a clean answer is returned as it is."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value) if _UNSTORABLE.search(value) else value
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return value
