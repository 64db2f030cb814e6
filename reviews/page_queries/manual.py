"""What the page of a manual session shows of its twin's records and of its grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluations.grading import retry_seqs
from evaluations.grading.wording import clean, cut
from evaluations.models import ManualSession
from evaluations.page_queries.verdicts import Judged, Judging, judged_session, judgings
from evaluations.services.manual import kit_of, recorded_so_far
from reviews.presenting.calls import (
    CallText,
    FaultFacts,
    Note,
    call_line,
    call_notes,
    fault_facts,
    search_notes,
)
from twins.engine.records import CallRecord, Record, RetrievalRecord

_QUERY_CHARACTERS = 200
CHANGES_SHOWN = 50


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One call or search, in a line and opened."""

    seq: int
    line: CallText
    notes: list[Note]
    record: Record
    fault: FaultFacts | None = None

    @property
    def is_call(self) -> bool:
        return self.record.kind == "tool_call"

    @property
    def changes(self) -> Sequence[Any]:
        return self.record.changes[:CHANGES_SHOWN] if isinstance(self.record, CallRecord) else ()

    @property
    def more_changes(self) -> int:
        return max(len(self.record.changes) - CHANGES_SHOWN, 0) if isinstance(self.record, CallRecord) else 0


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One graded expectation; `calls` are numbers of records of this page."""

    id: str
    about: str
    status: str
    label: str
    critical: bool
    reason: str
    calls: tuple[int, ...]
    paths: tuple[str, ...]
    judgings: list[Judging] = field(default_factory=list)


def record_rows(session: ManualSession) -> list[RecordRow]:
    """The records of a session so far, in order."""
    records = recorded_so_far(session)
    retries = retry_seqs(records)
    applied: dict[str, int] = {}
    rows = []
    for record in records:
        if isinstance(record, RetrievalRecord):
            found = [{"id": name, "trusted": trusted} for name, trusted in record.documents]
            line = CallText("search", f' "{cut(clean(record.query), _QUERY_CHARACTERS)}"')
            rows.append(RecordRow(record.seq, line, search_notes(found), record))
            continue
        first = None
        if record.mutated and record.effect_key is not None:
            first = applied.setdefault(record.effect_key, record.seq)
        notes = call_notes(
            record,
            first_applied=None if first == record.seq else first,
            is_retry=record.seq in retries,
        )
        fault = None if record.fault is None else fault_facts(record.fault)
        rows.append(RecordRow(record.seq, call_line(record.tool, record.arguments), notes, record, fault))
    return rows


def result_rows(session: ManualSession) -> list[ResultRow]:
    """The grades of a closed session: what did not pass first, critical ones before others."""
    about, judged = _descriptions(session), judged_session(session)
    rows = [_result_row(fields, about, judged.get(fields["id"])) for fields in session.results]
    return sorted(rows, key=lambda row: (row.status == "PASS", not row.critical))


def _result_row(fields: dict[str, Any], about: dict[str, str], judged: Judged | None) -> ResultRow:
    evidence = fields["evidence"]
    described = about.get(fields["id"], "")
    return ResultRow(
        id=fields["id"],
        about=described or (fields["type"] if fields["type"] != fields["id"] else ""),
        status=fields["status"],
        label=fields["label"] or "",
        critical=fields["critical"],
        reason=fields["reason"],
        calls=tuple(evidence.get("calls") or ())[:10],
        paths=tuple(evidence.get("paths") or ())[:10],
        judgings=judgings([("", judged)]),
    )


def _descriptions(session: ManualSession) -> dict[str, str]:
    try:
        kit = kit_of(session)
    except ValueError:
        return {}
    return {one.id: one.description for one in kit.scenario.expectations}
