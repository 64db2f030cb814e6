"""One round of judging: claim, ask, store, and conclude when nothing is left."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import DatabaseError, InterfaceError, OperationalError
from django.db.models import QuerySet

from agenttwin_site.logs import bound
from evaluations import dispatch
from evaluations.judges.interface import JudgeError
from evaluations.services import claims as running_claims
from evaluations.services.concluding import conclude_if_done
from evaluations.services.judges import configured_judge, judge_settings
from evaluations.services.judging import claims
from evaluations.services.judging.budget import Budget, ComparisonBudget, SessionBudget
from evaluations.services.judging.cases import CaseShelf
from evaluations.services.judging.places import Places
from evaluations.services.judging.questions import Subject, unasked
from evaluations.services.judging.rounds import Round
from evaluations.services.judging.sessions import SessionShelf

logger = logging.getLogger(__name__)

# Of a judge elsewhere only so many cases a place are claimed: others may have places free sooner.
CASES_PER_PLACE = 4
CASES_AT_ONCE = 100
RENEW_SECONDS = 1.0
FLUSH_SECONDS = 0.8


@dataclass(frozen=True, slots=True)
class JudgingReport:
    """What one round did. `is_full`: the provider's places are taken, so nobody was claimed."""

    claimed: int = 0
    stored: int = 0
    is_full: bool = False


class Shelf(Protocol):
    """Where what is judged comes from and goes to."""

    @property
    def waiting(self) -> QuerySet[Any]: ...

    def load(self, ids: Sequence[int]) -> list[Subject]: ...

    def store(self, subjects: Sequence[Subject], token: str) -> int: ...


def judge_cases(
    comparison_id: int, *, on_judged: Callable[[int], object] = lambda count: None
) -> JudgingReport:
    """Judge cases of a comparison that wait for it; with the last one the comparison may end."""
    budget = ComparisonBudget(comparison_id, judge_settings())
    with bound(comparison_id=comparison_id):
        report = _judge(CaseShelf(comparison_id), budget, on_judged)
        if report.stored or not (report.claimed or report.is_full):
            conclude_if_done(comparison_id)
    return report


def judge_sessions(only: int | None = None) -> JudgingReport:
    """Judge one manual session that waits for it, or this one."""
    return _judge(SessionShelf(only), SessionBudget(judge_settings()), lambda count: None, most=1)


def judge_session(session_id: int) -> None:
    """Judge a session that was just closed: here if its judge works here, else a worker is told of it."""
    if configured_judge().address:
        dispatch.wake_session_judges()
    else:
        judge_sessions(session_id)


def _judge(
    shelf: Shelf, budget: Budget, on_judged: Callable[[int], object], *, most: int = CASES_AT_ONCE
) -> JudgingReport:
    token = running_claims.new_token()
    places = Places.take(configured_judge(), token)
    if not places.count:
        return JudgingReport(is_full=True)
    try:
        limit = min(most, CASES_PER_PLACE * places.count) if places.is_shared else most
        ids = claims.claim(shelf.waiting, token=token, limit=limit)
        if not ids:
            ended = _end_exhausted(shelf, token)
            if ended:
                on_judged(ended)
            return JudgingReport(stored=ended)
        judging = _Judging(shelf, token, places, budget, on_judged)
        try:
            judging.run(ids)
        except BaseException:
            judging.give_back()
            raise
        finally:
            budget.close()
        return JudgingReport(len(ids), judging.stored)
    finally:
        places.give_back()


class _Judging:
    """What was claimed under one token; stored as soon as it is done, together about once a second."""

    def __init__(
        self,
        shelf: Shelf,
        token: str,
        places: Places,
        budget: Budget,
        on_judged: Callable[[int], object],
    ) -> None:
        self._shelf, self._token, self._places, self._budget = shelf, token, places, budget
        self._on_judged = on_judged
        self._ready: list[Subject] = []
        self._open: dict[int, Subject] = {}
        self._last_flush = self._last_renewal = time.monotonic()
        self._alive = True
        self.stored = 0

    def run(self, ids: Sequence[int]) -> None:
        subjects = self._shelf.load(ids)
        self._ready = [subject for subject in subjects if subject.is_done]
        self._open = {subject.id: subject for subject in subjects if not subject.is_done}
        questions = [question for subject in self._open.values() for question in subject.questions]
        hide = {pk: one.kit.redaction.value for pk, one in self._open.items() if one.kit is not None}
        for answers in Round(questions, budget=self._budget, places=self._places.count, hide=hide).outcomes():
            for question, outcome in answers:
                subject = self._open[question.subject_id]
                subject.outcomes[question.position] = outcome
                if subject.is_done:
                    self._ready.append(self._open.pop(subject.id))
            self._beat()
            if not self._alive:
                return
        self.flush()

    def _beat(self) -> None:
        now = time.monotonic()
        if self._ready and now - self._last_flush >= FLUSH_SECONDS:
            self.flush()
        if self._open and now - self._last_renewal >= RENEW_SECONDS:
            self._alive = claims.renew(self._shelf.waiting, self._token) > 0
            self._places.renew()
            self._last_renewal = now

    def flush(self) -> None:
        ready, self._ready = self._ready, []
        if ready:
            stored = _store(self._shelf, ready, self._token)
            self.stored += stored
            if stored:
                self._on_judged(stored)
        self._last_flush = time.monotonic()

    def give_back(self) -> None:
        """After a failure that is not a case's: store what is done, release the rest."""
        try:
            self.flush()
            claims.release(self._shelf.waiting, self._token)
        except DatabaseError:
            # The lease does the same a little later.
            logger.warning("claims of a failed round of judging could not be released", exc_info=True)


def _store(shelf: Shelf, subjects: Sequence[Subject], token: str) -> int:
    """Store what is ours; what the database refuses is stored as an error, so that it holds up nobody."""
    try:
        return shelf.store(subjects, token)
    except (OperationalError, InterfaceError):
        raise  # the database is away: nothing about the verdicts
    except (DatabaseError, ValueError, TypeError) as problem:
        if len(subjects) > 1:
            return sum(_store(shelf, [subject], token) for subject in subjects)
        logger.exception("what a judge said cannot be stored")
        error = JudgeError("malformed", f"its verdict cannot be stored: {type(problem).__name__}")
        return shelf.store([_failed(subjects[0], error)], token)


def _end_exhausted(shelf: Shelf, token: str) -> int:
    """ERROR for what used up its attempts; how many."""
    ids = claims.claim_exhausted(shelf.waiting, token=token, limit=CASES_AT_ONCE)
    if not ids:
        return 0
    error = JudgeError(
        "unavailable",
        f"given up after {running_claims.MAX_ATTEMPTS} attempts: each time the worker stopped or lost its "
        "lease before the verdict was stored",
    )
    return _store(shelf, [_failed(subject, error) for subject in shelf.load(ids)], token)


def _failed(subject: Subject, error: JudgeError) -> Subject:
    subject.outcomes = {question.position: unasked(question, error) for question in subject.questions}
    return subject
