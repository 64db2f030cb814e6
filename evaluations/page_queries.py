"""What the pages read of comparisons and cases: a fixed number of queries, long values cut in the database.

Totals and lists are counted from the same rows (`PairedCase` under the same `CaseFilter`), so they cannot
disagree. No query here loads a run, an answer, a tool call's content or a document to draw a list.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Sum, Value, When, Window
from django.db.models import Case as SqlCase
from django.db.models.fields import TextField
from django.db.models.functions import Cast, Left, Length, RowNumber
from django.http import QueryDict

from agenttwin_site.paging import Page, keyset_page
from evaluations.case_filter import CLASSES, CaseFilter, chosen_options
from evaluations.models import Case, CaseState, Comparison, ExpectationResult, PairedCase, Run, Side, ToolCall
from scenarios.models import ScenarioVersion
from twins.models import TwinVersion

REASON_CHARACTERS = 240
# A divergence longer than this is told on the case page alone.
DIVERGENCE_CHARACTERS = 4000
PINS_SHOWN = 100
WORST_FIRST = ("class_rank", "severity_rank", "position", "pk")


# ------------------------------------------------------------------ counts


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """Cases by class; `pending` are those that have none yet."""

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


def class_counts(cases: QuerySet[PairedCase]) -> ClassCounts:
    """How many of these cases are in each class: one query."""
    found = dict(cases.order_by().values_list("classification").annotate(Count("pk")))
    return ClassCounts({name: found.get(name, 0) for name in CLASSES}, pending=found.get(None, 0))


def side_totals(comparison: Comparison) -> dict[str, SideTotals]:
    """`{"BASELINE": …, "CANDIDATE": …}`: one query."""
    ended = Q(state__in=[CaseState.FINISHED, CaseState.CANCELLED])
    rows = (
        Case.objects.filter(run__comparison=comparison)
        .order_by()
        .values_list("run__side")
        .annotate(
            Count("pk"), Count("pk", filter=ended), Sum("tool_call_count"), Sum("retry_count")
        )
    )
    found = {side: SideTotals(*(number or 0 for number in numbers)) for side, *numbers in rows}
    return {side: found.get(side, SideTotals()) for side in Side.values}


# ---------------------------------------------------------------- selection


def cases_of(comparison: Comparison | int, chosen: CaseFilter = CaseFilter()) -> QuerySet[PairedCase]:
    """The paired cases that `chosen` lets through, in no order yet."""
    return _in_classes(cases_of_any_class(comparison, chosen), chosen.classes)


def cases_of_any_class(comparison: Comparison | int, chosen: CaseFilter) -> QuerySet[PairedCase]:
    """The same without the condition on the class: what the tiles count."""
    cases = PairedCase.objects.filter(comparison=comparison)
    if chosen.severity:
        cases = cases.filter(severity=chosen.severity)
    if chosen.tag:
        cases = cases.filter(scenario_version__in=_versions_with_tag(chosen.tag))
    if chosen.tool:
        cases = cases.filter(Exists(ToolCall.objects.filter(case__pair=OuterRef("pk"), tool=chosen.tool)))
    if chosen.check:
        cases = _holding(cases, "newly_failing", chosen.check)
    if chosen.text:
        cases = cases.filter(_mentions(chosen.text))
    return cases


def neighbours(pair: PairedCase, chosen: CaseFilter) -> tuple[PairedCase | None, PairedCase | None]:
    """The case before and the case after `pair` in the list under `chosen`: two queries."""
    cases = cases_of(pair.comparison_id, chosen).only("scenario_name", "trial", "comparison_id", "class_rank")
    place = [getattr(pair, key) for key in WORST_FIRST]
    after, before, equal = Q(pk__in=[]), Q(pk__in=[]), Q()
    for key, value in zip(WORST_FIRST, place, strict=True):
        after |= equal & Q(**{f"{key}__gt": value})
        before |= equal & Q(**{f"{key}__lt": value})
        equal &= Q(**{key: value})
    previous = cases.filter(before).order_by(*(f"-{key}" for key in WORST_FIRST)).first()
    return previous, cases.filter(after).order_by(*WORST_FIRST).first()


def _in_classes(cases: QuerySet[PairedCase], classes: Sequence[str]) -> QuerySet[PairedCase]:
    # The rank is what the index of the list begins with.
    return cases.filter(class_rank__in=[CLASSES.index(name) for name in classes]) if classes else cases


def _versions_with_tag(tag: str) -> QuerySet[ScenarioVersion, Any]:
    return _holding(ScenarioVersion.objects.all(), "tags", tag).values("pk")


def _holding(rows: QuerySet[Any], column: str, text: str) -> QuerySet[Any]:
    """Rows whose JSON list `column` holds `text`. SQLite has no containment for JSON: it looks for the quoted text."""
    if connection.features.supports_json_field_contains:
        return rows.filter(**{f"{column}__contains": [text]})
    return rows.alias(_as_text=Cast(column, TextField())).filter(_as_text__contains=json.dumps(text))


def _mentions(text: str) -> Q:
    """`text` in what the list shows of a case: its name, why, the divergence, the checks the candidate failed."""
    failing = ExpectationResult.objects.filter(
        Q(expectation_id__icontains=text) | Q(reason__icontains=text),
        case__pair=OuterRef("pk"),
        case__run__side=Side.CANDIDATE,
        effective_status="FAIL",
    )
    in_json = json.dumps(text, ensure_ascii=False)[1:-1]
    return (
        Q(scenario_name__icontains=text)
        | Q(reason__icontains=text)
        | Q(first_divergence__icontains=in_json)
        | Exists(failing)
    )


# -------------------------------------------------------------------- rows


@dataclass(frozen=True, slots=True)
class SideRow:
    """One side of a row of the list; numbers are None until the case has ended."""

    verdict: str | None
    tool_calls: int | None
    retries: int | None
    contradiction: bool = False
    error_reason: str = ""


@dataclass(frozen=True, slots=True)
class FailingCheck:
    id: str
    reason: str
    critical: bool
    is_new: bool


@dataclass(slots=True)
class CaseRow:
    """One line of the list. `failing` is the failing check told first, `more_failing` how many others there are."""

    pair: PairedCase
    baseline: SideRow
    candidate: SideRow
    href: str
    failing: FailingCheck | None = None
    more_failing: int = 0
    divergence: dict[str, Any] | None = None
    has_long_divergence: bool = False


@dataclass(frozen=True, slots=True)
class CaseList:
    """A page of rows, and the counts of all cases under the same filter."""

    page: Page
    rows: list[CaseRow]
    counts: ClassCounts
    matching: int

    @property
    def shown(self) -> str:
        """How many cases there are, in words."""
        return f"{self.matching:,} case{'' if self.matching == 1 else 's'}, worst first"


def case_list(comparison: Comparison, chosen: CaseFilter, query: QueryDict, *, size: int) -> CaseList:
    """The rows that `chosen` and the page cursor in `query` select, worst first: four queries."""
    counts = class_counts(cases_of_any_class(comparison, chosen))
    page = keyset_page(_for_list(cases_of(comparison, chosen)), keys=WORST_FIRST, query=query, size=size)
    sides = _sides_of(page.rows)
    failing = _failing_of(page.rows)
    rows = [_row(comparison, pair, sides, failing, chosen) for pair in page.rows]
    matching = counts.of(chosen.classes) if chosen.classes else counts.total
    return CaseList(page=page, rows=rows, counts=counts, matching=matching)


def case_path(comparison_id: int, scenario: str, trial: int = 1, query: str = "") -> str:
    """Address of a case page. It is served by a later room; the address is part of the comparison's."""
    parts = [f"trial={trial}"] if trial > 1 else []
    parts += [query] if query else []
    end = f"?{'&'.join(parts)}" if parts else ""
    return f"/comparisons/{comparison_id}/cases/{scenario}/{end}"


