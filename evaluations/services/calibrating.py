"""Running a calibration: claim it, ask the judge about each example, store each answer, conclude.

A worker holds the whole calibration under a lease; every answer is stored at once, in a transaction that the
claim guards, and is never asked for again. Whoever comes after a killed worker goes on where it stopped. The
judge is asked in threads that know no rows.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from agenttwin_site.events import governance
from evaluations.grading.calibrating import ERROR, decide, judged_agreement
from evaluations.judges.asking import Asked, ask
from evaluations.judges.findings import judged
from evaluations.judges.interface import Judge, JudgeRequest, Material
from evaluations.judges.prompt import shipped_prompt
from evaluations.judges.rendering import render
from evaluations.models import Calibration, CalibrationOutcome, CalibrationResult, CalibrationState
from evaluations.services import claims
from evaluations.services.calibration import identity_of
from evaluations.services.judges import configured_judge, judge_request
from evaluations.services.judging.places import Places

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = claims.MAX_ATTEMPTS
# After this long a worker makes room for others and wakes one more.
TURN_SECONDS = 20.0
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class _ClaimLost(Exception):
    """Somebody else has the calibration by now: nothing more is stored here."""


@dataclass(frozen=True, slots=True)
class _Question:
    row_id: int
    truth: str
    request: JudgeRequest
    shown: str


def run_calibration(calibration_id: int, *, turn_seconds: float | None = None) -> bool:
    """Work on a calibration for one turn (None: to its end); whether it is to be gone on with.

    Safe to call twice, at the same time and after a crash: one that somebody works on is left alone.
    """
    token = claims.new_token()
    calibration = _claimed(calibration_id, token)
    if calibration is None:
        return False
    try:
        if (problem := _cannot_run(calibration)) is not None:
            _fail(calibration, token, problem)
            return False
        until = None if turn_seconds is None else time.monotonic() + turn_seconds
        judge = configured_judge()
        places = Places.take(judge, token)
        if not places.count:
            # Others ask it as much as may be asked at once. The sweep comes back to this one.
            _release(calibration_id, token, attempts=F("attempts") - 1)
            return False
        try:
            is_done = _ask_all(calibration, judge, token, until, places)
        finally:
            places.give_back()
        if is_done:
            _conclude(calibration, token)
        elif problem := _over_cost(calibration):
            _fail(calibration, token, problem)
        else:
            _release(calibration_id, token)
    except _ClaimLost:
        logger.warning("calibration %s was taken over by another worker", calibration_id)
        return False
    return _is_waiting(calibration_id)


def overdue_calibrations(now: datetime) -> list[int]:
    """Calibrations that wait and that nobody works on."""
    return list(Calibration.objects.filter(_free(now)).order_by("pk").values_list("pk", flat=True))


def _claimed(calibration_id: int, token: str) -> Calibration | None:
    """Take it, if nobody has it. One that was taken too often without getting on is ended."""
    now = timezone.now()
    free = Calibration.objects.filter(_free(now), pk=calibration_id)
    taken = free.update(
        state=CalibrationState.RUNNING,
        claim_token=token,
        lease_expires_at=claims.lease_end(now),
        attempts=F("attempts") + 1,
    )
    if not taken:
        return None
    Calibration.objects.filter(pk=calibration_id, started_at=None).update(started_at=now)
    return Calibration.objects.select_related("criterion_version__criterion").get(pk=calibration_id)


def _free(now: datetime) -> Q:
    return Q(state=CalibrationState.QUEUED) | Q(state=CalibrationState.RUNNING, lease_expires_at__lt=now)


def _is_waiting(calibration_id: int) -> bool:
    return Calibration.objects.filter(pk=calibration_id, state=CalibrationState.QUEUED).exists()


def _cannot_run(calibration: Calibration) -> str | None:
    if calibration.attempts > MAX_ATTEMPTS:
        return f"{MAX_ATTEMPTS} workers took it and none of them got an answer stored"
    try:
        judge = configured_judge()
    except ValueError as problem:
        return f"there is no judge to ask: {problem}"
    if judge.identity != identity_of(calibration):
        now = judge.identity
        return (
            f"the judge is another one by now: {now.provider} {now.model}, prompt {now.prompt_version} "
            f"({now.prompt_sha256[:12]}). Calibrate that one"
        )
    return None


def _ask_all(calibration: Calibration, judge: Judge, token: str, until: float | None, places: Places) -> bool:
    """Ask about every example that waits; False if the turn or the money was over before."""
    questions = iter(_questions(calibration))
    renew_after = settings.AGENTTWIN_LEASE_SECONDS / 3
    with ThreadPoolExecutor(max_workers=places.count) as pool:
        running: dict[Future[Asked], _Question] = {}
        exhausted = False
        while True:
            while not exhausted and len(running) < places.count:
                is_over = until is not None and time.monotonic() >= until
                question = None if is_over else next(questions, None)
                if question is None:
                    exhausted = True
                else:
                    running[pool.submit(ask, judge, question.request)] = question
            if not running:
                break
            places.renew()
            done, _ = wait(running, timeout=renew_after, return_when=FIRST_COMPLETED)
            if not done:
                _renew(calibration, token)
            for future in done:
                _store(calibration, token, running.pop(future), future.result(), judge)
            exhausted = exhausted or bool(_over_cost(calibration))
    return not calibration.results.filter(outcome=CalibrationOutcome.WAITING).exists()


def _questions(calibration: Calibration) -> Iterator[_Question]:
    version = calibration.criterion_version
    waiting = calibration.results.filter(outcome=CalibrationOutcome.WAITING).select_related("example")
    prompt = shipped_prompt()
    for row in list(waiting.order_by("position")):
        request = judge_request(
            category=version.criterion.name,
            rubric=version.rubric,
            threshold=calibration.threshold,
            material=Material.from_json(row.example.material),
        )
        assert row.truth is not None
        yield _Question(row.pk, row.truth, request, render(request, prompt).text)


def _store(calibration: Calibration, token: str, question: _Question, asked: Asked, judge: Judge) -> None:
    """One answer, if the calibration is still ours; what stands already stays."""
    values = _answer_values(calibration, question, asked, judge)
    with transaction.atomic():
        _renew(calibration, token, attempts=0)
        CalibrationResult.objects.filter(pk=question.row_id, outcome=CalibrationOutcome.WAITING).update(
            **values
        )


def _answer_values(
    calibration: Calibration, question: _Question, asked: Asked, judge: Judge
) -> dict[str, object]:
    values: dict[str, object] = {
        "shown": _storable(question.shown),
        "attempts": asked.attempts,
        "cost_usd": None if asked.cost_usd is None else Decimal(f"{asked.cost_usd:.6f}"),
        "duration_ms": round(asked.seconds * 1000),
        "answered_at": timezone.now(),
    }
    if asked.answer is None:
        error = asked.error
        assert error is not None
        return values | {
            "outcome": ERROR,
            "agrees": False,
            "error_kind": error.kind,
            "error_detail": _storable(error.detail),
            "answered": _storable(error.raw),
        }
    verdict = asked.answer.verdict
    # Graded as in a comparison: a label without the score, or the other way round, is no pass.
    finding = judged(
        verdict,
        threshold=calibration.threshold,
        identity=judge.identity,
        criterion=question.request.criterion,
    )
    return values | {
        "outcome": finding.status,
        "agrees": finding.status == question.truth,
        "score": verdict.score,
        "confidence": verdict.confidence,
        "reason": _storable(finding.reason),
        "quotes": [{"source": quote.source, "text": quote.text} for quote in verdict.quotes],
        "dropped_quotes": verdict.dropped_quotes,
        "answered": _storable(asked.answer.raw),
    }


def _renew(calibration: Calibration, token: str, **values: object) -> None:
    """Hold the claim for another lease. Raises _ClaimLost if it is somebody else's."""
    held = _held(calibration.pk, token).update(lease_expires_at=claims.lease_end(timezone.now()), **values)
    if not held:
        raise _ClaimLost


