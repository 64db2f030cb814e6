"""Manual sessions: a live case that a person opens for any agent, and that is graded when it is closed.

`open_manual_session` gives the addresses and the token, once; the agent works; `close_manual_session` revokes
the token, grades what the twin recorded, and stores it, all in one transaction. A session whose time is over
is ended by the sweep in the same way. Permission to do either is ``evaluations.add_comparison``: pages and
API ask for it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError, transaction
from django.utils import timezone

from agenttwin_site.events import governance
from evaluations.agents.answers import GarbageError, plain_answer, read_answer
from evaluations.agents.base import DEFAULT_TOOL_CALLS, AgentEnd
from evaluations.errors import AlreadyEndedError, ConflictError, RequestError
from evaluations.models import ManualSession, ManualState
from evaluations.services.comparisons import write_snapshot
from evaluations.services.judging import judge_session
from evaluations.services.judging.sessions import record_of
from evaluations.services.kits import Kit, build_kit, redaction_of
from evaluations.services.outcomes import CaseOutcome, graded, unfinished_outcome
from evaluations.services.planning import usable_kits
from evaluations.services.remote import run_of, session_spec
from scenarios.documents.cases import case_seed
from scenarios.holdouts import Sight, sight_of
from scenarios.models import ScenarioVersion
from scenarios.services import scenario_of
from twins.engine.records import CallRecord, Record
from twins.errors import UnusableTwinError
from twins.wire.errors import SessionGoneError
from twins.wire.keeping import records_of
from twins.wire.models import WireSession
from twins.wire.services import close_session, ended_early, open_session

logger = logging.getLogger(__name__)

DEFAULT_SECONDS = 60 * 60
LEAST_SECONDS, MOST_SECONDS = 60, 24 * 60 * 60
MAX_LABEL = 200
MAX_TRIAL = 10_000


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session as it was opened. `token` is there this once: None when the same request opened it before."""

    session: ManualSession
    token: str | None

    @property
    def created(self) -> bool:
        return self.token is not None


def open_manual_session(
    *,
    scenario: str,
    agent_label: str,
    lifetime_seconds: int = DEFAULT_SECONDS,
    trial: int = 1,
    seed: int = 0,
    form_token: UUID | None = None,
    actor: Any = None,
) -> OpenedSession:
    """Open a live case of a scenario's current version on its twin's current version.

    `agent_label` says in the person's words which agent and version will work on it. `seed` is a run seed,
    as for a comparison. The same `form_token` again answers the session that exists, without its token.

    Raises:
        RequestError: every unknown or impossible part of the request; nothing was written.
        ConflictError: another session was opened under this `form_token`.
    """
    asked = _Asked(scenario, agent_label.strip(), lifetime_seconds, trial, seed)
    if (existing := _under(form_token, asked)) is not None:
        return OpenedSession(existing, None)
    problems = _problems(agent_label, lifetime_seconds, trial, seed)
    kit = _kit_of(scenario, problems, sight_of(actor))
    if problems or kit is None:
        raise RequestError(problems)
    try:
        with transaction.atomic():
            return _opened(kit, asked, form_token, actor)
    except IntegrityError:
        # The same form, sent twice at once: the other one opened it.
        if (existing := _under(form_token, asked)) is None:
            raise
        return OpenedSession(existing, None)


def close_manual_session(session: ManualSession, *, answer: Any = None, actor: Any = None) -> ManualSession:
    """Revoke the token, grade what was recorded, and store it; answers the closed session.

    Where a judge elsewhere has to be asked, the session is JUDGING until it has answered.

    `answer` is what the agent said in the end, in the form of an agent's answer (FORMATS 5), or None: then
    the checks of the answer have nothing to look at. It is a claim like any other.

    Raises:
        RequestError: the answer cannot be read; the session stays open.
        AlreadyEndedError: it was closed before.
    """
    end = AgentEnd() if answer is None else AgentEnd(answer=_answer(answer))
    with transaction.atomic():
        locked = ManualSession.objects.select_for_update().get(pk=session.pk)
        if not locked.is_open:
            raise AlreadyEndedError(f"manual session {locked.pk} was closed before")
        _close(locked, end, actor)
        _announce(
            "session_closed",
            locked,
            actor,
            before={"state": ManualState.OPEN},
            after={"state": locked.state, "verdict": locked.verdict},
        )
    if locked.state == ManualState.JUDGING:
        judge_session(locked.pk)
        locked.refresh_from_db()
    return locked


