"""Agents that are Python classes of this installation, named in ``AGENTTWIN_IN_PROCESS_AGENTS``.

Such a class looks like this::

    class MyAgent:
        model_kind = "deterministic-fake"            # the honest label shown wherever its runs show
        def __init__(self, manifest: AgentManifest): ...
        def run(self, request: AgentRequest, tools: AgentTools) -> dict: ...   # the answer of FORMATS 5

A fresh object serves each case. It is not trusted: it may hang, crash, answer nonsense or call without end,
and each of these is a finding about its own case. It may raise `AgentRefusedError` or
`VersionUnavailableError` to say that the run says nothing about its work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.utils.module_loading import import_string

from evaluations.agents.answers import GarbageError, plain_answer, read_answer
from evaluations.agents.base import (
    AgentEnd,
    AgentRefusedError,
    AgentRequest,
    Failure,
    Installation,
    RunLimits,
    VersionUnavailableError,
)
from evaluations.agents.threads import Job, give_up_thread, return_thread, take_thread
from evaluations.agents.tools import AgentTools, CaseTools
from scenarios.documents.agent import AgentManifest

DETAIL_CHARACTERS = 500
UNLABELLED = "unlabelled"


class InProcessAgent:
    """Adapter of one manifest whose agent is a class of this process."""

    def __init__(self, manifest: AgentManifest, dotted_path: str) -> None:
        self._manifest = manifest
        self._path = dotted_path
        self._class: Any = None
        self._import_problem: str | None = None
        try:
            self._class = import_string(dotted_path)
        except Exception as problem:  # a broken module of the agent must not break the worker
            self._import_problem = _described(problem)
        self.model_kind = str(getattr(self._class, "model_kind", UNLABELLED))
        self.model_name = manifest.model.name

    @classmethod
    def fitting(cls, manifest: AgentManifest, installation: Installation) -> InProcessAgent | None:
        path = installation.in_process.get(manifest.name)
        return None if path is None else cls(manifest, path)

    @property
    def problem(self) -> str | None:
        """Why this agent cannot be run at all, or None."""
        return None if self._import_problem is None else f"{self._path}: {self._import_problem}"

    def run(
        self,
        request: AgentRequest,
        tools: CaseTools,
        *,
        limits: RunLimits,
        keep_waiting: Callable[[], bool],
    ) -> AgentEnd:
        """Run the agent once under its time limit; see `AgentAdapter.run`."""
        if self._class is None:
            tools.close()
            return AgentEnd(failure=Failure("unreachable", f"the agent cannot be loaded: {self.problem}"))
        started = time.monotonic()
        thread = take_thread()
        job = thread.start(lambda: plain_answer(self._class(self._manifest).run(request, AgentTools(tools))))
        try:
            stopped = _wait(job, started + limits.seconds, keep_waiting)
        except BaseException:  # ours (the database went away, an interrupt): the agent must not work on
            tools.close()
            give_up_thread(thread)
            raise
        # Closed before anything is read: what comes later is not part of the case.
        if not tools.close():
            tools.twin_error = tools.twin_error or TimeoutError("the twin was still inside a call at the end")
        if job.done.is_set() and not stopped:
            return_thread(thread)
            return _end(job, tools, latency_ms=round((time.monotonic() - started) * 1000))
        give_up_thread(thread)
        if stopped:
            return AgentEnd(stopped=True)
        return AgentEnd(failure=Failure("timeout", f"no answer within {limits.seconds:g} s"))


def _wait(job: Job, deadline: float, keep_waiting: Callable[[], bool]) -> bool:
    """Wait for the job until the deadline; True when told to stop waiting before it."""
    while not job.done.wait(min(1.0, max(0.0, deadline - time.monotonic()))):
        if time.monotonic() >= deadline:
            return False
        if not keep_waiting():
            return True
    return False


def _end(job: Job, tools: CaseTools, *, latency_ms: int) -> AgentEnd:
    # An agent can swallow the stop that its limit raised and answer all the same: the limit still decides.
    if tools.limit_reached is not None:
        return AgentEnd(failure=Failure("call_limit", f"the agent made {tools.limit_reached}"))
    error = job.error
    if error is None:
        try:
            return AgentEnd(answer=read_answer(job.value, latency_ms=latency_ms))
        except GarbageError as problem:
            return AgentEnd(failure=Failure("garbage", str(problem)))
    if isinstance(error, GarbageError):
        return AgentEnd(failure=Failure("garbage", str(error)))
    if isinstance(error, AgentRefusedError):
        return AgentEnd(failure=Failure("refused", _described(error)))
    if isinstance(error, VersionUnavailableError):
        return AgentEnd(failure=Failure("version_unavailable", _described(error)))
    return AgentEnd(failure=Failure("crashed", _described(error)))


def _described(error: BaseException) -> str:
    """Type and message of an exception, which may itself refuse to be shown."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return text[:DETAIL_CHARACTERS].replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
