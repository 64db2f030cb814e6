"""Twins and their versions, written once: the database refuses to change one (`twins.row_guards`)."""

from django.conf import settings
from django.db import models

from twins.columns import ExactJSONField
from twins.querysets import TwinQuerySet, TwinVersionQuerySet


class Twin(models.Model):
    """A named stand-in for the tools of an agent; what it does is in its versions."""

    name = models.CharField(max_length=63, unique=True)
    current_version = models.ForeignKey(
        "TwinVersion", on_delete=models.PROTECT, null=True, editable=False, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TwinQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=~models.Q(name=""), name="twin_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class TwinVersion(models.Model):
    """One content of a twin. Versions count from 1; going back to an older content is a new version."""

    twin = models.ForeignKey(Twin, on_delete=models.PROTECT, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    # SHA-256 of the canonical JSON of `document`.
    digest = models.CharField(max_length=64, db_index=True)
    # Holds the planted secrets in the clear, as `source_text` does: see docs/decisions/0402.
    document = ExactJSONField()
    source_text = models.TextField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TwinVersionQuerySet.as_manager()

    class Meta:
        ordering = ["twin", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["twin", "number"], name="twin_version_number_is_unique"),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="twin_version_counts_from_1"),
        ]

    def __str__(self) -> str:
        return f"{self.twin.name} version {self.number}"


# Django finds an app's models in this module; the rows of the wire have a room of their own.
from twins.wire.models import WireRecord, WireSession  # noqa: E402, F401
