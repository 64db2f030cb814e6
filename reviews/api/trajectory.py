"""Both trajectories of a case side by side, in the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.urls import re_path
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.failures import InvalidRequest, Problem
from agenttwin_site.api.lists import LIMIT, ListQuery, list_of, read_query
from agenttwin_site.api.schema import operation
from agenttwin_site.api.views import ApiView
from evaluations.api.cases import SIDES, found_case
from evaluations.api.comparisons import ID
from evaluations.grading.trajectory import OUTCOME, POLICY, RETRIEVAL, STEP_KINDS, TOOL
from evaluations.grading.wording import call_text, clean, cut
from evaluations.models import Case, RecordKind, Side, ToolCall
from reviews.api.examples import STEP
from reviews.page_queries.alignment import Row, alignment_of
from scenarios.holdouts import sight_of

_READ = Access(("read", "run", "review"), "evaluations.view_toolcall")
_QUERY_CHARACTERS = 200


class StepShape(serializers.Serializer):
    """One step of one side; the last one is the agent's claim (OUTCOME)."""

    step = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=list(STEP_KINDS))
    seq = serializers.IntegerField(allow_null=True, help_text="Number of the record; null for the claim.")
    text = serializers.CharField()
    status = serializers.CharField(allow_null=True)
    http_status = serializers.IntegerField(allow_null=True)
    error_code = serializers.CharField(allow_null=True)
    fault = serializers.CharField(allow_null=True)
    mutated = serializers.BooleanField()


class RowShape(serializers.Serializer):
    """A step of each side that belong together; `left` and `right`: only one side's."""

    row = serializers.IntegerField(help_text="From 1.")
    match = serializers.ChoiceField(choices=["same", "changed", "left", "right"])
    differing = serializers.ListField(child=serializers.CharField(), help_text="In what it differs.")
    baseline = StepShape(allow_null=True)
    candidate = StepShape(allow_null=True)


RowList = list_of("TrajectoryList", RowShape)


@dataclass(frozen=True, slots=True)
class _Span:
    """Rows `start` to `end` (from 0, end excluded) of `count`."""

    start: int
    end: int
    count: int


class Trajectory(ApiView):
    access = {"GET": _READ}

    @operation(
        "Both trajectories, aligned",
        name="cases_trajectory",
        tag="cases",
        description="Aligned by their longest common subsequence. Cursors are numbers of rows.",
        answers={200: RowList},
        query=ListQuery,
        example={"results": [STEP], "next": None, "previous": None},
    )
    def get(self, request: Any, pk: str) -> Response:
        query = read_query(request, ListQuery)
        pair = found_case(int(pk), sight_of(request.user))
        cases = {case.run.side: case for case in _cases(pair.pk)}
        alignment = alignment_of(cases)
        span = _span(query, len(alignment.rows))
        rows = alignment.rows[span.start : span.end]
        records = _records(cases, rows)
        return Response(
            {
                "results": [_row_json(row, cases, records) for row in rows],
                "next": _address(request, after=span.end) if span.end < span.count else None,
                "previous": _address(request, before=span.start + 1) if span.start > 0 else None,
            }
        )


def _cases(pair_id: int) -> list[Any]:
    """Both sides, their answers left in the database: whether there is one is all that is asked."""
    rows = Case.objects.filter(pair=pair_id).select_related("run").defer("answer", "metrics")
    return list(rows.annotate(has_answer=Q(answer__isnull=False)))


def _span(query: Mapping[str, Any], count: int) -> _Span:
    """`after` is the last row of the page before, `before` the first one of the page after."""
    problems = [
        Problem(name, "is no cursor of this list; take it from next or previous")
        for name in ("after", "before")
        if name in query and not (query[name].isascii() and query[name].isdigit() and len(query[name]) < 10)
    ]
    if "after" in query and "before" in query:
        problems.append(Problem("before", "cannot be given together with after"))
    if problems:
        raise InvalidRequest(problems)
    size = query.get("limit", LIMIT)
    if "before" in query:
        end = min(max(int(query["before"]) - 1, 0), count)
        return _Span(max(end - size, 0), end, count)
    start = min(int(query.get("after", 0)), count)
    return _Span(start, min(start + size, count), count)


def _address(request: Any, **cursor: int) -> str:
    changed = request.query_params.copy()
    for name in ("after", "before"):
        changed.pop(name, None)
    changed.update({name: str(value) for name, value in cursor.items()})
    return str(request.build_absolute_uri(f"{request.path}?{changed.urlencode()}"))


def _records(cases: Mapping[str, Case], rows: Sequence[Row]) -> dict[tuple[str, int], ToolCall]:
    """The records of these rows by side and seq, without answers and changes: one query."""
    wanted = Q(pk__in=[])
    for name, case in cases.items():
        seqs = [position for row in rows if (position := row.position(name)) is not None]
        if seqs:
            wanted |= Q(case=case, seq__gte=min(seqs), seq__lte=max(seqs))
    sides = {case.pk: name for name, case in cases.items()}
    found = ToolCall.objects.filter(wanted).defer("response", "changes", "documents").order_by()
    return {(sides[record.case_id], record.seq): record for record in found}


def _row_json(
    row: Row, cases: Mapping[str, Case], records: Mapping[tuple[str, int], ToolCall]
) -> dict[str, Any]:
    sides = {
        name.lower(): None
        if (at := row.position(name)) is None
        else _step_json(at, cases[name], records, name)
        for name in Side.values
    }
    return {
        "row": row.number,
        "match": row.kind,
        "differing": list(row.differing),
        **{name: sides[name] for name in SIDES},
    }


def _step_json(
    position: int, case: Case, records: Mapping[tuple[str, int], ToolCall], side: str
) -> dict[str, Any]:
    record = records.get((side, position))
    nothing = {"status": None, "http_status": None, "error_code": None, "fault": None, "mutated": False}
    if record is None:
        return {"step": position, "kind": OUTCOME, "seq": None, "text": _claim(case), **nothing}
    if record.kind == RecordKind.RETRIEVAL:
        text = f'search "{cut(clean(record.query or ""), _QUERY_CHARACTERS)}"'
        return {"step": position, "kind": RETRIEVAL, "seq": record.seq, "text": text, **nothing}
    return {
        "step": position,
        "kind": TOOL if record.policy_violation is None else POLICY,
        "seq": record.seq,
        "text": call_text(record.tool, record.arguments, None),
        "status": record.status,
        "http_status": record.http_status,
        "error_code": record.error_code,
        "fault": record.fault,
        "mutated": record.mutated,
    }


def _claim(case: Case) -> str:
    if not case.has_answer:  # type: ignore[attr-defined]
        return "no answer"
    return f"reported {case.claimed_outcome}" if case.claimed_outcome else "reported no outcome"


urlpatterns = [
    re_path(rf"^cases/(?P<pk>{ID})/trajectory/$", Trajectory.as_view(), name="case_trajectory"),
]