def _held(calibration_id: int, token: str) -> QuerySet[Calibration]:
    return Calibration.objects.filter(pk=calibration_id, claim_token=token, state=CalibrationState.RUNNING)


def _release(calibration_id: int, token: str, **values: object) -> None:
    _held(calibration_id, token).update(
        state=CalibrationState.QUEUED, claim_token="", lease_expires_at=None, **values
    )


def _over_cost(calibration: Calibration) -> str:
    """Why no more may be asked; empty while it may."""
    most = settings.JUDGE_MAX_COST_USD
    if most is None:
        return ""
    spent = calibration.results.aggregate(spent=Sum("cost_usd"))["spent"] or 0
    if spent < most:
        return ""
    return f"{float(spent):g} US dollars are spent, and JUDGE_MAX_COST_USD allows {most}"


def _conclude(calibration: Calibration, token: str) -> None:
    """Figures and decision, from the stored rows, in the transaction that ends it."""
    rows = calibration.results.exclude(outcome=CalibrationOutcome.LEFT_OUT)
    agreement = judged_agreement((str(truth), said) for truth, said in rows.values_list("truth", "outcome"))
    decision = decide(agreement)
    interval = agreement.interval
    with transaction.atomic():
        ended = _held(calibration.pk, token).update(
            state=CalibrationState.COMPLETED,
            claim_token="",
            lease_expires_at=None,
            finished_at=timezone.now(),
            counted=agreement.total,
            agreed=agreement.agreed,
            errors=agreement.matrix.said(ERROR)[1],
            kappa=None if agreement.kappa is None else float(agreement.kappa),
            kappa_low=None if interval is None else interval.low,
            kappa_high=None if interval is None else interval.high,
            is_calibrated=decision.is_calibrated,
            decision=decision.sentence,
        )
        if not ended:
            raise _ClaimLost
        _announce(calibration, "calibration_completed", decision.sentence)


def _fail(calibration: Calibration, token: str, reason: str) -> None:
    with transaction.atomic():
        ended = _held(calibration.pk, token).update(
            state=CalibrationState.FAILED,
            claim_token="",
            lease_expires_at=None,
            finished_at=timezone.now(),
            reason=reason,
        )
        if ended:
            _announce(calibration, "calibration_failed", reason)


def _announce(calibration: Calibration, action: str, note: str) -> None:
    governance.send(
        sender=Calibration,
        action=action,
        actor=None,
        subject=f"calibration {calibration.pk} of {calibration.criterion_version}",
        subject_id=calibration.pk,
        note=note,
    )


def _storable(text: str) -> str:
    """As it came, but for what no database keeps: NUL and lone surrogates."""
    return _UNSTORABLE.sub("\ufffd", text)
