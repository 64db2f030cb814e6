"""Agents that are Python classes of this installation, named in ``AGENTTWIN_IN_PROCESS_AGENTS``.

Such a class looks like this::

    class MyAgent:
        model_kind = "deterministic-fake"            # the honest label shown wherever its runs show
        def __init__(self, manifest: AgentManifest): ...
        def run(self, request: AgentRequest, tools: CaseTools) -> dict: ...   # the answer of FORMATS 5

A fresh object serves each case. It is not trusted: it may hang, crash, answer nonsense or call without end,
and each of these is a finding about its own case. It may raise `AgentRefusedError` or
`VersionUnavailableError` to say that the run says nothing about its work.
"""

from __future__ import annotations

import time
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
from evaluations.agents.tools import CaseTools
from evaluations.agents.watching import Watch, close
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
        watch: Watch,
    ) -> AgentEnd:
        """Run the agent once; see `AgentAdapter.run`."""
        if self._class is None:
            tools.close()
            return AgentEnd(failure=Failure("unreachable", f"the agent cannot be loaded: {self.problem}"))
        answer: dict[str, Any] = {}
        error: BaseException | None = None
        started = time.monotonic()
        watch.agent_starts(tools, limits.seconds)
        try:
            answer = plain_answer(self._class(self._manifest).run(request, tools))
        except BaseException as raised:  # whatever an agent raises, also SystemExit, is its outcome
            error = raised
        latency_ms = round((time.monotonic() - started) * 1000)
        watch.agent_ended()
        # Closed before anything is read: what a thread of the agent's does later is not part of the case.
        close(tools)
        # An agent can swallow the stop that its limit raised and answer all the same: the limit decides.
        if tools.limit_reached is not None:
            return AgentEnd(failure=Failure("call_limit", f"the agent made {tools.limit_reached}"))
        if error is not None:
            return AgentEnd(failure=_failure(error))
        try:
            return AgentEnd(answer=read_answer(answer, latency_ms=latency_ms))
        except GarbageError as problem:
            return AgentEnd(failure=_failure(problem))


def _failure(error: BaseException) -> Failure:
    if isinstance(error, GarbageError):
        return Failure("garbage", str(error))
    if isinstance(error, AgentRefusedError):
        return Failure("refused", _described(error))
    if isinstance(error, VersionUnavailableError):
        return Failure("version_unavailable", _described(error))
    return Failure("crashed", _described(error))


def _described(error: BaseException) -> str:
    """Type and message of an exception, which may itself refuse to be shown."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return text[:DETAIL_CHARACTERS].replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
