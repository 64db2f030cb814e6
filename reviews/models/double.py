"""Two reviewers on one result, apart from each other: the round they are in, and what each decided.

Nothing here counts by itself. When the two agree, or a third has decided, a `Review` is recorded as for any
other decision, and the round says which (docs/decisions/1302).
"""

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Length, Trim
from django.db.models.lookups import GreaterThanOrEqual

from reviews.models.decisions import Decision
from reviews.models.policy import ReviewPolicy
from reviews.querysets import DoubleReviewQuerySet
from reviews.texts import NOTE_MIN_LENGTH
from reviews.two_reviewers import Votes


class DoubleReviewState(models.TextChoices):
    # One has decided; what, nobody else knows.
    OPEN = "OPEN"
    # The two disagree: a third decides.
    SPLIT = "SPLIT"
    AGREED = "AGREED"
    # The third decided.
    DECIDED = "DECIDED"


UNSETTLED = (DoubleReviewState.OPEN, DoubleReviewState.SPLIT)


class DoubleReview(models.Model):
    """One round on one result. `number` counts the rounds of a result; only its last one can be unsettled."""

    result = models.ForeignKey(
        "evaluations.ExpectationResult",
        on_delete=models.PROTECT,
        related_name="double_reviews",
        db_index=False,
    )
    number = models.PositiveIntegerField()
    policy = models.ForeignKey(ReviewPolicy, on_delete=models.PROTECT, related_name="+", db_index=False)
    # Why two were asked, a name of `reviews.two_reviewers.ASKED_FOR`.
    asked_for = models.CharField(max_length=30)
    state = models.CharField(max_length=7, choices=DoubleReviewState, default=DoubleReviewState.OPEN)
    opened_at = models.DateTimeField(auto_now_add=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    # What came of it.
    review = models.OneToOneField(
        "Review", on_delete=models.PROTECT, null=True, blank=True, related_name="double_review"
    )

    objects = DoubleReviewQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        default_permissions = ("view",)
        constraints = [
            models.UniqueConstraint(fields=["result", "number"], name="double_review_number_is_unique"),
            models.UniqueConstraint(
                fields=["result"],
                condition=Q(settled_at__isnull=True),
                name="double_review_is_unsettled_once",
            ),
            models.CheckConstraint(
                condition=Q(state__in=DoubleReviewState.values), name="double_review_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=UNSETTLED, settled_at__isnull=True, review__isnull=True)
                | Q(
                    state__in=[DoubleReviewState.AGREED, DoubleReviewState.DECIDED],
                    settled_at__isnull=False,
                    review__isnull=False,
                ),
                name="double_review_settled_has_a_review",
            ),
        ]
        indexes = [models.Index(fields=["state", "id"], name="double_review_by_state")]

    def __str__(self) -> str:
        return f"double review {self.pk}: {self.state}"

    @property
    def is_settled(self) -> bool:
        return self.settled_at is not None

    @property
    def is_sealed(self) -> bool:
        """Whether what was decided is still kept from everybody but who decided it."""
        return self.state == DoubleReviewState.OPEN

    @property
    def votes(self) -> Votes:
        return Votes(tuple((one.reviewer_id, one.decision) for one in self.decisions.all()))


class BlindDecision(models.Model):
    """What one person decided, without having seen what another did. Written once.

    `seal` is the SHA-256 of what was decided together with `salt`; it stands in the audit log from the start,
    so that it can be shown later that nothing was changed before the seal was broken.
    """

    double_review = models.ForeignKey(
        DoubleReview, on_delete=models.PROTECT, related_name="decisions", db_index=False
    )
    position = models.PositiveIntegerField()
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="blind_decisions", db_index=False
    )
    decision = models.CharField(max_length=9, choices=Decision)
    note = models.TextField()
    salt = models.CharField(max_length=64)
    seal = models.CharField(max_length=64, unique=True)
    form_token = models.UUIDField(unique=True)
    # The API token it came through; empty for a person in a browser.
    token_name = models.CharField(max_length=200, blank=True)
    decided_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["position"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["double_review", "position"], name="blind_decision_is_unique"),
            models.UniqueConstraint(
                fields=["double_review", "reviewer"], name="blind_decision_is_one_of_a_person"
            ),
            models.CheckConstraint(
                condition=Q(position__gte=1, position__lte=3), name="blind_decision_is_one_of_three"
            ),
            models.CheckConstraint(condition=Q(decision__in=Decision.values), name="blind_decision_is_known"),
            models.CheckConstraint(
                condition=GreaterThanOrEqual(Length(Trim(F("note"))), Value(NOTE_MIN_LENGTH)),
                name="blind_decision_has_a_note",
            ),
        ]
        indexes = [
            models.Index(fields=["reviewer", "-id"], name="blind_decision_by_reviewer"),
            # What was decided today.
            models.Index(fields=["decided_at", "reviewer"], name="blind_decision_by_day"),
        ]

    def __str__(self) -> str:
        # Never what was decided: this text goes into messages and logs.
        return f"blind decision {self.pk}"

    @property
    def is_withdrawal(self) -> bool:
        return self.decision == Decision.WITHDRAWN
