"""Celery's side of running: each task loads nothing, calls a service, and may be delivered twice."""

from __future__ import annotations

import time

from celery import shared_task
from django.db import OperationalError

from evaluations import dispatch
from evaluations.services import claims, recovery, running

# A task aims at this long: short enough to be acknowledged soon, long enough to be worth its messages.
CHUNK_SECONDS = 2.0


@shared_task(
    name="evaluations.tasks.run_chunk",
    autoretry_for=(OperationalError,),
    retry_backoff=1,
    retry_backoff_max=30,
    max_retries=8,
)
def run_chunk(comparison_id: int, limit: int = dispatch.FIRST_CHUNK, after_id: int = 0) -> None:
    """Run some cases of a comparison; while there may be more, wake one worker to go on."""
    started = time.monotonic()
    report = running.run_chunk(comparison_id, limit=limit, after_id=after_id)
    if report.claimed:
        seconds = max(time.monotonic() - started, 0.001)
        faster = report.claimed * CHUNK_SECONDS / seconds
        following = int(min(max(faster, 1), 4 * limit, claims.CHUNK_SIZE))
        dispatch.deliver(run_chunk, comparison_id, limit=following, after_id=report.last_id)


@shared_task(name="evaluations.tasks.recover")
def recover() -> None:
    """The periodic sweep: see `evaluations.services.recovery`."""
    recovery.recover()
