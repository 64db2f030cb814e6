"""Waiting for a comparison: doing its work in this process, or watching workers do it."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.utils import timezone

from evaluations.errors import EvaluationError
from evaluations.models import Case, CaseState, Comparison
from evaluations.services import judging, running
from evaluations.services.comparisons import OPEN_STATES
from evaluations.services.recovery import recover

POLL_SECONDS = 0.25
SWEEP_SECONDS = 5.0
# Without any worker at work anywhere: first said, then given up.
SAY_AFTER_SECONDS = 10.0


class StalledError(EvaluationError):
    """No worker took a case for too long."""

    code = "no_worker"


def run_here(comparison_id: int, *, on_stored: Callable[[int], object] = lambda count: None) -> None:
    """Run a comparison to its end in this process. Others may help; nobody has to."""
    last_id = 0
    while is_open(comparison_id):
        report = running.run_chunk(comparison_id, after_id=last_id, on_stored=on_stored)
        last_id = report.last_id
        busy = bool(report.claimed or report.stored)
        if (report.to_judge or not busy) and is_open(comparison_id):
            judged = judging.judge_cases(comparison_id, on_judged=on_stored)
            busy = busy or bool(judged.claimed or judged.stored)
        if not busy and is_open(comparison_id):
            # What is left is held by another process; if that died, its lease will tell.
            time.sleep(POLL_SECONDS)


def wait_for_workers(
    comparison_id: int,
    *,
    on_stored: Callable[[int], object] = lambda count: None,
    say: Callable[[str], object] = lambda message: None,
) -> None:
    """Watch workers run a comparison to its end, sweeping now and then as the periodic task does.

    Raises:
        StalledError: no worker was at work on anything for `AGENTTWIN_STALL_SECONDS` (default 60). The cases
            stay queued for a worker that starts later.
    """
    give_up = settings.AGENTTWIN_STALL_SECONDS
    seen, said = 0, False
    progress = sweep = time.monotonic()
    while is_open(comparison_id):
        time.sleep(POLL_SECONDS)
        now = time.monotonic()
        ended = _ended(comparison_id)
        if ended > seen or _somebody_works():
            on_stored(ended - seen)
            seen, progress, said = ended, now, False
        idle = now - progress
        if idle >= min(SAY_AFTER_SECONDS, give_up / 2) and not said:
            said = True
            say(f"no worker has taken a case for {idle:.0f} s: does `celery -A agenttwin_site worker` run?")
        if idle >= give_up:
            raise StalledError(
                f"no worker took a case of comparison {comparison_id} for {give_up:.0f} s. It stays queued: "
                "start a worker (celery -A agenttwin_site worker) or check CELERY_BROKER_URL"
            )
        if now - sweep >= SWEEP_SECONDS:
            sweep = now
            recover()
    on_stored(_ended(comparison_id) - seen)


def is_open(comparison_id: int) -> bool:
    return Comparison.objects.filter(pk=comparison_id, state__in=OPEN_STATES).exists()


def _ended(comparison_id: int) -> int:
    return Case.objects.filter(
        run__comparison=comparison_id, state__in=[CaseState.FINISHED, CaseState.CANCELLED]
    ).count()


def _somebody_works() -> bool:
    """Any live lease will do: a worker busy with other comparisons comes to this one in its turn."""
    held = Case.objects.filter(state__in=[CaseState.RUNNING, CaseState.JUDGING])
    return held.filter(lease_expires_at__gt=timezone.now()).exists()
