"""Who runs a case: claims by conditional update, leases, what is overdue.

The row is the truth. A claim writes a token and the time until which it holds; nothing is stored for a case
without holding its claim. A case that was never tried is claimed together with others. One that was tried
and not finished is claimed alone, so that a case that kills its worker takes no other case down with it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from evaluations.models import Case, CaseState, Comparison, ComparisonState, Run, RunState

MAX_ATTEMPTS = 3
CHUNK_SIZE = 100


def new_token() -> str:
    return uuid.uuid4().hex


def lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.AGENTTWIN_LEASE_SECONDS)


def claim_cases(comparison_id: int, *, token: str, limit: int = CHUNK_SIZE, after_id: int = 0) -> list[int]:
    """Claim up to `limit` cases of a comparison that nobody runs; their ids in order, maybe none.

    `after_id` skips cases that the caller knows to be taken; those below are found once none are above.
    """
    now = timezone.now()
    # Before the claim and on its own: cancelling locks the comparison first and its cases second.
    _mark_running(comparison_id, now)
    with transaction.atomic():
        ids = _lock_first(_fresh(comparison_id).filter(pk__gt=after_id), limit)
        if not ids and after_id:
            ids = _lock_first(_fresh(comparison_id), limit)
        if not ids:
            ids = _lock_first(_retried(comparison_id, now), 1)
        if ids:
            _take(ids, token, now)
    return ids


def claim_exhausted(*, token: str, comparison_id: int | None = None, limit: int = CHUNK_SIZE) -> list[int]:
    """Claim cases that used up their attempts and that nobody runs, in order to end them."""
    now = timezone.now()
    with transaction.atomic():
        waiting = _unfinished(comparison_id).filter(_free(now), attempts__gte=MAX_ATTEMPTS)
        ids = _lock_first(waiting, limit)
        if ids:
            Case.objects.filter(pk__in=ids).update(
                state=CaseState.RUNNING, claim_token=token, lease_expires_at=lease_end(now)
            )
    return ids


def renew(token: str) -> int:
    """Hold the cases still claimed under this token for another lease; how many those are."""
    held = Case.objects.filter(claim_token=token, state=CaseState.RUNNING)
    return held.update(lease_expires_at=lease_end(timezone.now()))


def release(token: str, *, untried: Iterable[int] = ()) -> None:
    """Give unfinished cases back to the queue; those never begun have their attempt given back too."""
    held = Case.objects.filter(claim_token=token, state=CaseState.RUNNING)
    back = {"state": CaseState.QUEUED, "claim_token": "", "lease_expires_at": None}
    with transaction.atomic():
        held.filter(pk__in=list(untried)).update(attempts=F("attempts") - 1, **back)
        held.update(**back)


def still_held(ids: Sequence[int], token: str) -> set[int]:
    """Of these cases, those whose claim still holds; locked until the end of the transaction."""
    held = Case.objects.filter(pk__in=ids, claim_token=token, state=CaseState.RUNNING)
    return set(held.select_for_update().order_by("pk").values_list("pk", flat=True))


def expire_overdue(now: datetime) -> int:
    """Put cases whose lease ran out back into the queue; how many."""
    return (
        _unfinished(None)
        .filter(state=CaseState.RUNNING, lease_expires_at__lt=now)
        .update(state=CaseState.QUEUED, claim_token="", lease_expires_at=None)
    )


def _unfinished(comparison_id: int | None) -> QuerySet[Case]:
    cases = Case.objects.filter(state__in=[CaseState.QUEUED, CaseState.RUNNING])
    if comparison_id is None:
        return cases
    return cases.filter(run__in=Run.objects.filter(comparison_id=comparison_id))


def _free(now: datetime) -> Q:
    return Q(state=CaseState.QUEUED) | Q(state=CaseState.RUNNING, lease_expires_at__lt=now)


def _fresh(comparison_id: int) -> QuerySet[Case]:
    return _unfinished(comparison_id).filter(state=CaseState.QUEUED, attempts=0)


def _retried(comparison_id: int, now: datetime) -> QuerySet[Case]:
    return _unfinished(comparison_id).filter(_free(now), attempts__gte=1, attempts__lt=MAX_ATTEMPTS)


def _lock_first(cases: QuerySet[Case], limit: int) -> list[int]:
    # Skipping locked rows: workers that claim at the same moment take different cases and do not queue.
    locked = cases.select_for_update(skip_locked=True, of=("self",)).order_by("pk")
    return list(locked.values_list("pk", flat=True)[:limit])


def _take(ids: list[int], token: str, now: datetime) -> None:
    Case.objects.filter(pk__in=ids).update(
        state=CaseState.RUNNING,
        claim_token=token,
        lease_expires_at=lease_end(now),
        attempts=F("attempts") + 1,
        started_at=now,
    )


def _mark_running(comparison_id: int, now: datetime) -> None:
    started = Comparison.objects.filter(pk=comparison_id, state=ComparisonState.QUEUED).update(
        state=ComparisonState.RUNNING, started_at=now
    )
    if started:
        Run.objects.filter(comparison_id=comparison_id, state=RunState.QUEUED).update(
            state=RunState.RUNNING, started_at=now
        )
