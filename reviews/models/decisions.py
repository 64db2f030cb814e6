"""Reviews: what a person decided about one result of one side. Added only; the database refuses the rest."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Length, Trim
from django.db.models.lookups import GreaterThanOrEqual

from reviews.querysets import ReviewQuerySet
from reviews.texts import NOTE_MIN_LENGTH


class Decision(models.TextChoices):
    PASS = "PASS"  # noqa: S105 - a decision, not a password
    FAIL = "FAIL"
    WITHDRAWN = "WITHDRAWN"


class Review(models.Model):
    """One decision. `number` counts the reviews of a result from 1, so its history is one line by constraint.

    The review that counts is the latest PASS or FAIL that was not withdrawn; without one, the measured
    status does. Two reviews of the same millisecond are in the order of `id`.
    """

    result = models.ForeignKey(
        "evaluations.ExpectationResult", on_delete=models.PROTECT, related_name="reviews", db_index=False
    )
    number = models.PositiveIntegerField()
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reviews")
    decision = models.CharField(max_length=9, choices=Decision)
    note = models.TextField()
    # The latest review of the result when this one was given.
    replaces = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="replaced_by"
    )
    # Of a withdrawal: the review it takes back.
    withdraws = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="withdrawn_by"
    )
    # What the decision changed, as it stood then.
    status_before = models.CharField(max_length=7)
    status_after = models.CharField(max_length=7)
    form_token = models.UUIDField(unique=True)
    # The API token it came through; empty for a person in a browser.
    token_name = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ReviewQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        default_permissions = ("add", "view")
        constraints = [
            models.UniqueConstraint(fields=["result", "number"], name="review_number_is_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="review_number_counts_from_1"),
            models.CheckConstraint(
                condition=Q(decision__in=Decision.values), name="review_decision_is_known"
            ),
            models.CheckConstraint(
                condition=GreaterThanOrEqual(Length(Trim(F("note"))), Value(NOTE_MIN_LENGTH)),
                name="review_has_a_note",
            ),
            models.CheckConstraint(
                condition=Q(decision=Decision.WITHDRAWN, withdraws__isnull=False)
                | Q(withdraws__isnull=True) & ~Q(decision=Decision.WITHDRAWN),
                name="review_withdrawal_names_what_it_withdraws",
            ),
            models.CheckConstraint(
                condition=Q(number=1, replaces__isnull=True) | Q(number__gt=1, replaces__isnull=False),
                name="review_replaces_the_one_before",
            ),
        ]
        indexes = [
            models.Index(fields=["reviewer", "-id"], name="review_by_reviewer"),
            # What was decided today.
            models.Index(fields=["created_at", "reviewer"], name="review_by_day"),
        ]

    def __str__(self) -> str:
        return f"review {self.pk}: {self.decision}"

    @property
    def is_withdrawal(self) -> bool:
        return self.decision == Decision.WITHDRAWN
