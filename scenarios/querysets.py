"""Queries over scenarios, datasets and their versions."""

from typing import TYPE_CHECKING

from django.db import models

if TYPE_CHECKING:
    from scenarios.models import (  # noqa: F401 - named in quotes below
        Dataset,
        DatasetVersion,
        Scenario,
        ScenarioVersion,
    )

# The source of what a program wrote and a person has yet to approve.
GENERATED = "generated"


class ScenarioQuerySet(models.QuerySet["Scenario"]):
    def with_current_version(self) -> "ScenarioQuerySet":
        """Scenarios with their current version and its author loaded."""
        return self.select_related("current_version__created_by")

    def on_twin(self, name: str) -> "ScenarioQuerySet":
        """Scenarios whose current version runs on the twin of this name."""
        return self.filter(current_version__twin_name=name)


class ScenarioVersionQuerySet(models.QuerySet["ScenarioVersion"]):
    def current(self) -> "ScenarioVersionQuerySet":
        """The version of each scenario that a new comparison would use, by the scenario's name."""
        return (
            self.filter(scenario__current_version=models.F("pk"))
            .select_related("scenario")
            .order_by("scenario__name")
        )

    def waiting(self) -> "ScenarioVersionQuerySet":
        """Generated versions that nobody has approved."""
        return self.filter(source=GENERATED, approval__isnull=True)

    def counting(self) -> "ScenarioVersionQuerySet":
        """Versions that have a say: written by a person, or approved by one."""
        return self.filter(~models.Q(source=GENERATED) | models.Q(approval__isnull=False))

    def without_content(self) -> "ScenarioVersionQuerySet":
        """Versions for a list: the document (up to 1 MiB, twice) stays in the database."""
        return self.defer("document", "source_text")


class DatasetQuerySet(models.QuerySet["Dataset"]):
    def with_current_version(self) -> "DatasetQuerySet":
        """Datasets with their current version and its author loaded."""
        return self.select_related("current_version__created_by")


class DatasetVersionQuerySet(models.QuerySet["DatasetVersion"]):
    def without_content(self) -> "DatasetVersionQuerySet":
        """Versions for a list: the document stays in the database."""
        return self.defer("document", "source_text")
