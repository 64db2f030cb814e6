"""Who judges what: the same claims and leases as for running, on what waits for a judge."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from evaluations.models import Case, CaseState, ManualSession, ManualState, Run
from evaluations.services.claims import MAX_ATTEMPTS, lease_end

_RELEASED: dict[str, Any] = {"claim_token": "", "lease_expires_at": None}


def cases_to_judge(comparison_id: int | None = None) -> QuerySet[Case]:
    waiting = Case.objects.filter(state=CaseState.JUDGING)
    if comparison_id is None:
        return waiting
    return waiting.filter(run__in=Run.objects.filter(comparison_id=comparison_id))


def sessions_to_judge() -> QuerySet[ManualSession]:
    return ManualSession.objects.filter(state=ManualState.JUDGING)


def claim(waiting: QuerySet[Any], *, token: str, limit: int) -> list[int]:
    """Claim up to `limit` of these; their ids in order, maybe none.

    What was tried before and not finished is claimed alone, so that it takes nothing down with it.
    """
    now = timezone.now()
    with transaction.atomic():
        free = waiting.filter(_free(now))
        ids = _lock_first(free.filter(judging_attempts=0), limit)
        if not ids:
            tried = free.filter(judging_attempts__gte=1, judging_attempts__lt=MAX_ATTEMPTS)
            ids = _lock_first(tried, 1)
        if ids:
            waiting.model._default_manager.filter(pk__in=ids).update(
                claim_token=token,
                lease_expires_at=lease_end(now),
                judging_attempts=F("judging_attempts") + 1,
            )
    return ids


def claim_exhausted(waiting: QuerySet[Any], *, token: str, limit: int) -> list[int]:
    """Claim what used up its attempts and nobody judges, in order to end it."""
    now = timezone.now()
    with transaction.atomic():
        ids = _lock_first(waiting.filter(_free(now), judging_attempts__gte=MAX_ATTEMPTS), limit)
        if ids:
            waiting.model._default_manager.filter(pk__in=ids).update(
                claim_token=token, lease_expires_at=lease_end(now)
            )
    return ids


def renew(waiting: QuerySet[Any], token: str) -> int:
    """Hold what is claimed under this token for another lease; how many those are."""
    return waiting.filter(claim_token=token).update(lease_expires_at=lease_end(timezone.now()))


def release(waiting: QuerySet[Any], token: str, *, untried: Sequence[int] = ()) -> None:
    """Give back what is not finished; what was never begun has its attempt given back too."""
    held = waiting.filter(claim_token=token)
    with transaction.atomic():
        held.filter(pk__in=list(untried)).update(judging_attempts=F("judging_attempts") - 1, **_RELEASED)
        held.update(**_RELEASED)


def still_held(waiting: QuerySet[Any], ids: Sequence[int], token: str) -> set[int]:
    """Of these, those whose claim still holds; locked until the end of the transaction."""
    held = waiting.filter(pk__in=ids, claim_token=token)
    return set(held.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True))


def expire_overdue(now: datetime) -> int:
    """Set free what a judge's worker held and let go; how many."""
    overdue: list[QuerySet[Any]] = [cases_to_judge(), sessions_to_judge()]
    return sum(waiting.filter(lease_expires_at__lt=now).update(**_RELEASED) for waiting in overdue)


def _free(now: datetime) -> Q:
    return Q(claim_token="") | Q(lease_expires_at__lt=now)


def _lock_first(rows: QuerySet[Any], limit: int) -> list[int]:
    locked = rows.select_for_update(skip_locked=True, of=("self",)).order_by("pk")
    return list(locked.values_list("pk", flat=True)[:limit])
