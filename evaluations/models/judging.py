"""What judges were shown, what they answered, and what that used up.

A verdict is written once, with the result it belongs to; the database refuses to change it. Spending and
places are the harness's own accounts.
"""

# ruff: noqa: DJ001 - NULL says "there was none", as in the records; an empty text can be a real value.

from django.db import models
from django.db.models import Q
from django.urls import reverse

from evaluations.judges.interface import JUDGE_ERROR_KINDS, LABELS, JudgeIdentity
from evaluations.models.cases import ExpectationResult, ResultStatus
from evaluations.models.manual import ManualSession
from twins.columns import ExactJSONField


def judge_error_kinds() -> list[tuple[str, str]]:
    """A callable: a new kind costs no migration."""
    return [(kind, kind) for kind in JUDGE_ERROR_KINDS]


class JudgeVerdict(models.Model):
    """How one semantic expectation of a case or of a manual session was judged, or why it was not."""

    result = models.OneToOneField(
        ExpectationResult, on_delete=models.PROTECT, null=True, blank=True, related_name="judge_verdict"
    )
    session = models.ForeignKey(
        ManualSession, on_delete=models.PROTECT, null=True, blank=True, related_name="judge_verdicts"
    )
    expectation_id = models.CharField(max_length=200)
    status = models.CharField(max_length=7, choices=ResultStatus)

    # Who judged, by what.
    provider = models.CharField(max_length=50)
    model = models.CharField(max_length=200)
    judge_label = models.CharField(max_length=50)
    prompt_version = models.CharField(max_length=50)
    prompt_sha256 = models.CharField(max_length=64)
    criterion = models.TextField()
    rubric_sha256 = models.CharField(max_length=64)
    threshold = models.FloatField()
    # Names everything that shaped it (evaluations.judges.rendering.request_digest).
    request_digest = models.CharField(max_length=64)

    # Exactly what was sent and what came back, free of planted secrets; "" where nothing was.
    shown = models.TextField(blank=True)
    answered = models.TextField(blank=True)

    # The verdict; NULL where there is none.
    score = models.FloatField(null=True, blank=True)
    label = models.CharField(max_length=4, null=True, blank=True)
    confidence = models.FloatField(null=True, blank=True)
    reason = models.TextField(blank=True)
    quotes = ExactJSONField(default=list)
    dropped_quotes = models.PositiveIntegerField(default=0)
    # Why there is none; "" where there is one or nobody was asked.
    error_kind = models.CharField(max_length=20, blank=True, choices=judge_error_kinds)
    error_detail = models.TextField(blank=True)

    attempts = models.PositiveIntegerField(default=0)
    # Taken from an earlier verdict on exactly the same question.
    from_cache = models.BooleanField(default=False)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    # Of all attempts; NULL where it is not known.
    cost_usd = models.FloatField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        default_permissions = ("view",)
        constraints = [
            models.CheckConstraint(
                condition=Q(result__isnull=True, session__isnull=False)
                | Q(result__isnull=False, session__isnull=True),
                name="judge_verdict_is_of_a_case_or_a_session",
            ),
            models.UniqueConstraint(
                fields=["session", "expectation_id"], name="judge_verdict_is_unique_in_its_session"
            ),
            models.CheckConstraint(
                condition=Q(status__in=ResultStatus.values), name="judge_verdict_status_is_known"
            ),
            models.CheckConstraint(
                condition=Q(label__isnull=True) | Q(label__in=LABELS), name="judge_verdict_label_is_known"
            ),
            # No score without a verdict, no verdict without a score, and none of both where it failed.
            models.CheckConstraint(
                condition=Q(status__in=[ResultStatus.PASS, ResultStatus.FAIL])
                & Q(score__isnull=False, score__gte=0, score__lte=1)
                & Q(confidence__isnull=False, confidence__gte=0, confidence__lte=1)
                & Q(label__isnull=False, error_kind="")
                | Q(status__in=[ResultStatus.ERROR, ResultStatus.SKIPPED])
                & Q(score__isnull=True, confidence__isnull=True, label__isnull=True),
                name="judge_verdict_has_a_score_or_none",
            ),
            models.CheckConstraint(
                condition=~Q(status=ResultStatus.ERROR) | ~Q(error_kind=""),
                name="judge_verdict_error_has_a_kind",
            ),
        ]
        indexes = [
            models.Index(
                fields=["request_digest"],
                condition=Q(score__isnull=False, from_cache=False),
                name="judge_verdict_to_be_reused",
            ),
        ]

    def __str__(self) -> str:
        return f"verdict {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("evaluations:judge_verdict", args=[self.pk])

    @property
    def identity(self) -> JudgeIdentity:
        return JudgeIdentity(self.provider, self.model, self.prompt_version, self.prompt_sha256)


class JudgeSpending(models.Model):
    """What the judge of one comparison has used up. Counted before a question goes out, never after."""

    comparison = models.OneToOneField(
        "Comparison", on_delete=models.PROTECT, primary_key=True, related_name="judge_spending"
    )
    calls = models.PositiveIntegerField(default=0)
    # Of the replies whose cost is known, and an upper bound for the others.
    cost_usd = models.FloatField(default=0.0)

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"judge calls of comparison {self.pk}: {self.calls}"


class JudgePlace(models.Model):
    """One of the questions to a provider that may be under way at once, over all processes."""

    provider = models.CharField(max_length=50)
    number = models.PositiveIntegerField()
    claim_token = models.CharField(max_length=64, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["provider", "number"], name="judge_place_is_unique"),
            models.CheckConstraint(
                condition=Q(claim_token="") | Q(lease_expires_at__isnull=False),
                name="judge_place_taken_has_a_lease",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.number}"
