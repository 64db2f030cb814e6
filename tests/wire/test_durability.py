"""What an agent was told is kept, whatever dies; and an outage is an outage, not a finding."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from tests import services
from tests.wire.installation import Installation, installation


@pytest.fixture(params=["sqlite", "postgresql"])
def alone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    with installation(request.param, tmp_path) as here:
        yield here


def test_killed_between_commit_and_answer_the_call_is_there_once(alone: Installation) -> None:
    order = alone.folder / "die"
    session = alone.open()
    with alone.serving(DIE_AFTER_COMMIT=str(order)) as server:
        assert session.call("count", {}).json() == {"result": {"count": 1}}
        order.touch()
        with pytest.raises(httpx.TransportError):
            session.call("count", {})
        server.wait()
        server.start()
        assert session.call("count", {}).json() == {"result": {"count": 3}}
    closed = session.close()
    assert [(record["seq"], record["call_number"]) for record in closed["records"]] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert closed["state"]["count"] == 3


def test_a_restarted_server_continues_where_the_case_stood(alone: Installation) -> None:
    session = alone.open()
    refund = {"order_id": "A-1", "amount": 5}
    with alone.serving() as server:
        first = session.call("refund", refund, headers={"Idempotency-Key": "k"})
        server.stop()
        server.start()
        again = session.call("refund", refund, headers={"Idempotency-Key": "k"})
    assert again.headers["idempotent-replayed"] == "true"
    assert again.text == first.text
    assert session.close()["state"]["orders"]["A-1"]["refunds"] == [5]


@pytest.fixture
def on_postgresql(tmp_path: Path) -> Iterator[Installation]:
    with installation("postgresql", tmp_path) as here, here.serving():
        yield here


def _connections(here: Installation, *, allowed: bool) -> None:
    """Let the database take connections or not; either way end those that are open."""
    name = here.database_url.rpartition("/")[2]
    with psycopg.connect(f"{services.POSTGRES_SERVER}/postgres", autocommit=True) as server:
        server.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS {str(allowed).lower()}')
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])


def test_a_lost_connection_is_replaced_without_a_word(on_postgresql: Installation) -> None:
    session = on_postgresql.open()
    for count in (1, 2, 3):
        _connections(on_postgresql, allowed=True)
        assert session.call("count", {}).json() == {"result": {"count": count}}


def test_an_outage_is_503_and_said_of_the_session(on_postgresql: Installation) -> None:
    session, untouched = on_postgresql.open(), on_postgresql.open()
    assert session.call("count", {}).status_code == 200
    on_postgresql.end()  # its connection would be cut too
    _connections(on_postgresql, allowed=False)
    try:
        answer = session.call("count", {})
    finally:
        _connections(on_postgresql, allowed=True)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "OUTAGE")
    assert int(answer.headers["retry-after"]) > 0
    assert session.call("count", {}).json() == {"result": {"count": 2}}
    until = time.monotonic() + 10
    query = "SELECT count(*) FROM twins_wiresession WHERE disturbed <> ''"
    while on_postgresql.query(query)[0][0] != 1:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert on_postgresql.query(f"SELECT disturbed FROM twins_wiresession WHERE id = {untouched.id}") == [
        ("",)
    ]
