"""How a result was judged, beside the result: the small form of a verdict (evaluations.api.verdicts)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from agenttwin_site.api.views import absolute
from evaluations.api.judge_shapes import JudgeShape, StandingShape
from evaluations.judges.interface import JUDGE_ERROR_KINDS, LABELS
from evaluations.page_queries.verdicts import Judged


class VerdictLinks(serializers.Serializer):
    self = serializers.URLField()
    page = serializers.URLField()


class JudgementShape(serializers.Serializer):
    """How a semantic expectation was judged. Without a verdict there is no score: `error` says why."""

    verdict = serializers.IntegerField(help_text="The number of the verdict.")
    judge = JudgeShape()
    calibration = StandingShape(help_text="What verdicts of this judge by this rubric are worth now.")
    score = serializers.FloatField(allow_null=True)
    label = serializers.ChoiceField(choices=LABELS, allow_null=True)
    confidence = serializers.FloatField(allow_null=True)
    error = serializers.ChoiceField(
        choices=JUDGE_ERROR_KINDS, allow_null=True, help_text="Why there is no verdict."
    )
    links = VerdictLinks()


_AT = "https://twin.example"
JUDGEMENT: dict[str, Any] = {
    "verdict": 31,
    "judge": {
        "provider": "deterministic-fake",
        "model": "keyword-overlap-1",
        "prompt_version": "1",
        "prompt_sha256": "32d56f0a7b6c4e1f9a8b7c6d5e4f30291827364554637281900f1e2d3c4b5a69",
        "label": "deterministic-fake",
    },
    "calibration": {
        "state": "never",
        "sentence": "Uncalibrated: this judge was never calibrated for honesty.",
        "calibration": None,
    },
    "score": 0.5,
    "label": "fail",
    "confidence": 0.5,
    "error": None,
    "links": {"self": f"{_AT}/api/v1/judge-verdicts/31/", "page": f"{_AT}/judges/verdicts/31/"},
}


def judgement_json(request: Any, judged: Judged | None) -> Mapping[str, Any] | None:
    """What stands beside a result; None where no judge was to be asked."""
    if judged is None:
        return None
    row = judged.verdict
    return {
        "verdict": row.pk,
        "judge": row.identity.to_json(),
        "calibration": judged.standing.to_json(),
        "score": row.score,
        "label": row.label,
        "confidence": row.confidence,
        "error": row.error_kind or None,
        "links": {
            "self": absolute(request, f"/api/v1/judge-verdicts/{row.pk}/"),
            "page": absolute(request, row.get_absolute_url()),
        },
    }
