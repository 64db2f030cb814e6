"""A provider's limit: so many questions under way at once, over all processes that judge.

Places are rows that are claimed like cases. Whoever judges takes what is free, and gives it back; a place of
a process that died is free again when its lease is over.
"""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from evaluations.judges.interface import Judge
from evaluations.models import JudgePlace
from evaluations.services.claims import lease_end


class Places:
    """Taken places, for one process; `count` may be 0. A judge that works in this process needs none."""

    def __init__(self, token: str, count: int) -> None:
        self._token, self.count = token, count

    @property
    def is_shared(self) -> bool:
        """Whether others may want them."""
        return bool(self._token)

    @classmethod
    def take(cls, judge: Judge, token: str) -> Self:
        """As many as are free."""
        if not judge.address:
            return cls("", 1)
        provider, now = judge.identity.provider, timezone.now()
        limit = settings.JUDGE_CONCURRENCY
        _make(provider, limit)
        free = JudgePlace.objects.filter(provider=provider, number__lte=limit).filter(
            Q(claim_token="") | Q(lease_expires_at__lt=now)
        )
        with transaction.atomic():
            ids = list(
                free.select_for_update(skip_locked=True).order_by("number").values_list("pk", flat=True)
            )
            JudgePlace.objects.filter(pk__in=ids).update(claim_token=token, lease_expires_at=lease_end(now))
        return cls(token, len(ids))

    def renew(self) -> None:
        if self._token:
            JudgePlace.objects.filter(claim_token=self._token).update(
                lease_expires_at=lease_end(timezone.now())
            )

    def give_back(self) -> None:
        if self._token:
            JudgePlace.objects.filter(claim_token=self._token).update(claim_token="", lease_expires_at=None)


def _make(provider: str, limit: int) -> None:
    """The places of a provider exist from the first time somebody asks for one."""
    if JudgePlace.objects.filter(provider=provider, number__lte=limit).count() < limit:
        JudgePlace.objects.bulk_create(
            [JudgePlace(provider=provider, number=number) for number in range(1, limit + 1)],
            ignore_conflicts=True,
        )
