"""Manual sessions in the API: open a live case for any agent, watch it, close it, read its grades."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid5

from django.http import Http404
from django.urls import re_path
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.keys import key_of, key_parameter
from agenttwin_site.api.lists import ListQuery, NoQuery, Strict, list_of, listing, read_body, read_query
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, absolute, created
from evaluations.api.cases import RecordShape
from evaluations.api.comparisons import ID
from evaluations.api.judgements import JudgementShape, judgement_json
from evaluations.models import ManualSession, ManualState, ResultStatus, Verdict
from evaluations.page_queries.verdicts import judged_session
from evaluations.services.manual import (
    DEFAULT_SECONDS,
    LEAST_SECONDS,
    MAX_LABEL,
    MAX_TRIAL,
    MOST_SECONDS,
    close_manual_session,
    open_manual_session,
    recorded_so_far,
    takes_no_more,
)
from scenarios.holdouts import sight_of
from twins.document_api import person

_READ = Access(("read", "run"), "evaluations.view_case")
_RUN = Access(("run",), "evaluations.add_comparison")
_INT64 = 2**63
# Keys of two people are two requests.
_KEYS = UUID("5a2f6a1e-4c52-4f0c-9d3e-6b7a1c0d8e21")


class SessionRequestShape(Strict):
    """Which case, for which agent, for how long."""

    scenario = serializers.CharField(max_length=200)
    agent_label = serializers.CharField(max_length=MAX_LABEL, help_text="What you call the agent.")
    lifetime_seconds = serializers.IntegerField(
        min_value=LEAST_SECONDS,
        max_value=MOST_SECONDS,
        required=False,
        help_text=f"After that it takes no more calls and is graded; {DEFAULT_SECONDS} if not said.",
    )
    trial = serializers.IntegerField(min_value=1, max_value=MAX_TRIAL, required=False)
    seed = serializers.IntegerField(
        min_value=-_INT64,
        max_value=_INT64 - 1,
        required=False,
        help_text="As of a comparison; 0 if not said.",
    )


class SessionClosingShape(Strict):
    answer = serializers.DictField(
        required=False,
        allow_null=True,
        help_text="What the agent said in the end, as an HTTP agent would answer. A claim.",
    )


class SessionQuery(ListQuery):
    state = serializers.ChoiceField(
        choices=ManualState.values, required=False, help_text="In this state alone."
    )


class SessionResultShape(serializers.Serializer):
    id = serializers.CharField(help_text="The expectation's id in its scenario.")
    type = serializers.CharField()
    critical = serializers.BooleanField()
    status = serializers.ChoiceField(choices=ResultStatus.values)
    label = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)
    evidence = serializers.DictField()
    judgement = JudgementShape(allow_null=True, help_text="null where no judge was to be asked.")


class SessionLinks(serializers.Serializer):
    self = serializers.URLField()
    page = serializers.URLField()
    close = serializers.URLField()


class SessionShape(serializers.Serializer):
    """A manual session. `verdict` is null while it is open or its judge is asked (JUDGING)."""

    id = serializers.IntegerField()
    scenario = serializers.CharField()
    scenario_version = serializers.IntegerField()
    twin = serializers.CharField()
    twin_version = serializers.IntegerField()
    agent_label = serializers.CharField()
    trial = serializers.IntegerField()
    seed = serializers.IntegerField()
    state = serializers.ChoiceField(choices=ManualState.values)
    verdict = serializers.ChoiceField(choices=Verdict.values, allow_null=True)
    error_reason = serializers.CharField(allow_blank=True)
    claimed_outcome = serializers.CharField(allow_null=True)
    contradiction = serializers.BooleanField()
    tools_base_url = serializers.CharField(help_text="POST …/tools/TOOL, GET …/kb/search?q=")
    mcp_url = serializers.CharField(help_text="The same tools over MCP (Streamable HTTP).")
    created_by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    closed_by = serializers.CharField(allow_null=True, help_text="null: its time was over.")
    closed_at = serializers.DateTimeField(allow_null=True)
    links = SessionLinks()


class OpenedShape(SessionShape):
    """A session with the headers its agent needs: shown once, null when the request is repeated."""

    tool_headers = serializers.DictField(child=serializers.CharField(), allow_null=True)


class FullSessionShape(SessionShape):
    """A session with what was called and what it was graded."""

    takes_no_more = serializers.CharField(allow_null=True, help_text="Why it takes no more calls.")
    records = RecordShape(many=True)
    results = SessionResultShape(many=True)
    answer = serializers.DictField(allow_null=True, help_text="The agent's own account: a claim.")
    metrics = serializers.DictField()


SessionList = list_of("SessionList", SessionShape)
_EXAMPLE = {
    "id": 7,
    "scenario": "refund-happy-path",
    "scenario_version": 2,
    "twin": "demo-co-support",
    "twin_version": 1,
    "agent_label": "support-refund-agent 2.0-dev",
    "trial": 1,
    "seed": 3357303125,
    "state": "OPEN",
    "verdict": None,
    "error_reason": "",
    "claimed_outcome": None,
    "contradiction": False,
    "tools_base_url": "https://twin.example/wire/8e599f761560cff1c6a2d004",
    "mcp_url": "https://twin.example/mcp/8e599f761560cff1c6a2d004/",
    "created_by": "ann",
    "created_at": "2026-11-29T20:15:00Z",
    "expires_at": "2026-11-29T21:15:00Z",
    "closed_by": None,
    "closed_at": None,
    "links": {
        "self": "https://twin.example/api/v1/sessions/7/",
        "page": "https://twin.example/sessions/7/",
        "close": "https://twin.example/api/v1/sessions/7/close/",
    },
}
_OPENED = {**_EXAMPLE, "tool_headers": {"Authorization": "Bearer 4ZQ…"}}
_FULL = {**_EXAMPLE, "takes_no_more": None, "records": [], "results": [], "answer": None, "metrics": {}}
_KEY = key_parameter("The same request under the same key answers the same session, without its token.")


class Sessions(ApiView):
    access = {"GET": _READ, "POST": _RUN}

    @operation(
        "Manual sessions, newest first",
        name="sessions_list",
        tag="sessions",
        answers={200: SessionList},
        query=SessionQuery,
        example={"results": [_EXAMPLE], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, SessionQuery)
        rows = _sessions(request).defer("records", "results", "answer", "metrics")
        if query.get("state"):
            rows = rows.filter(state=query["state"])
        return listing(
            request, rows, keys=("-pk",), query=query, render=lambda row: _session_json(request, row)
        )

    @operation(
        "Open a manual session",
        name="sessions_open",
        tag="sessions",
        description=(
            "A live case of a scenario's current version. Point any agent's tools at `tools_base_url` (or "
            "`mcp_url`) with `tool_headers`, which are answered this once."
        ),
        answers={201: OpenedShape, 200: OpenedShape},
        body=SessionRequestShape,
        body_example={"scenario": "refund-happy-path", "agent_label": "support-refund-agent 2.0-dev"},
        parameters=[_KEY],
        example=_OPENED,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, SessionRequestShape)
        key = key_of(request)
        opened = open_manual_session(
            scenario=asked["scenario"],
            agent_label=asked["agent_label"],
            lifetime_seconds=asked.get("lifetime_seconds", DEFAULT_SECONDS),
            trial=asked.get("trial", 1),
            seed=asked.get("seed", 0),
            form_token=None if key is None else uuid5(_KEYS, f"{request.user.pk}:{key}"),
            actor=request.user,
        )
        headers = None if opened.token is None else {"Authorization": f"Bearer {opened.token}"}
        body = {**_session_json(request, _found(request, opened.session.pk)), "tool_headers": headers}
        return created(body, is_new=opened.created)


class OneSession(ApiView):
    access = {"GET": _READ}

    @operation(
        "A manual session, what was called, what it was graded",
        name="sessions_detail",
        tag="sessions",
        answers={200: FullSessionShape},
        example=_FULL,
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        return Response(_full_json(request, _found(request, int(pk))))


class CloseSession(ApiView):
    access = {"POST": _RUN}

    @operation(
        "Close a manual session and grade it",
        name="sessions_close",
        tag="sessions",
        description=(
            "Revokes the token first. An answer that cannot be read is 400 and leaves the session open; one "
            "that was closed before is a conflict (409, already_ended)."
        ),
        answers={200: FullSessionShape},
        body=SessionClosingShape,
        body_example={"answer": {"output": "That is settled.", "claimed_outcome": "SUCCESS"}},
        example={**_FULL, "state": "CLOSED", "verdict": "FAILED"},
        errors=WRITES,
    )
    def post(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, SessionClosingShape)
        close_manual_session(_found(request, int(pk)), answer=asked.get("answer"), actor=request.user)
        return Response(_full_json(request, _found(request, int(pk))))


def _sessions(request: Any) -> Any:
    """Sessions on scenarios this account may see."""
    sessions = sight_of(request.user).of(ManualSession.objects.all(), "scenario_version")
    return sessions.select_related(
        "scenario_version__scenario", "twin_version__twin", "wire_session", "created_by", "closed_by"
    )


def _found(request: Any, pk: int) -> ManualSession:
    session: ManualSession | None = _sessions(request).filter(pk=pk).first()
    if session is None:
        raise Http404(f"There is no session {pk}.")
    return session


def _session_json(request: Any, session: ManualSession) -> dict[str, Any]:
    own = f"/api/v1/sessions/{session.pk}/"
    return {
        "id": session.pk,
        "scenario": session.scenario_version.scenario.name,
        "scenario_version": session.scenario_version.number,
        "twin": session.twin_version.twin.name,
        "twin_version": session.twin_version.number,
        **{name: getattr(session, name) for name in ("agent_label", "trial", "seed", "state", "verdict")},
        **{name: getattr(session, name) for name in ("error_reason", "claimed_outcome", "contradiction")},
        "tools_base_url": session.wire_session.tools_base_url,
        "mcp_url": session.wire_session.mcp_url,
        "created_by": person(session.created_by),
        "created_at": session.created_at,
        "expires_at": session.expires_at,
        "closed_by": person(session.closed_by),
        "closed_at": session.closed_at,
        "links": {
            "self": absolute(request, own),
            "page": absolute(request, session.get_absolute_url()),
            "close": absolute(request, f"{own}close/"),
        },
    }


def _full_json(request: Any, session: ManualSession) -> dict[str, Any]:
    judged = judged_session(session)
    return {
        **_session_json(request, session),
        "takes_no_more": takes_no_more(session) if session.is_open else "it is closed",
        "records": [record.to_json() for record in recorded_so_far(session)],
        "results": [
            {**result, "judgement": judgement_json(request, judged.get(result["id"]))}
            for result in session.results
        ],
        "answer": session.answer,
        "metrics": session.metrics,
    }


urlpatterns = [
    re_path(r"^sessions/$", Sessions.as_view(), name="sessions"),
    re_path(rf"^sessions/(?P<pk>{ID})/$", OneSession.as_view(), name="session"),
    re_path(rf"^sessions/(?P<pk>{ID})/close/$", CloseSession.as_view(), name="session_close"),
]
