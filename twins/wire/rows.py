"""The three statements of a call, past the ORM.

Each call runs them under its session's lock, which the next call of the session waits for; through the ORM
they cost four times the processor time of the engine's own step (docs/decisions/0921).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from django.db import connection
from django.utils import timezone

from twins.wire.models import WireRecord, WireSession

_SESSIONS: Final = WireSession._meta.db_table
_RECORDS: Final = WireRecord._meta.db_table
_json_text: Final = WireRecord._meta.get_field("record").get_prep_value


class SessionRow(NamedTuple):
    """What a call reads of its session."""

    seq: int
    calls: int
    searches: int
    is_revoked: bool
    is_over: bool
    limit_reached: str
    twin_error: str


class RecordRow(NamedTuple):
    """One record to insert; `record` and `delta` are JSON values."""

    session_id: int
    seq: int
    record: Any
    delta: Any


def session_row(session_id: int, *, lock: bool) -> SessionRow:
    """The session's row, locked until the transaction ends. On SQLite the transaction itself is the lock."""
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    statement = (
        "SELECT seq, calls, searches, revoked_at IS NOT NULL, expires_at <= %s, limit_reached, twin_error "  # noqa: S608 - the table's own name
        f"FROM {_SESSIONS} WHERE id = %s"
    )
    if lock and connection.features.has_select_for_update:
        statement += " FOR UPDATE"
    with connection.cursor() as cursor:
        cursor.execute(statement, [now, session_id])
        row = cursor.fetchone()
    if row is None:
        raise WireSession.DoesNotExist(f"there is no session {session_id}")
    return SessionRow(*row)


def advance(session_id: int, row: SessionRow) -> None:
    """Write the session's numbers."""
    statement = f"UPDATE {_SESSIONS} SET seq = %s, calls = %s, searches = %s WHERE id = %s"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(statement, [row.seq, row.calls, row.searches, session_id])


def insert_records(rows: Iterable[RecordRow]) -> None:
    """Write the records of one call: one, or two of a call delivered twice."""
    statement = f"INSERT INTO {_RECORDS} (session_id, seq, record, delta) VALUES (%s, %s, %s, %s)"  # noqa: S608
    with connection.cursor() as cursor:
        for row in rows:
            values = [row.session_id, row.seq, _json_text(row.record), _json_text(row.delta)]
            cursor.execute(statement, values)
