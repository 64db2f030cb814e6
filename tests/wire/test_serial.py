"""Calls of one session are strictly one after another, whoever makes them and wherever they arrive."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import httpx
import pytest

from tests.wire.installation import Installation, Session, free_port

CALLS = 40


@pytest.fixture
def bases(served: Installation, second_base: str) -> list[str]:
    """The addresses of the installation's two web processes."""
    return [served.environment["AGENTTWIN_PUBLIC_URL"], second_base]


async def _burst(session: Session, bases: list[str], calls: int = CALLS) -> list[httpx.Response]:
    path = session.tools.partition("/wire/")[2]
    async with httpx.AsyncClient(headers=session.headers, timeout=60) as client:
        return await asyncio.gather(
            *(
                client.post(f"{bases[n % len(bases)]}/wire/{path}/tools/count", json={"n": n})
                for n in range(calls)
            )
        )


def test_a_burst_through_two_processes_is_counted_one_by_one(served: Installation, bases: list[str]) -> None:
    session = served.open()
    answers = asyncio.run(_burst(session, bases))
    counted = [answer.json()["result"]["count"] for answer in answers]
    assert sorted(counted) == list(range(1, CALLS + 1))
    closed = session.close()
    assert [record["seq"] for record in closed["records"]] == list(range(1, CALLS + 1))
    assert [record["call_number"] for record in closed["records"]] == list(range(1, CALLS + 1))
    # What each caller was told is what the record of its own call says.
    told = {answer.json()["result"]["count"]: n for n, answer in enumerate(answers)}
    assert [record["arguments"]["n"] for record in closed["records"]] == [told[c] for c in sorted(told)]
    assert closed["state"]["count"] == CALLS


def test_processes_take_turns_without_losing_the_state(served: Installation, bases: list[str]) -> None:
    session = served.open()
    for turn in range(6):
        [answer] = asyncio.run(_burst(session, [bases[turn % 2]], calls=1))
        assert answer.json() == {"result": {"count": turn + 1}}


def test_a_process_that_meets_a_session_late_knows_all_it_remembers(
    served: Installation, bases: list[str]
) -> None:
    session = served.open(faults=[{"target": "echo", "behavior": {"type": "duplicate_response"}}])
    refund = {"order_id": "A-1", "amount": 5}
    first = session.call("refund", refund, headers={"Idempotency-Key": "k"})
    echoed = session.call("echo", {"n": 1})
    late = replace(session, tools=session.tools.replace(*bases))
    again = late.call("refund", refund, headers={"Idempotency-Key": "k"})
    assert (again.text, again.headers["idempotent-replayed"]) == (first.text, "true")
    assert late.call("echo", {"n": 2}).text == echoed.text
    closed = session.close()
    assert closed["state"]["orders"]["A-1"]["refunds"] == [5]
    assert closed["records"][3]["call_number"] == 2


def test_what_was_answered_is_in_the_evidence_and_what_came_late_is_refused(
    served: Installation, bases: list[str]
) -> None:
    session = served.open()

    async def race() -> tuple[list[httpx.Response], dict]:
        burst = asyncio.create_task(_burst(session, bases, calls=100))
        await asyncio.sleep(0.15)
        closed = await asyncio.to_thread(session.close)
        return await burst, closed

    answers, closed = asyncio.run(race())
    done = [answer.json()["result"]["count"] for answer in answers if answer.status_code == 200]
    late = [answer for answer in answers if answer.status_code != 200]
    assert {answer.status_code for answer in late} <= {401}
    assert sorted(done) == list(range(1, len(closed["records"]) + 1))
    assert closed["state"]["count"] == len(done)


def test_the_limit_holds_in_a_burst(served: Installation, bases: list[str]) -> None:
    session = served.open(max_calls=10)
    answers = asyncio.run(_burst(session, bases))
    assert sum(answer.status_code == 200 for answer in answers) == 10
    assert len(session.close()["records"]) == 10


def test_several_worker_processes_behind_one_port(site: Installation) -> None:
    port = free_port()
    session = site.open()
    with site.serving("--workers", "2", port=port):
        answers = asyncio.run(_burst(session, [f"http://127.0.0.1:{port}"]))
    assert sorted(answer.json()["result"]["count"] for answer in answers) == list(range(1, CALLS + 1))
