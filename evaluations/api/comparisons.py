"""Comparisons in the API: start, list, look at, cancel, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Count
from django.http import Http404, HttpResponse
from django.urls import re_path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.keys import key_of, key_parameter
from agenttwin_site.api.lists import (
    ListQuery,
    NoQuery,
    Strict,
    list_of,
    listed,
    page_of,
    read_body,
    read_query,
)
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, created
from evaluations.api.examples import COMPARISON, REPORT, REQUEST
from evaluations.api.shapes import ComparisonShape, SummaryShape, comparison_json
from evaluations.api.trial_shapes import StatisticsShape
from evaluations.models import Case, CaseState, Comparison, ComparisonState
from evaluations.page_queries import is_open
from evaluations.page_queries.comparisons import with_counts
from evaluations.page_queries.judged import judged_by
from evaluations.reporting.json_format import render_json
from evaluations.reporting.junit_format import render_junit
from evaluations.reporting.markdown_format import render_markdown
from evaluations.reporting.report import ComparisonReport, load_report
from evaluations.reporting.text_format import render_text
from evaluations.services.comparisons import cancel_comparison, start_comparison
from evaluations.services.requests import MAX_TRIALS
from scenarios.holdouts import sight_of

ID = "[0-9]{1,18}"
_READ = Access(("read", "run"), "evaluations.view_comparison")
_START = Access(("run",), "evaluations.add_comparison")
_CANCEL = Access(("run",), "evaluations.change_comparison")
# How many names one request may list; more is a tag.
_MOST_NAMES = 10_000
_INT64 = 2**63


class ComparisonRequestShape(Strict):
    """Neither scenarios nor tags: every scenario of the agent. Both: everything that either selects."""

    agent = serializers.CharField(max_length=200)
    baseline = serializers.CharField(
        max_length=200,
        allow_null=True,
        help_text="The version in use. null, said outright: try the candidate alone.",
    )
    candidate = serializers.CharField(max_length=200, help_text="The version that might replace it.")
    scenarios = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=_MOST_NAMES
    )
    tags = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=_MOST_NAMES
    )
    dataset = serializers.CharField(
        max_length=200,
        required=False,
        allow_null=True,
        help_text="NAME or NAME@VERSION: exactly its cases as they were frozen; not with scenarios or tags.",
    )
    trials = serializers.IntegerField(min_value=1, max_value=MAX_TRIALS, required=False, allow_null=True)
    seed = serializers.IntegerField(min_value=-_INT64, max_value=_INT64 - 1, required=False)

    def validate(self, attrs: Any) -> Any:
        named = [name for name in ("scenarios", "tags") if name in attrs]
        if named and not any(attrs[name] for name in named) and not attrs.get("dataset"):
            raise serializers.ValidationError(
                dict.fromkeys(named, "selects nothing; leave it out to run every scenario of the agent")
            )
        return attrs


class ComparisonQuery(ListQuery):
    agent = serializers.CharField(max_length=200, required=False, help_text="The name of the agent.")
    state = serializers.ChoiceField(
        choices=ComparisonState.values, required=False, help_text="In this state alone."
    )


class ReportQuery(Strict):
    locals()["as"] = serializers.ChoiceField(
        choices=["json", "junit", "text", "markdown"],
        required=False,
        help_text="The format; json if not said.",
    )


class ReportSideShape(serializers.Serializer):
    verdict = serializers.CharField(allow_null=True)
    tool_calls = serializers.IntegerField()
    retries = serializers.IntegerField()
    results = serializers.ListField(child=serializers.DictField())
    final_state_digest = serializers.CharField(allow_null=True)


class ReportCaseShape(serializers.Serializer):
    scenario = serializers.CharField()
    trial = serializers.IntegerField(required=False, help_text="Only where scenarios were tried repeatedly.")
    severity = serializers.CharField()
    locals()["class"] = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    first_divergence = serializers.DictField(allow_null=True)
    baseline = ReportSideShape(allow_null=True)
    candidate = ReportSideShape()


class CallTotalsShape(serializers.Serializer):
    baseline = serializers.IntegerField(allow_null=True)
    candidate = serializers.IntegerField()


class ReportShape(serializers.Serializer):
    """The report, as `manage.py compare --format json` prints it."""

    id = serializers.IntegerField()
    agent = serializers.CharField()
    baseline = serializers.CharField(allow_null=True)
    candidate = serializers.CharField()
    seed = serializers.IntegerField()
    summary = SummaryShape()
    tool_calls = CallTotalsShape()
    cases = ReportCaseShape(many=True)
    statistics = StatisticsShape(required=False, help_text="Only where scenarios were tried repeatedly.")


ComparisonList = list_of("ComparisonList", ComparisonShape)
_KEY = key_parameter("The same request under the same key answers the same comparison.")
_FORMATS: dict[str, tuple[str, Callable[[ComparisonReport], str]]] = {
    "json": ("application/json", render_json),
    "junit": ("application/xml; charset=utf-8", render_junit),
    "text": ("text/plain; charset=utf-8", render_text),
    "markdown": ("text/markdown; charset=utf-8", render_markdown),
}


class Comparisons(ApiView):
    access = {"GET": _READ, "POST": _START}

    @operation(
        "Comparisons, newest first",
        name="comparisons_list",
        tag="comparisons",
        answers={200: ComparisonList},
        query=ComparisonQuery,
        example={"results": [COMPARISON], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, ComparisonQuery)
        rows = Comparison.objects.with_names()
        if query.get("agent"):
            rows = rows.filter(agent__name=query["agent"])
        if query.get("state"):
            rows = rows.filter(state=query["state"])
        page = page_of(request, rows, keys=("-pk",), query=query)
        return listed(request, page, comparisons_json(request, page.rows))

    @operation(
        "Start a comparison",
        name="comparisons_start",
        tag="comparisons",
        description=(
            "201: started. With `Idempotency-Key` the same request again is answered 200 with the same "
            "comparison, another request under the key 409. Unknown names and an empty selection are 400, "
            "all told at once."
        ),
        answers={201: ComparisonShape, 200: ComparisonShape},
        body=ComparisonRequestShape,
        body_example=REQUEST,
        parameters=[_KEY],
        example=COMPARISON,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, ComparisonRequestShape)
        comparison, is_new = start_comparison(
            agent=asked["agent"],
            baseline=asked["baseline"],
            candidate=asked["candidate"],
            scenarios=asked.get("scenarios", ()),
            tags=asked.get("tags", ()),
            dataset=asked.get("dataset"),
            trials=asked.get("trials"),
            seed=asked.get("seed", 0),
            key=key_of(request),
            actor=request.user,
        )
        return created(one_comparison(request, comparison.pk), is_new=is_new)


class OneComparison(ApiView):
    access = {"GET": _READ}

    @operation(
        "A comparison and how far it is",
        name="comparisons_detail",
        tag="comparisons",
        answers={200: ComparisonShape},
        example=COMPARISON,
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        return Response(one_comparison(request, int(pk)))


class CancelComparison(ApiView):
    access = {"POST": _CANCEL}

    @operation(
        "Cancel a comparison",
        name="comparisons_cancel",
        tag="comparisons",
        description="What has finished stays. One that has ended is a conflict (409, already_ended).",
        answers={200: ComparisonShape},
        example={**COMPARISON, "state": "CANCELLED", "reason": "cancelled by ann", "blocks": True},
        errors=WRITES,
    )
    def post(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        comparison = found(int(pk))
        cancel_comparison(comparison, actor=request.user)
        return Response(one_comparison(request, comparison.pk))


class IgnoreAccept(BaseContentNegotiation):
    """The address says what is answered, so no Accept header can refuse it."""

    def select_parser(self, request: Any, parsers: Sequence[Any]) -> Any:
        return parsers[0]

    def select_renderer(
        self, request: Any, renderers: Sequence[Any], format_suffix: str | None = None
    ) -> Any:
        return renderers[0], renderers[0].media_type


class Report(ApiView):
    access = {"GET": _READ}
    content_negotiation_class = IgnoreAccept

    @operation(
        "The report of a comparison",
        name="comparisons_report",
        tag="comparisons",
        description="Holds every case. While the comparison runs, cases without a class are INCOMPLETE.",
        answers={
            (200, "application/json"): OpenApiResponse(
                ReportShape, description="The report", examples=REPORT
            ),
            **{(200, kind): OpenApiTypes.STR for kind in ("application/xml", "text/plain", "text/markdown")},
        },
        query=ReportQuery,
    )
    def get(self, request: Any, pk: str) -> HttpResponse:
        chosen = read_query(request, ReportQuery).get("as", "json")
        comparison = found(int(pk))
        content_type, render = _FORMATS[chosen]
        return HttpResponse(
            render(load_report(comparison.pk, sight_of(request.user))), content_type=content_type
        )


def found(pk: int) -> Comparison:
    """The comparison of an address. Raises Http404."""
    comparison = Comparison.objects.with_names().filter(pk=pk).first()
    if comparison is None:
        raise Http404(f"There is no comparison {pk}.")
    return comparison


def comparisons_json(request: Any, rows: Sequence[Comparison]) -> list[dict[str, Any]]:
    """These comparisons with their counts: four queries, one of them only if any still runs.

    Two more where a judge graded.
    """
    ended = _ended_of([row.pk for row in rows if is_open(row)])
    judges = judged_by([row.pk for row in rows])
    return [
        comparison_json(
            request,
            row.comparison,
            counts=row.counts,
            ended=ended.get(row.comparison.pk, 0) if is_open(row.comparison) else None,
            model_kinds=row.model_kinds,
            judges=judges.get(row.comparison.pk, ()),
        )
        for row in with_counts(rows)
    ]


def one_comparison(request: Any, pk: int) -> dict[str, Any]:
    """A comparison as the API answers it."""
    return comparisons_json(request, [found(pk)])[0]


def _ended_of(open_ids: Sequence[int]) -> dict[int, int]:
    if not open_ids:
        return {}
    rows = (
        Case.objects.filter(
            run__comparison__in=open_ids,
            state__in=[CaseState.FINISHED, CaseState.CANCELLED],
            pair__replaced=False,
        )
        .order_by()
        .values_list("run__comparison_id")
        .annotate(number=Count("*"))
    )
    return dict(rows)


urlpatterns = [
    re_path(r"^comparisons/$", Comparisons.as_view(), name="comparisons"),
    re_path(rf"^comparisons/(?P<pk>{ID})/$", OneComparison.as_view(), name="comparison"),
    re_path(rf"^comparisons/(?P<pk>{ID})/cancel/$", CancelComparison.as_view(), name="comparison_cancel"),
    re_path(rf"^comparisons/(?P<pk>{ID})/report/$", Report.as_view(), name="comparison_report"),
]
