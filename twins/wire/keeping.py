"""How a session's records and state are kept: a row per record, with what the call made of the state.

The state itself is stored nowhere whole: the first is the twin's, every later one follows by deltas. Each
process keeps the states it saw last, so usually nothing is read but the session's row; another process that
took the calls in between has left its deltas.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from twins.engine.case import CaseSpec, CaseState, begin
from twins.engine.records import CallRecord, Record, RetrievalRecord
from twins.wire.deltas import delta_between, patched
from twins.wire.models import WireRecord
from twins.wire.rows import RecordRow

_STATES_KEPT: Final = 256


@dataclass(frozen=True, slots=True)
class _Standing:
    seq: int
    state: CaseState


class _Standings:
    """The states seen last, by the public id of their session; bounded, and safe between threads."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, _Standing] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, public_id: str) -> _Standing | None:
        with self._lock:
            return self._entries.get(public_id)

    def put(self, public_id: str, reached: _Standing) -> None:
        with self._lock:
            self._entries[public_id] = reached
            self._entries.move_to_end(public_id)
            if len(self._entries) > _STATES_KEPT:
                self._entries.popitem(last=False)

    def drop(self, public_id: str) -> None:
        with self._lock:
            self._entries.pop(public_id, None)


_standings: Final = _Standings()


def state_at(public_id: str, session_id: int, seq: int, case: CaseSpec) -> CaseState:
    """Where the case stands after record `seq`. The caller holds the session's row."""
    known = _standings.get(public_id)
    if known is not None and known.seq == seq:
        return known.state
    if known is None or known.seq > seq:
        known = _Standing(0, begin(case))
    later = WireRecord.objects.filter(session_id=session_id, seq__gt=known.seq, seq__lte=seq).order_by("seq")
    value: Any = known.state.to_json()
    for delta in later.values_list("delta", flat=True):
        value = patched(value, delta)
    return CaseState.from_json(value)


def remember(public_id: str, state: CaseState) -> None:
    """Keep a state that has been committed for the next call."""
    _standings.put(public_id, _Standing(state.seq, state))


def forget(public_id: str) -> None:
    """A session that is over needs no memory."""
    _standings.drop(public_id)


def rows_of(
    session_id: int, before: CaseState, after: CaseState, records: Sequence[Record]
) -> list[RecordRow]:
    """The rows of one step, the delta with the last: a call delivered twice is one step of two records."""
    delta = delta_between(before.to_json(), after.to_json())
    last = records[-1]
    return [
        RecordRow(session_id, record.seq, _written(record), delta if record is last else None)
        for record in records
    ]


def records_of(session_id: int) -> tuple[Record, ...]:
    """Every record of a session, in order, as the engine made it."""
    rows = WireRecord.objects.filter(session_id=session_id).order_by("seq")
    return tuple(_read(record) for record in rows.values_list("record", flat=True))


def _written(record: Record) -> dict[str, Any]:
    """A record with what the checks need and nothing prints: kept here only while the session is open."""
    fields = record.to_json()
    if record.sent_texts:
        fields["sent_texts"] = list(record.sent_texts)
    if record.kind == "tool_call":
        fields["idempotency_key"] = record.idempotency_key
        if record.sent_arguments is not None:
            fields["sent_arguments"] = record.sent_arguments
    return fields


def _read(fields: Any) -> Record:
    texts = tuple(fields.get("sent_texts", ()))
    if fields["kind"] == "retrieval":
        return replace(RetrievalRecord.from_json(fields), sent_texts=texts)
    sent = fields.get("sent_arguments")
    return replace(CallRecord.from_json(fields), sent_arguments=sent, sent_texts=texts)
