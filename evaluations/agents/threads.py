"""Threads that run agents, and that can be given up.

An agent that hangs must cost its own case and nothing else. A process per case would be safe and a hundred
times slower; so each agent runs in a thread that is reused as long as agents come back in time. One that does
not is abandoned: it is asked to stop (an exception raised inside its Python code) and never used again.
What it may still do reaches a closed gate (`CaseTools.close`).
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from evaluations.agents.tools import AgentStopped


class Job:
    """One call to run in a thread: wait on `done`, then read `value` or `error`."""

    __slots__ = ("done", "error", "value", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.done = threading.Event()
        self.value: Any = None
        self.error: BaseException | None = None


class AgentThread:
    """A daemon thread that takes one job at a time."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._abandoned = False
        self._thread = threading.Thread(target=self._serve, name="agent", daemon=True)
        self._thread.start()

    def start(self, work: Callable[[], Any]) -> Job:
        job = Job(work)
        self._jobs.put(job)
        return job

    def abandon(self) -> None:
        """Ask the agent to stop now; this thread takes no further job."""
        self._abandoned = True
        self._jobs.put(None)
        self.interrupt()

    def interrupt(self) -> None:
        """Raise `AgentStopped` inside the thread's Python code; a C call is waited out."""
        if self._thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(self._thread.ident), ctypes.py_object(AgentStopped)
            )

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _serve(self) -> None:
        # The interrupt can also arrive between two jobs of a thread that is given up: then it just ends.
        try:
            while not self._abandoned and (job := self._jobs.get()) is not None:
                try:
                    job.value = job.work()
                except BaseException as error:  # whatever an agent raises, also SystemExit, is its outcome
                    job.error = error
                job.work = _nothing
                job.done.set()
                del job
        except AgentStopped:
            return


def _nothing() -> None:
    return None


_idle: list[AgentThread] = []
_given_up: list[AgentThread] = []
_lock = threading.Lock()


def take_thread() -> AgentThread:
    """An idle thread of this process, or a new one. Agents that ignored their end are reminded of it."""
    with _lock:
        _given_up[:] = [thread for thread in _given_up if thread.is_alive()]
        for stubborn in _given_up:
            stubborn.interrupt()
        return _idle.pop() if _idle else AgentThread()


def return_thread(thread: AgentThread) -> None:
    with _lock:
        _idle.append(thread)


def give_up_thread(thread: AgentThread) -> None:
    thread.abandon()
    with _lock:
        _given_up.append(thread)


def _forget_threads() -> None:
    """Threads do not survive a fork; a forked worker starts its own."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()
    _given_up.clear()


os.register_at_fork(after_in_child=_forget_threads)
