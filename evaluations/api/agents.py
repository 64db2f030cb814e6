"""Agents in the API: list, detail, versions, registering a manifest."""

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
from evaluations.models import Agent, AgentVersion
from evaluations.services.agents import save_agent, secrets_around
from twins.api import stored_name
from twins.document_api import (
    DOCUMENT_BODY,
    NAME,
    DocumentLinks,
    NamedListQuery,
    SaveQuery,
    person,
    save_document,
    saved_or_valid,
)
from twins.engine.redaction import redactor

_READ = Access(("read", "edit"), "evaluations.view_agent")
_EDIT = Access(("edit",), "evaluations.change_agent")


class AgentVersionShape(serializers.Serializer):
    """One registered version of an agent."""

    name = serializers.CharField()
    version = serializers.CharField()
    digest = serializers.CharField(help_text="SHA-256 of the manifest's canonical JSON.")
    instructions_digest = serializers.CharField(
        allow_null=True, help_text="SHA-256 of the instructions; null where the manifest keeps neither."
    )
    is_current = serializers.BooleanField(help_text="Whether it is the version of the highest precedence.")
    model_provider = serializers.CharField(allow_blank=True)
    model_name = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    links = DocumentLinks()


class AgentDocumentShape(AgentVersionShape):
    """One registered version of an agent with its manifest."""

    document = serializers.DictField(help_text="The manifest; planted secrets of its twins are [REDACTED].")
    is_redacted = serializers.BooleanField(help_text="Whether something in the document is hidden.")


AgentList = list_of("AgentList", AgentVersionShape)
_EXAMPLE = {
    "name": "support-refund-agent",
    "version": "2.0.0-rc.1",
    "digest": "5c6b1b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a0989f2c4f0f",
    "instructions_digest": "1f7d6c5b4a39281706f5e4d3c2b1a0989f2c4f0f5c6b1b1f3f0e3f9c7a0a4b8e",
    "is_current": True,
    "model_provider": "scripted",
    "model_name": "refund-planner",
    "created_at": "2026-11-29T20:15:00Z",
    "created_by": "ann",
    "links": {
        "self": "https://twin.example/api/v1/agents/support-refund-agent/versions/2.0.0-rc.1/",
        "versions": "https://twin.example/api/v1/agents/support-refund-agent/versions/",
        "page": None,
    },
}
_DOCUMENT = {
    "apiVersion": "agenttwin.dev/v1",
    "kind": "Agent",
    "metadata": {"name": "support-refund-agent", "version": "2.0.0-rc.1"},
    "spec": {
        "model": {"provider": "scripted", "name": "refund-planner"},
        "tools": [{"name": "lookup_order"}],
    },
}
_FULL_EXAMPLE = {**_EXAMPLE, "document": _DOCUMENT, "is_redacted": False}


class Agents(ApiView):
    access = {"GET": _READ, "POST": _EDIT}
    parser_classes = DOCUMENT_PARSERS

    @operation(
        "Agents by their current versions",
        name="agents_list",
        tag="agents",
        answers={200: AgentList},
        query=NamedListQuery,
        example={"results": [_EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, NamedListQuery)
        rows = _versions().filter(agent__current_version=F("pk"))
        if query.get("q"):
            rows = rows.filter(agent__name__icontains=query["q"])
        return listing(
            request,
            rows.without_content(),
            keys=("agent_id",),
            query=query,
            render=lambda row: _version(request, row),
        )

    @operation(
        "Register a version of an agent",
        name="agents_save",
        tag="agents",
        description=(
            "The manifest is the body: YAML (application/yaml) or JSON. 201: a new version; 200: it is "
            "registered with the same content. Other content under a registered version is refused."
        ),
        answers={201: AgentDocumentShape, 200: saved_or_valid("AgentSavedOrValid", AgentDocumentShape)},
        body=DOCUMENT_BODY,
        body_example=_DOCUMENT,
        query=SaveQuery,
        example=_FULL_EXAMPLE,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        return save_document(
            request,
            save=save_agent,
            parent="agent",
            add_permission="evaluations.add_agent",
            render=lambda version: _full(request, version),
            based_on=str,
        )


class OneAgent(ApiView):
    access = {"GET": _READ}

    @operation(
        "The current version of an agent",
        name="agents_detail",
        tag="agents",
        answers={200: AgentDocumentShape},
        example=_FULL_EXAMPLE,
    )
    def get(self, request: Any, name: str) -> Response:
        read_query(request, NoQuery)
        version = _versions().filter(agent__name=stored_name(name), agent__current_version=F("pk")).first()
        if version is None:
            raise Http404(f"There is no agent {name}.")
        return Response(_full(request, version))


class AgentVersions(ApiView):
    access = {"GET": _READ}

    @operation(
        "Versions of an agent, newest first",
        name="agents_versions",
        tag="agents",
        answers={200: AgentList},
        query=ListQuery,
        example={"results": [_EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any, name: str) -> Response:
        query = read_query(request, ListQuery)
        agent = Agent.objects.filter(name=stored_name(name)).first()
        if agent is None:
            raise Http404(f"There is no agent {name}.")
        return listing(
            request,
            _versions().filter(agent=agent).without_content(),
            keys=("-pk",),
            query=query,
            render=lambda row: _version(request, row),
        )


class OneAgentVersion(ApiView):
    access = {"GET": _READ}

    @operation(
        "One version of an agent",
        name="agents_version",
        tag="agents",
        answers={200: AgentDocumentShape},
        example=_FULL_EXAMPLE,
    )
    def get(self, request: Any, name: str, version: str) -> Response:
        read_query(request, NoQuery)
        row = _versions().filter(agent__name=stored_name(name), version=stored_name(version)).first()
        if row is None:
            raise Http404(f"There is no version {version} of an agent {name}.")
        return Response(_full(request, row))


def _versions() -> Any:
    return AgentVersion.objects.select_related("agent", "created_by")


def _version(request: Any, row: AgentVersion) -> dict[str, Any]:
    name = row.agent.name
    own = reverse("api:agents_version", args=[name, row.version])
    return {
        "name": name,
        "version": row.version,
        "digest": row.digest,
        "instructions_digest": row.instructions_digest or None,
        "is_current": row.pk == row.agent.current_version_id,
        "model_provider": row.model_provider,
        "model_name": row.model_name,
        "created_at": row.created_at,
        "created_by": person(row.created_by),
        "links": {
            "self": absolute(request, own),
            "versions": absolute(request, reverse("api:agents_versions", args=[name])),
            "page": None,
        },
    }


def _full(request: Any, row: AgentVersion) -> dict[str, Any]:
    document, shown = row.document, row.document
    if not may_see_secrets(request, "twins.change_twin", "evaluations.change_agent"):
        shown = redactor(secrets_around(row.agent.name))(document)
    return {**_version(request, row), "document": shown, "is_redacted": shown != document}


urlpatterns = [
    re_path(r"^agents/$", Agents.as_view(), name="agents"),
    re_path(rf"^agents/(?P<name>{NAME})/$", OneAgent.as_view(), name="agent"),
    re_path(rf"^agents/(?P<name>{NAME})/versions/$", AgentVersions.as_view(), name="agents_versions"),
    re_path(
        rf"^agents/(?P<name>{NAME})/versions/(?P<version>{NAME})/$",
        OneAgentVersion.as_view(),
        name="agents_version",
    ),
]
