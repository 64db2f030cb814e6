"""The exact difference between two JSON values, small where they share parts.

Unlike the changes of a record, which say what a reader wants to know, a delta rebuilds the later value to
the byte: the order of keys and ``1`` against ``1.0`` included. A session stores one per call, so that a call
costs what it touched and not the size of the state. Parts are recognised by identity first, which the
engine's path copying keeps. No Django in here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Delta = Any
"""None: nothing differs. ``{"=": value}``: replaced. ``{"-": [keys], "~": {key: delta}, "+": {key: value}}``:
an object. ``{"~": {index: delta}, "+": [values]}``: a list that only grew. Empty parts are left out."""


def delta_between(before: Any, after: Any) -> Delta:
    """What makes `after` of `before`."""
    if before is after:
        return None
    if type(before) is dict and type(after) is dict:
        return _of_objects(before, after)
    if type(before) is list and type(after) is list and len(before) <= len(after):
        return _of_lists(before, after)
    return None if _is_same_scalar(before, after) else {"=": after}


def patched(before: Any, delta: Delta) -> Any:
    """The later value. `before` is left as it is; what did not change is shared with it."""
    if delta is None:
        return before
    if "=" in delta:
        return delta["="]
    edits = delta.get("~", {})
    if isinstance(before, list):
        return _patched_list(before, edits, delta.get("+", ()))
    result = dict(before)
    for key in delta.get("-", ()):
        del result[key]
    for key, inner in edits.items():
        result[key] = patched(result[key], inner)
    result.update(delta.get("+", {}))
    return result


def _of_objects(before: dict[str, Any], after: dict[str, Any]) -> Delta:
    kept = [key for key in before if key in after]
    added = {key: value for key, value in after.items() if key not in before}
    if [*kept, *added] != list(after):
        # A key that was deleted and set again stands at the end: order is part of the value.
        return {"=": after}
    edits = {}
    for key in kept:
        inner = delta_between(before[key], after[key])
        if inner is not None:
            edits[key] = inner
    removed = [key for key in before if key not in after] if len(kept) < len(before) else []
    return _without_empty({"-": removed, "~": edits, "+": added})


def _of_lists(before: list[Any], after: list[Any]) -> Delta:
    edits = {}
    for index, old in enumerate(before):
        inner = delta_between(old, after[index])
        if inner is not None:
            edits[str(index)] = inner
    if len(edits) > len(before) // 2:
        return {"=": after}
    return _without_empty({"~": edits, "+": after[len(before) :]})


def _patched_list(before: list[Any], edits: Mapping[str, Delta], added: Sequence[Any]) -> list[Any]:
    result = [*before, *added]
    for index, inner in edits.items():
        result[int(index)] = patched(before[int(index)], inner)
    return result


def _without_empty(parts: dict[str, Any]) -> Delta:
    return {name: part for name, part in parts.items() if part} or None


def _is_same_scalar(before: Any, after: Any) -> bool:
    # Equal texts of the same type: 1, 1.0 and True are equal but not the same, nor are 0.0 and -0.0.
    if type(before) is not type(after) or isinstance(before, (dict, list)):
        return False
    return bool(before == after) and (type(before) is not float or repr(before) == repr(after))
