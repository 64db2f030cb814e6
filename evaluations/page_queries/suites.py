"""What the pages and the API read of checks of suites: a fixed number of queries each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from evaluations.models import SuiteCheck, SuiteCheckCase
from evaluations.services.suite_health import ControlHealth, health_of, latest_check
from scenarios.models import DatasetCase, DatasetVersion


@dataclass(frozen=True, slots=True)
class CaseLine:
    """One case of the suite with what each control agent made of it, in the order of the agents."""

    case: DatasetCase
    outcomes: tuple[SuiteCheckCase | None, ...]


@dataclass(frozen=True, slots=True)
class SuiteHealth:
    """The latest check of a version: its control agents, and the first cases of the suite."""

    check: SuiteCheck
    controls: list[ControlHealth]
    lines: list[CaseLine]

    @property
    def flagged(self) -> list[ControlHealth]:
        return [one for one in self.controls if one.is_flagged]


def suite_health(version: DatasetVersion, cases: Sequence[DatasetCase]) -> SuiteHealth | None:
    """The latest check with its outcomes in these cases, None where there was none: two queries."""
    check = latest_check(version)
    if check is None:
        return None
    controls = health_of(check)
    found = {(row.dataset_case_id, row.control): row for row in outcomes_of(check, cases)}
    lines = [
        CaseLine(case, tuple(found.get((case.pk, one.control.name)) for one in controls)) for case in cases
    ]
    return SuiteHealth(check, controls, lines)


def outcomes_of(check: SuiteCheck, cases: Sequence[DatasetCase]) -> QuerySet[SuiteCheckCase]:
    return SuiteCheckCase.objects.filter(check_run=check, dataset_case__in=[case.pk for case in cases])
