"""Running agents in one thread and watching them from another.

The agent thread works through several cases: to change threads twice a case costs as much as an eighth of
it. The watching thread sleeps. It wakes when the work is through, when an agent has used up its time, and
about once a second to ask whether to go on. An agent that is given up may keep its thread, and nothing else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass

from evaluations.agents.threads import give_up_thread, return_thread, take_thread
from evaluations.agents.tools import AgentStopped, CaseTools

ASK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Working:
    """An agent at work: its tools, the seconds it has, and when these are over (monotonic clock)."""

    tools: CaseTools
    seconds: float
    deadline: float


@dataclass(frozen=True, slots=True)
class Watched:
    """How watching ended: `through`, or given up; `overdue` is the agent that took too long, if one did."""

    through: bool
    overdue: Working | None = None


class Watch:
    """What the two threads tell one another. One object serves one piece of work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working: Working | None = None
        self._given_up = False
        self._look = threading.Event()
        self._next_look = 0.0

    def agent_starts(self, tools: CaseTools, seconds: float) -> None:
        """Said by the agent thread. Raises `AgentStopped` when the work was given up meanwhile."""
        with self._lock:
            self._require_wanted()
            self._working = Working(tools, seconds, time.monotonic() + seconds)
            if self._working.deadline < self._next_look:
                self._look.set()

    def agent_ended(self) -> None:
        """Said by the agent thread before it makes anything of how the agent ended; raises likewise."""
        with self._lock:
            self._require_wanted()
            self._working = None

    @property
    def goes_on(self) -> bool:
        """Whether further agents may start."""
        return not self._given_up

    def through(self) -> None:
        self._look.set()

    def wait(self) -> None:
        """Sleep until there is something to look at, a second at most."""
        with self._lock:
            now = time.monotonic()
            self._next_look = now + ASK_SECONDS
            if self._working is not None:
                self._next_look = min(self._next_look, self._working.deadline)
        self._look.wait(max(0.0, self._next_look - now))
        self._look.clear()

    def give_up(self) -> None:
        """Let the agent thread go no further; the agent that is at work loses its tools."""
        with self._lock:
            self._given_up = True
            working = self._working
        if working is not None:
            close(working.tools)

    def give_up_overdue(self) -> Working | None:
        """Give up if an agent is at work and its time is over; which."""
        with self._lock:
            working = self._working
            if working is None or time.monotonic() < working.deadline:
                return None
            self._given_up = True
        close(working.tools)
        return working

    def _require_wanted(self) -> None:
        if self._given_up:
            raise AgentStopped


def watched(work: Callable[[Watch], object], keep_waiting: Callable[[], bool]) -> Watched:
    """Do `work` in an agent thread and watch it; `keep_waiting` is asked in this thread, False ends it.

    What `work` raises is raised here. If `keep_waiting` raises, nothing goes on behind its back either.
    """
    watch, thread = Watch(), take_thread()
    context = copy_context()  # what is logged there carries the ids of here
    job = thread.start(lambda: context.run(work, watch), watch.through)
    asked = time.monotonic()
    try:
        while not job.is_done:
            watch.wait()
            if (overdue := watch.give_up_overdue()) is not None:
                give_up_thread(thread)
                return Watched(through=False, overdue=overdue)
            if time.monotonic() - asked >= ASK_SECONDS and not job.is_done:
                asked = time.monotonic()
                if not keep_waiting():
                    watch.give_up()
                    give_up_thread(thread)
                    return Watched(through=False)
    except BaseException:  # ours (the database went away, an interrupt): the agent must not work on
        watch.give_up()
        give_up_thread(thread)
        raise
    return_thread(thread)
    if job.error is not None:
        raise job.error
    return Watched(through=True)


def close(tools: CaseTools) -> None:
    """Close the tools of an agent that has ended or was given up; a twin that is still at work is broken."""
    if not tools.close():
        broken = TimeoutError("the twin was still inside a call at the end")
        tools.twin_error = tools.twin_error or broken
