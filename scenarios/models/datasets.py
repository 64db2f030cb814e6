"""Datasets: named lists of scenario versions, frozen under a hash."""

from django.conf import settings
from django.db import models

from scenarios.querysets import DatasetQuerySet, DatasetVersionQuerySet
from twins.columns import ExactJSONField


class Purpose(models.TextChoices):
    """What a dataset is for: to work with, or to be kept from those who write what it measures."""

    DEVELOPMENT = "development"
    HOLDOUT = "holdout"


class Dataset(models.Model):
    """A named suite of cases; what is in it is in its versions."""

    name = models.CharField(max_length=99, unique=True)
    current_version = models.ForeignKey(
        "DatasetVersion",
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        db_index=False,
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = DatasetQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=~models.Q(name=""), name="dataset_has_a_name"),
        ]
        permissions = [("view_holdout_details", "Can see the cases of a holdout")]

    def __str__(self) -> str:
        return self.name


class DatasetVersion(models.Model):
    """One frozen content of a dataset: its cases, each with the scenario version it was frozen with."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    purpose = models.CharField(max_length=11, choices=Purpose)
    # Over the purpose and the cases with the contents of their scenarios: what is measured with it.
    sha256 = models.CharField(max_length=64, db_index=True)
    # Over that and what the document says about the dataset; equal ones are one version.
    digest = models.CharField(max_length=64)
    description = models.TextField(blank=True)
    owner = models.TextField(blank=True)
    # The one agent whose scenarios these are; empty where none of them names any.
    agent_name = models.TextField(blank=True)
    case_count = models.PositiveIntegerField()
    document = ExactJSONField()
    source_text = models.TextField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = DatasetVersionQuerySet.as_manager()

    class Meta:
        ordering = ["dataset", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["dataset", "number"], name="dataset_version_number_is_unique"),
            models.CheckConstraint(condition=models.Q(number__gte=1), name="dataset_version_counts_from_1"),
            models.CheckConstraint(
                condition=models.Q(case_count__gte=1), name="dataset_version_is_not_empty"
            ),
            models.CheckConstraint(
                condition=models.Q(purpose__in=Purpose.values), name="dataset_purpose_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.dataset.name}@{self.number}"

    @property
    def is_holdout(self) -> bool:
        return self.purpose == Purpose.HOLDOUT


class DatasetCase(models.Model):
    """One case of a frozen dataset, under an id that stays with its scenario from version to version."""

    version = models.ForeignKey(
        DatasetVersion, on_delete=models.PROTECT, related_name="cases", db_index=False
    )
    # From 0, in the order of the document.
    position = models.PositiveIntegerField()
    case_id = models.CharField(max_length=100)
    scenario_version = models.ForeignKey(
        "ScenarioVersion", on_delete=models.PROTECT, related_name="dataset_cases"
    )
    # Who answers for the label, and why it is right.
    owner = models.TextField(blank=True)
    why = models.TextField(blank=True)

    class Meta:
        ordering = ["version", "position"]
        constraints = [
            models.UniqueConstraint(fields=["version", "position"], name="dataset_case_position_is_unique"),
            models.UniqueConstraint(fields=["version", "case_id"], name="dataset_case_id_is_unique"),
            models.UniqueConstraint(
                fields=["version", "scenario_version"], name="dataset_case_scenario_is_unique"
            ),
        ]

    def __str__(self) -> str:
        return self.case_id
