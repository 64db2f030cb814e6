"""Twins in the API: list, detail, versions, saving a document."""

from __future__ import annotations

from typing import Any

from django.db.models import F
from django.http import Http404
from django.urls import re_path, reverse
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access, may_see_secrets
from agenttwin_site.api.failures import InvalidRequest, Problem
from agenttwin_site.api.lists import ListQuery, NoQuery, list_of, listing, read_query
from agenttwin_site.api.parsing import DOCUMENT_PARSERS
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, absolute
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
from twins.models import Twin, TwinVersion
from twins.services import planted_secrets, save_twin

_READ = Access(("read", "edit"), "twins.view_twin")
_EDIT = Access(("edit",), "twins.change_twin")


class TwinVersionShape(serializers.Serializer):
    """One version of a twin."""

    name = serializers.CharField()
    version = serializers.IntegerField()
    digest = serializers.CharField(help_text="SHA-256 of the document's canonical JSON.")
    is_current = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    links = DocumentLinks()


class TwinDocumentShape(TwinVersionShape):
    """One version of a twin with its document."""

    document = serializers.DictField(help_text="As it was saved; planted secrets are [REDACTED] for most.")
    is_redacted = serializers.BooleanField(help_text="Whether something in the document is hidden.")


TwinList = list_of("TwinList", TwinVersionShape)
_EXAMPLE = {
    "name": "demo-co-support",
    "version": 3,
    "digest": "9f2c4f0f6c5b1b1f3f0e3f9c7a0a4b8e1f7d6c5b4a39281706f5e4d3c2b1a098",
    "is_current": True,
    "created_at": "2026-11-29T20:15:00Z",
    "created_by": "ann",
    "links": {
        "self": "https://twin.example/api/v1/twins/demo-co-support/versions/3/",
        "versions": "https://twin.example/api/v1/twins/demo-co-support/versions/",
        "page": "https://twin.example/twins/demo-co-support/",
    },
}
_DOCUMENT = {
    "apiVersion": "agenttwin.dev/v1",
    "kind": "TwinDefinition",
    "metadata": {"name": "demo-co-support"},
    "spec": {"tools": {"lookup_order": {"handler": {"kind": "read", "path": "orders.{order_id}"}}}},
}
_FULL_EXAMPLE = {**_EXAMPLE, "document": _DOCUMENT, "is_redacted": False}


