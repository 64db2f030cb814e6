"""Counting cases: by class, and what each side did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.db.models import Count, Q, QuerySet, Sum

from evaluations.case_filter import CLASSES
from evaluations.models import (
    UNCLASSIFIED_RANK,
    Case,
    CaseClass,
    CaseState,
    Comparison,
    ComparisonState,
    PairedCase,
    Side,
)


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Cases by class; `pending` are those that have none yet.

    In a comparison that has ended a case without a class is INCOMPLETE: no evidence is never a pass.
    """

    by_class: dict[str, int]
    pending: int = 0

    @property
    def total(self) -> int:
        return sum(self.by_class.values()) + self.pending

    def of(self, classes: Iterable[str]) -> int:
        return sum(self.by_class[name] for name in classes)

    def __getitem__(self, name: str) -> int:
        return self.by_class[name]


@dataclass(frozen=True, slots=True)
class SideTotals:
    """One side of a comparison, counted from its cases."""

    cases: int = 0
    ended: int = 0
    tool_calls: int = 0
    retries: int = 0


def class_counts(cases: QuerySet[PairedCase], comparison: Comparison) -> ClassCounts:
    """How many of these cases of one comparison are in each class: one query."""
    # By rank, which the index of the list begins with: no row is read to count them.
    return counted(dict(cases.order_by().values_list("class_rank").annotate(number=Count("*"))), comparison)


def side_totals(comparison: Comparison) -> dict[str, SideTotals]:
    """`{"BASELINE": …, "CANDIDATE": …}`: one query; of an ended comparison they are remembered."""
    if is_open(comparison):
        return _side_totals(comparison.pk)
    return _ended_side_totals(comparison.pk, comparison.created_at, comparison.finished_at)


@lru_cache(maxsize=512)
def _ended_side_totals(
    comparison_id: int, created_at: datetime, finished_at: datetime | None
) -> dict[str, SideTotals]:
    # What was measured of an ended comparison never changes: the database refuses it. The times keep the key
    # apart from another database's comparison of the same number.
    return _side_totals(comparison_id)


def _side_totals(comparison_id: int) -> dict[str, SideTotals]:
    ended = Q(state__in=[CaseState.FINISHED, CaseState.CANCELLED])
    rows = (
        Case.objects.counted_of(comparison_id)
        .order_by()
        .values("run__side")
        .annotate(
            count=Count("pk"),
            ended_count=Count("pk", filter=ended),
            calls=Sum("tool_call_count"),
            retries=Sum("retry_count"),
        )
    )
    found = {
        row["run__side"]: SideTotals(row["count"], row["ended_count"], row["calls"], row["retries"])
        for row in rows
    }
    return {side: found.get(side, SideTotals()) for side in Side.values}


@dataclass(frozen=True, slots=True)
class Rerun:
    """How many trials were run again, and how many still may be."""

    done: int
    possible: int


def rerun_of(comparison: Comparison) -> Rerun:
    """Two queries of an INCOMPLETE comparison, one of any other: where nothing is missing, nothing may be."""
    pairs = PairedCase.objects.filter(comparison=comparison)
    done = pairs.replaced().count()
    if comparison.state != ComparisonState.INCOMPLETE:
        return Rerun(done, 0)
    return Rerun(done, pairs.worth_running_again().count())


def class_of(pair: PairedCase, comparison: Comparison) -> str | None:
    """The class a case is shown in; None while its comparison runs. See `ClassCounts`."""
    return pair.classification or (None if is_open(comparison) else CaseClass.INCOMPLETE.value)


def reason_of(pair: PairedCase, comparison: Comparison) -> str:
    """Why a case is in the class it is shown in; empty while it waits to be compared."""
    if pair.classification:
        return pair.reason
    return "" if is_open(comparison) else never_compared(comparison)


def never_compared(comparison: Comparison) -> str:
    """Why a case without a class has none, in a comparison that has ended, and will have none."""
    state = f"the comparison is {comparison.state}"
    return f"not compared: {state} ({comparison.reason})" if comparison.reason else f"not compared: {state}"


def counted(found: dict[int, int], comparison: Comparison) -> ClassCounts:
    """Counts by rank of the class as `ClassCounts`."""
    counts = {name: found.get(rank, 0) for rank, name in enumerate(CLASSES)}
    pending = found.get(UNCLASSIFIED_RANK, 0)
    if not is_open(comparison):
        counts["INCOMPLETE"] += pending
        pending = 0
    return ClassCounts(counts, pending)


def is_open(comparison: Comparison) -> bool:
    """Whether the comparison still runs."""
    return comparison.state in (ComparisonState.QUEUED, ComparisonState.RUNNING)
