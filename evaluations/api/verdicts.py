"""Verdicts of judges in the API: what each was shown and what it answered, and which there are."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import re_path
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import ListQuery, NoQuery, list_of, listed, page_of, read_query
from agenttwin_site.api.schema import operation
from agenttwin_site.api.views import ApiView
from evaluations.api.comparisons import ID
from evaluations.api.judgements import JUDGEMENT, JudgementShape, judgement_json
from evaluations.judges.interface import JUDGE_ERROR_KINDS
from evaluations.models import JudgeVerdict, ResultStatus
from evaluations.page_queries.verdicts import Judged, judged_rows, verdict_at, verdicts_seen
from scenarios.holdouts import sight_of

_READ = Access(("read", "run", "review"), "evaluations.view_judgeverdict")
_INT64 = 2**63 - 1


class QuoteShape(serializers.Serializer):
    source = serializers.CharField(help_text="answer, customer_message or tool_call:N.")
    text = serializers.CharField()


class VerdictShape(JudgementShape):
    """A verdict for a list: everything but the long texts."""

    result = serializers.IntegerField(allow_null=True, help_text="The result it gave; null in a session.")
    session = serializers.IntegerField(allow_null=True)
    expectation = serializers.CharField()
    status = serializers.ChoiceField(choices=ResultStatus.values)
    criterion = serializers.CharField()
    rubric_sha256 = serializers.CharField()
    threshold = serializers.FloatField()
    reason = serializers.CharField(allow_blank=True)
    error_detail = serializers.CharField(allow_blank=True)
    attempts = serializers.IntegerField(help_text="How often the judge was asked.")
    from_cache = serializers.BooleanField(help_text="The same question was answered before.")
    input_tokens = serializers.IntegerField(allow_null=True)
    output_tokens = serializers.IntegerField(allow_null=True)
    cost_usd = serializers.FloatField(allow_null=True, help_text="null: not known.")
    duration_ms = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class FullVerdictShape(VerdictShape):
    """A verdict with exactly what the judge was shown and answered, free of planted secrets."""

    quotes = QuoteShape(many=True)
    dropped_quotes = serializers.IntegerField(help_text="Quotes that were not in what it was shown.")
    shown = serializers.CharField(allow_blank=True)
    answered = serializers.CharField(allow_blank=True)


class VerdictQuery(ListQuery):
    comparison = serializers.IntegerField(
        min_value=1, max_value=_INT64, required=False, help_text="Of this comparison alone."
    )
    session = serializers.IntegerField(
        min_value=1, max_value=_INT64, required=False, help_text="Of this manual session alone."
    )
    status = serializers.ChoiceField(
        choices=ResultStatus.values, required=False, help_text="With this status alone, as measured."
    )
    error = serializers.ChoiceField(
        choices=JUDGE_ERROR_KINDS, required=False, help_text="Without a verdict for this reason."
    )
    criterion = serializers.CharField(max_length=200, required=False, help_text="On this criterion alone.")


VerdictList = list_of("VerdictList", VerdictShape)
_EXAMPLE: dict[str, Any] = {
    **JUDGEMENT,
    "result": 421,
    "session": None,
    "expectation": "says-what-happened",
    "status": "FAIL",
    "criterion": "honesty",
    "rubric_sha256": "9f2c4f0f6c5b1b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a098",
    "threshold": 0.7,
    "reason": "1 of 2 statements of the rubric have all their words in the answer (not a language model).",
    "error_detail": "",
    "attempts": 1,
    "from_cache": False,
    "input_tokens": 0,
    "output_tokens": 0,
    "cost_usd": 0.0,
    "duration_ms": 0,
    "created_at": "2026-11-29T20:15:00Z",
}
_FULL = {
    **_EXAMPLE,
    "quotes": [{"source": "answer", "text": "A specialist will finish it."}],
    "dropped_quotes": 0,
    "shown": "You grade one reply of a support agent by one rubric. …",
    "answered": '{"score": 0.5, "label": "fail", …}',
}


class Verdicts(ApiView):
    access = {"GET": _READ}

    @operation(
        "Verdicts of judges, newest first",
        name="judge_verdicts_list",
        tag="judges",
        answers={200: VerdictList},
        query=VerdictQuery,
        example={"results": [_EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, VerdictQuery)
        rows = verdicts_seen(JudgeVerdict.objects.all(), sight_of(request.user))
        if "comparison" in query:
            rows = rows.filter(result__case__run__comparison=query["comparison"])
        if "session" in query:
            rows = rows.filter(session=query["session"])
        exact = {"status": "status", "error": "error_kind", "criterion": "criterion"}
        rows = rows.filter(**{field: query[name] for name, field in exact.items() if query.get(name)})
        page = page_of(request, rows.defer("shown", "answered", "quotes"), keys=("-pk",), query=query)
        return listed(request, page, [_verdict_json(request, one) for one in judged_rows(page.rows)])


class OneVerdict(ApiView):
    access = {"GET": _READ}

    @operation(
        "A verdict with what its judge was shown and answered",
        name="judge_verdicts_detail",
        tag="judges",
        answers={200: FullVerdictShape},
        example=_FULL,
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        found = verdict_at(int(pk), sight_of(request.user))
        if found is None:
            raise Http404(f"There is no verdict {pk}.")
        row = found.verdict
        return Response(
            {
                **_verdict_json(request, found),
                "quotes": row.quotes,
                "dropped_quotes": row.dropped_quotes,
                "shown": row.shown,
                "answered": row.answered,
            }
        )


def _verdict_json(request: Any, judged: Judged) -> dict[str, Any]:
    row = judged.verdict
    return {
        **(judgement_json(request, judged) or {}),
        "result": row.result_id,
        "session": row.session_id,
        "expectation": row.expectation_id,
        **{name: getattr(row, name) for name in _PLAIN},
    }


_PLAIN = (
    "status", "criterion", "rubric_sha256", "threshold", "reason", "error_detail", "attempts", "from_cache",
    "input_tokens", "output_tokens", "cost_usd", "duration_ms", "created_at",
)  # fmt: skip

urlpatterns = [
    re_path(r"^judge-verdicts/$", Verdicts.as_view(), name="judge_verdicts"),
    re_path(rf"^judge-verdicts/(?P<pk>{ID})/$", OneVerdict.as_view(), name="judge_verdict"),
]
