"""The list of cases of a comparison: a page of rows, long values cut in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case as SqlCase
from django.db.models import (
    Count,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
    Window,
)
from django.db.models.functions import Coalesce, Left, Length, RowNumber
from django.http import QueryDict

from agenttwin_site.paging import Page, keyset_page
from evaluations.case_filter import CaseFilter
from evaluations.grading.run_findings import AGENT_RUN
from evaluations.models import (
    Case,
    CaseState,
    Comparison,
    ExpectationResult,
    PairedCase,
    ResultStatus,
    Side,
)
from evaluations.page_queries.counts import ClassCounts, class_counts, class_of, is_open, never_compared
from evaluations.page_queries.selection import WORST_FIRST, case_path, cases_of, cases_of_any_class
from evaluations.services.pairing import NOT_COMPARABLE
from scenarios.holdouts import EVERYTHING, Sight

REASON_CHARACTERS = 240
# A divergence longer than this is told on the case page alone.
DIVERGENCE_CHARACTERS = 4000
_CALL_CHARACTERS = 120
# The check to tell is chosen from so many of each case's failing ones.
_CANDIDATES = 8
# Of cases that have ended: `is_judged` of `grading.run_findings`, asked of the database.
_MEASURED = Q(error_reason="") | Exists(
    ExpectationResult.objects.filter(case=OuterRef("pk"))
    .exclude(type=AGENT_RUN)
    .exclude(status=ResultStatus.SKIPPED)
)
# How many results of a case count as something else than what was measured.
_OVERRIDDEN = (
    ExpectationResult.objects.filter(case=OuterRef("pk"))
    .exclude(status=F("effective_status"))
    .order_by()
    .values("case")
    .annotate(number=Count("*"))
    .values("number")
)


@dataclass(frozen=True, slots=True)
class SideRow:
    """One side of a row of the list; numbers are None until the case has ended, and where nothing of it could
    be judged: what a run that broke had done by then is no measurement.
    """

    verdict: str | None
    tool_calls: int | None
    retries: int | None
    contradiction: bool = False
    error_reason: str = ""
    overridden: int = 0


@dataclass(frozen=True, slots=True)
class FailingCheck:
    """A check that the candidate fails. `is_new` False: the baseline fails it too; None: nobody compared."""

    id: str
    reason: str
    is_new: bool | None


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where the sides first part; a side that had ended is an empty text."""

    step: int
    baseline: str
    candidate: str


@dataclass(slots=True)
class CaseRow:
    """One line of the list. `failing` is the failing check told first, `more_failing` counts the others."""

    pair: PairedCase
    classification: str | None
    baseline: SideRow
    candidate: SideRow
    href: str
    reason: str
    failing: FailingCheck | None = None
    more_failing: int = 0
    divergence: Divergence | None = None
    has_long_divergence: bool = False

    @property
    def overridden(self) -> int:
        """Results of both sides that count as something else than what was measured: a person said so."""
        return self.baseline.overridden + self.candidate.overridden


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


def case_list(
    comparison: Comparison, chosen: CaseFilter, query: QueryDict, *, size: int, sight: Sight = EVERYTHING
) -> CaseList:
    """The rows that `chosen` and the page cursor in `query` select, worst first: four queries."""
    counts = class_counts(cases_of_any_class(comparison, chosen, sight), comparison)
    chosen_rows = for_list(cases_of(comparison, chosen, sight))
    page = keyset_page(chosen_rows, keys=WORST_FIRST, query=query, size=size)
    rows = case_rows(comparison, page.rows, chosen)
    matching = counts.of(chosen.classes) if chosen.classes else counts.total
    return CaseList(page=page, rows=rows, counts=counts, matching=matching)


def case_rows(comparison: Comparison, pairs: Sequence[Any], chosen: CaseFilter) -> list[CaseRow]:
    """These pairs, loaded by `for_list`, as lines of the list: two queries."""
    sides = _sides_of(pairs)
    failing = _failing_of(pairs)
    return [_row(comparison, pair, sides, failing, chosen) for pair in pairs]


