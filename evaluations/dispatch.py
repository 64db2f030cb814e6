"""Waking workers. The rows say what is to be done; a message only says that there is something to look at.

A message that is lost, doubled or late changes nothing but the time: the periodic sweep wakes again.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import transaction
from kombu.exceptions import KombuError, OperationalError

if TYPE_CHECKING:
    from celery import Task

logger = logging.getLogger(__name__)

# A chunk starts small, so that a few slow cases spread over the workers at hand, and grows with the speed
# that was measured (evaluations.tasks).
FIRST_CHUNK = 4
MAX_WAKES = 16


def broker_is_configured() -> bool:
    """Whether somebody set up a broker: then workers run the cases. Without one, commands do."""
    return bool(settings.BROKER_IS_CONFIGURED)


def wake_workers(comparison_id: int, *, cases: int) -> None:
    """After the commit of this transaction, tell workers of `cases` cases of a comparison that wait."""
    wakes = min(MAX_WAKES, math.ceil(cases / FIRST_CHUNK))

    def send() -> None:
        from evaluations.tasks import run_chunk

        for _ in range(wakes):
            if not deliver(run_chunk, comparison_id, limit=FIRST_CHUNK):
                return

    transaction.on_commit(send)


def wake_judges(comparison_id: int) -> None:
    """After the commit of this transaction, tell a worker that cases of a comparison wait for their judge.

    One message is enough: who judges takes every place that the provider's limit leaves free.
    """

    def send() -> None:
        from evaluations.tasks import judge_cases

        deliver(judge_cases, comparison_id)

    transaction.on_commit(send)


def wake_session_judges() -> None:
    """After the commit of this transaction, tell a worker that manual sessions wait for their judge."""

    def send() -> None:
        from evaluations.tasks import judge_sessions

        deliver(judge_sessions)

    transaction.on_commit(send)


def deliver(task: Task, *args: object, **kwargs: object) -> bool:
    """Hand a message to the broker; False when it cannot be reached, which the sweep makes up for."""
    try:
        task.apply_async(args, kwargs, retry=False)
    except (OperationalError, KombuError, OSError) as problem:
        logger.warning("the broker cannot be reached (%s): the periodic sweep will wake the workers", problem)
        return False
    return True
