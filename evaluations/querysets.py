"""Queries over agents, comparisons and cases."""

from typing import TYPE_CHECKING

from django.db import models

if TYPE_CHECKING:
    from evaluations.models import Agent, AgentVersion, Case, Comparison, PairedCase  # noqa: F401 - named in quotes below


class AgentQuerySet(models.QuerySet["Agent"]):
    def with_current_version(self) -> "AgentQuerySet":
        """Agents with their current version and its author loaded."""
        return self.select_related("current_version__created_by")


class AgentVersionQuerySet(models.QuerySet["AgentVersion"]):
    def without_content(self) -> "AgentVersionQuerySet":
        """Versions for a list: the manifest stays in the database."""
        return self.defer("document", "source_text")


class ComparisonQuerySet(models.QuerySet["Comparison"]):
    def with_names(self) -> "ComparisonQuerySet":
        """Comparisons with agent, both versions and author loaded, manifests left in the database."""
        content = [
            f"{side}__{name}" for side in ("baseline", "candidate") for name in ("document", "source_text")
        ]
        return self.select_related("agent", "baseline", "candidate", "created_by").defer(*content)


class PairedCaseQuerySet(models.QuerySet["PairedCase"]):
    def worst_first(self) -> "PairedCaseQuerySet":
        return self.order_by("class_rank", "severity_rank", "position")


class CaseQuerySet(models.QuerySet["Case"]):
    def with_names(self) -> "CaseQuerySet":
        """Cases with the names a list shows loaded."""
        return self.select_related("pair", "run__agent_version__agent").defer(
            "answer", "run__agent_version__document", "run__agent_version__source_text"
        )
