"""The way from the event loop to the database: failures of our own, and who waits for whom."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from django.db import OperationalError

from twins.engine.records import Reply
from twins.wire import services
from twins.wire.errors import OutageError, WireFailureError
from twins.wire.gateway import Gateway
from twins.wire.services import Admission, Answered

ANSWERED = Answered(Reply(200, {}, {"result": None}))


def _admission(name: str) -> Admission:
    return Admission(1, name, "", 10, None)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The disturbances that were written down."""
    notes: list[tuple[str, str]] = []
    monkeypatch.setattr(services, "note_disturbance", lambda name, reason: notes.append((name, reason)))
    return notes


async def _fails(gateway: Gateway, error: type[Exception]) -> None:
    with pytest.raises(error):
        await gateway.call(_admission("a"), "count", {})
    await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    ("raised", "seen"), [(ZeroDivisionError(), WireFailureError), (OperationalError(), OutageError)]
)
def test_a_failure_of_ours_is_told_and_noted_of_the_session(
    monkeypatch: pytest.MonkeyPatch, noted: list, raised: Exception, seen: type[Exception]
) -> None:
    def call(*arguments: Any) -> Answered:
        raise raised

    monkeypatch.setattr(services, "call", call)
    asyncio.run(_fails(Gateway(), seen))
    assert [name for name, _ in noted] == ["a"]


def test_calls_of_one_session_leave_the_threads_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[str] = []
    most: dict[str, int] = {}
    lock = threading.Lock()

    def call(admission: Admission, *arguments: Any) -> Answered:
        name = admission.public_id
        with lock:
            inside.append(name)
            most[name] = max(most.get(name, 0), inside.count(name))
        threading.Event().wait(0.002)
        with lock:
            inside.remove(name)
        return ANSWERED

    monkeypatch.setattr(services, "call", call)

    async def run() -> None:
        gateway = Gateway()
        await asyncio.gather(*(gateway.call(_admission(name), "count", {}) for name in "abc" * 20))

    asyncio.run(run())
    assert most == {"a": 1, "b": 1, "c": 1}


def test_a_delay_holds_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    delays = iter([300, 0])
    monkeypatch.setattr(
        services, "call", lambda *_: Answered(Reply(200, {}, {"result": None}, delay_ms=next(delays)))
    )

    async def run() -> None:
        gateway = Gateway()
        slow = asyncio.create_task(gateway.call(_admission("a"), "count", {}))
        await asyncio.sleep(0.05)
        await gateway.call(_admission("a"), "count", {})  # not even the same session waits
        assert not slow.done()
        await slow

    asyncio.run(run())
