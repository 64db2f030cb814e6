"""One paired case with both its sides, as the case page and the queue read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.urls import reverse

from evaluations.case_filter import CaseFilter
from evaluations.grading.run_findings import is_judged
from evaluations.grading.wording import overridden_told
from evaluations.holdouts import seen
from evaluations.models import (
    Case,
    CaseState,
    Comparison,
    ComparisonState,
    ExpectationResult,
    PairedCase,
    Side,
)
from evaluations.page_queries import class_of, reason_of
from evaluations.page_queries.verdicts import Judged, judged_results
from reviews.models import QueueEntry, Review
from reviews.page_queries.rounds import TwoReviewers
from reviews.presenting.scenarios import ScenarioBrief, scenario_brief
from reviews.services import refusals
from scenarios.holdouts import Sight
from scenarios.models import ScenarioVersion
from twins.models import TwinVersion

# Comparisons of an agent that are looked through for the history of a scenario, and lines shown of it.
HISTORY_COMPARISONS = 100
HISTORY_SHOWN = 12
ENTRIES_SHOWN = 50

_DOCUMENTS = ("document", "source_text")
# A larger number is in no address that this site made, and SQLite cannot even be asked for it.
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CaseAddress:
    """Where a case page is; the filter of the list it was opened from stays in every address."""

    comparison_id: int
    scenario: str
    trial: int = 1
    query: str = ""
    # The first run of a trial that was run again; without this the address leads to the run that counts.
    original: bool = False

    @classmethod
    def of(cls, pair: PairedCase, chosen: CaseFilter | None = None) -> CaseAddress:
        query = chosen.query if chosen else ""
        return cls(pair.comparison_id, pair.scenario_name, pair.trial, query, pair.replaced)

    @property
    def _place(self) -> list[str]:
        parts = [f"trial={self.trial}"] if self.trial > 1 else []
        return [*parts, "original=1"] if self.original else parts

    def href(self, fragment: str = "", **parameters: Any) -> str:
        """The whole path with these parameters and #fragment."""
        path = reverse("reviews:case", args=[self.comparison_id, self.scenario])
        parts = self._place
        parts += [f"{name}={value}" for name, value in parameters.items() if value is not None]
        parts += [self.query] if self.query else []
        return f"{path}{'?' if parts else ''}{'&'.join(parts)}{f'#{fragment}' if fragment else ''}"

    def call_href(self, side: str, seq: int) -> str:
        """The page with the step of this record open."""
        return self.href(call_anchor(side, seq), call=f"{side.lower()}-{seq}")

    def raw_href(self, part: str, side: str, seq: int | None = None) -> str:
        """The whole of a value the page shows the beginning of."""
        path = reverse("reviews:case_raw", args=[self.comparison_id, self.scenario, part])
        parts = [f"side={side.lower()}", *self._place]
        parts += [f"seq={seq}"] if seq is not None else []
        return f"{path}?{'&'.join(parts)}"


def call_anchor(side: str, seq: int) -> str:
    """The id of the place in the page where a record of a side stands."""
    return f"{side.lower()}-{seq}"


@dataclass(slots=True)
class SideOfCase:
    """One side: its case with run, its results in the order of the document, why some are closed."""

    name: str
    version: str
    case: Case | None
    results: list[ExpectationResult]
    refusals: Mapping[int, str]

    @property
    def label(self) -> str:
        return self.name.lower()

    @property
    def has_ended(self) -> bool:
        return self.case is not None and self.case.state == CaseState.FINISHED

    @property
    def has_run(self) -> bool:
        """Whether the agent met the twin at all."""
        return self.has_ended and self.case is not None and self.case.used_seed is not None

    @property
    def is_measured(self) -> bool:
        """Whether its figures say something: it ended, and not as one of which nothing could be judged."""
        if not self.has_ended or self.case is None:
            return False
        return not self.case.error_reason or is_judged((one.type, one.status) for one in self.results)

    @property
    def answer(self) -> dict[str, Any]:
        found = self.case.answer if self.case is not None else None
        return found if isinstance(found, dict) else {}


@dataclass(slots=True)
class PairPage:
    """What every part of the page stands on."""

    pair: PairedCase
    comparison: Comparison
    classification: str | None
    sides: Mapping[str, SideOfCase]
    reviews: list[Review]
    brief: ScenarioBrief
    address: CaseAddress
    two: TwoReviewers
    # By result: who judged what no check of ours can, if anything was for a judge.
    judged: Mapping[int, Judged] = field(default_factory=dict)

    @property
    def baseline(self) -> SideOfCase | None:
        """None where the candidate was tried alone."""
        return self.sides.get(Side.BASELINE)

    @property
    def candidate(self) -> SideOfCase:
        return self.sides[Side.CANDIDATE]

    @property
    def told(self) -> list[SideOfCase]:
        """The sides there are, in the order in which they are told: the candidate first."""
        return [side for side in (self.candidate, self.baseline) if side is not None]

    @property
    def cases(self) -> dict[str, Case]:
        return {name: side.case for name, side in self.sides.items() if side.case is not None}

    @property
    def is_open(self) -> bool:
        return self.comparison.state in (ComparisonState.QUEUED, ComparisonState.RUNNING)

    @property
    def class_words(self) -> str:
        """The class as its badge has it, for what is read out."""
        return (self.classification or "not compared yet").replace("_", " ").lower()

    @property
    def reason(self) -> str:
        """Why the case is in its class."""
        return reason_of(self.pair, self.comparison) or "It has not been compared yet."

    @property
    def overridden(self) -> str:
        """How many results count as something else than what was measured, in words; empty if none does."""
        results = [result for side in self.sides.values() for result in side.results]
        number = sum(result.status != result.effective_status for result in results)
        return overridden_told(number) if number else ""

    @property
    def model_kinds(self) -> list[str]:
        kinds = [side.case.run.model_kind for side in self.sides.values() if side.case is not None]
        return sorted({kind for kind in kinds if kind})


