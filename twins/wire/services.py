"""Opening and closing a session, and the calls in between.

A call is one transaction that holds the session's row: it reads where the case stands, lets the engine take
the step, and writes the records and what the step made of the state. The answer leaves after the commit, so
whatever an agent was told has been recorded. Closing takes the same row: a call is either in the evidence
or was refused.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from twins.engine.bounds import ABSENT
from twins.engine.case import CaseSpec, CaseState, call_tool
from twins.engine.case import search as search_documents
from twins.engine.records import CUT, Record, Reply, SearchReply
from twins.engine.spec import Step
from twins.errors import UnusableTwinError
from twins.wire.errors import (
    NotAdmittedError,
    OutageError,
    SessionClosedError,
    SessionGoneError,
    TwinBrokenError,
)
from twins.wire.keeping import forget, records_of, remember, rows_of, state_at
from twins.wire.models import WireRecord, WireSession
from twins.wire.rows import SessionRow, advance, insert_records, session_row
from twins.wire.specs import SessionSpec

logger = logging.getLogger(__name__)

FEWEST_SEARCHES = 200
"""Searches leave records too, so they are bounded: as many as calls, but at least so many."""


@dataclass(frozen=True, slots=True)
class ClosedSession:
    """What a session leaves: the state it reached and every record, both with real values.

    `limit_reached` and `twin_error` say why it ended before it was closed. `disturbed`: an answer did not
    reach the agent for reasons of our own, so that what the agent did then is no behaviour to judge.
    """

    spec: CaseSpec
    state: CaseState
    records: tuple[Record, ...]
    limit_reached: str | None
    twin_error: str | None
    disturbed: str | None


@dataclass(frozen=True, slots=True)
class Admission:
    """A session whose token was shown. `case` is None once the session is emptied."""

    session_id: int
    public_id: str
    token_hash: str
    max_calls: int
    case: CaseSpec | None


@dataclass(frozen=True, slots=True)
class Answered:
    """A committed call: the engine's reply, and for a cut one the whole body that it was cut from."""

    reply: Reply
    whole: Any = None


# --------------------------------------------------------------------------- opening and closing


def open_session(*, spec: SessionSpec, label: str, lifetime_seconds: int) -> tuple[WireSession, str]:
    """A new session and its token, which is shown this once and stored only as a hash.

    TwinVersion.DoesNotExist, and KeyError or ValueError for rules no validated document holds.
    """
    spec.case_spec()  # a spec that does not compile is refused here and not at its first call
    written: Any = spec.to_json()
    token = secrets.token_urlsafe(32)
    session = WireSession.objects.create(
        public_id=secrets.token_hex(12),
        token_hash=token_hash(token),
        label=label[:200],
        twin_version_id=spec.twin_version_id,
        spec=written,
        spec_digest=spec.digest,
        expires_at=timezone.now() + timedelta(seconds=lifetime_seconds),
    )
    return session, token


def close_session(session_id: int) -> ClosedSession:
    """End a session, empty it, and hand over its evidence. SessionGoneError if that was done before.

    From here on its token is refused. Inside the caller's transaction the evidence is lost only if what the
    caller makes of it is stored.
    """
    with transaction.atomic():
        session = _locked(session_id)
        if session.emptied_at is not None:
            raise SessionGoneError(f"session {session.public_id} was closed before")
        case = SessionSpec.from_json(session.spec).case_spec()
        closed = ClosedSession(
            case,
            state_at(session.public_id, session.pk, session.seq, case),
            records_of(session.pk),
            session.limit_reached or None,
            session.twin_error or None,
            session.disturbed or None,
        )
        _empty(session)
    return closed


def ended_early(session_id: int) -> str | None:
    """Why a session that nobody closed takes no more calls, else None: asked while an agent works."""
    limit, broken = WireSession.objects.values_list("limit_reached", "twin_error").get(pk=session_id)
    return limit or broken or None


def _locked(session_id: int) -> WireSession:
    return WireSession.objects.select_for_update().get(pk=session_id)


def _empty(session: WireSession) -> None:
    now = timezone.now()
    session.revoked_at = session.revoked_at or now
    session.emptied_at = now
    session.spec = None
    session.save(update_fields=["revoked_at", "emptied_at", "spec"])
    WireRecord.objects.filter(session_id=session.pk).delete()


# ------------------------------------------------------------------------------------ admission

# By public id, which is random and never used again. What is kept of a session here does not change.
_admissions: dict[str, Admission] = {}
_MOST_ADMISSIONS = 2048


