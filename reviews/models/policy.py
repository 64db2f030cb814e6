"""What is asked of reviewers: versions of one policy, of which the latest is in force. Added only."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Length, Trim
from django.db.models.lookups import GreaterThanOrEqual

from agenttwin_site.fields import JSONField
from reviews.texts import NOTE_MIN_LENGTH
from reviews.two_reviewers import Policy


class ReviewPolicy(models.Model):
    """One version. Without any, `reviews.two_reviewers.Policy()` holds."""

    number = models.PositiveIntegerField(unique=True)
    # Names of `reviews.two_reviewers.ASKED_FOR`; empty: one reviewer decides everything.
    two_reviewers = JSONField(default=list)
    # Of the passing verdicts of judges, how many a person looks at.
    sample_percent = models.DecimalField(max_digits=5, decimal_places=2)
    # A judge less sure than this has its verdict looked at.
    confidence_below = models.DecimalField(max_digits=3, decimal_places=2)
    note = models.TextField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        verbose_name_plural = "review policies"
        default_permissions = ("add", "view")
        constraints = [
            models.CheckConstraint(condition=Q(number__gte=1), name="review_policy_counts_from_1"),
            models.CheckConstraint(
                condition=Q(sample_percent__gte=0, sample_percent__lte=100),
                name="review_policy_samples_a_share",
            ),
            models.CheckConstraint(
                condition=Q(confidence_below__gte=0, confidence_below__lte=1),
                name="review_policy_confidence_is_a_share",
            ),
            models.CheckConstraint(
                condition=GreaterThanOrEqual(Length(Trim(F("note"))), Value(NOTE_MIN_LENGTH)),
                name="review_policy_has_a_note",
            ),
        ]

    def __str__(self) -> str:
        return f"review policy {self.number}"

    @property
    def values(self) -> Policy:
        return Policy(
            number=self.number,
            two_reviewers=frozenset(self.two_reviewers),
            sample_percent=self.sample_percent,
            confidence_below=self.confidence_below,
        )
