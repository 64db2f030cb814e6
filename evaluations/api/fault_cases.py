"""Fault cases that are missing, in the API, and drafts of them."""

from __future__ import annotations

from typing import Any

from django.urls import re_path, reverse
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.failures import InvalidRequest, Problem
from agenttwin_site.api.lists import NoQuery, Strict, read_body, read_query
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, absolute, created
from evaluations.services.fault_cases import KINDS, Missing, draft_fault_cases, missing_of
from scenarios.coverage import REQUIRED
from scenarios.holdouts import sight_of
from scenarios.models import ScenarioVersion


class SubjectFields(Strict):
    """One of the three."""

    twin = serializers.CharField(
        required=False, max_length=200, help_text="What no scenario of it exercises."
    )
    dataset = serializers.CharField(
        required=False, max_length=200, help_text="NAME or NAME@VERSION: what no case of it exercises."
    )
    scenario = serializers.CharField(
        required=False, max_length=200, help_text="Both faults of the irreversible tools it has called."
    )


class MissingShape(serializers.Serializer):
    """A fault that an irreversible tool was not tried with."""

    twin = serializers.CharField()
    tool = serializers.CharField()
    fault = serializers.ChoiceField(choices=list(REQUIRED))
    draft = serializers.CharField(allow_null=True, help_text="Name of the scenario that can be drafted.")
    origin = serializers.CharField(allow_null=True, help_text="The passing scenario it is made from.")
    comparison = serializers.IntegerField(allow_null=True, help_text="Where that passed.")
    waiting = serializers.ListField(
        child=serializers.CharField(), help_text="Drafts that wait for an approval."
    )
    outside = serializers.ListField(
        child=serializers.CharField(), help_text="Scenarios that do it and are not in the dataset."
    )
    problem = serializers.CharField(allow_null=True, help_text="Why it cannot be drafted.")


class MissingListShape(serializers.Serializer):
    missing = MissingShape(many=True)


class DraftShape(serializers.Serializer):
    """A generated scenario; it counts once a person approves it."""

    name = serializers.CharField()
    version = serializers.IntegerField()
    url = serializers.URLField()


class DraftsShape(serializers.Serializer):
    drafts = DraftShape(many=True)
    missing = MissingShape(many=True, help_text="As it was before the drafts were stored.")


_DRAFT = "refund-happy-path-refund_payment-timeout-after-effect"
_MISSING: dict[str, Any] = {
    "twin": "demo-co-support",
    "tool": "refund_payment",
    "fault": "timeout_after_mutation",
    "draft": _DRAFT,
    "origin": "refund-happy-path",
    "comparison": 7,
    "waiting": [],
    "outside": [],
    "problem": None,
}


class FaultCases(ApiView):
    access = {
        "GET": Access(("read", "edit"), "scenarios.view_scenario"),
        "POST": Access(("edit",), "scenarios.add_scenario"),
    }

    @operation(
        "Fault cases that are missing",
        name="fault_cases_list",
        tag="scenarios",
        description=(
            "A write that cannot be taken back must have been tried with a timeout after its effect and with "
            "a success that had none. Name a twin, a dataset or a scenario."
        ),
        answers={200: MissingListShape},
        query=SubjectFields,
        example={"missing": [_MISSING]},
    )
    def get(self, request: Any) -> Response:
        missing = _missing(request, read_query(request, SubjectFields))
        return Response({"missing": [_json(one) for one in missing]})

    @operation(
        "Draft the fault cases that are missing",
        name="fault_cases_draft",
        tag="scenarios",
        description=(
            "Each draft is made of a case that passed and stored as a scenario with `source: generated`, "
            "which has no say until a person approves it. 200: there was nothing to draft."
        ),
        answers={201: DraftsShape, 200: DraftsShape},
        body=SubjectFields,
        body_example={"twin": "demo-co-support"},
        example={
            "drafts": [
                {
                    "name": _DRAFT,
                    "version": 1,
                    "url": f"https://twin.example/api/v1/scenarios/{_DRAFT}/versions/1/",
                }
            ],
            "missing": [_MISSING],
        },
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        missing = _missing(request, read_body(request, SubjectFields))
        drafts = draft_fault_cases(missing, actor=request.user)
        answer = {
            "drafts": [_draft_json(request, one) for one in drafts],
            "missing": [_json(one) for one in missing],
        }
        return created(answer, is_new=bool(drafts))


def _missing(request: Any, asked: dict[str, str]) -> list[Missing]:
    given = [kind for kind in KINDS if asked.get(kind)]
    if len(given) != 1:
        raise InvalidRequest([Problem("$", "name one of twin, dataset and scenario")])
    return missing_of(given[0], asked[given[0]], sight_of(request.user))


def _json(one: Missing) -> dict[str, Any]:
    return {
        "twin": one.twin,
        "tool": one.tool,
        "fault": one.fault,
        "draft": one.name or None,
        "origin": one.origin or None,
        "comparison": one.comparison,
        "waiting": list(one.waiting),
        "outside": list(one.outside),
        "problem": one.problem or None,
    }


def _draft_json(request: Any, version: ScenarioVersion) -> dict[str, Any]:
    name = version.scenario.name
    address = f"{reverse('api:scenarios_versions', args=[name])}{version.number}/"
    return {"name": name, "version": version.number, "url": absolute(request, address)}


urlpatterns = [re_path(r"^fault-cases/$", FaultCases.as_view(), name="fault_cases")]
