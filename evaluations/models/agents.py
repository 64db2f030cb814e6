"""Agents and the versions that were registered of them."""

from django.conf import settings
from django.db import models

from evaluations.querysets import AgentQuerySet, AgentVersionQuerySet
from twins.columns import ExactJSONField


class Agent(models.Model):
    """A named agent. `current_version` is the registered version of the highest precedence."""

    name = models.CharField(max_length=200, unique=True)
    current_version = models.ForeignKey(
        "AgentVersion", on_delete=models.PROTECT, null=True, editable=False, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = AgentQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=~models.Q(name=""), name="agent_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class AgentVersion(models.Model):
    """One registered manifest under the version its author gave it; other content under it is refused."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="versions", db_index=False)
    version = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, db_index=True)
    # Empty where the manifest keeps neither instructions nor their hash.
    instructions_digest = models.CharField(max_length=64, blank=True)
    document = ExactJSONField()
    source_text = models.TextField()
    # What the manifest says of its model; a run keeps what actually answered.
    model_provider = models.TextField(blank=True)
    model_name = models.TextField(blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = AgentVersionQuerySet.as_manager()

    class Meta:
        ordering = ["agent", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["agent", "version"], name="agent_version_is_unique"),
            models.CheckConstraint(condition=~models.Q(version=""), name="agent_version_is_named"),
        ]

    def __str__(self) -> str:
        return f"{self.agent.name} {self.version}"