def find_pair(sight: Sight, **conditions: Any) -> PairedCase | None:
    """The one pair that meets the conditions, with everything pinned but the documents of twin and agents.

    None also for one that `sight` hides.
    """
    if any(isinstance(value, int) and value > _LARGEST_ID for value in conditions.values()):
        return None
    versions = ("comparison__baseline", "comparison__candidate", "twin_version")
    return (
        seen(PairedCase.objects.all(), sight)
        .select_related("comparison__agent", *versions, "scenario_version", "twin_version__twin")
        .defer(
            *(f"{version}__{name}" for version in versions for name in _DOCUMENTS),
            "scenario_version__source_text",
            "comparison__selection",
        )
        .filter(**conditions)
        .order_by("pk")
        .first()
    )


def pair_at(
    sight: Sight, comparison_id: int, scenario: str, trial: int, *, original: bool = False
) -> PairedCase | None:
    """The pair of an address: two queries. The run that counts, or the `original` that it replaced.

    The versions are looked up first, so that the database goes by the unique index of pairs and not through
    all pairs of a large comparison.
    """
    versions = ScenarioVersion.objects.filter(scenario__name=scenario).values_list("pk", flat=True)
    return find_pair(
        sight,
        comparison_id=comparison_id,
        scenario_version__in=list(versions),
        trial=trial,
        replaced=original,
    )


def load_pair(pair: PairedCase, chosen: CaseFilter | None = None, *, actor: Any = None) -> PairPage:
    """Both sides, their results and every review: three queries (four for a twin not seen before).

    Where a judge was to be asked, three more.
    """
    comparison = pair.comparison
    cases = list(Case.objects.filter(pair=pair).select_related("run").order_by())
    results: dict[int, list[ExpectationResult]] = {case.pk: [] for case in cases}
    for result in ExpectationResult.objects.filter(case__in=list(results)).order_by("case_id", "position"):
        results[result.case_id].append(result)
    by_side = {case.run.side: case for case in cases}
    versions = {Side.CANDIDATE.value: comparison.candidate.version}
    if comparison.baseline is not None:
        versions = {Side.BASELINE.value: comparison.baseline.version, **versions}
    sides = {}
    for name, version in versions.items():
        case = by_side.get(name)
        if case is not None:
            case.pair = pair
        own = results[case.pk] if case is not None else []
        closed = refusals(case, own, comparison) if case is not None else {}
        sides[name] = SideOfCase(name, version, case, own, closed)
    secrets = _secrets_of(pair.twin_version_id, pair.twin_version.digest)
    return PairPage(
        pair=pair,
        comparison=comparison,
        classification=class_of(pair, comparison),
        sides=sides,
        reviews=list(Review.objects.on_pair(pair.pk)),
        brief=scenario_brief(pair.scenario_version.document, secrets),
        address=CaseAddress.of(pair, chosen),
        two=TwoReviewers(pair.pk, actor),
        judged=judged_results(result for own in results.values() for result in own),
    )


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """The same scenario and trial in another comparison of this agent, or in this one."""

    pair: PairedCase
    classification: str | None
    href: str
    is_this: bool


def scenario_history(page: PairPage, sight: Sight) -> list[HistoryLine]:
    """Newest first, among the agent's latest comparisons: three queries that no large comparison slows."""
    pair = page.pair
    latest = Comparison.objects.filter(agent=page.comparison.agent_id).order_by("-pk")
    comparisons = {*latest.values_list("pk", flat=True)[:HISTORY_COMPARISONS], pair.comparison_id}
    versions = ScenarioVersion.objects.filter(scenario=pair.scenario_version.scenario_id)
    pairs = PairedCase.objects.counted().filter(
        comparison__in=comparisons,
        scenario_version__in=list(versions.values_list("pk", flat=True)),
        trial=pair.trial,
    )
    found = (
        seen(pairs, sight)
        .select_related("comparison__baseline", "comparison__candidate", "scenario_version")
        .defer(
            "first_divergence",
            "newly_failing",
            "flags",
            "comparison__selection",
            *(f"comparison__{side}__{name}" for side in ("baseline", "candidate") for name in _DOCUMENTS),
            *(f"scenario_version__{name}" for name in _DOCUMENTS),
        )
        .order_by("-comparison_id")
    )
    return [
        HistoryLine(
            other, class_of(other, other.comparison), CaseAddress.of(other).href(), other.pk == pair.pk
        )
        for other in found[:HISTORY_SHOWN]
    ]


def entries_of(pair: PairedCase) -> list[QueueEntry]:
    """The queue entries of a case, newest first: one query."""
    people = ("reserved_by", "assigned_to", "created_by", "closed_by")
    return list(QueueEntry.objects.filter(pair=pair).select_related(*people).order_by("-pk")[:ENTRIES_SHOWN])


@lru_cache(maxsize=256)
def _secrets_of(twin_version_id: int, digest: str) -> tuple[str, ...]:
    """The secrets planted in a twin version, which never changes (the digest is part of the memory's key)."""
    document = TwinVersion.objects.filter(pk=twin_version_id).values_list("document", flat=True).first()
    spec = document.get("spec") if isinstance(document, dict) else None
    planted: list[Any] = (spec.get("secrets") if isinstance(spec, dict) else None) or []
    return tuple(secret for secret in planted if isinstance(secret, str))
