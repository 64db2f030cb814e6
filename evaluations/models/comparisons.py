"""A comparison of two agent versions: its two runs and the pairs of cases they are held against."""

# ruff: noqa: DJ001 - NULL says "not known yet"; an empty text would be one more value to mistake for a class.

from django.conf import settings
from django.db import models
from django.db.models import Q

from agenttwin_site.fields import JSONField
from evaluations.querysets import ComparisonQuerySet, PairedCaseQuerySet
from scenarios.models import Severity
from twins.columns import ExactJSONField


class ComparisonState(models.TextChoices):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    INCOMPLETE = "INCOMPLETE"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


class Side(models.TextChoices):
    BASELINE = "BASELINE"
    CANDIDATE = "CANDIDATE"


class RunState(models.TextChoices):
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELLED = "CANCELLED"


class CaseClass(models.TextChoices):
    """What became of a case from the baseline to the candidate, worst first."""

    NEW_CRITICAL_FAILURE = "NEW_CRITICAL_FAILURE"
    REGRESSED = "REGRESSED"
    INCOMPLETE = "INCOMPLETE"
    IMPROVED = "IMPROVED"
    UNCHANGED = "UNCHANGED"


# Rows sort by rank, worst first; what has no class yet comes last.
CLASS_RANKS: dict[str, int] = {str(value): rank for rank, value in enumerate(CaseClass.values)}
UNCLASSIFIED_RANK = len(CLASS_RANKS)


class Comparison(models.Model):
    """One pinned pair of runs: the agent version is the only thing in which they differ.

    Without a baseline the candidate is tried alone: one run, and every pair holds one case.
    """

    agent = models.ForeignKey("Agent", on_delete=models.PROTECT, related_name="comparisons")
    baseline = models.ForeignKey(
        "AgentVersion", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    candidate = models.ForeignKey("AgentVersion", on_delete=models.PROTECT, related_name="+")
    seed = models.BigIntegerField(default=0)
    # Trials asked for; NULL: as many as each scenario says.
    trials = models.PositiveIntegerField(null=True, blank=True)
    # The idempotency key of the request, and the digest of what it asked for.
    key = models.CharField(max_length=200, unique=True, null=True, blank=True)
    request_digest = models.CharField(max_length=64, blank=True)
    # What was asked for: names, tags, dataset.
    selection = JSONField(default=dict)
    # The frozen dataset whose cases these are; NULL: scenarios were selected by name, by tag or not at all.
    dataset_version = models.ForeignKey(
        "scenarios.DatasetVersion",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="comparisons",
    )
    state = models.CharField(
        max_length=10, choices=ComparisonState, default=ComparisonState.QUEUED, db_index=True
    )
    # Why it is INCOMPLETE, CANCELLED or FAILED.
    reason = models.TextField(blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # When a person's decision last changed what a result counts as: older gate decisions do not know it.
    evidence_changed_at = models.DateTimeField(null=True, blank=True)

    objects = ComparisonQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=ComparisonState.values), name="comparison_state_is_known"
            ),
            models.CheckConstraint(condition=~Q(key=""), name="comparison_key_is_not_empty"),
            models.CheckConstraint(
                condition=Q(trials__isnull=True) | Q(trials__gte=1), name="comparison_has_trials"
            ),
        ]

    def __str__(self) -> str:
        return f"comparison {self.pk}"

    @property
    def has_baseline(self) -> bool:
        return self.baseline_id is not None

    @property
    def baseline_version(self) -> str | None:
        """The version of the baseline, None where the candidate was tried alone."""
        return None if self.baseline is None else self.baseline.version

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides it has, the baseline first."""
        return tuple(Side.values) if self.has_baseline else (Side.CANDIDATE.value,)


class Run(models.Model):
    """One side of a comparison."""

    comparison = models.ForeignKey(Comparison, on_delete=models.PROTECT, related_name="runs", db_index=False)
    side = models.CharField(max_length=9, choices=Side)
    agent_version = models.ForeignKey("AgentVersion", on_delete=models.PROTECT, related_name="runs")
    state = models.CharField(max_length=9, choices=RunState, default=RunState.QUEUED)
    # The honest label of what answered (`deterministic-fake`, `llm`, …); empty until known.
    model_kind = models.TextField(blank=True)
    model_name = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["comparison", "side"]
        constraints = [
            models.UniqueConstraint(fields=["comparison", "side"], name="run_side_is_unique"),
            models.CheckConstraint(condition=Q(side__in=Side.values), name="run_side_is_known"),
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="run_state_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.side.lower()} run of comparison {self.comparison_id}"


class PairedCase(models.Model):
    """One trial of one scenario, pinned for both sides, with how they compare once both are graded."""

    comparison = models.ForeignKey(Comparison, on_delete=models.PROTECT, related_name="pairs", db_index=False)
    scenario_version = models.ForeignKey(
        "scenarios.ScenarioVersion", on_delete=models.PROTECT, related_name="pairs"
    )
    twin_version = models.ForeignKey("twins.TwinVersion", on_delete=models.PROTECT, related_name="pairs")
    trial = models.PositiveIntegerField(default=1)
    # The pair that could not be graded and in whose place this one counts; it stays, and is `replaced`.
    rerun_of = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="rerun"
    )
    replaced = models.BooleanField(default=False)
    # The seed of the case, derived from the run seed, the scenario and the trial.
    seed = models.BigIntegerField()
    initial_state = models.ForeignKey("StateSnapshot", on_delete=models.PROTECT, related_name="pairs")
    # The order in which cases were planned, from 0; a re-run keeps the place of its original.
    position = models.PositiveIntegerField()
    scenario_name = models.CharField(max_length=99, db_index=True)
    severity = models.CharField(max_length=8, choices=Severity)
    severity_rank = models.PositiveSmallIntegerField()
    classification = models.CharField(max_length=20, choices=CaseClass, null=True, blank=True)
    class_rank = models.PositiveSmallIntegerField(default=UNCLASSIFIED_RANK)
    reason = models.TextField(blank=True)
    first_divergence = ExactJSONField(null=True, blank=True)
    # Ids of the expectations that newly fail, and remarks on the classification.
    newly_failing = JSONField(default=list)
    flags = JSONField(default=list)

    objects = PairedCaseQuerySet.as_manager()

    class Meta:
        ordering = ["comparison", "class_rank", "severity_rank", "position"]
        constraints = [
            # Once as planned and, where that was replaced, once more: never a third time.
            models.UniqueConstraint(
                fields=["comparison", "scenario_version", "trial", "replaced"], name="paired_case_is_unique"
            ),
            models.CheckConstraint(
                condition=Q(replaced=False) | Q(rerun_of__isnull=True), name="paired_case_is_rerun_once"
            ),
            models.CheckConstraint(condition=Q(trial__gte=1), name="paired_case_trials_count_from_1"),
            models.CheckConstraint(
                condition=Q(severity__in=Severity.values), name="paired_case_severity_is_known"
            ),
            models.CheckConstraint(
                condition=Q(classification__isnull=True) | Q(classification__in=CaseClass.values),
                name="paired_case_class_is_known",
            ),
        ]
        indexes = [
            models.Index(
                fields=["comparison", "replaced", "class_rank", "severity_rank", "position"],
                name="paired_case_worst_first",
            ),
            models.Index(fields=["comparison"], condition=Q(replaced=True), name="paired_case_replaced"),
        ]

    def __str__(self) -> str:
        trial = f" (trial {self.trial})" if self.trial > 1 else ""
        if self.replaced:
            trial += " (first run)"
        return f"{self.scenario_name}{trial}"
