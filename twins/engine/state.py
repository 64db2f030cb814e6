"""The state of a case: edited by path copying, told apart by what a call touched, rebuilt from changes.

A state is never changed in place. A `Draft` copies the containers along a path, shares the rest, and is
dropped when a call fails: the old root is the rollback. So a call costs its depth, whatever the size of
the state, and untouched subtrees are the same objects before and after.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

from .bounds import MAX_GROWTH, MAX_VALUE, TooLarge, weigh
from .paths import Flexible, Segment, Segments, format_path, join_path, lookup, split_path
from .values import MISSING, is_number, kind_of

Change = dict[str, Any]
"""`{op: added|removed|changed, path, before?, after?}` (FORMATS 2.1)."""

_LARGEST_NUMBER: Final = 1 << 1024


class EffectError(Exception):
    """An effect that cannot be applied: the twin's fault (500 TWIN_EFFECT_ERROR), nothing is changed."""


def merge_patch(target: Any, patch: Any) -> Any:
    """The target after a JSON Merge Patch (RFC 7396): null removes, objects merge, all else replaces.

    Neither argument is changed; the result shares what the patch does not mention.
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


class Draft:
    """One call's edits of a state. `root` is the state so far, `touched` the places edited.

    A container is copied once and then edited in place, while nobody but the draft can hold it. All
    operations raise EffectError and leave the draft unusable then: drop it.
    """

    __slots__ = ("_own", "growth", "root", "touched")

    def __init__(self, root: Any, growth: int = 0) -> None:
        self.root = root
        self.growth = growth
        self.touched: list[Segments] = []
        self._own: dict[int, Any] = {}  # by id; holding the containers keeps the ids theirs

    def set(self, segments: Segments, value: Any) -> None:
        """Put a value at a place, making the objects on the way."""
        self._charge(segments, value)
        if not segments:
            if not isinstance(value, dict):
                raise EffectError(f"the whole state must stay an object, not {kind_of(value)}")
            self.root = value
            self.touched.append(())
        else:
            container, keys = self._open(segments)
            container[keys[-1]] = value
            self.touched.append(keys)
        self._placed(value)

    def delete(self, segments: Segments, _operand: Any = None) -> None:
        """Remove a place; a place that is not there stays so. Later items of a list move up."""
        if not segments:
            raise EffectError("the whole state cannot be deleted")
        if lookup(self.root, segments) is MISSING:
            return
        container, keys = self._open(segments)
        del container[keys[-1]]
        self.touched.append(keys if isinstance(container, dict) else keys[:-1])

    def append(self, segments: Segments, value: Any) -> None:
        """Add an item to the list at a place; a missing one is made."""
        current = lookup(self.root, segments)
        if current is MISSING:
            self.set(segments, [value])
            return
        if not isinstance(current, list):
            raise EffectError(f"append needs a list at {format_path(segments)}, not {kind_of(current)}")
        self._charge(segments, value)
        items, keys = self._open((*segments, 0), appending=True)
        items.append(value)
        self.touched.append((*keys, len(items) - 1))
        self._placed(value)

    def merge(self, segments: Segments, value: Any) -> None:
        """Set the fields of an object at a place, none deeper; a missing one is made."""
        if not isinstance(value, dict):
            raise EffectError(f"merge needs an object as its value, not {kind_of(value)}")
        current = lookup(self.root, segments)
        if current is MISSING:
            self.set(segments, value)
            return
        if not isinstance(current, dict):
            raise EffectError(f"merge needs an object at {format_path(segments)}, not {kind_of(current)}")
        for key, item in value.items():
            self.set((*segments, key), item)

    def increment(self, segments: Segments, by: Any) -> None:
        """Add to the number at a place; a missing one counts as 0."""
        current = lookup(self.root, segments)
        if current is MISSING:
            current = 0
        if not is_number(current):
            raise EffectError(f"a number is needed at {format_path(segments)}, not {kind_of(current)}")
        self.set(segments, _sum(current, by))

    def decrement(self, segments: Segments, by: Any) -> None:
        """Take from the number at a place; a missing one counts as 0."""
        self.increment(segments, -by if is_number(by) else by)

    def _open(self, segments: Segments, appending: bool = False) -> tuple[Any, Segments]:
        """The container of the last segment, safe to edit, and the exact keys that lead to the place.

        Negative indexes are counted out; `appending` opens the list itself and gives the keys up to it.
        """
        node = self.root = self._owned(self.root)
        keys: list[Segment] = []
        for segment in segments[:-1]:
            key = _key(node, segment, keys)
            child = node.get(key, MISSING) if isinstance(node, dict) else node[key]
            keys.append(key)
            if child is not MISSING and not isinstance(child, (dict, list)):
                raise EffectError(f"{format_path(keys)} is {kind_of(child)} and holds nothing")
            node[key] = node = self._owned({} if child is MISSING else child)
        if not appending:
            keys.append(_key(node, segments[-1], keys))
        return node, tuple(keys)

    def _owned(self, container: Any) -> Any:
        if id(container) in self._own:
            return container
        copy = container.copy()
        self._own[id(copy)] = copy
        return copy

    def _placed(self, value: Any) -> None:
        """A container put into the state may be in it elsewhere too (`{state.a}`): nothing is ours alone."""
        if isinstance(value, (dict, list)):
            self._own.clear()

    def _charge(self, segments: Segments, value: Any) -> None:
        try:
            self.growth += weigh(value, MAX_VALUE, len(segments))
        except TooLarge as error:
            raise EffectError(f"the value for {format_path(segments)[:200]} is too large: {error}") from None
        for segment in segments:
            if isinstance(segment, str):
                self.growth += len(segment)
        if self.growth > MAX_GROWTH:
            raise EffectError(f"the effects of this case have added more than {MAX_GROWTH} characters")


def _key(container: Any, segment: Segment, way: Sequence[Segment]) -> Any:
    """The key of a segment in this very container: a text for an object, an index in range for a list."""
    if isinstance(container, dict):
        if isinstance(segment, str):
            return segment
        if type(segment) is Flexible:
            return str(int(segment))
        raise EffectError(f"{format_path(way)} is an object, which has no index {segment}")
    if isinstance(segment, str):
        raise EffectError(f"{format_path(way)} is a list, which has no key {segment[:100]}")
    index = int(segment) + len(container) if segment < 0 else int(segment)
    if not 0 <= index < len(container):
        raise EffectError(f"{format_path(way)} has no item {int(segment)}")
    return index


def _sum(current: Any, by: Any) -> Any:
    if not is_number(by):
        raise EffectError(f"by needs a number, not {kind_of(by)}")
    try:
        total = current + by
    except OverflowError:
        total = math.inf
    if not -_LARGEST_NUMBER < total < _LARGEST_NUMBER:
        raise EffectError("the sum is beyond the range of a double")
    return total


# --- what changed ---------------------------------------------------------------------------------

_Touched = dict[Segment, Any] | None
"""A tree of touched places; None: this whole place, however deep."""


def changes_between(before: Any, after: Any, touched: Iterable[Segments] | None = None) -> tuple[Change, ...]:
    """The smallest differing places, sorted by path text (FORMATS 8).

    Objects are compared by key and lists by index; a container that appears or disappears is one entry.
    Identical objects are not looked into. With `touched`, only those places are: all else must be shared.
    """
    changes: list[Change] = []
    _differences("", before, after, None if touched is None else _tree(touched), changes)
    changes.sort(key=itemgetter("path"))
    return tuple(changes)


def _tree(paths: Iterable[Segments]) -> _Touched:
    root: dict[Segment, Any] = {}
    for path in paths:
        if not path:
            return None
        node = root
        for segment in path[:-1]:
            child = node.setdefault(segment, {})
            if child is None:  # a place above it is wholly touched already
                break
            node = child
        else:
            node[path[-1]] = None
    return root


def _differences(path: str, before: Any, after: Any, touched: _Touched, found: list[Change]) -> None:
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        keys = touched if touched is not None else before.keys() | after.keys()
        for key in keys:
            inner = None if touched is None else touched[key]
            old, new = before.get(key, MISSING), after.get(key, MISSING)
            if old is not new:
                _differences(join_path(path, key), old, new, inner, found)
    elif isinstance(before, list) and isinstance(after, list):
        indexes: Iterable[Any] = touched if touched is not None else range(max(len(before), len(after)))
        for index in indexes:
            inner = None if touched is None else touched[index]
            old = before[index] if index < len(before) else MISSING
            new = after[index] if index < len(after) else MISSING
            if old is not new:
                _differences(join_path(path, index), old, new, inner, found)
    elif not _same_scalar(before, after):
        found.append(_change(path or "$", before, after))


def _same_scalar(before: Any, after: Any) -> bool:
    """Exact but for 1 and 1.0: a state rebuilt from its changes must hash like the real one."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if isinstance(before, (dict, list)) or isinstance(after, (dict, list)):
        return False
    return bool(before == after)