def recorded_so_far(session: ManualSession) -> tuple[Record, ...]:
    """The records of a session, open or closed, free of planted secrets."""
    if not session.is_open:
        return tuple(record_of(fields) for fields in session.records)
    try:
        redaction = kit_of(session).redaction
    except UnusableTwinError:
        redaction = redaction_of(session.scenario_version, session.twin_version)
    # Where the case stands is not asked for here, only what was recorded on the way.
    return redaction.stored(records_of(session.wire_session_id), redaction.initial_state).records


def takes_no_more(session: ManualSession) -> str | None:
    """Why an open session takes no more calls, None while it does."""
    if session.is_over:
        return "its time is over"
    return ended_early(session.wire_session_id)


def kit_of(session: ManualSession) -> Kit:
    """What the session was pinned to. ValueError if its documents cannot be used here."""
    return build_kit(session.scenario_version, session.twin_version)


def end_overdue() -> int:
    """Grade the sessions whose time is over, and empty what else nobody closed; how many were graded."""
    overdue = ManualSession.objects.filter(state=ManualState.OPEN, expires_at__lte=timezone.now())
    ended = 0
    for session in overdue.order_by("pk")[:100]:
        try:
            close_manual_session(session)
            ended += 1
        except AlreadyEndedError:
            continue
        except DatabaseError:
            raise
        except Exception:  # one that cannot be ended must not keep the sweep from its other work
            logger.exception("manual session %s cannot be ended", session.pk)
    _empty_abandoned()
    return ended