def token_hash(token: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def admit(public_id: str, token: str) -> Admission:
    """The session of this address, if the token is its own. NotAdmittedError does not say which was wrong.

    Whether the session still takes calls is decided by the call, under its lock.
    """
    return _checked(_admissions.get(public_id) or _load_admission(public_id), token)


def known_admission(public_id: str, token: str) -> Admission | None:
    """The same without the database; None when this process has not met the session yet."""
    admission = _admissions.get(public_id)
    return None if admission is None else _checked(admission, token)


def _checked(admission: Admission | None, token: str) -> Admission:
    known = "" if admission is None else admission.token_hash
    if not hmac.compare_digest(token_hash(token), known) or admission is None:
        raise NotAdmittedError("no session is known by this address and token")
    return admission


def _load_admission(public_id: str) -> Admission | None:
    session = WireSession.objects.filter(public_id=public_id).first()
    if session is None:
        return None
    if session.spec is None:
        return Admission(session.pk, public_id, session.token_hash, 0, None)
    spec = SessionSpec.from_json(session.spec)
    admission = Admission(session.pk, public_id, session.token_hash, spec.max_calls, _usable(spec))
    if len(_admissions) >= _MOST_ADMISSIONS:
        _admissions.clear()
    _admissions[public_id] = admission
    return admission


def _usable(spec: SessionSpec) -> CaseSpec:
    """The case, or TwinBrokenError: the session was opened by a process with an adapter that this lacks."""
    try:
        return spec.case_spec()
    except UnusableTwinError as problem:
        raise TwinBrokenError(f"the twin cannot be used here: {problem.detail}") from problem


def check_open(admission: Admission) -> None:
    """SessionClosedError if the session takes no more calls."""
    _closed_for(session_row(admission.session_id, lock=False))


# ---------------------------------------------------------------------------------------- calls


def call(admission: Admission, tool: Any, arguments: Any = ABSENT, headers: Any = None) -> Answered:
    """One tool call, committed when this returns. The caller sends the answer, and sleeps its delay before.

    SessionClosedError, TwinBrokenError (both leave no record), or the database's own errors.
    """
    case = _case(admission)
    before, step = _advance(admission, lambda at: call_tool(case, at, tool, arguments, headers), "calls")
    assert isinstance(step.reply, Reply)
    if step.reply.transport not in CUT:
        return Answered(step.reply)
    # The engine keeps only what was sent of a cut answer. The same step without the fault has all of it.
    whole = call_tool(replace(case, faults=()), before, tool, arguments, headers).reply
    assert isinstance(whole, Reply)
    return Answered(step.reply, whole.body)


def search(admission: Admission, query: Any, limit: Any = None) -> SearchReply:
    """One search of the twin's knowledge base; raises as `call` does."""
    case = _case(admission)
    _, step = _advance(admission, lambda at: search_documents(case, at, query, limit), "searches")
    assert isinstance(step.reply, SearchReply)
    return step.reply


def note_disturbance(public_id: str, reason: str) -> None:
    """Remember that an agent got no true answer for a fault of ours; the first reason stays."""
    WireSession.objects.filter(public_id=public_id, disturbed="").update(disturbed=reason)


def _case(admission: Admission) -> CaseSpec:
    if admission.case is None:
        raise SessionClosedError(_CLOSED)
    return admission.case


def _advance(
    admission: Admission, operation: Callable[[CaseState], Step], counter: str
) -> tuple[CaseState, Step]:
    """Take one step of a session and commit it: the state before, and the step."""
    done: tuple[CaseState, Step] | Exception | None = None
    try:
        with transaction.atomic():
            done = _step_under_lock(admission, operation, counter)
    except (OperationalError, InterfaceError) as problem:
        if done is None:
            raise  # nothing has happened: it may be tried again
        raise OutageError("the database went away while a call was being committed") from problem
    if isinstance(done, Exception):
        forget(admission.public_id)
        raise done
    assert done is not None
    remember(admission.public_id, done[1].state)
    return done


def _step_under_lock(
    admission: Admission, operation: Callable[[CaseState], Step], counter: str
) -> tuple[CaseState, Step] | Exception:
    """The step, written but not yet committed, or why the session ends instead (written as well)."""
    row = session_row(admission.session_id, lock=True)
    _closed_for(row)
    before = state_at(admission.public_id, admission.session_id, row.seq, _case(admission))
    count = getattr(row, counter) + 1
    if (reason := _over_limit(admission, counter, count)) is not None:
        _revoke(admission, limit_reached=reason)
        return SessionClosedError(f"{_CLOSED}: {reason}")
    try:
        step = operation(before)
    except Exception as broken:
        # The engine answers every call; an exception is a bug of the twin and ends its case.
        logger.exception("the twin of session %s failed", admission.public_id)
        _revoke(admission, twin_error=f"{type(broken).__name__}: {broken}")
        return TwinBrokenError("the twin failed, so its session is over")
    advance(admission.session_id, row._replace(seq=step.state.seq, **{counter: count}))
    insert_records(rows_of(admission.session_id, before, step.state, step.records))
    return before, step


def _revoke(admission: Admission, **reason: str) -> None:
    WireSession.objects.filter(pk=admission.session_id).update(revoked_at=timezone.now(), **reason)


_CLOSED = "the session is closed and its token revoked"


def _closed_for(row: SessionRow) -> None:
    if row.limit_reached or row.twin_error:
        raise SessionClosedError(f"{_CLOSED}: {row.limit_reached or 'the twin failed'}")
    if row.is_revoked:
        raise SessionClosedError(_CLOSED)
    if row.is_over:
        raise SessionClosedError(f"{_CLOSED}: its time is over")


def _over_limit(admission: Admission, counter: str, count: int) -> str | None:
    if counter == "calls":
        return f"more than {admission.max_calls} tool calls" if count > admission.max_calls else None
    most = max(admission.max_calls, FEWEST_SEARCHES)
    return f"more than {most} searches" if count > most else None
