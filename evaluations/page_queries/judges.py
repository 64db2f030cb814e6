"""What the pages of criteria, examples and calibrations read: a fixed number of queries each.

What a person may not see yet (labels of examples the person has still to label) is left out here, in the
query, and never handed to a template.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import QueryDict

from agenttwin_site.paging import Page, keyset_page
from evaluations.grading.agreement import Agreement, agreement_of
from evaluations.grading.calibrating import ERROR, LABELS
from evaluations.judges.interface import JudgeIdentity
from evaluations.models import (
    Calibration,
    CalibrationOutcome,
    CalibrationResult,
    Criterion,
    CriterionVersion,
    Example,
    Label,
)
from evaluations.services.calibration import Standing, standings
from evaluations.services.labelling import hidden_from, standing_labels, to_label

_EXCERPT = 300


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """A criterion of the list, by its current version. `left`: examples this person has still to label."""

    criterion: Criterion
    version: CriterionVersion
    examples: int
    labelled: int
    left: int
    standing: Standing | None


def criterion_page(
    query: QueryDict, *, person: Any, judge: JudgeIdentity | None, size: int
) -> tuple[Page, list[CriterionRow]]:
    """A page of criteria, oldest first: three queries."""
    examples = Example.objects.filter(criterion_version=OuterRef("current_version"))
    labels = standing_labels().filter(example__criterion_version=OuterRef("current_version"))
    criteria = (
        Criterion.objects.filter(current_version__isnull=False)
        .select_related("current_version")
        .annotate(
            examples=_counted(examples, "criterion_version"),
            labelled=_counted(labels, "example__criterion_version", "example"),
            taken=_counted(examples.filter(created_by=person.pk, result__isnull=False), "criterion_version"),
            own=_counted(labels.filter(person=person.pk), "example__criterion_version", "example"),
        )
    )
    page = keyset_page(criteria, keys=("pk",), query=query, size=size)
    keys = {}
    if judge is not None:
        keys = {row.pk: (judge, row.name, row.current_version.rubric_sha256) for row in page.rows}
    found = standings(keys.values())
    rows = [
        CriterionRow(
            criterion=row,
            version=row.current_version,
            examples=row.examples,
            labelled=row.labelled,
            left=row.examples - row.taken - row.own,
            standing=found.get(keys[row.pk]) if row.pk in keys else None,
        )
        for row in page.rows
    ]
    return page, rows


def version_of(name: str, number: int | None) -> CriterionVersion | None:
    """A version of a criterion with both loaded; without a number the current one. One query."""
    versions = CriterionVersion.objects.select_related("criterion").filter(criterion__name=name)
    if number is not None:
        return versions.filter(number=number).first()
    current = Criterion.objects.filter(name=name).values("current_version")
    return versions.filter(pk__in=current).first()


def versions_of(version: CriterionVersion) -> list[CriterionVersion]:
    """All versions of the same criterion, latest first."""
    return list(CriterionVersion.objects.filter(criterion=version.criterion_id).order_by("-number")[:200])


def calibration_page(version: CriterionVersion, query: QueryDict, *, size: int) -> Page:
    """Calibrations of a version, latest first: one query."""
    rows = Calibration.objects.filter(criterion_version=version).select_related("created_by")
    return keyset_page(rows, keys=("-pk",), query=query, size=size)


@dataclass(frozen=True, slots=True)
class ExampleRow:
    """An example of the list, its answer cut. `own` is this person's label, empty without one."""

    example: Example
    answer: str
    people: int
    own: str


def example_page(
    version: CriterionVersion, query: QueryDict, *, person: Any, unlabelled: bool, size: int
) -> tuple[Page, list[ExampleRow]]:
    """A page of examples with how many people labelled each: one query. `unlabelled`: by this person."""
    rows = examples_for(version, person, unlabelled=unlabelled)
    page = keyset_page(rows, keys=("pk",), query=query, size=size)
    listed = [
        ExampleRow(row, row.material["answer"][:_EXCERPT], row.people, row.own or "") for row in page.rows
    ]
    return page, listed


def examples_for(version: CriterionVersion, person: Any, *, unlabelled: bool = False) -> QuerySet[Any]:
    """Examples with `people` (how many labelled each) and `own` (this person's label, None without one)."""
    labels = standing_labels().filter(example=OuterRef("pk"))
    own = labels.filter(person=person.pk)
    rows = version.examples.annotate(
        people=_counted(labels, "example"), own=Subquery(own.values("label")[:1])
    )
    return rows.filter(own__isnull=True, pk__in=to_label(version, person)) if unlabelled else rows