def _for_list(cases: QuerySet[PairedCase]) -> QuerySet[PairedCase]:
    size = Length("first_divergence")
    return cases.annotate(
        short_reason=Left("reason", REASON_CHARACTERS),
        divergence_size=size,
        short_divergence=SqlCase(
            When(Q(divergence_size__lte=DIVERGENCE_CHARACTERS), then=F("first_divergence")),
            default=Value(None),
            output_field=PairedCase._meta.get_field("first_divergence"),
        ),
    ).defer("reason", "first_divergence", "flags")


def _sides_of(pairs: Sequence[PairedCase]) -> dict[tuple[int, str], SideRow]:
    rows = Case.objects.filter(pair__in=[pair.pk for pair in pairs]).order_by()
    columns = ("state", "effective_verdict", "tool_call_count", "retry_count", "contradiction")
    found = {}
    for pair_id, side, error, state, *measured in rows.values_list(
        "pair_id", "run__side", Left("error_reason", REASON_CHARACTERS), *columns
    ):
        verdict, calls, retries, contradiction = measured
        if state != CaseState.FINISHED:
            calls = retries = None
        found[pair_id, side] = SideRow(verdict, calls, retries, contradiction, error)
    return found


def _failing_of(pairs: Sequence[PairedCase]) -> dict[int, tuple[FailingCheck, int]]:
    """For each pair the failing check of the candidate to tell first, and how many fail in all: one query.

    Newly failing ones come before those the baseline failed too, critical ones before others.
    """
    new = {name for pair in pairs for name in pair.newly_failing}
    order = [
        SqlCase(
            When(expectation_id__in=sorted(new), then=0), default=1, output_field=IntegerField()
        ).asc(),
        F("critical").desc(),
        F("position").asc(),
    ]
    results = (
        ExpectationResult.objects.filter(
            case__pair__in=[pair.pk for pair in pairs],
            case__run__side=Side.CANDIDATE,
            effective_status="FAIL",
        )
        .annotate(
            number=Window(RowNumber(), partition_by=F("case_id"), order_by=order),
            among=Window(Count("pk"), partition_by=F("case_id")),
            short_reason=Left("reason", REASON_CHARACTERS),
        )
        .filter(number=1)
        .order_by()
        .values_list("case__pair_id", "expectation_id", "short_reason", "critical", "among")
    )
    return {
        pair_id: (FailingCheck(name, reason, critical, name in new), among)
        for pair_id, name, reason, critical, among in results
    }


