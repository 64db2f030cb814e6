"""Criteria with their versions, examples that people label, and runs of a judge over them.

What a judge is calibrated for is one rubric, word for word: examples and labels belong to a version of a
criterion, and a changed rubric is another version with labels of its own. Versions, examples and labels are
written once; a calibration is, once it has ended.
"""

# ruff: noqa: DJ001 - NULL says "undefined" or "not known yet", which no text and no number does.

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse

from agenttwin_site.fields import JSONField
from evaluations.grading.calibrating import ERROR, FAIL, PASS
from evaluations.judges.interface import JudgeIdentity
from twins.columns import ExactJSONField


class LabelValue(models.TextChoices):
    PASS = PASS
    FAIL = FAIL


class CalibrationState(models.TextChoices):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    # It could not be finished; its reason says why. It calibrates nothing.
    FAILED = "FAILED"


class CalibrationOutcome(models.TextChoices):
    """What the judge made of an example, graded as in a comparison: a pass needs label and threshold."""

    WAITING = "", "waiting"
    PASS = PASS
    FAIL = FAIL
    ERROR = ERROR
    # People are split over it: the judge is not asked.
    LEFT_OUT = "LEFT_OUT"


class Criterion(models.Model):
    """What a judge looks for, by the name that expectations give as their category."""

    name = models.CharField(max_length=100, unique=True)
    current_version = models.ForeignKey(
        "CriterionVersion",
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        db_index=False,
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "criteria"
        ordering = ["name"]
        default_permissions = ("add", "view")
        constraints = [models.CheckConstraint(condition=~Q(name=""), name="criterion_has_a_name")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("evaluations:criterion", args=[self.name])


class CriterionVersion(models.Model):
    """One rubric of a criterion. The same words again are the same version: labels stay with them."""

    criterion = models.ForeignKey(
        Criterion, on_delete=models.PROTECT, related_name="versions", db_index=False
    )
    number = models.PositiveIntegerField()
    rubric = models.TextField()
    rubric_sha256 = models.CharField(max_length=64)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["criterion", "-number"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["criterion", "number"], name="criterion_version_is_unique"),
            models.UniqueConstraint(fields=["criterion", "rubric_sha256"], name="criterion_rubric_is_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="criterion_versions_count_from_1"),
            models.CheckConstraint(condition=~Q(rubric=""), name="criterion_version_has_a_rubric"),
        ]

    def __str__(self) -> str:
        return f"{self.criterion.name} version {self.number}"

    def get_absolute_url(self) -> str:
        return f"{self.criterion.get_absolute_url()}?version={self.number}"


class Example(models.Model):
    """Something for people and judge to read by a rubric; the same material twice is one example."""

    criterion_version = models.ForeignKey(
        CriterionVersion, on_delete=models.PROTECT, related_name="examples", db_index=False
    )
    # SHA-256 of the canonical JSON of the material.
    digest = models.CharField(max_length=64)
    # `answer`, `customer_message`, `tool_calls`: what a judge is shown of a case.
    material = ExactJSONField()
    # Where it comes from, in a person's words, and the result of a real case it was taken from.
    source = models.TextField(blank=True)
    result = models.ForeignKey(
        "ExpectationResult", on_delete=models.PROTECT, null=True, blank=True, related_name="examples"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        default_permissions = ("add", "view")
        constraints = [
            models.UniqueConstraint(fields=["criterion_version", "digest"], name="example_is_unique"),
        ]

    def __str__(self) -> str:
        return f"example {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("evaluations:example", args=[self.pk])


class Label(models.Model):
    """What one person says of one example: never changed, but taken back as long as it is the only one."""

    example = models.ForeignKey(Example, on_delete=models.PROTECT, related_name="labels", db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="labels")
    label = models.CharField(max_length=4, choices=LabelValue)
    created_at = models.DateTimeField(auto_now_add=True)
    taken_back_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        default_permissions = ("add",)
        constraints = [
            models.UniqueConstraint(
                fields=["example", "person"],
                condition=Q(taken_back_at__isnull=True),
                name="label_is_one_for_each_person",
            ),
            models.CheckConstraint(condition=Q(label__in=LabelValue.values), name="label_is_known"),
        ]

    def __str__(self) -> str:
        return f"label {self.pk}"


class Onlooker(models.Model):
    """A person who chose to see the labels of a version unlabelled, and so labels it no more."""

    criterion_version = models.ForeignKey(
        CriterionVersion, on_delete=models.PROTECT, related_name="onlookers", db_index=False
    )
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["criterion_version", "person"], name="onlooker_is_unique"),
        ]

    def __str__(self) -> str:
        return f"onlooker {self.pk}"


class Calibration(models.Model):
    """One run of one judge over the labelled examples of one rubric; its figures are there once COMPLETED."""

    criterion_version = models.ForeignKey(
        CriterionVersion, on_delete=models.PROTECT, related_name="calibrations", db_index=False
    )
    # Exactly this judge: another model or prompt has to be calibrated anew.
    provider = models.CharField(max_length=100)
    model = models.CharField(max_length=200, blank=True)
    prompt_version = models.CharField(max_length=100)
    prompt_sha256 = models.CharField(max_length=64)
    # The honest label: `deterministic-fake` or `llm`.
    judge_label = models.CharField(max_length=100)
    # The lowest score that passed.
    threshold = models.FloatField()
    state = models.CharField(max_length=9, choices=CalibrationState, default=CalibrationState.QUEUED)
    # Why it FAILED.
    reason = models.TextField(blank=True)

    # The claim of the worker that runs it; empty while nobody does.
    attempts = models.PositiveIntegerField(default=0)
    claim_token = models.CharField(max_length=64, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)

    # Examples that count, those the judge and people agree on, and what the judge did not answer.
    counted = models.PositiveIntegerField(null=True, blank=True)
    agreed = models.PositiveIntegerField(null=True, blank=True)
    errors = models.PositiveIntegerField(null=True, blank=True)
    # NULL when completed: undefined.
    kappa = models.FloatField(null=True, blank=True)
    kappa_low = models.FloatField(null=True, blank=True)
    kappa_high = models.FloatField(null=True, blank=True)
    is_calibrated = models.BooleanField(null=True, blank=True)
    # The rule's sentence, as it was decided.
    decision = models.TextField(blank=True)

    # The request that started it: the same one again starts no second.
    form_token = models.UUIDField(unique=True, null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        default_permissions = ("add", "view")
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=CalibrationState.values), name="calibration_state_is_known"
            ),
            models.CheckConstraint(
                condition=~Q(state=CalibrationState.COMPLETED)
                | Q(
                    counted__isnull=False,
                    agreed__isnull=False,
                    errors__isnull=False,
                    is_calibrated__isnull=False,
                    finished_at__isnull=False,
                ),
                name="calibration_completed_has_figures",
            ),
            # Undefined is never enough, whatever the code that wrote the row made of it.
            models.CheckConstraint(
                condition=~Q(is_calibrated=True) | Q(kappa__isnull=False, state=CalibrationState.COMPLETED),
                name="calibration_needs_a_kappa",
            ),
            models.CheckConstraint(
                condition=Q(agreed__isnull=True) | Q(agreed__lte=F("counted")),
                name="calibration_agrees_on_what_counts",
            ),
            models.CheckConstraint(
                condition=~Q(state=CalibrationState.RUNNING)
                | Q(lease_expires_at__isnull=False) & ~Q(claim_token=""),
                name="calibration_running_has_a_lease",
            ),
        ]
        indexes = [
            models.Index(
                fields=["criterion_version", "provider", "model", "prompt_sha256", "-id"],
                name="calibration_of_a_judge",
            ),
            models.Index(
                fields=["state", "lease_expires_at"],
                condition=Q(state__in=[CalibrationState.QUEUED, CalibrationState.RUNNING]),
                name="calibration_open",
            ),
        ]

    def __str__(self) -> str:
        return f"calibration {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("evaluations:calibration", args=[self.pk])

    @property
    def is_open(self) -> bool:
        return self.state in (CalibrationState.QUEUED, CalibrationState.RUNNING)


