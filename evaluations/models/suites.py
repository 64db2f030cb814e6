"""Checks of suites: what control agents make of a frozen dataset."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from agenttwin_site.fields import JSONField
from evaluations.models.cases import Verdict


class SuiteCheck(models.Model):
    """One run of all control agents on a version of a dataset."""

    dataset_version = models.ForeignKey(
        "scenarios.DatasetVersion", on_delete=models.PROTECT, related_name="suite_checks"
    )
    # Control agents that no case catches: the suite cannot tell them from a good agent.
    flagged = JSONField(default=list)
    # By control agent, in their order: how many cases it passed, failed, and where nobody can say.
    counts = JSONField(default=dict)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"check {self.pk} of {self.dataset_version}"

    @property
    def is_flagged(self) -> bool:
        return bool(self.flagged)


class SuiteCheckCase(models.Model):
    """What one control agent made of one case."""

    check_run = models.ForeignKey(SuiteCheck, on_delete=models.PROTECT, related_name="cases", db_index=False)
    control = models.CharField(max_length=50)
    dataset_case = models.ForeignKey("scenarios.DatasetCase", on_delete=models.PROTECT, related_name="+")
    twin_version = models.ForeignKey("twins.TwinVersion", on_delete=models.PROTECT, related_name="+")
    verdict = models.CharField(max_length=7, choices=Verdict)
    # Ids of the checks that failed, and why the first of them did.
    failing = JSONField(default=list)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["check_run", "dataset_case", "control"]
        constraints = [
            models.UniqueConstraint(
                fields=["check_run", "dataset_case", "control"], name="suite_check_case_is_unique"
            ),
            models.CheckConstraint(
                condition=Q(verdict__in=Verdict.values), name="suite_check_verdict_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.control} in {self.dataset_case}"
