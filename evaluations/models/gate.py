"""The release gate: policies and their versions, decisions, overrides. Decisions are only ever added."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Length, Trim
from django.db.models.lookups import GreaterThanOrEqual
from django.urls import reverse

from evaluations.querysets import GateDecisionQuerySet, GateOverrideQuerySet
from twins.columns import AlwaysReadableTextField, ExactJSONField

NOTE_MIN_LENGTH = 10
TICKET_LENGTH = 200


class GateOutcome(models.TextChoices):
    PASS = "PASS"  # noqa: S105 - an outcome, not a password
    WARN = "WARN"
    BLOCK = "BLOCK"


class GatePolicy(models.Model):
    """A named policy. `current_version` is the one in force; a new one waits until somebody activates it."""

    name = models.CharField(max_length=63, unique=True)
    current_version = models.ForeignKey(
        "GatePolicyVersion",
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        db_index=False,
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "gate policies"
        ordering = ["name"]
        default_permissions = ("add", "view")
        permissions = [("activate_gatepolicy", "Can put a version of a gate policy in force")]
        constraints = [models.CheckConstraint(condition=~Q(name=""), name="gate_policy_has_a_name")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("evaluations:gate_policy", args=[self.name])


class GatePolicyVersion(models.Model):
    """One content of a policy, written once."""

    policy = models.ForeignKey(GatePolicy, on_delete=models.PROTECT, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    document = ExactJSONField()
    source_text = models.TextField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["policy", "-number"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["policy", "number"], name="gate_policy_version_number_is_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="gate_policy_version_counts_from_1"),
        ]

    def __str__(self) -> str:
        return f"{self.policy.name}@{self.number}"

    def get_absolute_url(self) -> str:
        return f"{self.policy.get_absolute_url()}?version={self.number}"


class GateDecision(models.Model):
    """One evaluation of a comparison by a policy, as it was decided then.

    `content` is canonical JSON, byte for byte what `sha256` was taken of; the other columns repeat it for
    lists and are held against it by each read (`evaluations.services.gate.verification`).
    """

    comparison = models.ForeignKey(
        "Comparison", on_delete=models.PROTECT, related_name="gate_decisions", db_index=False
    )
    policy = models.ForeignKey(GatePolicy, on_delete=models.PROTECT, related_name="decisions")
    policy_version = models.ForeignKey(
        GatePolicyVersion, on_delete=models.PROTECT, related_name="decisions", db_index=False
    )
    # Counts the evaluations of this comparison by this policy from 1.
    revision = models.PositiveIntegerField()
    outcome = models.CharField(max_length=5, choices=GateOutcome)
    # Why, in a line: the first rule that fired.
    headline = AlwaysReadableTextField(blank=True)
    # What was decided on, whoever ran it when: an override of a decision covers the next one on the same.
    subject = models.CharField(max_length=64, db_index=True)
    content = AlwaysReadableTextField()
    sha256 = models.CharField(max_length=64)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField()

    objects = GateDecisionQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        default_permissions = ("add", "view")
        constraints = [
            models.UniqueConstraint(
                fields=["comparison", "policy", "revision"], name="gate_decision_revision_is_unique"
            ),
            models.CheckConstraint(condition=Q(revision__gte=1), name="gate_decision_counts_from_1"),
            models.CheckConstraint(
                condition=Q(outcome__in=GateOutcome.values), name="gate_decision_outcome_is_known"
            ),
            models.CheckConstraint(condition=~Q(content=""), name="gate_decision_has_content"),
        ]

    def __str__(self) -> str:
        return f"gate decision {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("evaluations:gate_decision", args=[self.pk])


class GateOverride(models.Model):
    """A person lets a decision pass for a while, or takes that back: an entry of its own either way.

    It ends by itself at `expires_at`. The decision it is about never changes.
    """

    decision = models.ForeignKey(GateDecision, on_delete=models.PROTECT, related_name="overrides")
    # Of a withdrawal: the override it takes back.
    withdraws = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="withdrawn_by"
    )
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="gate_overrides"
    )
    reason = models.TextField()
    ticket = models.CharField(max_length=TICKET_LENGTH, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    form_token = models.UUIDField(unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = GateOverrideQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        default_permissions = ("add", "view")
        constraints = [
            models.CheckConstraint(
                condition=Q(withdraws__isnull=False, expires_at__isnull=True, ticket="")
                | Q(withdraws__isnull=True, expires_at__isnull=False) & ~Q(ticket=""),
                name="gate_override_names_ticket_and_end",
            ),
            models.CheckConstraint(
                condition=GreaterThanOrEqual(Length(Trim(F("reason"))), Value(NOTE_MIN_LENGTH)),
                name="gate_override_has_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"gate override {self.pk}"

    @property
    def is_withdrawal(self) -> bool:
        return self.withdraws_id is not None
