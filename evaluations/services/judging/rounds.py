"""Asking the questions of one round: from memory, in this process, or of a provider several at a time.

Rows are touched by the thread that calls in here alone; the threads that ask know none. An attempt that
failed for now comes up again after its pause, and holds no place meanwhile.
"""

from __future__ import annotations

import heapq
import itertools
import queue
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings

from evaluations.judges.asking import Asked, ask_once, pause_after
from evaluations.judges.interface import JudgeError
from evaluations.services.judging.budget import Budget
from evaluations.services.judging.questions import (
    Outcome,
    Question,
    answered,
    remembered,
    unaffordable,
    unasked,
)
from evaluations.services.judging.verdict_rows import known_verdicts, outcome_of_row

# How long at most between two looks at the claim, the queue and the clock.
BEAT_SECONDS = 0.5

Hide = Callable[[str], str]
Answer = tuple[Question, Outcome]


@dataclass(slots=True)
class _Ask:
    """A question on its way: what its attempts came to so far."""

    question: Question
    attempts: int = 0
    seconds: float = 0.0
    cost_usd: float | None = 0.0
    last: Asked | None = None


class Round:
    """One round of questions, all to be answered or given up. `hide`: redaction by subject."""

    def __init__(
        self, questions: Sequence[Question], *, budget: Budget, places: int, hide: Mapping[int, Hide]
    ) -> None:
        self._budget, self._places, self._hide = budget, places, hide
        # Followers of a question are the same question; they wait for what it brings.
        self._followers: defaultdict[str, deque[Question]] = defaultdict(deque)
        self._ready: deque[_Ask] = deque()
        self._paused: list[tuple[float, int, _Ask]] = []
        self._order = itertools.count()
        self._answers: queue.SimpleQueue[tuple[_Ask, Asked]] = queue.SimpleQueue()
        self._running = 0
        self._known: list[Answer] = []
        self._sort(questions)

    def outcomes(self) -> Iterator[list[Answer]]:
        """What has been answered since the last time; an empty list at every beat without news."""
        if self._known:
            yield self._known
        while self._ready or self._paused or self._running:
            yield self._step()

    def _sort(self, questions: Sequence[Question]) -> None:
        remembers = settings.JUDGE_CACHE
        askable = []
        for question in questions:
            if question.problem:
                self._known.append((question, unasked(question, JudgeError("rejected", question.problem))))
            else:
                askable.append(question)
        known = known_verdicts({question.digest for question in askable}) if remembers and askable else {}
        leaders: set[str] = set()
        for question in askable:
            if question.digest in known:
                self._known.append((question, outcome_of_row(question, known[question.digest])))
            elif remembers and question.digest in leaders:
                self._followers[question.digest].append(question)
            else:
                leaders.add(question.digest)
                self._ready.append(_Ask(question))

    def _step(self) -> list[Answer]:
        self._wake()
        local = [ask for ask in self._ready if not ask.question.judge.address]
        if local:
            self._ready = deque(ask for ask in self._ready if ask.question.judge.address)
            return self._ask_here(local)
        found = self._send()
        if found or not (self._running or self._paused):
            return found
        return self._collect()

    def _wake(self) -> None:
        now = time.monotonic()
        while self._paused and self._paused[0][0] <= now:
            self._ready.append(heapq.heappop(self._paused)[2])

    def _ask_here(self, asks: Sequence[_Ask]) -> list[Answer]:
        granted = self._budget.reserve(len(asks))
        found: list[Answer] = []
        for ask in asks[:granted]:
            found += self._took(ask, ask_once(ask.question.judge, ask.question.request))
        for ask in asks[granted:]:
            found += self._unaffordable(ask)
        return found

    def _send(self) -> list[Answer]:
        """Ask as many as there are places for; those nobody pays for are answered at once."""
        wanted = min(self._places - self._running, len(self._ready))
        if wanted <= 0:
            return []
        granted = self._budget.reserve(wanted)
        for _ in range(granted):
            ask = self._ready.popleft()
            # A daemon: whoever is stopped does not wait for a provider's answer.
            threading.Thread(target=self._ask_there, args=(ask,), name="judge", daemon=True).start()
            self._running += 1
        if granted == wanted:
            return []
        refused, self._ready = list(self._ready), deque()
        return [answer for ask in refused for answer in self._unaffordable(ask)]

    def _ask_there(self, ask: _Ask) -> None:
        self._answers.put((ask, ask_once(ask.question.judge, ask.question.request)))

    def _collect(self) -> list[Answer]:
        until = self._paused[0][0] - time.monotonic() if self._paused else BEAT_SECONDS
        wait = min(max(until, 0.0), BEAT_SECONDS)
        if not self._running:
            time.sleep(wait)
            return []
        found: list[Answer] = []
        try:
            arrived = self._answers.get(timeout=max(wait, 0.001))
            while True:
                self._running -= 1
                found += self._took(*arrived)
                arrived = self._answers.get_nowait()
        except queue.Empty:
            return found

    def _took(self, ask: _Ask, asked: Asked) -> list[Answer]:
        """What an attempt brought: an outcome, or nothing yet."""
        ask.attempts += 1
        ask.seconds += asked.seconds
        if ask.cost_usd is not None:
            ask.cost_usd = None if asked.cost_usd is None else ask.cost_usd + asked.cost_usd
        ask.last = asked
        if asked.answer is not None or (asked.error is not None and asked.error.raw):
            self._budget.settle(asked.cost_usd, "" if asked.cost_usd is not None else ask.question.shown)
        pause = None if asked.error is None else pause_after(asked.error, ask.attempts)
        if pause is not None:
            heapq.heappush(self._paused, (time.monotonic() + pause, next(self._order), ask))
            return []
        return self._ended(ask)

    def _ended(self, ask: _Ask) -> list[Answer]:
        assert ask.last is not None
        whole = Asked(ask.attempts, ask.seconds, ask.last.answer, ask.last.error, ask.cost_usd)
        outcome = answered(ask.question, whole, self._hide[ask.question.subject_id])
        found = [(ask.question, outcome)]
        waiting = self._followers[ask.question.digest]
        if outcome.verdict is None:
            # An error is nobody else's answer: the next one asks for itself.
            if waiting:
                self._ready.append(_Ask(waiting.popleft()))
            return found
        while waiting:
            said = {"shown": outcome.shown, "answered": outcome.answered}
            follower = waiting.popleft()
            found.append((follower, remembered(follower, outcome.verdict, **said)))
        return found

    def _unaffordable(self, ask: _Ask) -> list[Answer]:
        """Nobody pays for this attempt: the question is skipped, or stays with the error it has."""
        if ask.last is not None:
            return self._ended(ask)
        followers = self._followers.pop(ask.question.digest, deque())
        return [
            (question, unaffordable(question, self._budget.told)) for question in (ask.question, *followers)
        ]
