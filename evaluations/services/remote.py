"""Cases of agents that are reached by URL: a wire session each, several agents asked at a time.

The agents are asked in a thread of their own, which knows no rows; sessions are opened and closed, and cases
graded, by the thread that calls in here, outside any transaction. A session is closed, and its token with it,
before anything is graded. What a killed worker leaves behind is a session that runs out by itself: the next
attempt opens its own, so nothing of an attempt that was not finished can get into another.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import math
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import httpx
from django.conf import settings
from django.db import DatabaseError

from evaluations.agents.base import AgentEnd, Failure
from evaluations.agents.http import HttpAgent, ToolAccess
from evaluations.services.kits import Kit
from evaluations.services.outcomes import CaseOrder, CaseOutcome, CaseRun, graded, unfinished_outcome
from twins.wire.errors import SessionGoneError
from twins.wire.services import ClosedSession, close_session, ended_early, open_session
from twins.wire.specs import SessionSpec

logger = logging.getLogger(__name__)

# A session outlives its agent's time by this, so that closing never finds it gone.
SPARE_SECONDS = 120
PROBE_SECONDS = 5.0
# Ends of an agent that had been asked. It may have tried to call, and failed of that.
_AT_WORK = frozenset(("timeout", "crashed", "garbage"))

Ended = tuple[CaseOrder, CaseOutcome]


def session_spec(kit: Kit, seed: int, *, max_calls: int) -> SessionSpec:
    """What a wire session of a case starts from: the same case as `Kit.spec_for`, in plain JSON."""
    scenario, written = kit.scenario, kit.scenario.document["spec"]
    start = kit.spec
    return SessionSpec(
        twin_version_id=kit.twin_version_id,
        seed=seed,
        state_patch=scenario.state_patch,
        faults=tuple(written.get("faults") or ()),
        allowed_tools=None if start.allowed_tools is None else tuple(sorted(start.allowed_tools)),
        tenant=start.tenant,
        now=start.now,
        caller_role=start.caller_role,
        documents=tuple(
            {"id": one.id, "title": one.title, "text": one.text, "trusted": one.trusted}
            for one in start.documents
        ),
        max_calls=max_calls,
    )


def run_of(closed: ClosedSession, end: AgentEnd) -> CaseRun:
    """The evidence of a closed session and of how its agent ended."""
    broken = ""
    if closed.twin_error is not None:
        broken = f"the twin broke: {closed.twin_error}"
    elif closed.disturbed is not None:
        broken = f"an answer of the twin did not reach the agent: {closed.disturbed}"
    if closed.limit_reached is not None:
        # As in process: whatever the agent answers after its last call was refused, the limit decides.
        end = AgentEnd(failure=Failure("call_limit", f"the agent made {closed.limit_reached}"))
    return CaseRun(closed.spec, closed.state, closed.records, end, broken)


@dataclass(frozen=True, slots=True)
class _Running:
    order: CaseOrder
    session_id: int


class RemoteCases:
    """Up to `places` cases under way at once. A context manager: on leaving, what still runs is stopped."""

    def __init__(self, places: int) -> None:
        self._places = max(places, 1)
        self._running: dict[concurrent.futures.Future[AgentEnd], _Running] = {}
        self._stillborn: list[Ended] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="remote agents", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for future in self._running:
            future.cancel()
        try:
            for one in self._running.values():
                _discard(one.session_id)
        finally:
            asyncio.run_coroutine_threadsafe(_leave(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @property
    def running(self) -> int:
        """How many cases were begun and not yet handed back."""
        return len(self._running) + len(self._stillborn)

    @property
    def has_room(self) -> bool:
        return self.running < self._places

    def begin(self, order: CaseOrder) -> None:
        """Open the case's session and ask its agent."""
        assert isinstance(order.adapter, HttpAgent)
        limits = order.limits
        try:
            session, token = open_session(
                spec=session_spec(order.kit, order.seed, max_calls=limits.tool_calls),
                label=f"case {order.case_id}",
                lifetime_seconds=math.ceil(limits.seconds) + SPARE_SECONDS,
            )
        except DatabaseError:
            raise
        except Exception as broken:
            self._stillborn.append((order, _harness_failed(order, broken)))
            return
        access = ToolAccess(session.tools_base_url, {"Authorization": f"Bearer {token}"})
        asking = order.adapter.run(order.request, access, limits=limits)
        future = asyncio.run_coroutine_threadsafe(asking, self._loop)
        self._running[future] = _Running(order, session.pk)

    def ended(self, *, within: float) -> Iterable[Ended]:
        """The cases that ended by now, graded; waits up to `within` seconds for the first one."""
        stillborn, self._stillborn = self._stillborn, []
        yield from stillborn
        if not self._running:
            return
        done, going = concurrent.futures.wait(
            self._running, timeout=within, return_when=concurrent.futures.FIRST_COMPLETED
        )
        for future in done:
            # Forgotten only afterwards: if closing fails, leaving tries again.
            one = self._running[future]
            outcome = _outcome(one, future)
            del self._running[future]
            yield one.order, outcome
        if not done:
            self._stop_refused(going)

    def _stop_refused(self, going: Iterable[concurrent.futures.Future[AgentEnd]]) -> None:
        """An agent whose session takes no more calls is not waited for: how it ended is known."""
        for future in going:
            if ended_early(self._running[future].session_id) is not None:
                future.cancel()


def _outcome(one: _Running, future: concurrent.futures.Future[AgentEnd]) -> CaseOutcome:
    order = one.order
    try:
        closed = close_session(one.session_id)
        end = AgentEnd(stopped=True) if future.cancelled() else future.result()
        run = run_of(closed, end)
        if _worked(end) and not closed.records and not run.broken:
            # It made no call. If it could not, then how it ended says nothing about it.
            run = replace(run, broken=_unreachable_tools())
        return graded(order.kit, order.seed, run)
    except DatabaseError:
        raise
    except SessionGoneError:
        return unfinished_outcome(order.kit, "its session was closed by something else before it ended")
    except Exception as broken:
        return _harness_failed(order, broken)


def _worked(end: AgentEnd) -> bool:
    """Whether the agent was at work, however it ended: it answered, crashed or took too long."""
    return end.answer is not None or (end.failure is not None and end.failure.kind in _AT_WORK)


def _unreachable_tools() -> str:
    """Why no agent can reach its tools; empty while something answers at their address.

    Looked at from here: an agent on another machine may see less, but most often it is the site that is down.
    """
    address = settings.AGENTTWIN_PUBLIC_URL
    try:
        httpx.head(address, timeout=PROBE_SECONDS, trust_env=False)
    except (httpx.ConnectError, httpx.ConnectTimeout):
        return (
            f"the tools could not be reached: nothing answers at {address} (is the site served, and is "
            "AGENTTWIN_PUBLIC_URL its address?)"
        )
    except (httpx.HTTPError, httpx.InvalidURL):
        return ""
    return ""


def _harness_failed(order: CaseOrder, broken: Exception) -> CaseOutcome:
    logger.error("case %s could not be run", order.case_id, exc_info=broken)
    return unfinished_outcome(order.kit, f"the harness failed: {type(broken).__name__}: {broken}")


def _discard(session_id: int) -> None:
    """Revoke a session whose case is not ours any more."""
    try:
        close_session(session_id)
    except (SessionGoneError, DatabaseError):
        logger.info("session %s is left to run out by itself", session_id)


async def _leave() -> None:
    """Let what was cancelled close its connections."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
