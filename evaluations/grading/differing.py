"""Where two states differ outside a set of places that may differ.

Walks both states together and stops where they are the same object, so comparing two states of one case costs
what changed and not what is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from twins.engine.paths import Path, format_path
from twins.engine.values import MISSING, json_equal

Segments = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One smallest differing place: added, removed or changed."""

    op: str
    segments: Segments

    @property
    def path(self) -> str:
        """The place as a path (FORMATS 1.1)."""
        return format_path(self.segments)


class Allowed:
    """Places at or below which a difference is allowed, as a tree of path segments."""

    __slots__ = ("branches", "everything")

    def __init__(self) -> None:
        self.everything = False
        self.branches: dict[str | int, Allowed] = {}


def allowed_places(paths: Iterable[Path]) -> Allowed:
    """The tree of `paths`. A `.length()` is no place of its own and allows nothing."""
    root = Allowed()
    for path in paths:
        if path.length:
            continue
        node = root
        for segment in path.segments:
            node = node.branches.setdefault(segment, Allowed())
        node.everything = True
    return root


# A list entry may be named from the front and from the end at once, hence several nodes for one place.
_Nodes = tuple[Allowed, ...]
_Pair = tuple[Any, Any, _Nodes, Segments]


def differences(before: Any, after: Any, allowed: Allowed | None = None) -> list[Difference]:
    """The differing places outside `allowed`, sorted by path.

    A container that appears or disappears above an allowed place is a difference of its own. A negative index
    in `allowed` counts from the end of the later list, or of the earlier one for what was removed from it.
    """
    found: list[Difference] = []
    pending: list[_Pair] = [(before, after, () if allowed is None else (allowed,), ())]
    while pending:
        earlier, later, nodes, segments = pending.pop()
        if earlier is later or any(node.everything for node in nodes):
            continue
        if isinstance(earlier, dict) and isinstance(later, dict):
            pending.extend(_keys(earlier, later, nodes, segments))
        elif isinstance(earlier, list) and isinstance(later, list):
            pending.extend(_entries(earlier, later, nodes, segments))
        elif earlier is MISSING:
            found.append(Difference("added", segments))
        elif later is MISSING:
            found.append(Difference("removed", segments))
        elif not json_equal(earlier, later):
            found.append(Difference("changed", segments))
    return sorted(found, key=lambda difference: difference.path)


def _keys(
    earlier: dict[str, Any], later: dict[str, Any], nodes: _Nodes, segments: Segments
) -> Iterator[_Pair]:
    for key, value in earlier.items():
        other = later.get(key, MISSING)
        if other is not value:
            yield value, other, _below(nodes, key), (*segments, key)
    for key, value in later.items():
        if key not in earlier:
            yield MISSING, value, _below(nodes, key), (*segments, key)


def _entries(earlier: list[Any], later: list[Any], nodes: _Nodes, segments: Segments) -> Iterator[_Pair]:
    for index in range(max(len(earlier), len(later))):
        before = earlier[index] if index < len(earlier) else MISSING
        after = later[index] if index < len(later) else MISSING
        if before is not after:
            length = len(later) if after is not MISSING else len(earlier)
            yield before, after, _below(nodes, index, index - length), (*segments, index)


def _below(nodes: _Nodes, *names: str | int) -> _Nodes:
    if not nodes:
        return nodes
    return tuple([node.branches[name] for node in nodes for name in names if name in node.branches])
