"""Criteria, examples, labels and calibrations as the API writes them."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from agenttwin_site.api.views import absolute
from evaluations.grading.agreement import Agreement
from evaluations.models import (
    Calibration,
    CalibrationOutcome,
    CalibrationResult,
    CalibrationState,
    CriterionVersion,
    Example,
    Label,
    LabelValue,
)
from evaluations.services.calibration import Standing
from twins.document_api import person

STANDINGS = ("calibrated", "not_calibrated", "stale", "never")


class StandingShape(serializers.Serializer):
    """What the configured judge's verdicts by this rubric are worth."""

    state = serializers.ChoiceField(choices=STANDINGS)
    sentence = serializers.CharField()
    calibration = serializers.IntegerField(allow_null=True, help_text="The calibration that says so.")


class AgreementShape(serializers.Serializer):
    """How two readers agree. Undefined figures are null."""

    examples = serializers.IntegerField()
    agreed = serializers.IntegerField()
    agreement = serializers.FloatField(allow_null=True)
    kappa = serializers.FloatField(allow_null=True, help_text="Cohen's kappa.")
    kappa_low = serializers.FloatField(allow_null=True, help_text="The lower end of its 95% interval.")
    kappa_high = serializers.FloatField(allow_null=True)


class PeopleShape(AgreementShape):
    first = serializers.CharField()
    second = serializers.CharField()


class JudgeShape(serializers.Serializer):
    """Exactly which judge."""

    provider = serializers.CharField()
    model = serializers.CharField(allow_blank=True)
    prompt_version = serializers.CharField()
    prompt_sha256 = serializers.CharField()
    label = serializers.CharField(help_text="The honest label: deterministic-fake or llm.")


class JudgedByShape(serializers.Serializer):
    """A judge of a comparison, a criterion it judged by, and what its verdicts on that are worth."""

    judge = JudgeShape()
    criterion = serializers.CharField()
    standing = StandingShape()


class CriterionLinks(serializers.Serializer):
    self = serializers.URLField()
    page = serializers.URLField()
    examples = serializers.URLField()


class CriterionShape(serializers.Serializer):
    """One rubric of a criterion."""

    name = serializers.CharField()
    version = serializers.IntegerField()
    is_current = serializers.BooleanField()
    rubric = serializers.CharField()
    rubric_sha256 = serializers.CharField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    links = CriterionLinks()


class FullCriterionShape(CriterionShape):
    """One rubric of a criterion, with what people said of its examples and what the judge is worth."""

    judge = JudgeShape(allow_null=True, help_text="The configured judge; null: there is none.")
    standing = StandingShape(allow_null=True)
    examples = serializers.IntegerField()
    counted = serializers.IntegerField(help_text="Examples that people agree on.")
    split = serializers.IntegerField(help_text="Examples that people are split over: left out.")
    labelled_by = serializers.DictField(child=serializers.IntegerField())
    people = PeopleShape(many=True)


class ShownCallShape(serializers.Serializer):
    number = serializers.IntegerField()
    tool = serializers.CharField()
    text = serializers.CharField(allow_blank=True)


class MaterialShape(serializers.Serializer):
    answer = serializers.CharField()
    customer_message = serializers.CharField(allow_blank=True)
    tool_calls = ShownCallShape(many=True)


class GivenLabelShape(serializers.Serializer):
    person = serializers.CharField()
    label = serializers.ChoiceField(choices=LabelValue.values)


class ExampleLinks(serializers.Serializer):
    self = serializers.URLField()
    page = serializers.URLField()


