"""What was worked out of the records of ended cases, kept for the next request.

Records are written once and an ended case never changes, so what follows from them alone can be remembered:
a reviewer who opens step after step of a long case pays for reading it once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from threading import Lock
from typing import Generic, TypeVar

from evaluations.models import Case, CaseState

Kept = TypeVar("Kept")


class Remembered(Generic[Kept]):
    """The values used last, as many as together have `limit` parts. Safe for several threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._kept: OrderedDict[Hashable, tuple[Kept, int]] = OrderedDict()
        self._lock = Lock()

    def of(self, cases: Mapping[str, Case], make: Callable[[], Kept], size: Callable[[Kept], int]) -> Kept:
        """The value for these two sides; made anew while one of them has not ended."""
        if not all(case.state == CaseState.FINISHED for case in cases.values()):
            return make()
        # An id alone would do in one database; the moment of the end tells databases apart as well.
        key = tuple((side, case.pk, case.finished_at) for side, case in sorted(cases.items()))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        value = make()
        self._put(key, value, 1 + size(value))
        return value

    def _put(self, key: Hashable, value: Kept, size: int) -> None:
        with self._lock:
            if key in self._kept or size > self._limit:
                return
            self._kept[key] = (value, size)
            self._size += size
            while self._size > self._limit:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._size -= dropped
