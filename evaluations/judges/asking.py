"""Asking a judge: a bounded number of attempts, with growing pauses between them."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from evaluations.judges.interface import Answered, Judge, JudgeError, JudgeRequest

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
FIRST_PAUSE = 0.5
# A provider that asks for a longer pause is not waited for: the case is an ERROR, and can be run again.
LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class Asked:
    """How asking ended: an answer or an error, after so many attempts."""

    attempts: int
    seconds: float
    answer: Answered | None = None
    error: JudgeError | None = None
    # All attempts together; None as soon as one of them has an unknown cost.
    cost_usd: float | None = 0.0


def ask(
    judge: Judge,
    request: JudgeRequest,
    *,
    sleep: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    may_ask_again: Callable[[], bool] = lambda: True,
) -> Asked:
    """Ask until there is a verdict, an error that stays, or no attempt left. Never raises for a judge.

    `may_ask_again` is asked before every attempt but the first: a budget counts each of them.
    """
    started = clock()
    cost: float | None = 0.0
    attempt = 0
    while True:
        attempt += 1
        said = ask_once(judge, request)
        answer, error = said.answer, said.error
        cost = None if cost is None or said.cost_usd is None else cost + said.cost_usd
        pause = None if error is None else pause_after(error, attempt)
        if pause is None or not may_ask_again():
            return Asked(attempt, clock() - started, answer, error, cost)
        sleep(pause)


def ask_once(judge: Judge, request: JudgeRequest) -> Asked:
    """One attempt. Never raises for a judge."""
    started = time.monotonic()
    answer, error = _attempt(judge, request)
    cost = answer.cost_usd if answer is not None else None
    if error is not None:
        # Where nothing came back nothing was paid for, as far as anybody can know.
        cost = error.cost_usd if error.raw else 0.0
    return Asked(1, time.monotonic() - started, answer, error, cost)


def _attempt(judge: Judge, request: JudgeRequest) -> tuple[Answered | None, JudgeError | None]:
    try:
        return judge.judge(request), None
    except JudgeError as error:
        return None, error
    except Exception as broken:
        # A fault of ours or of a client library. Its words may hold anything, a key in a header included, so
        # only where it happened is logged.
        frames = "".join(traceback.format_tb(broken.__traceback__))
        logger.error("the judge %s broke: %s\n%s", judge.identity.provider, type(broken).__name__, frames)
        return None, JudgeError("rejected", f"asking it failed: {type(broken).__name__}")


def pause_after(error: JudgeError, attempt: int) -> float | None:
    """Seconds to wait before the next attempt; None for no next attempt."""
    if not error.is_transient or attempt >= MAX_ATTEMPTS:
        return None
    pause = FIRST_PAUSE * 2.0 ** (attempt - 1)
    if error.retry_after is not None:
        pause = max(pause, error.retry_after)
    return pause if pause <= LONGEST_PAUSE else None
