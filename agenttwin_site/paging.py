"""Keyset paging: a page begins after the last row of the one before, however many rows there are."""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.http import QueryDict

# Larger numbers than these are in no column; a cursor with one was made up.
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of one page, and the addresses (query strings) of its neighbours; empty where there are none."""

    rows: list[Any]
    previous_href: str
    next_href: str


def keyset_page(queryset: QuerySet[Any], *, keys: Sequence[str], query: QueryDict, size: int) -> Page:
    """The page of `queryset` that `query` (`after=` or `before=`) points at: one database query.

    `keys` name the attributes (the entries, where rows are dictionaries) that order the rows, together
    unique; "-name" descends. Values must be whole numbers. A cursor that cannot be read is the first page: an
    old address still shows something.
    """
    after, before = _decoded(query.get("after"), len(keys)), _decoded(query.get("before"), len(keys))
    backwards = before is not None and after is None
    order = [_reversed(key) if backwards else key for key in keys]
    cursor = before if backwards else after
    rows = queryset.order_by(*order)
    if cursor is not None:
        rows = rows.filter(_beyond(order, cursor))
    found = list(rows[: size + 1])
    has_more = len(found) > size
    found = found[:size]
    if backwards:
        found.reverse()
    has_previous = has_more if backwards else cursor is not None
    has_next = True if backwards else has_more
    return Page(
        rows=found,
        previous_href=_href(query, before=_encoded(found[0], keys)) if found and has_previous else "",
        next_href=_href(query, after=_encoded(found[-1], keys)) if found and has_next else "",
    )


def is_cursor(text: str, *, keys: Sequence[str]) -> bool:
    """Whether this can be a cursor of a list with these keys: an API says so where a page ignores it."""
    return _decoded(text, len(keys)) is not None


def _beyond(order: Sequence[str], cursor: Sequence[int]) -> Q:
    """Rows after `cursor` in `order`: (a, b) > (x, y) is a > x, or a = x and b > y."""
    condition, equal = Q(), Q()
    for key, value in zip(order, cursor, strict=True):
        name, operator = (key[1:], "lt") if key.startswith("-") else (key, "gt")
        condition |= equal & Q(**{f"{name}__{operator}": value})
        equal &= Q(**{name: value})
    # The first key alone lets the database use its index for the range.
    first, operator = (order[0][1:], "lte") if order[0].startswith("-") else (order[0], "gte")
    return condition & Q(**{f"{first}__{operator}": cursor[0]})


def _reversed(key: str) -> str:
    return key[1:] if key.startswith("-") else f"-{key}"


def _encoded(row: Any, keys: Sequence[str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(_values(row, keys)).encode()).decode().rstrip("=")


def _values(row: Any, keys: Sequence[str]) -> list[int]:
    names = [key.lstrip("-") for key in keys]
    return [row[name] if isinstance(row, dict) else getattr(row, name) for name in names]


def _decoded(text: str | None, length: int) -> list[int] | None:
    if not text or len(text) > 200:
        return None
    try:
        values = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        return None
    if not isinstance(values, list) or len(values) != length:
        return None
    if not all(type(value) is int and abs(value) <= _LARGEST for value in values):
        return None
    return values


def _href(query: QueryDict, **cursor: str) -> str:
    changed = query.copy()
    for name in ("after", "before"):
        changed.pop(name, None)
    changed.update(cursor)
    return f"?{changed.urlencode()}"


def keyset_slice(items: Sequence[Any], *, keys: Sequence[str], query: QueryDict, size: int) -> Page:
    """`keyset_page` of items that are in memory already, in the order of their keys."""
    after, before = _decoded(query.get("after"), len(keys)), _decoded(query.get("before"), len(keys))
    place = [_values(item, keys) for item in items]
    if after is not None:
        first = bisect_right(place, after)
    elif before is not None:
        first = max(0, bisect_left(place, before) - size)
    else:
        first = 0
    found = list(items[first : first + size])
    return Page(
        rows=found,
        previous_href=_href(query, before=_encoded(found[0], keys)) if found and first else "",
        next_href=_href(query, after=_encoded(found[-1], keys)) if first + size < len(items) else "",
    )
