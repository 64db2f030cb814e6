"""Cases in the API: lists, one with its results, its calls, where its sides part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404, QueryDict
from django.urls import re_path
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import ListQuery, NoQuery, list_of, listed, listing, page_of, read_query
from agenttwin_site.api.schema import operation
from agenttwin_site.api.views import ApiView
from evaluations.api.comparisons import ID, found
from evaluations.api.examples import CALL, CASE, DIVERGENCE, FULL_CASE
from evaluations.api.shapes import (
    CaseShape,
    DivergenceShape,
    FullCaseShape,
    case_json,
    divergence_json,
    result_json,
)
from evaluations.case_filter import CLASSES, SEVERITIES, CaseFilter
from evaluations.holdouts import HIDDEN, hides_cases, seen
from evaluations.models import Case, ExpectationResult, PairedCase, RecordKind, ToolCall
from evaluations.page_queries import WORST_FIRST, cases_of
from evaluations.page_queries.verdicts import judged_results
from scenarios.holdouts import DETAILS, Sight, sight_of

_READ = Access(("read", "run", "review"), "evaluations.view_pairedcase")
_RESULTS = Access(("read", "run", "review"), "evaluations.view_case")
_CALLS = Access(("read", "run", "review"), "evaluations.view_toolcall")
SIDES = ("baseline", "candidate")
_DOCUMENTS = ("document", "source_text")


class CaseQuery(ListQuery):
    severity = serializers.ChoiceField(
        choices=SEVERITIES, required=False, help_text="Of this severity alone."
    )
    tag = serializers.CharField(max_length=200, required=False, help_text="A tag of the scenario.")
    tool = serializers.CharField(max_length=200, required=False, help_text="A tool that either side called.")
    check = serializers.CharField(max_length=200, required=False, help_text="What newly fails.")
    q = serializers.CharField(max_length=200, required=False, help_text="A part of its name or of a reason.")

    def get_fields(self) -> Any:
        fields = super().get_fields()
        fields["class"] = serializers.ListField(
            child=serializers.ChoiceField(choices=list(CLASSES)),
            required=False,
            help_text="One or several classes.",
        )
        return fields


class AnyCaseQuery(ListQuery):
    comparison = serializers.IntegerField(
        min_value=1, max_value=2**63 - 1, required=False, help_text="Of this comparison alone."
    )
    scenario = serializers.CharField(max_length=200, required=False, help_text="The name of the scenario.")
    replaced = serializers.BooleanField(
        required=False, help_text="true: trials that were run again, which are left out otherwise."
    )


class CallQuery(ListQuery):
    side = serializers.ChoiceField(choices=SIDES, help_text="Whose calls.")


class RecordShape(serializers.Serializer):
    """What the twin recorded: a tool call (everything), or a search (`query`, `limit`, `documents`)."""

    seq = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=RecordKind.values)
    call_number = serializers.IntegerField(required=False)
    tool = serializers.CharField(required=False, allow_blank=True)
    arguments = serializers.JSONField(required=False)
    http_status = serializers.IntegerField(required=False, help_text="0: no answer reached the caller.")
    status = serializers.CharField(required=False)
    error_code = serializers.CharField(required=False, allow_null=True)
    response = serializers.JSONField(required=False)
    risk = serializers.CharField(required=False, allow_null=True)
    fault = serializers.CharField(required=False, allow_null=True)
    mutated = serializers.BooleanField(required=False)
    expects_mutation = serializers.BooleanField(required=False)
    replayed = serializers.BooleanField(required=False)
    redelivered = serializers.BooleanField(required=False)
    effect_key = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    cross_tenant = serializers.CharField(required=False, allow_null=True)
    policy_violation = serializers.CharField(required=False, allow_null=True)
    changes = serializers.ListField(child=serializers.DictField(), required=False)
    delay_ms = serializers.IntegerField(required=False)
    query = serializers.CharField(required=False, allow_blank=True)
    limit = serializers.IntegerField(required=False)
    documents = serializers.ListField(child=serializers.DictField(), required=False)


class CaseDivergenceShape(serializers.Serializer):
    """Where the sides of a case part; null where they never do, or nothing was compared yet."""

    case = serializers.IntegerField()
    first_divergence = DivergenceShape(allow_null=True)


CaseList = list_of("CaseList", CaseShape)
RecordList = list_of("RecordList", RecordShape)


class ComparisonCases(ApiView):
    access = {"GET": _READ}

    @operation(
        "Cases of a comparison, worst first",
        name="comparisons_cases",
        tag="cases",
        answers={200: CaseList},
        query=CaseQuery,
        example={"results": [CASE], "next": None, "previous": None},
    )
    def get(self, request: Any, pk: str) -> Response:
        query = read_query(request, CaseQuery)
        comparison = found(int(pk))
        sight = sight_of(request.user)
        if hides_cases(comparison, sight):
            raise PermissionDenied(f"You need a role with the permission {DETAILS}: {HIDDEN}.")
        rows = _for_list(cases_of(comparison, _filter(request.query_params), sight))
        page = page_of(request, rows, keys=WORST_FIRST, query=query)
        for pair in page.rows:
            pair.comparison = comparison
        return listed(request, page, _cases_json(request, page.rows))


class Cases(ApiView):
    access = {"GET": _READ}

    @operation(
        "Cases of all comparisons, newest first",
        name="cases_list",
        tag="cases",
        answers={200: CaseList},
        query=AnyCaseQuery,
        example={"results": [CASE], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, AnyCaseQuery)
        pairs = PairedCase.objects.replaced() if query.get("replaced") else PairedCase.objects.counted()
        rows = seen(pairs, sight_of(request.user))
        if "comparison" in query:
            rows = rows.filter(comparison=query["comparison"])
        if query.get("scenario"):
            rows = rows.filter(scenario_name=query["scenario"])
        page = page_of(
            request,
            _for_list(rows).select_related("comparison").defer("comparison__selection"),
            keys=("-pk",),
            query=query,
        )
        return listed(request, page, _cases_json(request, page.rows))


class OneCase(ApiView):
    access = {"GET": _RESULTS}

    @operation(
        "A case with its results",
        name="cases_detail",
        tag="cases",
        answers={200: FullCaseShape},
        example=FULL_CASE,
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        pair = found_case(int(pk), sight_of(request.user))
        cases = {case.run.side: case for case in Case.objects.filter(pair=pair).select_related("run")}
        results: dict[int, list[dict[str, Any]]] = {case.pk: [] for case in cases.values()}
        rows = list(ExpectationResult.objects.filter(case__in=list(results)).order_by("case_id", "position"))
        judged = judged_results(rows)
        for row in rows:
            results[row.case_id].append(result_json(request, row, judged.get(row.pk)))
        sides: dict[str, dict[str, Any] | None] = dict.fromkeys(SIDES)
        for name, case in cases.items():
            sides[name.lower()] = {
                **_side_json(case),
                "metrics": case.metrics,
                "answer": case.answer,
                "results": results[case.pk],
            }
        return Response(case_json(request, pair, sides))


class Calls(ApiView):
    access = {"GET": _CALLS}

    @operation(
        "What the twin recorded of one side, in order",
        name="cases_calls",
        tag="cases",
        answers={200: RecordList},
        query=CallQuery,
        example={"results": [CALL], "next": None, "previous": None},
    )
    def get(self, request: Any, pk: str) -> Response:
        query = read_query(request, CallQuery)
        pair = found_case(int(pk), sight_of(request.user))
        return listing(
            request,
            ToolCall.objects.filter(case__pair=pair, case__run__side=query["side"].upper()),
            keys=("seq",),
            query=query,
            render=lambda row: row.to_record().to_json(),
        )


class CaseDivergence(ApiView):
    access = {"GET": _READ}

    @operation(
        "Where the sides of a case part",
        name="cases_divergence",
        tag="cases",
        answers={200: CaseDivergenceShape},
        example={"case": 61, "first_divergence": DIVERGENCE},
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        pair = found_case(int(pk), sight_of(request.user))
        return Response({"case": pair.pk, "first_divergence": divergence_json(pair.first_divergence)})


def found_case(pk: int, sight: Sight) -> PairedCase:
    """The paired case of an address. Raises Http404, also for one of a holdout that is hidden."""
    rows = (
        seen(PairedCase.objects.filter(pk=pk), sight)
        .select_related("comparison")
        .defer("comparison__selection")
    )
    pair = _for_list(rows).first()
    if pair is None:
        raise Http404(f"There is no case {pk}.")
    return pair


def _for_list(rows: Any) -> Any:
    """With the names and numbers of what is pinned, the documents left in the database."""
    content = [
        f"{version}__{name}" for version in ("scenario_version", "twin_version") for name in _DOCUMENTS
    ]
    return rows.select_related("scenario_version", "twin_version__twin").defer(*content)


def _cases_json(request: Any, pairs: Sequence[PairedCase]) -> list[dict[str, Any]]:
    """One query for all their sides."""
    sides: dict[int, dict[str, Any]] = {pair.pk: dict.fromkeys(SIDES) for pair in pairs}
    rows = (
        Case.objects.filter(pair__in=list(sides)).select_related("run").defer("answer", "metrics").order_by()
    )
    for case in rows:
        sides[case.pair_id][case.run.side.lower()] = _side_json(case)
    return [case_json(request, pair, sides[pair.pk]) for pair in pairs]


def _side_json(case: Case) -> dict[str, Any]:
    return {
        "state": case.state,
        "verdict": case.effective_verdict,
        "claimed_outcome": case.claimed_outcome,
        "contradiction": case.contradiction,
        "tool_calls": case.tool_call_count,
        "retries": case.retry_count,
        "error_reason": case.error_reason,
        "final_state_digest": case.final_state_digest or None,
    }


def _filter(query: QueryDict) -> CaseFilter:
    return CaseFilter.from_query(query)


urlpatterns = [
    re_path(rf"^comparisons/(?P<pk>{ID})/cases/$", ComparisonCases.as_view(), name="comparison_cases"),
    re_path(r"^cases/$", Cases.as_view(), name="cases"),
    re_path(rf"^cases/(?P<pk>{ID})/$", OneCase.as_view(), name="case"),
    re_path(rf"^cases/(?P<pk>{ID})/calls/$", Calls.as_view(), name="case_calls"),
    re_path(rf"^cases/(?P<pk>{ID})/divergence/$", CaseDivergence.as_view(), name="case_divergence"),
]
