"""Celery's side of running: each task loads nothing, calls a service, and may be delivered twice."""

from __future__ import annotations

import time

from celery import shared_task
from django.conf import settings
from django.db import InterfaceError, OperationalError

from agenttwin_site.logs import bound
from evaluations import dispatch
from evaluations.services import calibrating, claims, recovery, running

# After this long a task makes room for others and wakes one more: it is acknowledged soon, and a comparison
# with many cases does not keep others waiting.
TURN_SECONDS = 2.0


@shared_task(
    name="evaluations.tasks.run_chunk",
    autoretry_for=(OperationalError, InterfaceError),
    retry_backoff=1,
    retry_backoff_max=30,
    max_retries=8,
)
def run_chunk(comparison_id: int, limit: int = dispatch.FIRST_CHUNK, after_id: int = 0) -> None:
    """Run cases of a comparison for one turn; while there may be more, wake one worker to go on.

    Chunks grow with the speed of the cases: slow ones spread over the workers, fast ones cost few queries.
    """
    with bound(comparison_id=comparison_id):
        _run_turn(comparison_id, limit, after_id)


def _run_turn(comparison_id: int, limit: int, after_id: int) -> None:
    started = time.monotonic()
    while (report := running.run_chunk(comparison_id, limit=limit, after_id=after_id)).claimed:
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


@shared_task(
    name="evaluations.tasks.run_calibration",
    autoretry_for=(OperationalError, InterfaceError),
    retry_backoff=1,
    retry_backoff_max=30,
    max_retries=8,
)
def run_calibration(calibration_id: int) -> None:
    """Work on a calibration for one turn; while it is not done, wake one worker to go on."""
    if calibrating.run_calibration(calibration_id, turn_seconds=calibrating.TURN_SECONDS):
        dispatch.deliver(run_calibration, calibration_id)


@shared_task(name="evaluations.tasks.recover")
def recover() -> None:
    """The periodic sweep: see `evaluations.services.recovery`."""
    recovery.recover()
