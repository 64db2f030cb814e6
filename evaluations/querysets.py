"""Queries over agents, comparisons and cases."""

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Exists, OuterRef, Q, Value

if TYPE_CHECKING:
    from evaluations.models import (  # noqa: F401 - named in quotes below
        Agent,
        AgentVersion,
        Case,
        Comparison,
        GateDecision,
        GateOverride,
        PairedCase,
    )


# The place of INCOMPLETE among the classes of a case, worst first (`evaluations.models.CLASS_RANKS`).
INCOMPLETE_RANK = 2


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
        """Comparisons with agent, both versions, dataset and author loaded, their documents left there."""
        documents = ("baseline", "candidate", "dataset_version")
        content = [f"{version}__{name}" for version in documents for name in ("document", "source_text")]
        names = ("agent", "baseline", "candidate", "dataset_version__dataset", "created_by")
        return self.select_related(*names).defer(*content)


class PairedCaseQuerySet(models.QuerySet["PairedCase"]):
    def counted(self) -> "PairedCaseQuerySet":
        """What totals, lists, statistics and the gate count: a trial that was run again counts once."""
        # As a comparison of values: for `NOT replaced` SQLite uses no index.
        return self.filter(replaced=Value(False))

    def replaced(self) -> "PairedCaseQuerySet":
        """Trials that could not be graded and were run again."""
        return self.filter(replaced=True)

    def worth_running_again(self) -> "PairedCaseQuerySet":
        """Trials of which a side could not be graded and no side failed, on their first run.

        A failure is evidence, also one that a reviewer overrode or found: it is never run away.
        """
        failed = self._sides().filter(Q(verdict="FAILED") | Q(effective_verdict="FAILED"))
        errored = self._sides().filter(~Q(state="FINISHED") | Q(effective_verdict="ERRORED"))
        # What could not be graded and did not fail is INCOMPLETE; by its rank the index finds the few.
        rows = self.counted().filter(class_rank=INCOMPLETE_RANK, rerun_of__isnull=True)
        return rows.filter(~Exists(failed), Exists(errored))

    @staticmethod
    def _sides() -> "CaseQuerySet":
        from evaluations.models import Case

        return Case.objects.filter(pair=OuterRef("pk"))

    def worst_first(self) -> "PairedCaseQuerySet":
        return self.order_by("class_rank", "severity_rank", "position")


class CaseQuerySet(models.QuerySet["Case"]):
    def counted_of(self, comparison_id: int) -> "CaseQuerySet":
        """Both sides of the pairs of a comparison that count."""
        from evaluations.models import PairedCase

        # Most comparisons replaced nothing: an empty list costs less than a join with every pair.
        replaced = PairedCase.objects.replaced().filter(comparison=comparison_id)
        return self.filter(run__comparison=comparison_id).exclude(pair__in=replaced.values("pk"))

    def with_names(self) -> "CaseQuerySet":
        """Cases with the names a list shows loaded."""
        return self.select_related("pair", "run__agent_version__agent").defer(
            "answer", "run__agent_version__document", "run__agent_version__source_text"
        )


class GateDecisionQuerySet(models.QuerySet["GateDecision"]):
    def with_names(self) -> "GateDecisionQuerySet":
        """Decisions for a list: names loaded, contents left in the database."""
        heavy = [
            f"comparison__{side}__{name}"
            for side in ("baseline", "candidate")
            for name in ("document", "source_text")
        ]
        return self.select_related(
            "comparison__agent",
            "comparison__baseline",
            "comparison__candidate",
            "comparison__dataset_version__dataset",
            "policy",
            "policy_version__policy",
            "decided_by",
        ).defer(
            *heavy,
            "content",
            "comparison__selection",
            "comparison__dataset_version__document",
            "comparison__dataset_version__source_text",
            "policy_version__document",
            "policy_version__source_text",
        )


class GateOverrideQuerySet(models.QuerySet["GateOverride"]):
    def in_force(self, now: datetime) -> "GateOverrideQuerySet":
        """Neither ended nor withdrawn, and no withdrawals."""
        return self.filter(withdraws__isnull=True, withdrawn_by__isnull=True, expires_at__gt=now)
