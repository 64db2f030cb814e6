"""What an agent was told is kept, whatever dies; and an outage is an outage, not a finding."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import psycopg
import pytest

from tests import services
from tests.wire.installation import Installation, free_port, installation


def test_killed_between_commit_and_answer_the_call_is_there_once(
    served: Installation, tmp_path: Path
) -> None:
    order, port = tmp_path / "die", free_port()
    session = served.open()
    doomed = replace(session, tools=session.tools.replace(str(served.port), str(port)))
    with served.serving(port=port, DIE_AFTER_COMMIT=str(order)) as server:
        assert doomed.call("count", {}).json() == {"result": {"count": 1}}
        order.touch()
        with pytest.raises(httpx.TransportError):
            doomed.call("count", {})
        server.wait()
    assert session.call("count", {}).json() == {"result": {"count": 3}}
    closed = session.close()
    assert [(record["seq"], record["call_number"]) for record in closed["records"]] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert closed["state"]["count"] == 3


@pytest.fixture(scope="module")
def on_postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation("postgresql", tmp_path_factory.mktemp("outage")) as here, here.serving():
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
