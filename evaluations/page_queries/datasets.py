"""What the pages and the API read of datasets: versions, cases, uses. A fixed number of queries each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, QuerySet

from evaluations.models import DatasetUse, SuiteCheck
from scenarios.dataset_difference import ListedCase
from scenarios.models import DatasetCase, DatasetVersion


@dataclass(frozen=True, slots=True)
class UseCounts:
    """How often a frozen version was used: comparisons, and the different candidates in them."""

    uses: int = 0
    candidates: int = 0

    @property
    def words(self) -> str:
        if not self.uses:
            return "not used since it was frozen"
        candidates = f"{self.candidates:,} candidate{'' if self.candidates == 1 else 's'}"
        return f"used by {candidates} since it was frozen"


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A dataset in the list, by its current version."""

    version: DatasetVersion
    uses: UseCounts
    # Control agents that the latest check flagged; None where it was never checked.
    flagged: tuple[str, ...] | None = None


def current_versions(*, agent: str = "", purpose: str = "") -> QuerySet[DatasetVersion]:
    """The current version of each dataset, of this agent and purpose, without its document."""
    versions = DatasetVersion.objects.filter(dataset__current_version=F("pk"))
    if agent:
        versions = versions.filter(agent_name=agent)
    if purpose:
        versions = versions.filter(purpose=purpose)
    return versions.select_related("dataset", "created_by").without_content()


def dataset_rows(versions: Sequence[DatasetVersion]) -> list[DatasetRow]:
    """The versions with their uses and their health: two queries."""
    ids = [version.pk for version in versions]
    counts, health = use_counts(ids), latest_flags(ids)
    return [
        DatasetRow(version, counts.get(version.pk, UseCounts()), health.get(version.pk))
        for version in versions
    ]


def latest_flags(version_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """What the latest check of each version flagged: one query; unchecked ones are not among the answers."""
    later = SuiteCheck.objects.filter(dataset_version=OuterRef("dataset_version"), pk__gt=OuterRef("pk"))
    checks = SuiteCheck.objects.filter(~Exists(later), dataset_version__in=version_ids).order_by()
    return {version: tuple(flagged) for version, flagged in checks.values_list("dataset_version", "flagged")}


def use_counts(version_ids: Sequence[int]) -> dict[int, UseCounts]:
    """One query; versions that were never used are not among the answers."""
    rows = DatasetUse.objects.filter(dataset_version__in=version_ids).order_by()
    counted = rows.values("dataset_version").annotate(
        uses=Count("pk"), candidates=Count("agent_version", distinct=True)
    )
    return {row["dataset_version"]: UseCounts(row["uses"], row["candidates"]) for row in counted}


def uses_of(version: DatasetVersion) -> QuerySet[DatasetUse]:
    """The uses of a version with what was compared, in no order yet."""
    manifests = [
        f"{version}__{name}"
        for version in ("agent_version", "comparison__baseline")
        for name in ("document", "source_text")
    ]
    return (
        DatasetUse.objects.filter(dataset_version=version)
        .select_related("agent_version__agent", "comparison__baseline", "comparison__created_by")
        .defer(*manifests, "comparison__selection")
    )


def cases_of_version(version: DatasetVersion) -> QuerySet[DatasetCase]:
    """The cases of a frozen version with the names and numbers of their scenarios, not their documents."""
    content = ("scenario_version__document", "scenario_version__source_text")
    names = ("scenario_version__scenario", "scenario_version__approval")
    return version.cases.select_related(*names).defer(*content)


def listed_cases(cases: Sequence[DatasetCase]) -> list[ListedCase]:
    return [listed_case(case) for case in cases]


def listed_case(case: Any) -> ListedCase:
    scenario = case.scenario_version
    return ListedCase(
        case.case_id, scenario.scenario.name, scenario.number, scenario.digest, case.owner, case.why
    )
