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


def deliver(task: Task, *args: object, **kwargs: object) -> bool:
    """Hand a message to the broker; False when it cannot be reached, which the sweep makes up for."""
    try:
        task.apply_async(args, kwargs, retry=False)
    except (OperationalError, KombuError, OSError) as problem:
        logger.warning("the broker cannot be reached (%s): the periodic sweep will wake the workers", problem)
        return False
    return True