def _change(path: str, before: Any, after: Any) -> Change:
    if before is MISSING:
        return {"op": "added", "path": path, "after": after}
    if after is MISSING:
        return {"op": "removed", "path": path, "before": before}
    return {"op": "changed", "path": path, "before": before, "after": after}


def apply_changes(state: Any, changes: Iterable[Change]) -> Any:
    """The later state, rebuilt from the earlier one and the changes between them. Neither is changed.

    ValueError for changes that do not belong to this state.
    """
    steps = [(change, split_path(change["path"])[0]) for change in changes]
    # The items of a list go from the end and come in order, so that each index means what it meant.
    removals = sorted((s for s in steps if s[0]["op"] == "removed"), key=lambda s: _order(s[1]), reverse=True)
    additions = sorted((s for s in steps if s[0]["op"] != "removed"), key=lambda s: _order(s[1]))
    own: dict[int, Any] = {}
    root = _copied(state, own)
    for change, segments in [*additions, *removals]:
        node = root
        for segment in segments[:-1]:
            node[segment] = node = _copied(node[segment], own)
        _apply_change(node, segments[-1], change)
    return root


def _order(segments: Sequence[Segment]) -> list[tuple[bool, Segment]]:
    return [(isinstance(segment, str), segment) for segment in segments]


def _copied(container: Any, own: dict[int, Any]) -> Any:
    if id(container) in own:
        return container
    copy = container.copy()
    own[id(copy)] = copy
    return copy


def _apply_change(node: Any, key: Any, change: Change) -> None:
    if change["op"] == "removed":
        del node[key]
    elif isinstance(node, list) and change["op"] == "added":
        if key != len(node):
            raise ValueError(f"{change['path']}: an item can only be added at the end of its list")
        node.append(change["after"])
    else:
        node[key] = change["after"]
