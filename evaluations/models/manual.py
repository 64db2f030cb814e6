"""A case that a person opened for an agent without an endpoint, and what became of it.

One row holds all of it: there is no other side to compare with, so records and results are read together or
not at all. The database refuses to change a closed one.
"""

# ruff: noqa: DJ001 - NULL says "not known", as on a case.

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from agenttwin_site.fields import JSONField
from evaluations.models.cases import Verdict
from twins.columns import ExactJSONField


class ManualState(models.TextChoices):
    OPEN = "OPEN"
    # Closed by who opened it; its semantic expectations wait for a judge, or are with one.
    JUDGING = "JUDGING"
    CLOSED = "CLOSED"


class ManualSession(models.Model):
    """One live case of a scenario; `agent_label` is what the person calls the agent that works on it."""

    scenario_version = models.ForeignKey(
        "scenarios.ScenarioVersion", on_delete=models.PROTECT, related_name="+"
    )
    twin_version = models.ForeignKey("twins.TwinVersion", on_delete=models.PROTECT, related_name="+")
    agent_label = models.CharField(max_length=200)
    trial = models.PositiveIntegerField(default=1)
    seed = models.BigIntegerField()
    initial_state = models.ForeignKey("StateSnapshot", on_delete=models.PROTECT, related_name="+")
    # Where its calls arrive. The token is kept nowhere.
    wire_session = models.OneToOneField("twins.WireSession", on_delete=models.PROTECT, related_name="+")
    # Of the form or request that opened it: the same one again opens no second session.
    form_token = models.UUIDField(unique=True, null=True, blank=True)

    state = models.CharField(max_length=7, choices=ManualState, default=ManualState.OPEN)
    verdict = models.CharField(max_length=7, choices=Verdict, null=True, blank=True)
    # The claim of the worker that judges it; empty while nobody does.
    judging_attempts = models.PositiveIntegerField(default=0)
    claim_token = models.CharField(max_length=64, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    # Why it ended without a grade.
    error_reason = models.TextField(blank=True)
    # As `to_json` of the engine's records and of the grading's results writes them, free of secrets.
    records = ExactJSONField(default=list)
    results = ExactJSONField(default=list)
    answer = ExactJSONField(null=True, blank=True)
    claimed_outcome = models.CharField(max_length=20, null=True, blank=True)
    contradiction = models.BooleanField(default=False)
    final_state_digest = models.CharField(max_length=64, blank=True)
    tool_call_count = models.PositiveIntegerField(default=0)
    retry_count = models.PositiveIntegerField(default=0)
    metrics = JSONField(default=dict)

    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    # Nobody: its time was over.
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=ManualState.values), name="manual_session_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(verdict__isnull=True) | Q(verdict__in=Verdict.values),
                name="manual_session_verdict_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(state=ManualState.CLOSED) | Q(verdict__isnull=False, closed_at__isnull=False),
                name="manual_session_closed_has_a_verdict",
            ),
        ]

    def __str__(self) -> str:
        return f"manual session {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("reviews:session", args=[self.pk])

    @property
    def is_open(self) -> bool:
        return self.state == ManualState.OPEN

    @property
    def is_over(self) -> bool:
        """Its time has run out: it takes no more calls, whether or not it has been closed yet."""
        return self.expires_at <= timezone.now()
