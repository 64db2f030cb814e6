"""Approvals of generated scenarios in the API."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import re_path
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import NoQuery, Strict, read_body, read_query
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, created
from scenarios.holdouts import sight_of
from scenarios.models import ScenarioApproval, ScenarioVersion
from scenarios.services.approvals import APPROVE, NOTE_MAX_LENGTH, NOTE_MIN_LENGTH, approve_scenario
from twins.api import stored_name
from twins.document_api import NAME, NUMBER, person


class ApprovalShape(serializers.Serializer):
    """A person's word for a generated version: from then on it counts."""

    scenario = serializers.CharField()
    version = serializers.IntegerField()
    person = serializers.CharField()
    note = serializers.CharField()
    created_at = serializers.DateTimeField()


class ApprovalBody(Strict):
    note = serializers.CharField(
        min_length=NOTE_MIN_LENGTH,
        max_length=NOTE_MAX_LENGTH,
        help_text="Why what it expects is right.",
    )


_EXAMPLE = {
    "scenario": "refund-happy-path-refund_payment-timeout-after-effect",
    "version": 1,
    "person": "ann",
    "note": "One request is one refund, also when the answer gets lost.",
    "created_at": "2026-11-29T20:15:00Z",
}


class Approval(ApiView):
    access = {
        "GET": Access(("read", "edit"), "scenarios.view_scenarioapproval"),
        "POST": Access(("edit",), APPROVE),
    }

    @operation(
        "The approval of a generated version",
        name="scenarios_approval",
        tag="scenarios",
        description="404 where there is none.",
        answers={200: ApprovalShape},
        example=_EXAMPLE,
    )
    def get(self, request: Any, name: str, number: str) -> Response:
        read_query(request, NoQuery)
        version = _version(request, name, number)
        approvals = ScenarioApproval.objects.select_related("person")
        approval = approvals.filter(scenario_version=version).first()
        if approval is None:
            raise Http404(f"Nobody has approved {version}.")
        return Response(_json(version, approval))

    @operation(
        "Approve a generated version",
        name="scenarios_approve",
        tag="scenarios",
        description=(
            "What a program wrote counts once a person stands for it. 201: approved now; 200: it was "
            "already, and the first approval is answered. A version that a person wrote is 409."
        ),
        answers={201: ApprovalShape, 200: ApprovalShape},
        body=ApprovalBody,
        body_example={"note": _EXAMPLE["note"]},
        example=_EXAMPLE,
        errors=WRITES,
    )
    def post(self, request: Any, name: str, number: str) -> Response:
        read_query(request, NoQuery)
        body = read_body(request, ApprovalBody)
        version = _version(request, name, number)
        approval, is_new = approve_scenario(version=version, note=body["note"], actor=request.user)
        return created(_json(version, approval), is_new=is_new)


def _version(request: Any, name: str, number: str) -> ScenarioVersion:
    rows = sight_of(request.user).of(ScenarioVersion.objects.select_related("scenario"))
    version: ScenarioVersion | None = rows.filter(
        scenario__name=stored_name(name), number=int(number)
    ).first()
    if version is None:
        raise Http404(f"There is no version {number} of a scenario {name}.")
    return version


def _json(version: ScenarioVersion, approval: ScenarioApproval) -> dict[str, Any]:
    return {
        "scenario": version.scenario.name,
        "version": version.number,
        "person": person(approval.person),
        "note": approval.note,
        "created_at": approval.created_at,
    }


urlpatterns = [
    re_path(
        rf"^scenarios/(?P<name>{NAME})/versions/(?P<number>{NUMBER})/approval/$",
        Approval.as_view(),
        name="scenarios_approval",
    ),
]
