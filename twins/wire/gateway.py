"""From the event loop to the database and back: where calls wait, and where they do not.

A call takes a thread and a connection only for its transaction. Calls of one session queue up before that,
so a burst on one session leaves the threads to the others; the delay of a fault is slept after the commit,
holding nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from django.db import InterfaceError, OperationalError, connection

from twins.engine.bounds import ABSENT
from twins.engine.records import SearchReply
from twins.errors import TwinError
from twins.wire import services
from twins.wire.errors import OutageError, WireFailureError
from twins.wire.services import Admission, Answered

logger = logging.getLogger(__name__)

T = TypeVar("T")

_THREADS: Final = 6
_NOTE_EVERY_SECONDS: Final = 0.5
_NOTE_TRIES: Final = 1200


class Gateway:
    """The services of the wire for one event loop. While the database is out, OutageError."""

    def __init__(self) -> None:
        # SQLite has one writer at a time: more threads would only poll for its lock.
        threads = 1 if connection.vendor == "sqlite" else _THREADS
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="wire")
        self._queues: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._notes: dict[str, asyncio.Task[None]] = {}

    async def admit(self, public_id: str, token: str) -> Admission:
        """See `services.admit`."""
        if (known := services.known_admission(public_id, token)) is not None:
            return known
        return await self._run(services.admit, public_id, token)

    async def check_open(self, admission: Admission) -> None:
        """See `services.check_open`."""
        await self._run(services.check_open, admission)

    async def call(
        self, admission: Admission, tool: Any, arguments: Any = ABSENT, headers: Any = None
    ) -> Answered:
        """One committed tool call, after its delay."""
        answered = await self._in_turn(admission, services.call, tool, arguments, headers)
        if answered.reply.delay_ms:
            await asyncio.sleep(answered.reply.delay_ms / 1000)
        return answered

    async def search(self, admission: Admission, query: Any, limit: Any = None) -> SearchReply:
        """One committed search."""
        return await self._in_turn(admission, services.search, query, limit)

    async def _in_turn(self, admission: Admission, service: Callable[..., T], *arguments: Any) -> T:
        """One call after another within a session; the session's row does the same between processes."""
        name = admission.public_id
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = asyncio.Lock()
        async with queue:
            try:
                return await self._run(service, admission, *arguments)
            except (OutageError, WireFailureError) as problem:
                self._note(name, problem.detail)
                raise

    async def _run(self, service: Callable[..., T], *arguments: Any) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, partial(_with_connection, service, *arguments))
        except TwinError:
            raise
        except Exception as broken:
            # The edge of this room: the agent gets an answer in the usual form, and the case is not judged.
            logger.exception("the wire failed")
            raise WireFailureError(
                "the server failed; this call is not counted against the agent"
            ) from broken

    def _note(self, name: str, reason: str) -> None:
        """Write down, as soon as the database is back, that an agent was told of an outage of ours."""
        if name not in self._notes:
            task = self._notes[name] = asyncio.get_running_loop().create_task(self._noted(name, reason))
            task.add_done_callback(lambda _: self._notes.pop(name, None))

    async def _noted(self, name: str, reason: str) -> None:
        for _ in range(_NOTE_TRIES):
            try:
                return await self._run(services.note_disturbance, name, reason)
            except (OutageError, WireFailureError):
                await asyncio.sleep(_NOTE_EVERY_SECONDS)
        logger.error("session %s was disturbed, and that could not be stored: %s", name, reason)
        return None


def _with_connection(service: Callable[..., T], *arguments: Any) -> T:
    """Run in this thread, whose connection stays open between calls.

    A connection that died since its last use is replaced and the service run again: it raises the database's
    error only when nothing was committed, and OutageError where that is not certain.
    """
    was_open = connection.connection is not None
    try:
        return service(*arguments)
    except OutageError:
        connection.close()
        raise
    except (OperationalError, InterfaceError) as problem:
        connection.close()
        if not was_open or connection.vendor == "sqlite":
            raise OutageError("the database does not answer") from problem
    return _with_connection(service, *arguments)
