"""Scenarios and their versions, written once like those of twins."""

from django.conf import settings
from django.db import models

from agenttwin_site.fields import JSONField
from scenarios.querysets import GENERATED, ScenarioQuerySet, ScenarioVersionQuerySet
from twins.columns import ExactJSONField


class Severity(models.TextChoices):
    """How bad a failure of the scenario is, worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


# Position in the list above: rows sort by it, worst first.
SEVERITY_RANKS: dict[str, int] = {str(value): rank for rank, value in enumerate(Severity.values)}


class Scenario(models.Model):
    """A named situation an agent is put in; what it holds is in its versions."""

    name = models.CharField(max_length=99, unique=True)
    current_version = models.ForeignKey(
        "ScenarioVersion",
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        db_index=False,
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ScenarioQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=~models.Q(name=""), name="scenario_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class ScenarioVersion(models.Model):
    """One content of a scenario. Severity, tags, source, agent and twin are copies from the document."""

    scenario = models.ForeignKey(Scenario, on_delete=models.PROTECT, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64, db_index=True)
    document = ExactJSONField()
    source_text = models.TextField()
    severity = models.CharField(max_length=8, choices=Severity)
    tags = JSONField(default=list)
    source = models.CharField(max_length=30, default="manual")
    # Empty where the document names none.
    agent_name = models.TextField(blank=True)
    twin_name = models.CharField(max_length=63, blank=True, db_index=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ScenarioVersionQuerySet.as_manager()

    class Meta:
        ordering = ["scenario", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["scenario", "number"], name="scenario_version_number_is_unique"),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="scenario_version_counts_from_1"),
            models.CheckConstraint(
                condition=models.Q(severity__in=Severity.values), name="scenario_severity_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.scenario.name} version {self.number}"

    @property
    def is_generated(self) -> bool:
        """Whether a program wrote it: it counts only with a person's approval."""
        return self.source == GENERATED

    @property
    def is_waiting(self) -> bool:
        """Whether it has no say yet. Of a generated one a query, unless its approval was loaded with it."""
        return self.is_generated and getattr(self, "approval", None) is None

    @property
    def severity_rank(self) -> int:
        """0 for critical, 3 for low."""
        return SEVERITY_RANKS[self.severity]
