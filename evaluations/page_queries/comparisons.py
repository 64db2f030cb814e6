"""Lists of comparisons with their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count
from django.http import QueryDict

from agenttwin_site.paging import Page, keyset_page
from evaluations.models import Comparison, PairedCase, Run
from evaluations.page_queries.counts import ClassCounts, counted


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    comparison: Comparison
    counts: ClassCounts
    model_kinds: tuple[str, ...]


def latest_comparisons(limit: int) -> list[ComparisonRow]:
    """The latest comparisons with their counts: three queries."""
    return with_counts(list(Comparison.objects.with_names().order_by("-pk")[:limit]))


def comparison_page(
    query: QueryDict, *, agent: str, state: str, size: int
) -> tuple[Page, list[ComparisonRow]]:
    """A page of comparisons, latest first, with their counts: three queries."""
    comparisons = Comparison.objects.with_names()
    if agent:
        comparisons = comparisons.filter(agent__name=agent)
    if state:
        comparisons = comparisons.filter(state=state)
    page = keyset_page(comparisons, keys=("-pk",), query=query, size=size)
    return page, with_counts(page.rows)


def model_kinds_of(comparison_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """The honest labels of what answered in each comparison, without repetition: one query."""
    found: dict[int, dict[str, None]] = {}
    rows = Run.objects.filter(comparison__in=comparison_ids).order_by("comparison", "side")
    for comparison_id, kind in rows.values_list("comparison_id", "model_kind"):
        if kind:
            found.setdefault(comparison_id, {})[kind] = None
    return {comparison_id: tuple(kinds) for comparison_id, kinds in found.items()}


def with_counts(comparisons: Sequence[Comparison]) -> list[ComparisonRow]:
    """Each with its counts and the labels of what answered: two queries."""
    ids = [comparison.pk for comparison in comparisons]
    rows = (
        PairedCase.objects.counted()
        .filter(comparison__in=ids)
        .order_by()
        .values_list("comparison_id", "class_rank")
        .annotate(number=Count("*"))
    )
    found: dict[int, dict[int, int]] = {}
    for comparison_id, rank, count in rows:
        found.setdefault(comparison_id, {})[rank] = count
    kinds = model_kinds_of(ids)
    return [
        ComparisonRow(
            comparison, counted(found.get(comparison.pk, {}), comparison), kinds.get(comparison.pk, ())
        )
        for comparison in comparisons
    ]
