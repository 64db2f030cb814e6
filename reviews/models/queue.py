"""The queue: which pairs of cases need a person, and why."""

from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.db import models
from django.db.models import Q

from reviews.querysets import QueueQuerySet


class QueueReason(models.TextChoices):
    ERROR = "ERROR", "A check could not be evaluated"
    SKIPPED_CRITICAL = "SKIPPED_CRITICAL", "A critical check was skipped"
    CONTRADICTION = "CONTRADICTION", "The claim is contradicted by the records"
    INCOMPLETE = "INCOMPLETE", "The case could not be compared"
    FLAGGED = "FLAGGED", "Flagged by a person"
    JUDGE_ERROR = "JUDGE_ERROR", "A judge could not answer"
    JUDGE_SKIPPED = "JUDGE_SKIPPED", "No judge was asked"
    UNCALIBRATED_CRITICAL = "UNCALIBRATED_CRITICAL", "An uncalibrated judge on a critical check"
    LOW_CONFIDENCE = "LOW_CONFIDENCE", "A judge that was not sure"
    SAMPLE = "SAMPLE", "A sample of passing verdicts"
    SECOND_REVIEW = "SECOND_REVIEW", "Two reviewers are asked for"
    SPLIT = "SPLIT", "Two reviewers disagree"


FOR_REVIEWERS = frozenset({QueueReason.SECOND_REVIEW, QueueReason.SPLIT})
"""Reasons for which an entry waits for reviewers who have not decided: not everybody can go on with it."""


class QueueState(models.TextChoices):
    OPEN = "OPEN"
    DONE = "DONE"


def queue_reasons() -> list[tuple[str, str]]:
    """The choices as a function: another reason to look is then no migration."""
    return list(QueueReason.choices)


class QueueEntry(models.Model):
    """One reason why one pair needs a person. Open once per pair and reason; a closed one stays as it is.

    A reservation is a promise with an end (`reserved_until`): after it the entry is free again, and nothing
    has to clean up.
    """

    pair = models.ForeignKey("evaluations.PairedCase", on_delete=models.PROTECT, related_name="queue_entries")
    reason = models.CharField(max_length=30, choices=queue_reasons)
    # BASELINE or CANDIDATE where only one of them is concerned, else empty.
    side = models.CharField(max_length=9, blank=True)
    detail = models.TextField(blank=True)
    # Worst first: the rank of the pair's class and severity when the entry was made.
    priority = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=4, choices=QueueState, default=QueueState.OPEN)
    reserved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="reserved_entries",
    )
    reserved_until = models.DateTimeField(null=True, blank=True)
    assigned_to = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="assigned_entries",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="closed_entries",
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    closing_note = models.TextField(blank=True)

    objects = QueueQuerySet.as_manager()

    class Meta:
        ordering = ["priority", "id"]
        verbose_name_plural = "queue entries"
        default_permissions = ("add", "change", "view")
        permissions = [("manage_queue", "Can release and reassign what others hold")]
        constraints = [
            models.UniqueConstraint(
                fields=["pair", "reason"], condition=Q(state=QueueState.OPEN), name="queue_entry_is_open_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=QueueState.values), name="queue_entry_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(reserved_by__isnull=True, reserved_until__isnull=True)
                | Q(reserved_by__isnull=False, reserved_until__isnull=False),
                name="queue_entry_reservation_has_an_end",
            ),
            models.CheckConstraint(
                condition=Q(state=QueueState.OPEN, closed_at__isnull=True, closed_by__isnull=True)
                | Q(state=QueueState.DONE, closed_at__isnull=False, closed_by__isnull=False),
                name="queue_entry_done_says_by_whom",
            ),
        ]
        # The list; counts and list of one reason; what people have taken. The state is a column of each index
        # and not a condition: SQLite looks into the table for every row of a partial index.
        indexes = [
            models.Index(fields=["state", "priority", "id"], name="queue_entry_worst_first"),
            models.Index(fields=["state", "reason", "priority", "id"], name="queue_entry_by_reason"),
            models.Index(fields=["state", "reserved_until"], name="queue_entry_reserved"),
            # Almost no entry is assigned, and none that is open was closed: an index of all of them tells a
            # planner that one value is every row, and it goes through the table instead.
            models.Index(
                fields=["assigned_to", "state", "priority", "id"],
                condition=Q(assigned_to__isnull=False),
                name="queue_entry_assigned_to",
            ),
            models.Index(
                fields=["closed_at", "closed_by"],
                condition=Q(closed_at__isnull=False),
                name="queue_entry_closed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reason}: pair {self.pair_id}"

    @property
    def is_open(self) -> bool:
        return self.state == QueueState.OPEN

    def is_held(self, now: datetime) -> bool:
        """Whether somebody's reservation still runs."""
        return (
            self.reserved_by_id is not None and self.reserved_until is not None and self.reserved_until > now
        )

    def is_held_by(self, user: AbstractBaseUser, now: datetime) -> bool:
        return self.is_held(now) and self.reserved_by_id == user.pk


class QueueSubject(models.Model):
    """One of the results that an entry is about, where its reason names them."""

    entry = models.ForeignKey(QueueEntry, on_delete=models.PROTECT, related_name="subjects", db_index=False)
    result = models.ForeignKey(
        "evaluations.ExpectationResult", on_delete=models.PROTECT, related_name="queue_subjects"
    )

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["entry", "result"], name="queue_subject_is_named_once")
        ]

    def __str__(self) -> str:
        return f"result {self.result_id} of entry {self.entry_id}"