class CalibrationResult(models.Model):
    """One example in a calibration: people's labels as they were when it started, and the judge's answer."""

    calibration = models.ForeignKey(
        Calibration, on_delete=models.PROTECT, related_name="results", db_index=False
    )
    # In the order of the examples, from 0.
    position = models.PositiveIntegerField()
    example = models.ForeignKey(Example, on_delete=models.PROTECT, related_name="calibration_results")
    # [{"person": NAME, "label": PASS or FAIL}], and what they amount to; NULL: people are split.
    labels = JSONField(default=list)
    truth = models.CharField(max_length=4, choices=LabelValue, null=True)
    outcome = models.CharField(
        max_length=8, choices=CalibrationOutcome, default=CalibrationOutcome.WAITING, blank=True
    )
    # Whether the judge and people agree; NULL while unknown and where the example is left out.
    agrees = models.BooleanField(null=True)

    # The judge's answer; NULL and empty where it gave none.
    score = models.FloatField(null=True, blank=True)
    confidence = models.FloatField(null=True, blank=True)
    reason = models.TextField(blank=True)
    quotes = ExactJSONField(default=list)
    dropped_quotes = models.PositiveIntegerField(default=0)
    error_kind = models.CharField(max_length=20, blank=True)
    error_detail = models.TextField(blank=True)
    # Exactly what was sent and what came back.
    shown = models.TextField(blank=True)
    answered = models.TextField(blank=True)
    attempts = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["calibration", "position"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["calibration", "position"], name="calibration_position_is_unique"
            ),
            models.UniqueConstraint(fields=["calibration", "example"], name="calibration_example_is_unique"),
            models.CheckConstraint(
                condition=Q(outcome__in=CalibrationOutcome.values), name="calibration_outcome_is_known"
            ),
            models.CheckConstraint(
                condition=Q(truth__isnull=True, outcome=CalibrationOutcome.LEFT_OUT)
                | Q(truth__isnull=False) & ~Q(outcome=CalibrationOutcome.LEFT_OUT),
                name="calibration_leaves_out_what_people_are_split_over",
            ),
            models.CheckConstraint(
                condition=Q(
                    agrees__isnull=True, outcome__in=[CalibrationOutcome.WAITING, CalibrationOutcome.LEFT_OUT]
                )
                | Q(agrees=True, outcome=F("truth"))
                | Q(
                    agrees=False,
                    outcome__in=[CalibrationOutcome.PASS, CalibrationOutcome.FAIL, CalibrationOutcome.ERROR],
                )
                & ~Q(outcome=F("truth")),
                name="calibration_agrees_is_right",
            ),
        ]

    def __str__(self) -> str:
        return f"example {self.position + 1} of calibration {self.calibration_id}"

    @property
    def told_labels(self) -> str:
        """Who labelled it; and what each said, where they differ."""
        says = {one["label"] for one in self.labels}
        words = [
            one["person"] if len(says) == 1 else f"{one['person']} {one['label']}" for one in self.labels
        ]
        return ", ".join(words)


class ComparisonJudge(models.Model):
    """A judge and a rubric by which a comparison has verdicts: its pages need not look through them."""

    comparison = models.ForeignKey(
        "Comparison", on_delete=models.PROTECT, related_name="judges", db_index=False
    )
    # SHA-256 over the other columns.
    digest = models.CharField(max_length=64)
    provider = models.CharField(max_length=50)
    model = models.CharField(max_length=200)
    judge_label = models.CharField(max_length=50)
    prompt_version = models.CharField(max_length=50)
    prompt_sha256 = models.CharField(max_length=64)
    criterion = models.TextField()
    rubric_sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ["comparison", "id"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["comparison", "digest"], name="comparison_judge_is_unique"),
        ]

    def __str__(self) -> str:
        return f"{self.provider} on {self.criterion}"

    @property
    def identity(self) -> JudgeIdentity:
        return JudgeIdentity(self.provider, self.model, self.prompt_version, self.prompt_sha256)
