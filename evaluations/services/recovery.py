"""The sweep: whatever a crash, a lost message or a stopped worker left behind is set going again.

Safe at any time and by several processes at once. It runs every few seconds as a periodic task, and by hand
as ``manage.py recover``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Count
from django.utils import timezone

from evaluations import dispatch
from evaluations.models import Case, CaseState, Comparison, ComparisonState
from evaluations.services import claims
from evaluations.services.calibrating import overdue_calibrations
from evaluations.services.calibration import wake_worker
from evaluations.services.concluding import conclude_if_done
from evaluations.services.judging import claims as judging_claims
from evaluations.services.judging.cases import comparisons_waiting
from evaluations.services.manual import end_overdue
from evaluations.services.running import end_exhausted


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What one sweep did: counts of cases, and the ids of comparisons."""

    expired: int
    given_up: int
    woken: tuple[int, ...]
    concluded: tuple[int, ...]


def recover(*, wake: Callable[[int, int], None] | None = None) -> RecoveryReport:
    """Expire overdue leases, give up what was tried too often, wake workers, conclude what is done.

    Manual sessions whose time is over are graded, and sessions that nobody closes any more are emptied.
    Calibrations that nobody works on get a worker woken.

    `wake` is called with a comparison's id and its waiting cases instead of sending messages.
    """
    end_overdue()
    now = timezone.now()
    expired = claims.expire_overdue(now) + judging_claims.expire_overdue(now)
    given_up = end_exhausted()
    waiting = _waiting()
    to_judge = set(comparisons_waiting())
    for comparison_id in [*waiting, *sorted(to_judge - waiting.keys())]:
        if wake is not None:
            wake(comparison_id, waiting.get(comparison_id, 0))
            continue
        if comparison_id in waiting:
            # One message is enough: a worker that finds more work wakes the next.
            dispatch.wake_workers(comparison_id, cases=1)
        if comparison_id in to_judge:
            dispatch.wake_judges(comparison_id)
    for calibration_id in overdue_calibrations(now):
        wake_worker(calibration_id)
    if judging_claims.sessions_to_judge().filter(claim_token="").exists():
        dispatch.wake_session_judges()
    woken = tuple(waiting.keys() | to_judge)
    open_comparisons = Comparison.objects.filter(
        state__in=[ComparisonState.QUEUED, ComparisonState.RUNNING]
    ).exclude(pk__in=woken)
    concluded = tuple(pk for pk in open_comparisons.values_list("pk", flat=True) if conclude_if_done(pk))
    return RecoveryReport(expired, given_up, tuple(sorted(woken)), concluded)


def _waiting() -> dict[int, int]:
    """Waiting cases by comparison, of comparisons in which no worker is at work.

    Where one is, it finds what waits by itself; waking more each time would only fill the queue.
    """
    at_work = Case.objects.filter(state=CaseState.RUNNING, lease_expires_at__gte=timezone.now())
    return dict(
        Case.objects.filter(state=CaseState.QUEUED)
        .exclude(run__comparison__in=at_work.values("run__comparison"))
        .order_by("run__comparison")
        .values_list("run__comparison")
        .annotate(Count("pk"))
    )
