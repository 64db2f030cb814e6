"""Celery's side of running: each task loads nothing, calls a service, and may be delivered twice."""

from __future__ import annotations

import time
from typing import Any

from celery import shared_task
from django.conf import settings
from django.db import InterfaceError, OperationalError

from agenttwin_site.logs import bound
from evaluations import dispatch
from evaluations.services import calibrating, claims, judging, recovery, running

# After this long a task makes room for others and wakes one more: it is acknowledged soon, and a comparison
# with many cases does not keep others waiting.
TURN_SECONDS = 2.0


_WHILE_THE_DATABASE_IS_AWAY: dict[str, Any] = {
    "autoretry_for": (OperationalError, InterfaceError),
    "retry_backoff": 1,
    "retry_backoff_max": 30,
    "max_retries": 8,
}


@shared_task(name="evaluations.tasks.run_chunk", **_WHILE_THE_DATABASE_IS_AWAY)
def run_chunk(comparison_id: int, limit: int = dispatch.FIRST_CHUNK, after_id: int = 0) -> None:
    """Run cases of a comparison for one turn; while there may be more, wake one worker to go on.

    Chunks grow with the speed of the cases: slow ones spread over the workers, fast ones cost few queries.
    """
    with bound(comparison_id=comparison_id):
        _run_turn(comparison_id, limit, after_id)


def _run_turn(comparison_id: int, limit: int, after_id: int) -> None:
    started = time.monotonic()

    def to_judge(count: int) -> None:
        dispatch.wake_judges(comparison_id)

    while (
        report := running.run_chunk(comparison_id, limit=limit, after_id=after_id, on_to_judge=to_judge)
    ).claimed:
        now = time.monotonic()
        limit, after_id = next_limit(report.claimed, report.seconds, limit), report.last_id
        if report.remote:
            # Agents elsewhere are waited for side by side: a few more than fit, so that no place stays empty.
            limit = 2 * settings.AGENTTWIN_REMOTE_CASES
        if now - started >= TURN_SECONDS:
            dispatch.deliver(run_chunk, comparison_id, limit=limit, after_id=after_id)
            return


def next_limit(cases: int, seconds: float, limit: int) -> int:
    """As many cases as fit into a quarter of a turn, at most four times what was tried before."""
    fitting = cases * TURN_SECONDS / 4 / max(seconds, 0.001)
    return int(min(max(fitting, 1), 4 * limit, claims.CHUNK_SIZE))


@shared_task(name="evaluations.tasks.run_calibration", **_WHILE_THE_DATABASE_IS_AWAY)
def run_calibration(calibration_id: int) -> None:
    """Work on a calibration for one turn; while it is not done, wake one worker to go on."""
    if calibrating.run_calibration(calibration_id, turn_seconds=calibrating.TURN_SECONDS):
        dispatch.deliver(run_calibration, calibration_id)


@shared_task(name="evaluations.tasks.judge_cases", **_WHILE_THE_DATABASE_IS_AWAY)
def judge_cases(comparison_id: int) -> None:
    """Judge cases of a comparison for one turn; while there may be more, wake one worker to go on.

    A message of its own, so that running and judging do not wait for one another; `JUDGE_QUEUE` gives it
    workers of its own too. Where the provider's places are taken, those who hold them go on.
    """
    started = time.monotonic()
    while judging.judge_cases(comparison_id).claimed:
        if time.monotonic() - started >= TURN_SECONDS:
            dispatch.deliver(judge_cases, comparison_id)
            return


@shared_task(name="evaluations.tasks.judge_sessions", **_WHILE_THE_DATABASE_IS_AWAY)
def judge_sessions() -> None:
    """Judge the manual sessions that wait for it."""
    while judging.judge_sessions().claimed:
        pass


@shared_task(name="evaluations.tasks.recover")
def recover() -> None:
    """The periodic sweep: see `evaluations.services.recovery`."""
    recovery.recover()
