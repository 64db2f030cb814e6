"""The audit log: a hash chain of governance actions. Added only; the database refuses everything else."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from reviews.querysets import AuditQuerySet
from twins.columns import ExactJSONField


class AuditEntry(models.Model):
    """One action: who, when, what, before and after, why. Written by `reviews.audit.record` alone.

    `entry_hash` is the SHA-256 of everything else in the row (`reviews.chain`); `previous_hash` is that of
    the entry before, 64 zeros for the first.
    """

    sequence = models.PositiveBigIntegerField(primary_key=True)
    at = models.DateTimeField(db_index=True)
    # None: nobody was logged in (a command, a worker).
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="audit_entries",
    )
    # The name at that time; it stays when the account is renamed.
    actor_name = models.CharField(max_length=200, blank=True)
    action = models.CharField(max_length=100, db_index=True)
    subject_type = models.CharField(max_length=50)
    subject_id = models.CharField(max_length=200, blank=True)
    subject_label = models.TextField(blank=True)
    before = ExactJSONField(null=True, blank=True)
    after = ExactJSONField(null=True, blank=True)
    note = models.TextField(blank=True)
    # session, command, or the name of an API token.
    via = models.CharField(max_length=250)
    previous_hash = models.CharField(max_length=64, unique=True)
    entry_hash = models.CharField(max_length=64, unique=True)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["-sequence"]
        verbose_name_plural = "audit entries"
        default_permissions = ("view",)
        constraints = [
            models.CheckConstraint(condition=Q(sequence__gte=1), name="audit_sequence_counts_from_1"),
            models.CheckConstraint(condition=~Q(action=""), name="audit_entry_has_an_action"),
        ]
        indexes = [models.Index(fields=["subject_type", "subject_id"], name="audit_by_subject")]

    def __str__(self) -> str:
        return f"{self.sequence}. {self.action} {self.subject_label}".strip()


class AuditHead(models.Model):
    """The one row that says where the log ends. Whoever appends locks it first, so the chain never forks."""

    sequence = models.PositiveBigIntegerField(default=0)
    entry_hash = models.CharField(max_length=64)

    class Meta:
        default_permissions = ()
        constraints = [models.CheckConstraint(condition=Q(id=1), name="audit_head_is_one_row")]

    def __str__(self) -> str:
        return f"audit head {self.sequence}"