class ExampleShape(serializers.Serializer):
    """Something for people and judge to read by a rubric."""

    id = serializers.IntegerField()
    criterion = serializers.CharField()
    version = serializers.IntegerField()
    material = MaterialShape()
    source = serializers.CharField(allow_blank=True)
    people = serializers.IntegerField(help_text="How many people labelled it.")
    own_label = serializers.ChoiceField(choices=LabelValue.values, allow_null=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    links = ExampleLinks()


class FullExampleShape(ExampleShape):
    """An example with its labels, once two people gave theirs and you, if you may, are one of them."""

    labels = GivenLabelShape(many=True, allow_null=True, help_text="null: not shown to you yet.")


class LabelShape(serializers.Serializer):
    """One of your own labels."""

    id = serializers.IntegerField()
    example = serializers.IntegerField()
    criterion = serializers.CharField()
    version = serializers.IntegerField()
    label = serializers.ChoiceField(choices=LabelValue.values)
    created_at = serializers.DateTimeField()
    taken_back_at = serializers.DateTimeField(allow_null=True)


class CalibrationLinks(serializers.Serializer):
    self = serializers.URLField()
    page = serializers.URLField()
    results = serializers.URLField()


class CalibrationShape(serializers.Serializer):
    """One run of one judge over the labelled examples of one rubric. Figures are null until COMPLETED."""

    id = serializers.IntegerField()
    criterion = serializers.CharField()
    version = serializers.IntegerField()
    judge = JudgeShape()
    threshold = serializers.FloatField()
    state = serializers.ChoiceField(choices=CalibrationState.values)
    reason = serializers.CharField(allow_blank=True, help_text="Why it FAILED.")
    counted = serializers.IntegerField(allow_null=True)
    agreed = serializers.IntegerField(allow_null=True)
    errors = serializers.IntegerField(allow_null=True, help_text="Each counted as a disagreement.")
    kappa = serializers.FloatField(allow_null=True, help_text="null when COMPLETED: undefined.")
    kappa_low = serializers.FloatField(allow_null=True)
    kappa_high = serializers.FloatField(allow_null=True)
    is_calibrated = serializers.BooleanField(allow_null=True)
    decision = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    links = CalibrationLinks()


class CellShape(serializers.Serializer):
    people = serializers.ChoiceField(choices=LabelValue.values)
    judge = serializers.ChoiceField(choices=["PASS", "FAIL", "ERROR"])
    examples = serializers.IntegerField()


class FullCalibrationShape(CalibrationShape):
    """A calibration with its confusion matrix, and whether it is what counts now."""

    matrix = CellShape(many=True)
    waiting = serializers.IntegerField()
    left_out = serializers.IntegerField(help_text="Examples that people are split over.")
    standing = StandingShape(allow_null=True, help_text="Of the judge that is configured now.")


class CalibrationResultShape(serializers.Serializer):
    """One example: people's labels as they were when it started, and the judge's answer."""

    example = serializers.IntegerField()
    position = serializers.IntegerField()
    labels = GivenLabelShape(many=True)
    truth = serializers.ChoiceField(
        choices=LabelValue.values, allow_null=True, help_text="null: people are split."
    )
    outcome = serializers.ChoiceField(
        choices=[value for value in CalibrationOutcome.values if value], allow_null=True
    )
    agrees = serializers.BooleanField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    confidence = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    error_kind = serializers.CharField(allow_blank=True)
    error_detail = serializers.CharField(allow_blank=True)


def criterion_json(request: Any, version: CriterionVersion) -> dict[str, Any]:
    """A version with its criterion loaded."""
    criterion = version.criterion
    own = reverse("api:criterion", args=[criterion.name])
    is_current = version.pk == criterion.current_version_id
    query = "" if is_current else f"?version={version.number}"
    listed = f"{reverse('api:examples')}?criterion={criterion.name}&version={version.number}"
    return {
        "name": criterion.name,
        "version": version.number,
        "is_current": is_current,
        "rubric": version.rubric,
        "rubric_sha256": version.rubric_sha256,
        "created_at": version.created_at,
        "created_by": person(version.created_by),
        "links": {
            "self": absolute(request, f"{own}{query}"),
            "page": absolute(request, version.get_absolute_url()),
            "examples": absolute(request, listed.replace(" ", "%20")),
        },
    }


def agreement_json(found: Agreement) -> dict[str, Any]:
    interval = found.interval
    return {
        "examples": found.total,
        "agreed": found.agreed,
        "agreement": None if found.share is None else float(found.share),
        "kappa": None if found.kappa is None else float(found.kappa),
        "kappa_low": None if interval is None else interval.low,
        "kappa_high": None if interval is None else interval.high,
    }


def standing_json(standing: Standing | None) -> dict[str, Any] | None:
    return None if standing is None else standing.to_json()


def example_json(request: Any, row: Example, *, people: int, own: str | None) -> dict[str, Any]:
    """An example with its version and criterion loaded."""
    version = row.criterion_version
    return {
        "id": row.pk,
        "criterion": version.criterion.name,
        "version": version.number,
        "material": row.material,
        "source": row.source,
        "people": people,
        "own_label": own or None,
        "created_at": row.created_at,
        "created_by": person(row.created_by),
        "links": {
            "self": absolute(request, f"{reverse('api:examples')}{row.pk}/"),
            "page": absolute(request, row.get_absolute_url()),
        },
    }


def label_json(row: Label) -> dict[str, Any]:
    version = row.example.criterion_version
    return {
        "id": row.pk,
        "example": row.example_id,
        "criterion": version.criterion.name,
        "version": version.number,
        "label": row.label,
        "created_at": row.created_at,
        "taken_back_at": row.taken_back_at,
    }


def calibration_json(request: Any, row: Calibration) -> dict[str, Any]:
    """A calibration with its version, criterion and author loaded."""
    own = f"{reverse('api:calibrations')}{row.pk}/"
    figures = ("counted", "agreed", "errors", "kappa", "kappa_low", "kappa_high", "is_calibrated")
    judge = ("provider", "model", "prompt_version", "prompt_sha256")
    return {
        "id": row.pk,
        "criterion": row.criterion_version.criterion.name,
        "version": row.criterion_version.number,
        "judge": {**{name: getattr(row, name) for name in judge}, "label": row.judge_label},
        "threshold": row.threshold,
        "state": row.state,
        "reason": row.reason,
        **{name: getattr(row, name) for name in figures},
        "decision": row.decision,
        "created_at": row.created_at,
        "created_by": person(row.created_by),
        "finished_at": row.finished_at,
        "links": {
            "self": absolute(request, own),
            "page": absolute(request, row.get_absolute_url()),
            "results": absolute(request, f"{own}results/"),
        },
    }


def result_json(row: CalibrationResult) -> dict[str, Any]:
    names = ("position", "labels", "truth", "agrees", "score", "confidence", "reason")
    return {
        "example": row.example_id,
        **{name: getattr(row, name) for name in names},
        "outcome": row.outcome or None,
        "error_kind": row.error_kind,
        "error_detail": row.error_detail,
    }