def for_list(cases: QuerySet[PairedCase]) -> QuerySet[PairedCase]:
    """The pairs with what a line shows of them, long values cut in the database."""
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
    rows = (
        Case.objects.filter(pair__in=[pair.pk for pair in pairs])
        .order_by()
        .annotate(measured=_MEASURED, overridden=Coalesce(Subquery(_OVERRIDDEN), 0))
    )
    columns = (
        "state", "measured", "overridden", "effective_verdict", "tool_call_count", "retry_count",
        "contradiction",
    )  # fmt: skip
    found = {}
    for pair_id, side, error, state, is_measured, overridden, *figures in rows.values_list(
        "pair_id", "run__side", Left("error_reason", REASON_CHARACTERS), *columns
    ):
        verdict, calls, retries, contradiction = figures
        if state != CaseState.FINISHED or not is_measured:
            calls = retries = None
        found[pair_id, side] = SideRow(verdict, calls, retries, contradiction, _cut(error, 220), overridden)
    return found


def _failing_of(pairs: Sequence[Any]) -> dict[int, tuple[FailingCheck, int]]:
    """For each pair the failing check of the candidate to tell first, and how many fail in all: one query.

    Newly failing ones come before those the baseline failed too, critical ones before others.
    """
    new = {pair.pk: frozenset(pair.newly_failing) for pair in pairs}
    # Before a pair is compared, or where that was refused, its list of new failures is empty.
    compared = {
        pair.pk
        for pair in pairs
        if pair.classification is not None and not pair.short_reason.startswith(NOT_COMPARABLE)
    }
    new_anywhere = sorted(frozenset().union(*new.values()))
    order = [
        SqlCase(When(expectation_id__in=new_anywhere, then=0), default=1, output_field=IntegerField()).asc(),
        F("critical").desc(),
        F("position").asc(),
    ]
    results = (
        ExpectationResult.objects.filter(
            case__pair__in=list(new), case__run__side=Side.CANDIDATE, effective_status="FAIL"
        )
        .annotate(
            number=Window(RowNumber(), partition_by=F("case_id"), order_by=order),
            among=Window(Count("pk"), partition_by=F("case_id")),
            short_reason=Left("reason", REASON_CHARACTERS),
        )
        .filter(number__lte=_CANDIDATES)
        .order_by("case", "number")
        .values_list("case__pair_id", "expectation_id", "short_reason", "among")
    )
    found: dict[int, tuple[FailingCheck, int]] = {}
    for pair_id, name, reason, among in results:
        is_new = name in new[pair_id] if pair_id in compared else None
        check = FailingCheck(_cut(name, 80), _cut(reason, 220), is_new)
        if pair_id not in found or (check.is_new and not found[pair_id][0].is_new):
            found[pair_id] = check, among
    return found


def _row(
    comparison: Comparison,
    pair: Any,
    sides: dict[tuple[int, str], SideRow],
    failing: dict[int, tuple[FailingCheck, int]],
    chosen: CaseFilter,
) -> CaseRow:
    nothing = SideRow(None, None, None)
    reason = pair.short_reason
    if pair.classification is None and not is_open(comparison):
        reason = never_compared(comparison)
    row = CaseRow(
        pair=pair,
        classification=class_of(pair, comparison),
        baseline=sides.get((pair.pk, Side.BASELINE), nothing),
        candidate=sides.get((pair.pk, Side.CANDIDATE), nothing),
        href=case_path(comparison.pk, pair.scenario_name, pair.trial, chosen.query),
        reason=_cut(reason, 220),
        divergence=_divergence(pair.short_divergence),
        has_long_divergence=pair.short_divergence is None and bool(pair.divergence_size),
    )
    if pair.pk in failing:
        row.failing, among = failing[pair.pk]
        row.more_failing = among - 1
    return row


def _divergence(stored: dict[str, Any] | None) -> Divergence | None:
    if stored is None:
        return None
    sides = (_cut(stored.get(side) or "", _CALL_CHARACTERS) for side in ("baseline", "candidate"))
    return Divergence(stored["step"], *sides)


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
