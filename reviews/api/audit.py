"""The audit log in the API: to read, and nothing else."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import re_path
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.failures import InvalidRequest, Problem
from agenttwin_site.api.lists import ListQuery, NoQuery, list_of, listed, page_of, read_query
from agenttwin_site.api.schema import operation
from agenttwin_site.api.views import ApiView
from evaluations.api.comparisons import ID
from reviews.api.examples import AUDIT
from reviews.filters import AuditFilter
from reviews.holdouts import entries_seen
from reviews.models import AuditEntry
from scenarios.holdouts import sight_of

_READ = Access(("read",), "reviews.view_auditentry")


class AuditEntryShape(serializers.Serializer):
    """One action: who, when, what, why. Each entry is sealed with the one before it."""

    sequence = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField(allow_blank=True, help_text="The name then; empty: nobody logged in.")
    action = serializers.CharField()
    subject_type = serializers.CharField()
    subject_id = serializers.CharField(allow_blank=True)
    subject_label = serializers.CharField(allow_blank=True)
    before = serializers.JSONField()
    after = serializers.JSONField()
    note = serializers.CharField(allow_blank=True)
    via = serializers.CharField(help_text="session, command, or the name of an API token.")
    previous_hash = serializers.CharField()
    entry_hash = serializers.CharField()


class AuditQuery(ListQuery):
    actor = serializers.CharField(max_length=200, required=False, help_text="A name.")
    action = serializers.CharField(max_length=200, required=False, help_text="Such as result_overridden.")
    subject_type = serializers.CharField(
        max_length=200, required=False, help_text="Such as result, case, twin or token."
    )
    subject_id = serializers.CharField(
        max_length=200, required=False, help_text="Number or name of the subject."
    )
    via = serializers.CharField(
        max_length=200, required=False, help_text="session, command, or the name of a token."
    )
    text = serializers.CharField(max_length=200, required=False, help_text="A part of what it says.")
    since = serializers.DateField(required=False, help_text="The first day, UTC.")
    until = serializers.DateField(required=False, help_text="The last day, UTC.")


AuditList = list_of("AuditList", AuditEntryShape)


class Audit(ApiView):
    access = {"GET": _READ}

    @operation(
        "The audit log, newest first",
        name="audit_list",
        tag="audit",
        answers={200: AuditList},
        query=AuditQuery,
        example={"results": [AUDIT], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, AuditQuery)
        wanted = AuditFilter.from_query(request.query_params)
        if wanted.problems:
            told = (text.partition(": ") for text in wanted.problems)
            raise InvalidRequest(Problem(name, detail) for name, _, detail in told)
        rows = AuditEntry.objects.matching(wanted).order_by("-sequence")
        page = page_of(request, rows, keys=("-sequence",), query=query)
        entries = entries_seen(page.rows, sight_of(request.user))
        return listed(request, page, [_json(entry) for entry in entries])


class OneAuditEntry(ApiView):
    access = {"GET": _READ}

    @operation(
        "One entry of the audit log",
        name="audit_detail",
        tag="audit",
        answers={200: AuditEntryShape},
        example=AUDIT,
    )
    def get(self, request: Any, sequence: str) -> Response:
        read_query(request, NoQuery)
        row = AuditEntry.objects.filter(sequence=int(sequence)).first()
        if row is None or not entries_seen([row], sight_of(request.user)):
            raise Http404(f"There is no audit entry {sequence}.")
        return Response(_json(row))


def _json(row: AuditEntry) -> dict[str, Any]:
    return {
        "sequence": row.sequence,
        "at": row.at,
        "actor": row.actor_name,
        "action": row.action,
        "subject_type": row.subject_type,
        "subject_id": row.subject_id,
        "subject_label": row.subject_label,
        "before": row.before,
        "after": row.after,
        "note": row.note,
        "via": row.via,
        "previous_hash": row.previous_hash,
        "entry_hash": row.entry_hash,
    }


urlpatterns = [
    re_path(r"^audit/$", Audit.as_view(), name="audit"),
    re_path(rf"^audit/(?P<sequence>{ID})/$", OneAuditEntry.as_view(), name="audit_entry"),
]
