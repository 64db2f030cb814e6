"""Scenarios in the API: list, detail, versions, saving a document."""

from __future__ import annotations

from typing import Any

from django.db.models import F
from django.http import Http404
from django.urls import re_path, reverse
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access, may_see_secrets
from agenttwin_site.api.lists import ListQuery, NoQuery, list_of, listing, read_query
from agenttwin_site.api.parsing import DOCUMENT_PARSERS
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, absolute
from scenarios.holdouts import sight_of
from scenarios.models import Scenario, ScenarioVersion, Severity
from scenarios.page_queries import hidden_secrets
from scenarios.services import save_scenario
from twins.api import number_from, stored_name
from twins.document_api import (
    DOCUMENT_BODY,
    NAME,
    NUMBER,
    DocumentLinks,
    NamedListQuery,
    SaveQuery,
    person,
    save_document,
    saved_or_valid,
)
from twins.engine.redaction import redactor
from twins.querysets import holding

_READ = Access(("read", "edit"), "scenarios.view_scenario")
_EDIT = Access(("edit",), "scenarios.change_scenario")


class ScenarioVersionShape(serializers.Serializer):
    """One version of a scenario."""

    name = serializers.CharField()
    version = serializers.IntegerField()
    digest = serializers.CharField(help_text="SHA-256 of the document's canonical JSON.")
    is_current = serializers.BooleanField()
    severity = serializers.ChoiceField(choices=Severity.values)
    tags = serializers.ListField(child=serializers.CharField())
    agent = serializers.CharField(allow_blank=True)
    twin = serializers.CharField(allow_blank=True)
    source = serializers.CharField(help_text="`generated`: a program wrote it.")
    approved = serializers.BooleanField(
        allow_null=True, help_text="Of a generated one whether a person approved it; null: needs no approval."
    )
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    links = DocumentLinks()


class ScenarioDocumentShape(ScenarioVersionShape):
    """One version of a scenario with its document."""

    document = serializers.DictField(help_text="As it was saved; planted secrets are [REDACTED] for most.")
    is_redacted = serializers.BooleanField(help_text="Whether something in the document is hidden.")


ScenarioList = list_of("ScenarioList", ScenarioVersionShape)


class ScenarioQuery(NamedListQuery):
    severity = serializers.ChoiceField(
        choices=Severity.values, required=False, help_text="Of this severity alone."
    )
    tag = serializers.CharField(required=False, max_length=200, help_text="With this tag.")
    agent = serializers.CharField(required=False, max_length=200, help_text="For this agent.")
    twin = serializers.CharField(required=False, max_length=200, help_text="On this twin.")
    waiting = serializers.BooleanField(
        required=False, help_text="true: only what waits for an approval; false: only what does not."
    )


_EXAMPLE = {
    "name": "refund-timeout-after-mutation",
    "version": 2,
    "digest": "0b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a0989f2c4f0f6c5b",
    "is_current": True,
    "severity": "critical",
    "tags": ["refund"],
    "agent": "support-refund-agent",
    "twin": "demo-co-support",
    "source": "manual",
    "approved": None,
    "created_at": "2026-11-29T20:15:00Z",
    "created_by": "ann",
    "links": {
        "self": "https://twin.example/api/v1/scenarios/refund-timeout-after-mutation/versions/2/",
        "versions": "https://twin.example/api/v1/scenarios/refund-timeout-after-mutation/versions/",
        "page": "https://twin.example/scenarios/refund-timeout-after-mutation/",
    },
}
_DOCUMENT = {
    "apiVersion": "agenttwin.dev/v1",
    "kind": "Scenario",
    "metadata": {"name": "refund-happy-path", "severity": "high"},
    "spec": {
        "agent": "support-refund-agent",
        "twin": "demo-co-support",
        "input": {"message": "Please refund order ORD-1001."},
        "expectations": [{"id": "few-retries", "type": "maxRetries", "value": 0}],
    },
}
_FULL_EXAMPLE = {**_EXAMPLE, "document": _DOCUMENT, "is_redacted": False}


