"""The list of a comparison whose scenarios were tried repeatedly: a row per scenario, led by its worst trial.

The tiles above it count trials. Each row says how many of its trials are in which class, under the same
filter, so the rows add up to the tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Count, F, Min, Q, QuerySet
from django.http import QueryDict

from agenttwin_site.paging import Page, keyset_page
from evaluations.case_filter import CLASSES, CaseFilter
from evaluations.grading.statistics import TaskTrials, task_trials
from evaluations.models import Case, CaseState, Comparison, PairedCase, Side
from evaluations.page_queries.cases import CaseRow, case_rows, for_list
from evaluations.page_queries.counts import ClassCounts, class_counts, counted
from evaluations.page_queries.selection import EVERY_CASE, case_path, cases_of, cases_of_any_class
from scenarios.holdouts import EVERYTHING, Sight

_GROUP = ("scenario_version_id", "scenario_name", "severity", "severity_rank")
_KEYS = ("worst_rank", "severity_rank", "place")
# More trials than anybody may ask for: rank and trial fit into one number, and the least of these leads.
_TRIALS = 100_000


@dataclass(frozen=True, slots=True)
class Group:
    """A scenario with the place it has in the list and the trial that leads it."""

    scenario_version_id: int
    scenario_name: str
    severity: str
    severity_rank: int
    worst_rank: int
    place: int
    lead: int

    @property
    def trial(self) -> int:
        return self.lead % _TRIALS


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """One scenario: its worst trial as a row of the list, and all its trials counted."""

    row: CaseRow
    counts: ClassCounts
    trials: int
    baseline: TaskTrials | None
    candidate: TaskTrials | None
    href: str

    @property
    def classes(self) -> list[tuple[str, int]]:
        """The classes that occur, worst first."""
        return [(name, count) for name in CLASSES if (count := self.counts[name])]


@dataclass(frozen=True, slots=True)
class ScenarioList:
    """A page of scenarios; `counts` are those of all trials under the same filter."""

    page: Page
    scenarios: list[ScenarioRow]
    counts: ClassCounts
    matching: int

    @property
    def shown(self) -> str:
        """How many trials there are, in words."""
        return f"{self.matching:,} trial{'' if self.matching == 1 else 's'}, a row per scenario, worst first"


def has_trials(comparison: Comparison) -> bool:
    """Whether any scenario of it is tried more than once: one query, then remembered: it never changes."""
    return _has_trials(comparison.pk, comparison.created_at)


# The time of creation keeps the key apart from another database's comparison of the same number.
@lru_cache(maxsize=512)
def _has_trials(comparison_id: int, created_at: datetime) -> bool:
    return PairedCase.objects.filter(comparison=comparison_id, trial__gt=1).exists()


def scenario_list(
    comparison: Comparison, chosen: CaseFilter, query: QueryDict, *, size: int, sight: Sight = EVERYTHING
) -> ScenarioList:
    """The scenarios of which `chosen` lets a trial through, the worst first: six queries."""
    counts = class_counts(cases_of_any_class(comparison, chosen, sight), comparison)
    page = keyset_page(_groups(comparison, chosen, sight), keys=_KEYS, query=query, size=size)
    groups = [_group(row) for row in page.rows]
    leads = {row.pair.scenario_version_id: row for row in _leads(comparison, chosen, groups)}
    sides = _trials_of(comparison, groups)
    classes = _classes_of(comparison, chosen, groups)
    scenarios = []
    for group in groups:
        row = leads[group.scenario_version_id]
        own = classes[group.scenario_version_id]
        baseline, candidate = (sides.get((group.scenario_version_id, side.value)) for side in Side)
        trials = candidate.n if candidate is not None else own.total
        scenarios.append(ScenarioRow(row, own, trials, baseline, candidate, row.href))
    matching = counts.of(chosen.classes) if chosen.classes else counts.total
    return ScenarioList(page=page, scenarios=scenarios, counts=counts, matching=matching)


def neighbouring_scenarios(
    pair: PairedCase, chosen: CaseFilter = EVERY_CASE, sight: Sight = EVERYTHING
) -> tuple[str, str]:
    """The addresses of the scenarios before and after that of `pair` in the list: three queries."""
    comparison = pair.comparison
    groups = _groups(comparison, chosen, sight)
    own = groups.filter(scenario_version_id=pair.scenario_version_id).order_by(*_KEYS).first()
    place = [own[key] for key in _KEYS] if own else [pair.class_rank, pair.severity_rank, pair.position]
    before, after, equal = Q(), Q(), Q()
    for key, value in zip(_KEYS, place, strict=True):
        before |= equal & Q(**{f"{key}__lt": value})
        after |= equal & Q(**{f"{key}__gt": value})
        equal &= Q(**{key: value})
    previous = groups.filter(before).order_by(*(f"-{key}" for key in _KEYS)).first()
    following = groups.filter(after).order_by(*_KEYS).first()
    return _href(comparison, previous, chosen), _href(comparison, following, chosen)


def _href(comparison: Comparison, row: dict[str, Any] | None, chosen: CaseFilter) -> str:
    if row is None:
        return ""
    group = _group(row)
    return case_path(comparison.pk, group.scenario_name, group.trial, chosen.query)


def _groups(comparison: Comparison, chosen: CaseFilter, sight: Sight) -> QuerySet[Any, dict[str, Any]]:
    cases = cases_of(comparison, chosen, sight).order_by()
    return cases.values(*_GROUP).annotate(
        worst_rank=Min("class_rank"), place=Min("position"), lead=Min(F("class_rank") * _TRIALS + F("trial"))
    )


def _group(row: Mapping[str, Any]) -> Group:
    return Group(**row)


def _classes_of(
    comparison: Comparison, chosen: CaseFilter, groups: Iterable[Group]
) -> dict[int, ClassCounts]:
    """How many trials of each scenario are in each class, whatever class is chosen: what the tiles count."""
    versions = [group.scenario_version_id for group in groups]
    rows = (
        cases_of_any_class(comparison, chosen)
        .filter(scenario_version__in=versions)
        .order_by()
        .values_list("scenario_version_id", "class_rank")
        .annotate(number=Count("pk"))
    )
    found: dict[int, dict[int, int]] = {version: {} for version in versions}
    for version, rank, number in rows:
        found[version][rank] = number
    return {version: counted(ranks, comparison) for version, ranks in found.items()}


def _leads(comparison: Comparison, chosen: CaseFilter, groups: Iterable[Group]) -> list[CaseRow]:
    """The worst trial of each scenario, as rows of the list of cases: three queries."""
    wanted = Q()
    for group in groups:
        wanted |= Q(scenario_version=group.scenario_version_id, trial=group.trial)
    if not wanted:
        return []
    pairs = PairedCase.objects.counted().filter(wanted, comparison=comparison)
    return case_rows(comparison, list(for_list(pairs)), chosen)


def _trials_of(comparison: Comparison, groups: Iterable[Group]) -> dict[tuple[int, str], TaskTrials]:
    """The trials of both sides of each scenario, all of them: one query."""
    rows = (
        Case.objects.counted_of(comparison.pk)
        .filter(pair__scenario_version__in=[group.scenario_version_id for group in groups])
        .order_by()
        .values_list("pair__scenario_version_id", "run__side", "state", "effective_verdict")
        .annotate(number=Count("pk"))
    )
    verdicts: dict[tuple[int, str], list[str | None]] = {}
    for version, side, state, verdict, number in rows:
        ended = verdict if state == CaseState.FINISHED else None
        verdicts.setdefault((version, side), []).extend([ended] * number)
    return {key: task_trials(found) for key, found in verdicts.items()}
