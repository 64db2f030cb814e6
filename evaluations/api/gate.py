"""The gate in the API: decide, list, read, verify, report, override."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4, uuid5

from django.http import Http404, HttpResponse
from django.urls import re_path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework import exceptions, serializers
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
from evaluations.api import gate_shapes as shapes
from evaluations.api.comparisons import ID, IgnoreAccept
from evaluations.holdouts import seen
from evaluations.models import Comparison, GateDecision, GateOutcome, GateOverride, PairedCase
from evaluations.models.gate import NOTE_MIN_LENGTH, TICKET_LENGTH
from evaluations.reporting.case_reports import case_reports
from evaluations.reporting.gate_formats import GATE_FORMATS
from evaluations.reporting.gate_report import GateReport, as_seen, gate_report
from evaluations.services.gate import evaluate, verification
from evaluations.services.gate_overrides import (
    MAX_REASON,
    OVERRIDE,
    override,
    standing_of,
    standings,
    withdraw_override,
)
from evaluations.services.gate_policies import DEFAULT
from scenarios.holdouts import sight_of

_LARGEST = 2**63 - 1
_READ = Access(("read", "run", "review"), "evaluations.view_gatedecision")
_DECIDE = Access(("run", "review"), "evaluations.add_gatedecision")
# A build's token has the scope run: what stops the build must not be able to let it through.
_OVERRIDE = Access(("review",), OVERRIDE)
_HOLDOUTS = "scenarios.view_holdout_details"
# Keys of two people are two requests.
_KEYS = UUID("7d1f1e3c-98d6-4c0e-9a58-1b1f5a6c7d20")
_TYPES = {
    "json": "application/json",
    "junit": "application/xml; charset=utf-8",
    "text": "text/plain; charset=utf-8",
    "markdown": "text/markdown; charset=utf-8",
}


class DecideShape(Strict):
    comparison = serializers.IntegerField(min_value=1, max_value=_LARGEST, help_text="One that has ended.")
    policy = serializers.CharField(max_length=100, required=False, help_text=f"{DEFAULT} if not said.")


class OverrideRequestShape(Strict):
    reason = serializers.CharField(min_length=NOTE_MIN_LENGTH, max_length=MAX_REASON)
    ticket = serializers.CharField(max_length=TICKET_LENGTH, help_text="Where it was agreed.")
    expires_at = serializers.DateTimeField(help_text="Within 90 days; it ends by itself.")


class WithdrawShape(Strict):
    reason = serializers.CharField(min_length=NOTE_MIN_LENGTH, max_length=MAX_REASON)


class DecisionQuery(ListQuery):
    agent = serializers.CharField(max_length=200, required=False, help_text="Of this agent alone.")
    comparison = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, required=False, help_text="On this comparison alone."
    )
    policy = serializers.CharField(max_length=100, required=False, help_text="By this policy alone.")
    outcome = serializers.ChoiceField(
        choices=GateOutcome.values, required=False, help_text="Decided so, overridden or not."
    )


class GateReportQuery(Strict):
    locals()["as"] = serializers.ChoiceField(
        choices=sorted(GATE_FORMATS), required=False, help_text="The format; json if not said."
    )


DecisionList = list_of("GateDecisionList", shapes.DecisionShape)
CaseReportList = list_of("GateCaseReportList", shapes.CaseReportShape)
_KEY = key_parameter("The same override again under the same key answers the same override.")


class Decisions(ApiView):
    access = {"GET": _READ, "POST": _DECIDE}

    @operation(
        "Decisions of the gate, newest first",
        name="gate_decisions_list",
        tag="gate",
        answers={200: DecisionList},
        query=DecisionQuery,
        example={"results": [shapes.DECISION], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, DecisionQuery)
        columns = {
            "agent": "comparison__agent__name",
            "comparison": "comparison",
            "policy": "policy__name",
            "outcome": "outcome",
        }
        chosen = {column: query[name] for name, column in columns.items() if query.get(name)}
        rows = GateDecision.objects.with_names().filter(**chosen)
        page = page_of(request, rows, keys=("-pk",), query=query)
        found = standings(page.rows)
        return listed(request, page, [shapes.decision_json(request, row, found[row.pk]) for row in page.rows])

    @operation(
        "Decide on a comparison",
        name="gate_decisions_decide",
        tag="gate",
        description=(
            "Asks every rule about a comparison as it stands now; always a new revision (201). One that "
            "still runs, was cancelled or failed is a conflict (409, not_ended): it could not be decided."
        ),
        answers={201: shapes.DecisionShape},
        body=DecideShape,
        body_example={"comparison": 7, "policy": "default"},
        example=shapes.DECISION,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, DecideShape)
        if not Comparison.objects.filter(pk=asked["comparison"]).exists():
            raise Http404(f"There is no comparison {asked['comparison']}.")
        made = evaluate(
            comparison_id=asked["comparison"], policy=asked.get("policy", DEFAULT), actor=request.user
        )
        return created(_one(request, _found(made.pk)), is_new=True)


class OneDecision(ApiView):
    access = {"GET": _READ}

    @operation(
        "A decision as it reads now",
        name="gate_decisions_detail",
        tag="gate",
        answers={200: shapes.DecisionShape},
        example=shapes.DECISION,
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        return Response(_one(request, _found(int(pk))))


class VerifyDecision(ApiView):
    access = {"GET": _READ}

    @operation(
        "Whether a stored decision is what was decided",
        name="gate_decisions_verify",
        tag="gate",
        answers={200: shapes.VerificationShape},
        example={"decision": 12, "verified": True, "problems": [], "sha256": shapes.DECISION["sha256"]},
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        decision = _whole(int(pk))
        found = verification(decision)
        return Response(
            {
                "decision": decision.pk,
                "verified": found.holds,
                "problems": list(found.problems),
                "sha256": decision.sha256,
            }
        )


class DecisionReport(ApiView):
    access = {"GET": _READ}
    content_negotiation_class = IgnoreAccept

    @operation(
        "The report of a decision",
        name="gate_decisions_report",
        tag="gate",
        description="Of a holdout, rules and counts; its cases for those who may look into it.",
        answers={
            (200, "application/json"): OpenApiResponse(
                shapes.GateReportShape,
                description="The report",
                examples=[OpenApiExample("Example", value=shapes.GATE_REPORT)],
            ),
            **{(200, kind): OpenApiTypes.STR for kind in ("application/xml", "text/plain", "text/markdown")},
        },
        query=GateReportQuery,
    )
    def get(self, request: Any, pk: str) -> HttpResponse:
        chosen = read_query(request, GateReportQuery).get("as", "json")
        report = _report(request, int(pk))
        base = request.build_absolute_uri("/").rstrip("/")
        return HttpResponse(GATE_FORMATS[chosen](report, base), content_type=_TYPES[chosen])


class DecisionCases(ApiView):
    access = {"GET": _READ}

    @operation(
        "One report for each trial of each case",
        name="gate_decisions_cases",
        tag="gate",
        description=(
            "What was expected, what was attempted (refused attempts too), what was left behind, and what "
            "differed. Those of a holdout need a permission of their own (403)."
        ),
        answers={200: CaseReportList},
        query=ListQuery,
        example={"results": [shapes.CASE_REPORT], "next": None, "previous": None},
    )
    def get(self, request: Any, pk: str) -> Response:
        query = read_query(request, ListQuery)
        comparison = _found(int(pk)).comparison
        dataset = comparison.dataset_version
        if dataset is not None and dataset.is_holdout and not request.user.has_perm(_HOLDOUTS):
            raise exceptions.PermissionDenied(f"You need a role with the permission {_HOLDOUTS}.")
        rows = seen(PairedCase.objects.counted().filter(comparison=comparison), sight_of(request.user)).only(
            "pk"
        )
        page = page_of(request, rows, keys=("pk",), query=query)
        made = {
            report.pop("case"): report
            for report in case_reports(comparison, [row.pk for row in page.rows], with_case=True)
        }
        return listed(request, page, [made[row.pk] for row in page.rows])


class OverrideDecision(ApiView):
    access = {"POST": _OVERRIDE}

    @operation(
        "Override a decision",
        name="gate_decisions_override",
        tag="gate",
        description=(
            "201: in force until `expires_at`, or until it is withdrawn. It covers this decision, and later "
            "ones about the same in which nothing else fires. The decision itself never changes."
        ),
        answers={201: shapes.OverrideShape, 200: shapes.OverrideShape},
        body=OverrideRequestShape,
        body_example={name: shapes.OVERRIDE[name] for name in ("reason", "ticket", "expires_at")},
        parameters=[_KEY],
        example=shapes.OVERRIDE,
        errors=WRITES,
    )
    def post(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, OverrideRequestShape)
        made, is_new = override(
            decision=_whole(int(pk)),
            actor=request.user,
            reason=asked["reason"],
            ticket=asked["ticket"],
            expires_at=asked["expires_at"],
            form_token=_token(request),
            via=_via(request),
        )
        return created(shapes.override_json(made), is_new=is_new)


class WithdrawOverride(ApiView):
    access = {"POST": _OVERRIDE}

    @operation(
        "Withdraw an override",
        name="gate_overrides_withdraw",
        tag="gate",
        description="The decision counts again at once (201). One that has ended is a conflict (409).",
        answers={201: shapes.OverrideShape},
        body=WithdrawShape,
        body_example={"reason": "It was another failure after all."},
        example={**shapes.OVERRIDE, "id": 5, "withdraws": 4, "ticket": "", "expires_at": None},
        errors=WRITES,
    )
    def post(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, WithdrawShape)
        found = GateOverride.objects.select_related("person").filter(pk=int(pk)).first()
        if found is None:
            raise Http404(f"There is no override {pk}.")
        made = withdraw_override(
            override=found,
            actor=request.user,
            reason=asked["reason"],
            form_token=uuid4(),
            via=_via(request),
        )
        return created(shapes.override_json(made), is_new=True)


def _found(pk: int) -> GateDecision:
    row = GateDecision.objects.with_names().filter(pk=pk).first()
    if row is None:
        raise Http404(f"There is no gate decision {pk}.")
    return row


def _whole(pk: int) -> GateDecision:
    row = GateDecision.objects.with_names().defer(None).filter(pk=pk).first()
    if row is None:
        raise Http404(f"There is no gate decision {pk}.")
    return row


def _one(request: Any, row: GateDecision) -> dict[str, Any]:
    return shapes.decision_json(request, row, standing_of(row))


def _report(request: Any, pk: int) -> GateReport:
    return as_seen(gate_report(_whole(pk)), request.user)


def _token(request: Any) -> UUID:
    key = key_of(request)
    return uuid4() if key is None else uuid5(_KEYS, f"{request.user.pk}:{key}")


def _via(request: Any) -> str | None:
    return None if request.auth is None else request.auth.name


urlpatterns = [
    re_path(r"^gate/decisions/$", Decisions.as_view(), name="gate_decisions"),
    re_path(rf"^gate/decisions/(?P<pk>{ID})/$", OneDecision.as_view(), name="gate_decision"),
    re_path(rf"^gate/decisions/(?P<pk>{ID})/verify/$", VerifyDecision.as_view(), name="gate_verify"),
    re_path(rf"^gate/decisions/(?P<pk>{ID})/report/$", DecisionReport.as_view(), name="gate_report"),
    re_path(rf"^gate/decisions/(?P<pk>{ID})/cases/$", DecisionCases.as_view(), name="gate_cases"),
    re_path(rf"^gate/decisions/(?P<pk>{ID})/override/$", OverrideDecision.as_view(), name="gate_override"),
    re_path(rf"^gate/overrides/(?P<pk>{ID})/withdraw/$", WithdrawOverride.as_view(), name="gate_withdraw"),
]
