"""What belongs to no room: who am I, health, readiness, the description and its page."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from csp.decorators import csp_update
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import PUBLIC, Access
from agenttwin_site.api.failures import RETRY_AFTER_SECONDS, ApiError, Failure, Problem
from agenttwin_site.api.lists import NoQuery, read_query
from agenttwin_site.api.schema import OPEN_READS, operation
from agenttwin_site.api.views import ApiView, absolute

_LISTS = ("twins", "scenarios", "datasets", "agents", "comparisons", "cases", "reviews", "queue", "audit")


class WhoShape(serializers.Serializer):
    """The account a credential stands for."""

    user = serializers.CharField()
    token = serializers.CharField(allow_null=True, help_text="Name of the token; null with a session.")
    scopes = serializers.ListField(child=serializers.CharField(), allow_null=True)
    links = serializers.DictField(child=serializers.URLField())


class HealthShape(serializers.Serializer):
    status = serializers.ChoiceField(choices=["ok"])


class ReadinessShape(serializers.Serializer):
    status = serializers.ChoiceField(choices=["ready"])
    checks = serializers.DictField(child=serializers.CharField())


class WhoAmI(ApiView):
    access = {"GET": Access()}

    @operation(
        "Who am I",
        name="who_am_i",
        tag="site",
        answers={200: WhoShape},
        example={
            "user": "ci",
            "token": "pipeline",
            "scopes": ["read", "run"],
            "links": {"comparisons": "https://twin.example/api/v1/comparisons/"},
        },
    )
    def get(self, request: Any) -> Response:
        read_query(request, NoQuery)
        token = request.auth
        return Response(
            {
                "user": request.user.get_username(),
                "token": None if token is None else token.name,
                "scopes": None if token is None else token.scopes,
                "links": {name: absolute(request, reverse(f"api:{name}")) for name in _LISTS},
            }
        )


class _Open(ApiView):
    authentication_classes: Any = []
    access = {"GET": PUBLIC}


class Health(_Open):
    @operation(
        "Whether the process answers",
        name="health",
        tag="site",
        answers={200: HealthShape},
        example={"status": "ok"},
        errors=OPEN_READS,
        auth=[],
    )
    def get(self, request: Any) -> Response:
        """Asks nothing of the database: a process is not to be restarted because that is away."""
        read_query(request, NoQuery)
        return Response({"status": "ok"})


class Readiness(_Open):
    @operation(
        "Whether requests can be served",
        name="readiness",
        tag="site",
        description="503 `not_ready` with every reason while the database is away or not migrated.",
        answers={200: ReadinessShape},
        example={"status": "ready", "checks": {"database": "ok", "migrations": "ok"}},
        errors=OPEN_READS,
        auth=[],
    )
    def get(self, request: Any) -> Response:
        read_query(request, NoQuery)
        problems = _unready()
        if problems:
            detail = "; ".join(f"{one.path}: {one.detail}" for one in problems)
            headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
            raise ApiError(Failure(503, "not_ready", detail, problems, headers))
        return Response({"status": "ready", "checks": {"database": "ok", "migrations": "ok"}})


class Description(_Open):
    schema = None

    def get(self, request: Any) -> HttpResponse:
        return HttpResponse(_description(), content_type="application/json")


@login_not_required
@require_safe
@csp_update({"img-src": ["data:"]})
def docs(request: HttpRequest) -> HttpResponse:
    """The description as pages. Swagger UI draws a few icons from data: addresses; all else is our own."""
    return render(request, "api/docs.html", {"schema_href": reverse("api_schema")})


@cache
def _description() -> str:
    """The same for everybody, and costly to make: once a process."""
    return json.dumps(SchemaGenerator().get_schema(request=None, public=True), ensure_ascii=False)


def _unready() -> tuple[Problem, ...]:
    try:
        connection.ensure_connection()
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return (Problem("database", "does not answer"),)
    if missing:
        return (Problem("migrations", f"{len(missing)} are not applied"),)
    return ()
