"""Gate policies in the API: list, read, save a version, put one in force."""

from __future__ import annotations

from typing import Any

from django.db.models import F
from django.http import Http404
from django.urls import re_path
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import ListQuery, NoQuery, Strict, list_of, listing, read_body, read_query
from agenttwin_site.api.parsing import DOCUMENT_PARSERS
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView
from evaluations.api import gate_shapes as shapes
from evaluations.models import GatePolicyVersion
from evaluations.services.gate_policies import ACTIVATE, activate_gate_policy, save_gate_policy
from twins.api import stored_name
from twins.document_api import (
    DOCUMENT_BODY,
    NAME,
    NUMBER,
    NamedListQuery,
    SaveQuery,
    save_document,
    saved_or_valid,
)

_READ = Access(("read", "run", "edit"), "evaluations.view_gatepolicy")
_EDIT = Access(("edit",), "evaluations.add_gatepolicy")
_ACTIVATE = Access(("edit",), ACTIVATE)

PolicyList = list_of("GatePolicyList", shapes.PolicyVersionShape)
_LIST = {"results": [shapes.POLICY], "next": None, "previous": None}


class ActivateShape(Strict):
    version = serializers.IntegerField(min_value=1, max_value=10**9 - 1)
    note = serializers.CharField(
        max_length=2000, required=False, allow_blank=True, help_text="Why; for the audit log."
    )


class Policies(ApiView):
    access = {"GET": _READ, "POST": _EDIT}
    parser_classes = DOCUMENT_PARSERS

    @operation(
        "Gate policies by the versions in force",
        name="gate_policies_list",
        tag="gate",
        answers={200: PolicyList},
        query=NamedListQuery,
        example=_LIST,
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, NamedListQuery)
        rows = _versions().filter(policy__current_version=F("pk"))
        if query.get("q"):
            rows = rows.filter(policy__name__icontains=query["q"])
        return _listing(request, rows, ("policy_id",), query)

    @operation(
        "Save a version of a gate policy",
        name="gate_policies_save",
        tag="gate",
        description=(
            "The document is the body: YAML (application/yaml) or JSON. 201: a new version, which waits "
            "until somebody puts it in force (the first of a policy is in force at once); 200: nothing new."
        ),
        answers={
            201: shapes.PolicyVersionShape,
            200: saved_or_valid("GatePolicySavedOrValid", shapes.PolicyVersionShape),
        },
        body=DOCUMENT_BODY,
        body_example=shapes.POLICY_DOCUMENT,
        query=SaveQuery,
        example={**shapes.POLICY, "is_in_force": False},
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        return save_document(
            request,
            save=save_gate_policy,
            parent="policy",
            add_permission="evaluations.add_gatepolicy",
            render=lambda version: shapes.policy_version_json(request, version),
            based_on=_number,
        )


class OnePolicy(ApiView):
    access = {"GET": _READ}

    @operation(
        "The version of a gate policy that is in force",
        name="gate_policies_detail",
        tag="gate",
        answers={200: shapes.PolicyVersionShape},
        example=shapes.POLICY,
    )
    def get(self, request: Any, name: str) -> Response:
        read_query(request, NoQuery)
        rows = _versions().filter(policy__name=stored_name(name), policy__current_version=F("pk"))
        return _answer(request, rows, f"There is no gate policy {name}.")


class PolicyVersions(ApiView):
    access = {"GET": _READ}

    @operation(
        "Versions of a gate policy, newest first",
        name="gate_policies_versions",
        tag="gate",
        answers={200: PolicyList},
        query=ListQuery,
        example=_LIST,
    )
    def get(self, request: Any, name: str) -> Response:
        query = read_query(request, ListQuery)
        rows = _versions().filter(policy__name=stored_name(name))
        if not rows.exists():
            raise Http404(f"There is no gate policy {name}.")
        return _listing(request, rows, ("-number",), query)


class OnePolicyVersion(ApiView):
    access = {"GET": _READ}

    @operation(
        "One version of a gate policy",
        name="gate_policies_version",
        tag="gate",
        answers={200: shapes.PolicyVersionShape},
        example=shapes.POLICY,
    )
    def get(self, request: Any, name: str, number: str) -> Response:
        read_query(request, NoQuery)
        rows = _versions().filter(policy__name=stored_name(name), number=int(number))
        return _answer(request, rows, f"There is no version {number} of a gate policy {name}.")


class ActivatePolicy(ApiView):
    access = {"POST": _ACTIVATE}

    @operation(
        "Put a version of a gate policy in force",
        name="gate_policies_activate",
        tag="gate",
        description="Decisions from now on are made by it; those that were made stay as they are.",
        answers={200: shapes.PolicyVersionShape},
        body=ActivateShape,
        body_example={"version": 2, "note": "Three trials from now on."},
        example=shapes.POLICY,
        errors=WRITES,
    )
    def post(self, request: Any, name: str) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, ActivateShape)
        rows = _versions().filter(policy__name=stored_name(name), number=asked["version"])
        version = rows.first()
        if version is None:
            raise Http404(f"There is no version {asked['version']} of a gate policy {name}.")
        activate_gate_policy(version=version, actor=request.user, note=asked.get("note", ""))
        return _answer(request, _versions().filter(pk=version.pk), "")


def _versions() -> Any:
    return GatePolicyVersion.objects.select_related("policy", "created_by").defer("source_text")


def _listing(request: Any, rows: Any, keys: tuple[str, ...], query: dict[str, Any]) -> Response:
    return listing(
        request, rows, keys=keys, query=query, render=lambda row: shapes.policy_version_json(request, row)
    )


def _answer(request: Any, rows: Any, missing: str) -> Response:
    row = rows.first()
    if row is None:
        raise Http404(missing)
    return Response(shapes.policy_version_json(request, row))


def _number(text: str) -> int:
    """The version an editor started from; a text that is none is a version that never existed."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


urlpatterns = [
    re_path(r"^gate/policies/$", Policies.as_view(), name="gate_policies"),
    re_path(rf"^gate/policies/(?P<name>{NAME})/$", OnePolicy.as_view(), name="gate_policy"),
    re_path(
        rf"^gate/policies/(?P<name>{NAME})/versions/$", PolicyVersions.as_view(), name="gate_policy_versions"
    ),
    re_path(
        rf"^gate/policies/(?P<name>{NAME})/versions/(?P<number>{NUMBER})/$",
        OnePolicyVersion.as_view(),
        name="gate_policy_version",
    ),
    re_path(
        rf"^gate/policies/(?P<name>{NAME})/activate/$", ActivatePolicy.as_view(), name="gate_policy_activate"
    ),
]