def _row(
    comparison: Comparison,
    pair: Any,
    sides: dict[tuple[int, str], SideRow],
    failing: dict[int, tuple[FailingCheck, int]],
    chosen: CaseFilter,
) -> CaseRow:
    nothing = SideRow(None, None, None)
    row = CaseRow(
        pair=pair,
        baseline=sides.get((pair.pk, Side.BASELINE), nothing),
        candidate=sides.get((pair.pk, Side.CANDIDATE), nothing),
        href=case_path(comparison.pk, pair.scenario_name, pair.trial, chosen.query),
        divergence=pair.short_divergence,
        has_long_divergence=pair.short_divergence is None and bool(pair.divergence_size),
    )
    if pair.pk in failing:
        row.failing, among = failing[pair.pk]
        row.more_failing = among - 1
    return row


# ------------------------------------------------------- options and pins


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned version and where it can be read."""

    name: str
    number: int
    digest: str
    href: str


@dataclass(frozen=True, slots=True)
class Pins:
    """What a comparison was pinned to; at most `PINS_SHOWN` scenarios, `scenario_count` counts all."""

    scenarios: list[Pin] = field(default_factory=list)
    scenario_count: int = 0
    twins: list[Pin] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FilterOptions:
    tags: list[str]
    tools: list[str]
    checks: list[str]


def pins_of(comparison: Comparison) -> Pins:
    """Pinned scenario and twin versions: three queries."""
    pinned = PairedCase.objects.filter(comparison=comparison).order_by()
    scenarios = ScenarioVersion.objects.filter(pk__in=pinned.values("scenario_version"))
    named = scenarios.order_by("scenario__name").values_list("scenario__name", "number", "digest")
    return Pins(
        scenarios=[Pin(*row, href=f"/scenarios/{row[0]}/?version={row[1]}") for row in named[:PINS_SHOWN]],
        scenario_count=pinned.aggregate(count=Count("scenario_version", distinct=True))["count"],
        twins=[
            Pin(name, number, digest, href=f"/twins/{name}/?version={number}")
            for name, number, digest in _pinned_twins(comparison).values_list("twin__name", "number", "digest")
        ],
    )


def filter_options(comparison: Comparison, chosen: CaseFilter) -> FilterOptions:
    """What can be chosen in the filters of this comparison: three queries, the lists of tools remembered."""
    pinned = PairedCase.objects.filter(comparison=comparison).order_by()
    tags = ScenarioVersion.objects.filter(pk__in=pinned.values("scenario_version")).order_by()
    lists_of_tags = tags.values_list("tags", flat=True).distinct()
    failing = pinned.filter(class_rank__lte=CLASSES.index("INCOMPLETE"))
    lists_of_checks = failing.values_list("newly_failing", flat=True).distinct()
    twin_ids = tuple(_pinned_twins(comparison).order_by("pk").values_list("pk", flat=True))
    return FilterOptions(
        tags=chosen_options({tag for tags in lists_of_tags for tag in tags}, chosen.tag),
        tools=chosen_options(_tools_of(twin_ids), chosen.tool),
        checks=chosen_options({check for checks in lists_of_checks for check in checks}, chosen.check),
    )


def _pinned_twins(comparison: Comparison) -> QuerySet[TwinVersion]:
    pinned = PairedCase.objects.filter(comparison=comparison).order_by()
    return TwinVersion.objects.filter(pk__in=pinned.values("twin_version").distinct()).order_by("twin__name", "number")


@lru_cache(maxsize=256)
def _tools_of(twin_version_ids: tuple[int, ...]) -> frozenset[str]:
    """Names of the tools of these twin versions, which never change."""
    documents = TwinVersion.objects.filter(pk__in=twin_version_ids).values_list("document", flat=True)
    return frozenset(name for document in documents for name in document["spec"]["tools"])


# ------------------------------------------------------------- comparisons


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    comparison: Comparison
    counts: ClassCounts
    model_kinds: tuple[str, ...]


def latest_comparisons(limit: int) -> list[ComparisonRow]:
    """The latest comparisons with their counts: three queries."""
    return _with_counts(list(Comparison.objects.with_names().order_by("-pk")[:limit]))


def comparison_page(query: QueryDict, *, agent: str, state: str, size: int) -> tuple[Page, list[ComparisonRow]]:
    """A page of comparisons, latest first, with their counts: three queries."""
    comparisons = Comparison.objects.with_names()
    if agent:
        comparisons = comparisons.filter(agent__name=agent)
    if state:
        comparisons = comparisons.filter(state=state)
    page = keyset_page(comparisons, keys=("-pk",), query=query, size=size)
    return page, _with_counts(page.rows)


def model_kinds_of(comparison_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """The honest labels of what answered in each comparison, without repetition: one query."""
    found: dict[int, dict[str, None]] = {}
    rows = Run.objects.filter(comparison__in=comparison_ids).order_by("comparison", "side")
    for comparison_id, kind in rows.values_list("comparison_id", "model_kind"):
        if kind:
            found.setdefault(comparison_id, {})[kind] = None
    return {comparison_id: tuple(kinds) for comparison_id, kinds in found.items()}


def _with_counts(comparisons: Sequence[Comparison]) -> list[ComparisonRow]:
    ids = [comparison.pk for comparison in comparisons]
    rows = (
        PairedCase.objects.filter(comparison__in=ids)
        .order_by()
        .values_list("comparison_id", "classification")
        .annotate(Count("pk"))
    )
    found: dict[int, dict[str | None, int]] = {}
    for comparison_id, name, count in rows:
        found.setdefault(comparison_id, {})[name] = count
    kinds = model_kinds_of(ids)
    return [
        ComparisonRow(comparison, _counts(found.get(comparison.pk, {})), kinds.get(comparison.pk, ()))
        for comparison in comparisons
    ]


def _counts(found: dict[str | None, int]) -> ClassCounts:
    return ClassCounts({name: found.get(name, 0) for name in CLASSES}, pending=found.get(None, 0))