class Scenarios(ApiView):
    access = {"GET": _READ, "POST": _EDIT}
    parser_classes = DOCUMENT_PARSERS

    @operation(
        "Scenarios by their current versions",
        name="scenarios_list",
        tag="scenarios",
        answers={200: ScenarioList},
        query=ScenarioQuery,
        example={"results": [_EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, ScenarioQuery)
        rows = sight_of(request.user).of(ScenarioVersion.objects.filter(scenario__current_version=F("pk")))
        columns = {
            "q": "scenario__name__icontains",
            "severity": "severity",
            "agent": "agent_name",
            "twin": "twin_name",
        }
        rows = rows.filter(**{column: query[name] for name, column in columns.items() if query.get(name)})
        if query.get("tag"):
            rows = holding(rows, "tags", query["tag"])
        if "waiting" in query:
            rows = rows.waiting() if query["waiting"] else rows.counting()
        return listing(
            request,
            rows.select_related("scenario", "created_by", "approval").without_content(),
            keys=("scenario_id",),
            query=query,
            render=lambda row: _version(request, row, is_current=True),
        )

    @operation(
        "Save a scenario",
        name="scenarios_save",
        tag="scenarios",
        description=(
            "The document is the body: YAML (application/yaml) or JSON. Its twin must exist and have every "
            "tool it names. 201: a new version; 200: its current version holds the same content."
        ),
        answers={
            201: ScenarioDocumentShape,
            200: saved_or_valid("ScenarioSavedOrValid", ScenarioDocumentShape),
        },
        body=DOCUMENT_BODY,
        body_example=_DOCUMENT,
        query=SaveQuery,
        example=_FULL_EXAMPLE,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        return save_document(
            request,
            save=save_scenario,
            parent="scenario",
            add_permission="scenarios.add_scenario",
            render=lambda version: _full(request, version),
            based_on=number_from,
        )


class OneScenario(ApiView):
    access = {"GET": _READ}

    @operation(
        "The current version of a scenario",
        name="scenarios_detail",
        tag="scenarios",
        answers={200: ScenarioDocumentShape},
        example=_FULL_EXAMPLE,
    )
    def get(self, request: Any, name: str) -> Response:
        read_query(request, NoQuery)
        version = (
            _versions(request)
            .filter(scenario__name=stored_name(name), scenario__current_version=F("pk"))
            .first()
        )
        if version is None:
            raise Http404(f"There is no scenario {name}.")
        return Response(_full(request, version))


class ScenarioVersions(ApiView):
    access = {"GET": _READ}

    @operation(
        "Versions of a scenario, newest first",
        name="scenarios_versions",
        tag="scenarios",
        answers={200: ScenarioList},
        query=ListQuery,
        example={"results": [_EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any, name: str) -> Response:
        query = read_query(request, ListQuery)
        scenario = Scenario.objects.filter(name=stored_name(name)).first()
        if scenario is None or sight_of(request.user).hides(scenario.name):
            raise Http404(f"There is no scenario {name}.")
        return listing(
            request,
            _versions(request).filter(scenario=scenario).without_content(),
            keys=("-number",),
            query=query,
            render=lambda row: _version(request, row, is_current=row.pk == scenario.current_version_id),
        )


class OneScenarioVersion(ApiView):
    access = {"GET": _READ}

    @operation(
        "One version of a scenario",
        name="scenarios_version",
        tag="scenarios",
        answers={200: ScenarioDocumentShape},
        example=_FULL_EXAMPLE,
    )
    def get(self, request: Any, name: str, number: str) -> Response:
        read_query(request, NoQuery)
        version = _versions(request).filter(scenario__name=stored_name(name), number=int(number)).first()
        if version is None:
            raise Http404(f"There is no version {number} of a scenario {name}.")
        return Response(_full(request, version))


def _versions(request: Any) -> Any:
    """Versions of scenarios this account may see."""
    return sight_of(request.user).of(
        ScenarioVersion.objects.select_related("scenario", "created_by", "approval")
    )


def _version(request: Any, row: ScenarioVersion, *, is_current: bool) -> dict[str, Any]:
    name = row.scenario.name
    versions = reverse("api:scenarios_versions", args=[name])
    return {
        "name": name,
        "version": row.number,
        "digest": row.digest,
        "is_current": is_current,
        "severity": row.severity,
        "tags": row.tags,
        "agent": row.agent_name,
        "twin": row.twin_name,
        "source": row.source,
        "approved": not row.is_waiting if row.is_generated else None,
        "created_at": row.created_at,
        "created_by": person(row.created_by),
        "links": {
            "self": absolute(request, f"{versions}{row.number}/"),
            "versions": absolute(request, versions),
            "page": absolute(request, reverse("scenarios:scenario", args=[name])),
        },
    }


def _full(request: Any, row: ScenarioVersion) -> dict[str, Any]:
    document, shown = row.document, row.document
    if not may_see_secrets(request, "twins.change_twin", "scenarios.change_scenario"):
        shown = redactor(hidden_secrets(row))(document)
    return {
        **_version(request, row, is_current=row.pk == row.scenario.current_version_id),
        "document": shown,
        "is_redacted": shown != document,
    }


urlpatterns = [
    re_path(r"^scenarios/$", Scenarios.as_view(), name="scenarios"),
    re_path(rf"^scenarios/(?P<name>{NAME})/$", OneScenario.as_view(), name="scenario"),
    re_path(
        rf"^scenarios/(?P<name>{NAME})/versions/$", ScenarioVersions.as_view(), name="scenarios_versions"
    ),
    re_path(
        rf"^scenarios/(?P<name>{NAME})/versions/(?P<number>{NUMBER})/$",
        OneScenarioVersion.as_view(),
        name="scenarios_version",
    ),
]
