"""Who may look into holdouts: the one place that decides it. Every page, list, export and service asks here.

A scenario is **held out** while a version of a holdout lists it and no development dataset does as it is now:
what everybody works with is no secret. Its document, its results and its very name are then shown to those
with the permission alone (docs/decisions/1502).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

from django.db.models import F, QuerySet

from scenarios.models import DatasetCase, Purpose, ScenarioVersion

DETAILS = "scenarios.view_holdout_details"
_REMEMBERED = "_sight_of_holdouts"

Rows = TypeVar("Rows", bound=QuerySet[Any])


class Sight:
    """What one person sees of holdouts. What is hidden is looked up once, and not at all for who sees it."""

    def __init__(self, *, sees_all: bool) -> None:
        self.sees_all = sees_all

    @cached_property
    def _hidden(self) -> dict[int, str]:
        """The hidden versions of scenarios, each with the scenario's name: one query."""
        return {} if self.sees_all else held_out_versions()

    @property
    def hidden_versions(self) -> frozenset[int]:
        """Ids of the scenario versions this person must not see."""
        return frozenset(self._hidden)

    @property
    def hidden_names(self) -> frozenset[str]:
        """The names of their scenarios."""
        return frozenset(self._hidden.values())

    def hides(self, name: str) -> bool:
        """Whether the scenario of this name is hidden."""
        return name in self.hidden_names

    def of(self, rows: Rows, version: str = "pk") -> Rows:
        """The rows without those of hidden versions. `version`: the way from a row to its version."""
        return rows.exclude(**{f"{version}__in": self.hidden_versions}) if self.hidden_versions else rows

    def hides_cases_of(self, dataset_version: Any) -> bool:
        """Whether the cases of this version of a dataset (None: no dataset) are hidden."""
        return not self.sees_all and dataset_version is not None and dataset_version.is_holdout


EVERYTHING = Sight(sees_all=True)


def common_sight() -> Sight:
    """What is everybody's: for what is taken out of a case and shown to others."""
    return Sight(sees_all=False)


def held_out_versions() -> dict[int, str]:
    """The versions of all scenarios that are held out, each with the scenario's name: one query."""
    cases = DatasetCase.objects.order_by()
    held_out = cases.filter(version__purpose=Purpose.HOLDOUT)
    developed = cases.filter(
        version__purpose=Purpose.DEVELOPMENT, version__dataset__current_version=F("version")
    )
    versions = ScenarioVersion.objects.order_by().filter(
        scenario__in=held_out.values("scenario_version__scenario")
    )
    versions = versions.exclude(scenario__in=developed.values("scenario_version__scenario"))
    return dict(versions.values_list("pk", "scenario__name"))


def sight_of(person: Any) -> Sight:
    """What this account sees; None is a command, and whoever runs one has the database."""
    if person is None:
        return EVERYTHING
    known = getattr(person, _REMEMBERED, None)
    if known is None:
        known = Sight(sees_all=person.has_perm(DETAILS))
        setattr(person, _REMEMBERED, known)
    return known