def current_versions() -> QuerySet[CriterionVersion]:
    """The current version of every criterion, both loaded."""
    current = Criterion.objects.filter(current_version__isnull=False).values("current_version")
    return CriterionVersion.objects.filter(pk__in=current).select_related("criterion", "created_by")


def example_of(pk: int) -> Example | None:
    """An example with its version, criterion and, of a real case, where that is: one query."""
    return (
        Example.objects.select_related(
            "criterion_version__criterion", "created_by", "result__case__pair", "result__case__run"
        )
        .filter(pk=pk)
        .first()
    )


def labels_of(example: Example) -> list[Label]:
    return list(standing_labels().filter(example=example).select_related("person").order_by("pk"))


def verdicts_of(example: Example, limit: int = 10) -> list[CalibrationResult]:
    """What judges said of an example in the latest calibrations."""
    rows = example.calibration_results.exclude(
        outcome__in=[CalibrationOutcome.WAITING, CalibrationOutcome.LEFT_OUT]
    )
    return list(rows.select_related("calibration").order_by("-calibration_id")[:limit])


# ---------------------------------------------------------------------------------- a calibration


@dataclass(frozen=True, slots=True)
class Cell:
    """How often people said `truth` where the judge said `outcome`."""

    truth: str
    outcome: str
    count: int

    @property
    def agrees(self) -> bool:
        return self.truth == self.outcome


@dataclass(frozen=True, slots=True)
class CalibrationFigures:
    """Counts of one calibration's rows, from the same rows that the list shows."""

    rows: tuple[tuple[Cell, ...], ...]
    waiting: int
    left_out: int

    @property
    def answered(self) -> int:
        return sum(cell.count for row in self.rows for cell in row)

    @property
    def asked(self) -> int:
        return self.answered + self.waiting

    @property
    def disagreements(self) -> int:
        return sum(cell.count for row in self.rows for cell in row if not cell.agrees)

    @property
    def agreement(self) -> Agreement:
        pairs = [(cell.truth, cell.outcome) for row in self.rows for cell in row for _ in range(cell.count)]
        return agreement_of(pairs)


OUTCOMES = (*LABELS, ERROR)


def calibration_figures(calibration: Calibration) -> CalibrationFigures:
    """The confusion matrix and what stands beside it: one query."""
    counted = calibration.results.order_by().values_list("truth", "outcome").annotate(number=Count("pk"))
    found = {(truth, outcome): number for truth, outcome, number in counted}
    return CalibrationFigures(
        rows=tuple(
            tuple(Cell(truth, outcome, found.get((truth, outcome), 0)) for outcome in OUTCOMES)
            for truth in LABELS
        ),
        waiting=sum(number for (_, outcome), number in found.items() if outcome == ""),
        left_out=sum(number for (truth, _), number in found.items() if truth is None),
    )


@dataclass(frozen=True, slots=True)
class ResultFilter:
    """Which rows of a calibration are listed: disagreements if nothing is said."""

    show: str
    truth: str = ""
    outcome: str = ""

    SHOWN = ("disagreements", "all", "left_out")

    @classmethod
    def from_query(cls, query: QueryDict) -> ResultFilter:
        truth, outcome = query.get("people", ""), query.get("judge", "")
        if truth in LABELS and outcome in OUTCOMES:
            return cls("cell", truth, outcome)
        show = query.get("show", "")
        return cls(show if show in cls.SHOWN else "disagreements")

    def apply(self, rows: QuerySet[CalibrationResult]) -> QuerySet[CalibrationResult]:
        if self.show == "cell":
            return rows.filter(truth=self.truth, outcome=self.outcome)
        if self.show == "left_out":
            return rows.filter(outcome=CalibrationOutcome.LEFT_OUT)
        if self.show == "disagreements":
            return rows.filter(agrees=False)
        return rows


@dataclass(frozen=True, slots=True)
class ResultList:
    """Rows a person may see, and how many are hidden because the person has still to label their examples."""

    page: Page
    hidden: int


def result_list(
    calibration: Calibration, chosen: ResultFilter, query: QueryDict, *, person: Any, size: int
) -> ResultList:
    """A page of rows: four queries at most."""
    rows = chosen.apply(calibration.results.all())
    ids = list(rows.values_list("example_id", flat=True))
    hidden = hidden_from(calibration.criterion_version, person, ids)
    shown = rows.exclude(example_id__in=hidden) if hidden else rows
    page = keyset_page(shown.select_related("example"), keys=("position",), query=query, size=size)
    return ResultList(page, len(hidden))


def _counted(rows: QuerySet[Any], by: str, field: str = "pk") -> Any:
    """A count as a subquery, joined by the column `by`: several in one query do not multiply each other."""
    grouped = rows.order_by().values(by).annotate(number=Count(field, distinct=True))
    return Coalesce(Subquery(grouped.values("number")), 0)
