"""Manual sessions that wait for a judge: one row each, closed with the last verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from evaluations.grading import Result
from evaluations.models import JudgeVerdict, ManualSession, ManualState
from evaluations.services.judging.claims import sessions_to_judge, still_held
from evaluations.services.judging.questions import Subject, questions_of
from evaluations.services.judging.verdict_rows import verdict_row
from evaluations.services.kits import build_kit
from twins.engine.records import CallRecord, Record, RetrievalRecord


def record_of(fields: Mapping[str, Any]) -> Record:
    """A record as the row of a closed session keeps it."""
    if fields["kind"] == "retrieval":
        return RetrievalRecord.from_json(fields)
    return CallRecord.from_json(fields)


@dataclass(frozen=True, slots=True)
class SessionShelf:
    """All sessions that wait, or one."""

    only: int | None = None

    @property
    def waiting(self) -> QuerySet[ManualSession]:
        sessions = sessions_to_judge()
        return sessions if self.only is None else sessions.filter(pk=self.only)

    def load(self, ids: Sequence[int]) -> list[Subject]:
        sessions = ManualSession.objects.filter(pk__in=ids).select_related("scenario_version", "twin_version")
        return [_subject(session) for session in sessions.order_by("pk")]

    def store(self, subjects: Sequence[Subject], token: str) -> int:
        """Write verdicts and grades of what is still ours; how many sessions that was."""
        with transaction.atomic():
            held = still_held(self.waiting, [subject.id for subject in subjects], token)
            ours = [subject for subject in subjects if subject.id in held]
            for subject in ours:
                _store(subject)
        return len(ours)


def _subject(session: ManualSession) -> Subject:
    stored = dict(enumerate(map(Result.from_json, session.results)))
    try:
        kit = build_kit(session.scenario_version, session.twin_version)
    except ValueError as problem:
        reason = f"its documents cannot be used here: {problem}"
        return Subject(session.pk, None, stored, broken=reason, metrics=session.metrics)
    questions = questions_of(
        subject_id=session.pk,
        kit=kit,
        answer=session.answer,
        records=map(record_of, session.records),
        # Nobody knows what works on a manual session, so nobody can say that it always does the same.
        always_the_same=False,
        subject=f"session {session.pk}",
    )
    standing = {place: result for place, result in stored.items() if place not in kit.judged}
    return Subject(session.pk, kit, standing, questions, metrics=session.metrics)


def _store(subject: Subject) -> None:
    judged = subject.judged_results()
    merged = subject.merged(judged)
    JudgeVerdict.objects.bulk_create(
        [
            verdict_row(question, outcome, result.status, session_id=subject.id)
            for question, outcome, result in judged
        ]
    )
    session = ManualSession.objects.get(pk=subject.id)
    session.state = ManualState.CLOSED
    session.results = [result.to_json() for result in merged.results]
    session.verdict, session.error_reason = merged.verdict, merged.error_reason
    session.metrics = merged.metrics
    session.claim_token, session.lease_expires_at = "", None
    session.save()
