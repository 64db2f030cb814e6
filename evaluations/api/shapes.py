"""The shapes of comparisons and cases: what the description says of them, and how rows become them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse
from rest_framework import serializers

from agenttwin_site.api.views import absolute
from evaluations.api.judge_shapes import JudgedByShape
from evaluations.api.judgements import JudgementShape, judgement_json
from evaluations.case_filter import CLASSES
from evaluations.holdouts import shown_reason
from evaluations.models import (
    CaseState,
    Comparison,
    ComparisonState,
    ExpectationResult,
    PairedCase,
    ResultStatus,
    Verdict,
)
from evaluations.page_queries import case_path, class_of, is_open
from evaluations.page_queries.counts import ClassCounts
from evaluations.page_queries.judged import JudgedBy
from evaluations.page_queries.verdicts import Judged
from evaluations.reporting.report import BLOCKING
from scenarios.holdouts import sight_of
from scenarios.models import Purpose, Severity
from twins.document_api import person


class SummaryShape(serializers.Serializer):
    """Cases by class."""

    NEW_CRITICAL_FAILURE = serializers.IntegerField()
    REGRESSED = serializers.IntegerField()
    IMPROVED = serializers.IntegerField()
    UNCHANGED = serializers.IntegerField()
    INCOMPLETE = serializers.IntegerField()


class SelectionShape(serializers.Serializer):
    scenarios = serializers.ListField(child=serializers.CharField())
    tags = serializers.ListField(child=serializers.CharField())
    dataset = serializers.CharField(allow_null=True)


class UsedDatasetShape(serializers.Serializer):
    """The frozen dataset whose cases these are."""

    name = serializers.CharField()
    version = serializers.IntegerField()
    purpose = serializers.ChoiceField(choices=Purpose.values)
    sha256 = serializers.CharField()
    self = serializers.URLField()


class ProgressShape(serializers.Serializer):
    cases = serializers.IntegerField(help_text="Cases of both sides.")
    ended = serializers.IntegerField(help_text="How many of them have ended.")


class ComparisonLinks(serializers.Serializer):
    self = serializers.URLField()
    page = serializers.URLField()
    cases = serializers.URLField()
    report = serializers.URLField()
    statistics = serializers.URLField()
    cancel = serializers.URLField()
    rerun = serializers.URLField()


class ComparisonShape(serializers.Serializer):
    """A comparison and how far it is. It has ended when its state is neither QUEUED nor RUNNING."""

    id = serializers.IntegerField()
    agent = serializers.CharField()
    baseline = serializers.CharField(allow_null=True, help_text="null: the candidate was tried alone.")
    candidate = serializers.CharField()
    seed = serializers.IntegerField()
    trials = serializers.IntegerField(allow_null=True, help_text="null: as many as each scenario says.")
    selection = SelectionShape(help_text="What was asked for; nothing named is every scenario of the agent.")
    key = serializers.CharField(allow_null=True, help_text="The Idempotency-Key of its request.")
    state = serializers.ChoiceField(choices=ComparisonState.values)
    reason = serializers.CharField(allow_blank=True, help_text="Why it is incomplete, cancelled or failed.")
    dataset = UsedDatasetShape(allow_null=True, help_text="null: scenarios were selected otherwise.")
    summary = SummaryShape()
    pending = serializers.IntegerField(help_text="Cases that have no class yet.")
    progress = ProgressShape()
    blocks = serializers.BooleanField(
        allow_null=True,
        help_text="Whether anything new fails or is missing; null while it runs.",
    )
    model_kinds = serializers.ListField(child=serializers.CharField(), help_text="What answered, honestly.")
    judges = JudgedByShape(many=True, help_text="Who graded what needed a reader, and what that is worth.")
    created_by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    links = ComparisonLinks()


class DivergenceShape(serializers.Serializer):
    """The first step in which the two sides part."""

    step = serializers.IntegerField()
    kind = serializers.CharField()
    summary = serializers.CharField(allow_blank=True)
    meaning = serializers.CharField(allow_blank=True, allow_null=True)
    baseline = serializers.CharField(allow_blank=True, allow_null=True)
    candidate = serializers.CharField(allow_blank=True, allow_null=True)


# Once and for all: a serializer copies its fields each time it is asked for them.
_CLASSES = tuple(SummaryShape().fields)
_DIVERGENCE = tuple(DivergenceShape().fields)


class SideShape(serializers.Serializer):
    """What one version did in a case."""

    state = serializers.ChoiceField(choices=CaseState.values)
    verdict = serializers.ChoiceField(
        choices=Verdict.values, allow_null=True, help_text="As reviewers left it; null until it has ended."
    )
    claimed_outcome = serializers.CharField(allow_null=True, help_text="The agent's own claim.")
    contradiction = serializers.BooleanField(help_text="It claimed success, verification says otherwise.")
    tool_calls = serializers.IntegerField()
    retries = serializers.IntegerField()
    error_reason = serializers.CharField(allow_blank=True)
    final_state_digest = serializers.CharField(allow_null=True)


class ResultShape(serializers.Serializer):
    """The grade of one expectation."""

    result = serializers.IntegerField(help_text="The number under which it can be reviewed.")
    id = serializers.CharField(help_text="The expectation's id in its scenario.")
    type = serializers.CharField()
    critical = serializers.BooleanField()
    status = serializers.ChoiceField(choices=ResultStatus.values, help_text="As reviewers left it.")
    measured_status = serializers.ChoiceField(choices=ResultStatus.values)
    label = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    evidence = serializers.DictField()
    judgement = JudgementShape(allow_null=True, help_text="null where no judge was to be asked.")


class FullSideShape(SideShape):
    metrics = serializers.DictField()
    answer = serializers.DictField(allow_null=True, help_text="The agent's own account: a claim.")
    results = ResultShape(many=True)


class CaseLinks(serializers.Serializer):
    self = serializers.URLField()
    page = serializers.URLField()
    comparison = serializers.URLField()
    calls = serializers.URLField()
    trajectory = serializers.URLField()
    divergence = serializers.URLField()


class _CaseShape(serializers.Serializer):
    id = serializers.IntegerField()
    comparison = serializers.IntegerField()
    scenario = serializers.CharField()
    scenario_version = serializers.IntegerField()
    twin = serializers.CharField()
    twin_version = serializers.IntegerField()
    trial = serializers.IntegerField()
    rerun_of = serializers.IntegerField(
        allow_null=True, help_text="The case that could not be graded and in whose place this one counts."
    )
    replaced = serializers.BooleanField(help_text="It was run again and counts nowhere.")
    seed = serializers.IntegerField()
    severity = serializers.ChoiceField(choices=Severity.values)
    reason = serializers.CharField(allow_blank=True)
    newly_failing = serializers.ListField(child=serializers.CharField())
    flags = serializers.ListField()
    first_divergence = DivergenceShape(allow_null=True)
    links = CaseLinks()

    def get_fields(self) -> Any:
        fields = super().get_fields()
        fields["class"] = serializers.ChoiceField(
            choices=list(CLASSES), allow_null=True, help_text="null while the comparison runs."
        )
        return fields


class CaseShape(_CaseShape):
    """One trial of one scenario, with what both sides did in it."""

    baseline = SideShape(allow_null=True, help_text="null without a baseline.")
    candidate = SideShape()


class FullCaseShape(_CaseShape):
    """A case with its results, metrics and answers."""

    baseline = FullSideShape(allow_null=True, help_text="null without a baseline.")
    candidate = FullSideShape()


def comparison_json(
    request: Any,
    row: Comparison,
    *,
    counts: ClassCounts,
    ended: int | None,
    model_kinds: tuple[str, ...],
    judges: Sequence[JudgedBy],
) -> dict[str, Any]:
    """`ended`: cases of both sides that have ended; None for all."""
    sight = sight_of(request.user)
    at = f"{reverse('api:comparisons')}{row.pk}/"
    cases = len(row.sides) * counts.total
    blocks = None if is_open(row) else counts.total == 0 or counts.of(BLOCKING) > 0
    if row.state in (ComparisonState.CANCELLED, ComparisonState.FAILED, ComparisonState.INCOMPLETE):
        blocks = True
    return {
        "id": row.pk,
        "agent": row.agent.name,
        "baseline": row.baseline_version,
        "candidate": row.candidate.version,
        "seed": row.seed,
        "trials": row.trials,
        "selection": {
            "scenarios": [name for name in row.selection.get("scenarios", []) if not sight.hides(name)],
            "tags": row.selection.get("tags", []),
            "dataset": row.selection.get("dataset"),
        },
        "key": row.key,
        "state": row.state,
        "reason": shown_reason(row, sight),
        "dataset": dataset_json(request, row),
        "summary": {name: counts[name] for name in _CLASSES},
        "pending": counts.pending,
        "progress": {"cases": cases, "ended": cases if ended is None else ended},
        "blocks": blocks,
        "model_kinds": list(model_kinds),
        "judges": [one.to_json() for one in judges],
        "created_by": person(row.created_by),
        "created_at": row.created_at,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
        "links": {
            "self": absolute(request, at),
            "page": absolute(request, reverse("evaluations:comparison", args=[row.pk])),
            "cases": absolute(request, f"{at}cases/"),
            "report": absolute(request, f"{at}report/"),
            "statistics": absolute(request, f"{at}statistics/"),
            "cancel": absolute(request, f"{at}cancel/"),
            "rerun": absolute(request, f"{at}rerun/"),
        },
    }


def dataset_json(request: Any, row: Comparison) -> dict[str, Any] | None:
    """The frozen dataset of a comparison, None where scenarios were selected otherwise."""
    version = row.dataset_version
    if version is None:
        return None
    at = reverse("api:datasets_version", args=[version.dataset.name, version.number])
    return {
        "name": version.dataset.name,
        "version": version.number,
        "purpose": version.purpose,
        "sha256": version.sha256,
        "self": absolute(request, at),
    }


def case_json(request: Any, pair: PairedCase, sides: Mapping[str, dict[str, Any] | None]) -> dict[str, Any]:
    """`sides` by lower-case name, None for a baseline there is none of.

    The comparison, the versions and the twin of the pair are loaded.
    """
    at = f"{reverse('api:cases')}{pair.pk}/"
    comparison = f"{reverse('api:comparisons')}{pair.comparison_id}/"
    return {
        "id": pair.pk,
        "comparison": pair.comparison_id,
        "scenario": pair.scenario_name,
        "scenario_version": pair.scenario_version.number,
        "twin": pair.twin_version.twin.name,
        "twin_version": pair.twin_version.number,
        "trial": pair.trial,
        "rerun_of": pair.rerun_of_id,
        "replaced": pair.replaced,
        "seed": pair.seed,
        "severity": pair.severity,
        "class": class_of(pair, pair.comparison),
        "reason": pair.reason,
        "newly_failing": pair.newly_failing,
        "flags": pair.flags,
        "first_divergence": divergence_json(pair.first_divergence),
        "baseline": sides["baseline"],
        "candidate": sides["candidate"],
        "links": {
            "self": absolute(request, at),
            "page": absolute(
                request,
                case_path(pair.comparison_id, pair.scenario_name, pair.trial, original=pair.replaced),
            ),
            "comparison": absolute(request, comparison),
            "calls": absolute(request, f"{at}calls/"),
            "trajectory": absolute(request, f"{at}trajectory/"),
            "divergence": absolute(request, f"{at}divergence/"),
        },
    }


def divergence_json(stored: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if stored is None else {name: stored.get(name) for name in _DIVERGENCE}


def result_json(request: Any, row: ExpectationResult, judged: Judged | None) -> dict[str, Any]:
    return {
        "result": row.pk,
        "id": row.expectation_id,
        "type": row.type,
        "critical": row.critical,
        "status": row.effective_status,
        "measured_status": row.status,
        "label": row.label,
        "reason": row.reason,
        "evidence": row.evidence,
        "judgement": judgement_json(request, judged),
    }