def _empty_abandoned() -> None:
    """Wire sessions whose worker is gone. Those of open manual sessions are graded first, so not here."""
    held = ManualSession.objects.filter(state=ManualState.OPEN).values("wire_session")
    abandoned = WireSession.objects.filter(emptied_at=None, expires_at__lte=timezone.now())
    for session_id in abandoned.exclude(pk__in=held).order_by("pk").values_list("pk", flat=True)[:100]:
        try:
            close_session(session_id)
        except (SessionGoneError, ValueError):
            logger.info("wire session %s was emptied by another, or cannot be read here", session_id)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request for a session: what the same `form_token` must say again."""

    scenario: str
    agent_label: str
    lifetime_seconds: int
    trial: int
    run_seed: int


def _under(form_token: UUID | None, asked: _Asked) -> ManualSession | None:
    if form_token is None:
        return None
    existing = ManualSession.objects.filter(form_token=form_token).first()
    if existing is not None and (problem := _other(existing, asked)):
        raise ConflictError(f"this request opened session {existing.pk} {problem}, before it was changed")
    return existing


def _other(session: ManualSession, asked: _Asked) -> str:
    """What the session was opened with and is not asked for now; empty where it is all the same."""
    name = session.scenario_version.scenario.name
    if name != asked.scenario:
        return f"for {name}"
    if session.agent_label != asked.agent_label:
        return f"for the agent {session.agent_label!r}"
    lifetime = round((session.expires_at - session.created_at).total_seconds())
    if lifetime != asked.lifetime_seconds:
        return f"for {lifetime} seconds"
    if session.trial != asked.trial:
        return f"for trial {session.trial}"
    pinned = case_seed(scenario_of(session.scenario_version), asked.run_seed, asked.trial)
    return "" if session.seed == pinned else "with another seed"


def _problems(agent_label: str, lifetime_seconds: int, trial: int, seed: int) -> list[str]:
    problems = []
    if not agent_label.strip() or len(agent_label) > MAX_LABEL or "\x00" in agent_label:
        problems.append(f"agent_label: must be a text of 1 to {MAX_LABEL} characters")
    if not LEAST_SECONDS <= lifetime_seconds <= MOST_SECONDS:
        problems.append(
            f"lifetime_seconds: must be from {LEAST_SECONDS} to {MOST_SECONDS}, got {lifetime_seconds}"
        )
    if not 1 <= trial <= MAX_TRIAL:
        problems.append(f"trial: must be from 1 to {MAX_TRIAL}, got {trial}")
    if not -(2**63) <= seed < 2**63:
        problems.append("seed: must fit into 64 bits")
    return problems


def _kit_of(scenario: str, problems: list[str], sight: Sight) -> Kit | None:
    versions = sight.of(ScenarioVersion.objects.current().filter(scenario__name=scenario))
    version = versions.select_related("scenario").first()
    if version is None:
        problems.append(f"unknown scenario {scenario!r}")
        return None
    kits = usable_kits([version], problems)
    return kits[0] if kits else None


def _opened(kit: Kit, asked: _Asked, form_token: UUID | None, actor: Any) -> OpenedSession:
    pinned = case_seed(kit.scenario, asked.run_seed, asked.trial)
    write_snapshot(kit.redaction.initial_digest, kit.redaction.initial_state)
    wire_session, token = open_session(
        spec=session_spec(kit, pinned, max_calls=DEFAULT_TOOL_CALLS),
        label=f"manual session, {kit.scenario.name}",
        lifetime_seconds=asked.lifetime_seconds,
    )
    session = ManualSession.objects.create(
        scenario_version_id=kit.scenario_version_id,
        twin_version_id=kit.twin_version_id,
        agent_label=asked.agent_label,
        trial=asked.trial,
        seed=pinned,
        initial_state_id=kit.redaction.initial_digest,
        wire_session=wire_session,
        form_token=form_token,
        created_by=actor,
        expires_at=timezone.now() + timedelta(seconds=asked.lifetime_seconds),
    )
    pinned_to = {
        "scenario": kit.scenario.name,
        "agent_label": asked.agent_label,
        "trial": asked.trial,
        "expires_at": session.expires_at.isoformat(),
    }
    _announce("session_opened", session, actor, after=pinned_to)
    return OpenedSession(session, token)


def _announce(action: str, session: ManualSession, actor: Any, **values: Any) -> None:
    """For whoever keeps the record, inside the transaction that does it. Never the token."""
    governance.send(
        sender=ManualSession, action=action, actor=actor, subject=f"session {session.pk}", **values
    )


def _answer(raw: Any) -> Any:
    try:
        return read_answer(plain_answer(raw))
    except GarbageError as problem:
        raise RequestError([f"answer: {problem}"]) from None


def _close(session: ManualSession, end: AgentEnd, actor: Any) -> None:
    kit = None
    try:
        kit = kit_of(session)
        outcome = graded(kit, session.seed, run_of(close_session(session.wire_session_id), end))
    except SessionGoneError:
        outcome = unfinished_outcome(kit, "its records were emptied before they could be graded")
    except ValueError as problem:
        # Its evidence is out of reach; its token must not outlive it.
        WireSession.objects.filter(pk=session.wire_session_id).update(revoked_at=timezone.now())
        outcome = unfinished_outcome(None, f"its documents cannot be used here: {problem}")
    session.closed_by, session.closed_at = actor, timezone.now()
    try:
        with transaction.atomic():
            _store(session, outcome)
    except (OperationalError, InterfaceError):
        raise  # the database is away: nothing about the session
    except (DatabaseError, ValueError, TypeError) as refused:
        logger.exception("manual session %s cannot be stored", session.pk)
        reason = f"its outcome cannot be stored: {type(refused).__name__}"
        _store(session, unfinished_outcome(kit, reason))


def _store(session: ManualSession, outcome: CaseOutcome) -> None:
    session.state = ManualState.JUDGING if outcome.judging else ManualState.CLOSED
    session.verdict = None if outcome.judging else outcome.verdict
    session.error_reason = outcome.error_reason
    session.records = [_fields(record) for record in outcome.records]
    session.results = [result.to_json() for result in outcome.results]
    session.answer, session.claimed_outcome = outcome.answer, outcome.claimed_outcome
    session.contradiction = outcome.contradiction
    session.final_state_digest = outcome.final_state_digest
    session.tool_call_count, session.retry_count = outcome.tool_calls, outcome.retries
    session.metrics = outcome.metrics
    session.save()


def _fields(record: Record) -> dict[str, Any]:
    fields = record.to_json()
    if isinstance(record, CallRecord):
        # Not printed anywhere, and still part of what tells one attempt from a repeated one.
        fields["idempotency_key"] = record.idempotency_key
    return fields