class Twins(ApiView):
    access = {"GET": _READ, "POST": _EDIT}
    parser_classes = DOCUMENT_PARSERS

    @operation(
        "Twins by their current versions",
        name="twins_list",
        tag="twins",
        answers={200: TwinList},
        query=NamedListQuery,
        example={"results": [_EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, NamedListQuery)
        rows = TwinVersion.objects.filter(twin__current_version=F("pk"))
        if query.get("q"):
            rows = rows.filter(twin__name__icontains=query["q"])
        return listing(
            request,
            rows.with_people().without_content(),
            keys=("twin_id",),
            query=query,
            render=lambda row: _version(request, row, is_current=True),
        )

    @operation(
        "Save a twin",
        name="twins_save",
        tag="twins",
        description=(
            "The document is the body: YAML (application/yaml) or JSON. 201: a new version; 200: its current "
            "version holds the same content."
        ),
        answers={201: TwinDocumentShape, 200: saved_or_valid("TwinSavedOrValid", TwinDocumentShape)},
        body=DOCUMENT_BODY,
        body_example=_DOCUMENT,
        query=SaveQuery,
        example=_FULL_EXAMPLE,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        return save_document(
            request,
            save=save_twin,
            parent="twin",
            add_permission="twins.add_twin",
            render=lambda version: _full(request, version),
            based_on=number_from,
        )


class OneTwin(ApiView):
    access = {"GET": _READ}

    @operation(
        "The current version of a twin",
        name="twins_detail",
        tag="twins",
        answers={200: TwinDocumentShape},
        example=_FULL_EXAMPLE,
    )
    def get(self, request: Any, name: str) -> Response:
        read_query(request, NoQuery)
        return Response(_full(request, _current(name)))


class TwinVersions(ApiView):
    access = {"GET": _READ}

    @operation(
        "Versions of a twin, newest first",
        name="twins_versions",
        tag="twins",
        answers={200: TwinList},
        query=ListQuery,
        example={"results": [_EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any, name: str) -> Response:
        query = read_query(request, ListQuery)
        twin = Twin.objects.filter(name=stored_name(name)).first()
        if twin is None:
            raise Http404(f"There is no twin {name}.")
        return listing(
            request,
            TwinVersion.objects.filter(twin=twin).with_people().without_content(),
            keys=("-number",),
            query=query,
            render=lambda row: _version(request, row, is_current=row.pk == twin.current_version_id),
        )


class OneTwinVersion(ApiView):
    access = {"GET": _READ}

    @operation(
        "One version of a twin",
        name="twins_version",
        tag="twins",
        answers={200: TwinDocumentShape},
        example=_FULL_EXAMPLE,
    )
    def get(self, request: Any, name: str, number: str) -> Response:
        read_query(request, NoQuery)
        version = (
            TwinVersion.objects.with_people().filter(twin__name=stored_name(name), number=int(number)).first()
        )
        if version is None:
            raise Http404(f"There is no version {number} of a twin {name}.")
        return Response(_full(request, version))


def stored_name(name: str) -> str:
    """A name of an address as it could be stored: PostgreSQL refuses NUL even in a question."""
    return name.replace("\x00", "\ufffd")


def number_from(text: str) -> int:
    """`based_on` as a number. Raises InvalidRequest."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidRequest([Problem("based_on", "must be the number of a version; 0 where there was none")])
    return int(text)


def _current(name: str) -> TwinVersion:
    version = (
        TwinVersion.objects.with_people()
        .filter(twin__name=stored_name(name), twin__current_version=F("pk"))
        .first()
    )
    if version is None:
        raise Http404(f"There is no twin {name}.")
    return version


def _version(request: Any, row: TwinVersion, *, is_current: bool) -> dict[str, Any]:
    name = row.twin.name
    versions = reverse("api:twins_versions", args=[name])
    return {
        "name": name,
        "version": row.number,
        "digest": row.digest,
        "is_current": is_current,
        "created_at": row.created_at,
        "created_by": person(row.created_by),
        "links": {
            "self": absolute(request, f"{versions}{row.number}/"),
            "versions": absolute(request, versions),
            "page": absolute(request, reverse("twins:twin", args=[name])),
        },
    }


def _full(request: Any, row: TwinVersion) -> dict[str, Any]:
    document, shown = row.document, row.document
    if not may_see_secrets(request, "twins.change_twin"):
        shown = redactor(_secrets(row))(document)
    is_current = row.pk == row.twin.current_version_id
    return {
        **_version(request, row, is_current=is_current),
        "document": shown,
        "is_redacted": shown != document,
    }


def _secrets(row: TwinVersion) -> list[str]:
    """What this version plants, and what the current one does: an old text may hold a secret of today."""
    secrets = dict.fromkeys(planted_secrets(row.document))
    if row.pk != row.twin.current_version_id and row.twin.current_version is not None:
        secrets.update(dict.fromkeys(planted_secrets(row.twin.current_version.document)))
    return list(secrets)


urlpatterns = [
    re_path(r"^twins/$", Twins.as_view(), name="twins"),
    re_path(rf"^twins/(?P<name>{NAME})/$", OneTwin.as_view(), name="twin"),
    re_path(rf"^twins/(?P<name>{NAME})/versions/$", TwinVersions.as_view(), name="twins_versions"),
    re_path(
        rf"^twins/(?P<name>{NAME})/versions/(?P<number>{NUMBER})/$",
        OneTwinVersion.as_view(),
        name="twins_version",
    ),
]
