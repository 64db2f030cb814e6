"""The queue in the API: list, flag a case, close an entry."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import re_path, reverse
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import ListQuery, NoQuery, Strict, list_of, listing, read_body, read_query
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, absolute, created, via_of
from evaluations.api.cases import SIDES
from evaluations.api.comparisons import ID
from evaluations.holdouts import seen
from evaluations.page_queries import case_path
from reviews import services
from reviews.api.examples import CLOSING, ENTRY, FLAG
from reviews.models import QueueEntry, QueueReason, QueueState
from reviews.roles import DECIDE
from reviews.roles import FLAG as MAY_FLAG
from reviews.texts import NOTE_MAX_LENGTH, NOTE_MIN_LENGTH
from scenarios.holdouts import sight_of
from twins.document_api import person

_READ = Access(("read", "review"), "reviews.view_queueentry")
_FLAG = Access(("review",), MAY_FLAG)
_CLOSE = Access(("review",), DECIDE)
_LARGEST = 2**63 - 1


class EntryLinks(serializers.Serializer):
    self = serializers.URLField()
    case = serializers.URLField()
    page = serializers.URLField()


class QueueEntryShape(serializers.Serializer):
    """One reason why one case needs a person."""

    id = serializers.IntegerField()
    case = serializers.IntegerField()
    comparison = serializers.IntegerField()
    scenario = serializers.CharField()
    trial = serializers.IntegerField()
    reason = serializers.ChoiceField(choices=QueueReason.values)
    side = serializers.ChoiceField(choices=SIDES, allow_null=True, help_text="null: both.")
    detail = serializers.CharField(allow_blank=True)
    priority = serializers.IntegerField(help_text="Worst first.")
    state = serializers.ChoiceField(choices=QueueState.values)
    reserved_by = serializers.CharField(allow_null=True)
    reserved_until = serializers.DateTimeField(allow_null=True)
    assigned_to = serializers.CharField(allow_null=True)
    created_by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    closed_by = serializers.CharField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)
    closing_note = serializers.CharField(allow_blank=True)
    links = EntryLinks()


class QueueQuery(ListQuery):
    state = serializers.ChoiceField(choices=QueueState.values, required=False, help_text="OPEN if not said.")
    reason = serializers.ChoiceField(
        choices=QueueReason.values, required=False, help_text="For this reason alone."
    )
    case = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, required=False, help_text="Of this case alone."
    )
    comparison = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, required=False, help_text="Of this comparison alone."
    )
    assigned_to = serializers.CharField(max_length=200, required=False, help_text="A name.")


class FlagShape(Strict):
    case = serializers.IntegerField(min_value=1, max_value=_LARGEST)
    note = serializers.CharField(min_length=NOTE_MIN_LENGTH, max_length=NOTE_MAX_LENGTH)
    side = serializers.ChoiceField(choices=SIDES, required=False)


class ClosingShape(Strict):
    note = serializers.CharField(min_length=NOTE_MIN_LENGTH, max_length=NOTE_MAX_LENGTH)


QueueList = list_of("QueueList", QueueEntryShape)


class Queue(ApiView):
    access = {"GET": _READ, "POST": _FLAG}

    @operation(
        "What needs a person, worst first",
        name="queue_list",
        tag="queue",
        answers={200: QueueList},
        query=QueueQuery,
        example={"results": [ENTRY], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, QueueQuery)
        columns = {
            "reason": "reason",
            "case": "pair_id",
            "comparison": "pair__comparison_id",
            "assigned_to": "assigned_to__username",
        }
        chosen = {column: query[name] for name, column in columns.items() if query.get(name)}
        return listing(
            request,
            _rows(request).filter(state=query.get("state", QueueState.OPEN), **chosen),
            keys=("priority", "pk"),
            query=query,
            render=lambda row: entry_json(request, row),
        )

    @operation(
        "Flag a case",
        name="queue_flag",
        tag="queue",
        description="201: a new entry; 200: the case was flagged already, and another reason is added to it.",
        answers={201: QueueEntryShape, 200: QueueEntryShape},
        body=FlagShape,
        body_example=FLAG,
        example={**ENTRY, "reason": "FLAGGED"},
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, FlagShape)
        entry, is_new = services.flag_case(
            pair_id=asked["case"],
            note=asked["note"],
            side=asked.get("side", "").upper(),
            actor=request.user,
            **via_of(request),
        )
        return created(entry_json(request, _found(request, entry.pk)), is_new=is_new)


class OneEntry(ApiView):
    access = {"GET": _READ}

    @operation(
        "One entry of the queue",
        name="queue_detail",
        tag="queue",
        answers={200: QueueEntryShape},
        example=ENTRY,
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        return Response(entry_json(request, _found(request, int(pk))))


class CloseEntry(ApiView):
    access = {"POST": _CLOSE}

    @operation(
        "Close an entry of the queue",
        name="queue_close",
        tag="queue",
        description="Without a decision: the verdicts stay as they are.",
        answers={200: QueueEntryShape},
        body=ClosingShape,
        body_example=CLOSING,
        example={**ENTRY, "state": "DONE", "closed_by": "ann", "closing_note": CLOSING["note"]},
        errors=WRITES,
    )
    def post(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, ClosingShape)
        services.close_entry(entry_id=int(pk), note=asked["note"], actor=request.user, **via_of(request))
        return Response(entry_json(request, _found(request, int(pk))))


def entry_json(request: Any, row: QueueEntry) -> dict[str, Any]:
    """A row of `QueueEntry.objects.for_list()`."""
    pair = row.pair
    return {
        "id": row.pk,
        "case": pair.pk,
        "comparison": pair.comparison_id,
        "scenario": pair.scenario_name,
        "trial": pair.trial,
        "reason": row.reason,
        "side": row.side.lower() or None,
        "detail": row.detail,
        "priority": row.priority,
        "state": row.state,
        "reserved_by": person(row.reserved_by),
        "reserved_until": row.reserved_until,
        "assigned_to": person(row.assigned_to),
        "created_by": person(row.created_by),
        "created_at": row.created_at,
        "closed_by": person(row.closed_by),
        "closed_at": row.closed_at,
        "closing_note": row.closing_note,
        "links": {
            "self": absolute(request, f"{reverse('api:queue')}{row.pk}/"),
            "case": absolute(request, f"{reverse('api:cases')}{pair.pk}/"),
            "page": absolute(request, case_path(pair.comparison_id, pair.scenario_name, pair.trial)),
        },
    }


def _rows(request: Any) -> Any:
    """Entries of cases this account may look into."""
    return seen(QueueEntry.objects.for_list(), sight_of(request.user), pair="pair")


def _found(request: Any, pk: int) -> QueueEntry:
    row: QueueEntry | None = _rows(request).filter(pk=pk).first()
    if row is None:
        raise Http404(f"There is no queue entry {pk}.")
    return row


urlpatterns = [
    re_path(r"^queue/$", Queue.as_view(), name="queue"),
    re_path(rf"^queue/(?P<pk>{ID})/$", OneEntry.as_view(), name="queue_entry"),
    re_path(rf"^queue/(?P<pk>{ID})/close/$", CloseEntry.as_view(), name="queue_close"),
]
