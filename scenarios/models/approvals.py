"""A person's word for a generated scenario."""

from django.conf import settings
from django.db import models


class ScenarioApproval(models.Model):
    """Somebody has read a generated version and stands for what it expects. From then on it counts."""

    scenario_version = models.OneToOneField(
        "ScenarioVersion", on_delete=models.PROTECT, related_name="approval"
    )
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    note = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(condition=~models.Q(note=""), name="scenario_approval_has_a_note"),
        ]

    def __str__(self) -> str:
        return f"approval of {self.scenario_version}"
