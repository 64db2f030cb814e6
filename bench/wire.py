"""How fast a tool is called over HTTP, beside the same five-call case in process.

One web process as `manage.py serve` runs it, on a fresh database; the clients keep their connections. A call
is a whole one: token, lock, the engine's step, records committed, answer. The case is that of
`bench.running`: a policy and an order read, a refund that applies and times out, the order again, a mail.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.running import ROOT, _database_url, postgresql_answers

CASES = 8
ROUNDS = 60
"""Five-call cases of the one client, and of each of the eight."""

_Session = dict[str, str]


def wire_figures() -> dict[str, Any]:
    """By database ("sqlite", and "postgresql" where a server answers): `median_ms` of a call of one case,
    `calls_per_second` over eight cases at once. `in_process_ms`: a call of the same case without a wire."""
    figures: dict[str, Any] = {"in_process_ms": _in_process_ms()}
    for database in ("sqlite", *(["postgresql"] if postgresql_answers() else [])):
        with _served(database) as (port, sessions):
            _work(port, sessions[0], ROUNDS // 4, [])
            times: list[float] = []
            _work(port, sessions[0], ROUNDS, times)
            figures[database] = {
                "median_ms": statistics.median(times) * 1000,
                "calls_per_second": _rate(port, sessions),
            }
    return figures


def _in_process_ms() -> float:
    from bench.engine import _CALLS
    from bench.running import _scenario, _twin
    from twins.engine import CaseSpec, begin, call_tool, compile_definition, compile_fault_rules

    definition = compile_definition(_twin())
    faults = compile_fault_rules(_scenario("bench")["spec"]["faults"])
    case = CaseSpec(definition, definition.initial_state, faults=faults, tenant="demo-co")
    times = []
    for _ in range(500):
        started, state = time.perf_counter(), begin(case)
        for tool, arguments in _CALLS:
            state = call_tool(case, state, tool, arguments).state
        times.append((time.perf_counter() - started) / len(_CALLS))
    return statistics.median(times) * 1000


def _rate(port: int, sessions: list[_Session]) -> float:
    workers = [threading.Thread(target=_work, args=(port, session, ROUNDS, [])) for session in sessions]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(sessions) * ROUNDS * _calls_a_case() / (time.perf_counter() - started)


def _calls_a_case() -> int:
    from bench.engine import _CALLS

    return len(_CALLS)


def _work(port: int, session: _Session, cases: int, times: list[float]) -> None:
    """Make the five calls over and over on one connection; seconds of each call."""
    from bench.engine import _CALLS

    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    headers = {"Authorization": f"Bearer {session['token']}", "Content-Type": "application/json"}
    for _ in range(cases):
        for tool, arguments in _CALLS:
            started = time.perf_counter()
            path = f"/wire/{session['id']}/tools/{tool}"
            connection.request("POST", path, json.dumps(arguments), headers)
            answer = connection.getresponse()
            answer.read()
            times.append(time.perf_counter() - started)
            if answer.status == 401:
                raise RuntimeError("the session does not take the call")
    connection.close()


@contextmanager
def _served(database: str) -> Iterator[tuple[int, list[_Session]]]:
    """A web process on a fresh database, with open sessions."""
    with _database_url(database) as url, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
        probe.close()
        environment = {**os.environ, "DATABASE_URL": url}
        opened = subprocess.run(
            [sys.executable, "-m", "bench.wire", "open"],
            env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        server = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "agenttwin_site.asgi:application", "--port", str(port),
             "--loop", "uvloop", "--log-level", "error", "--no-access-log"],
            env=environment, cwd=ROOT,
        )  # fmt: skip
        try:
            _wait_for(port)
            yield port, json.loads(opened.stdout.splitlines()[-1])
        finally:
            server.terminate()
            server.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the web process does not come up")


def _open() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agenttwin_site.settings")
    django.setup()
    from django.core.management import call_command

    from bench.running import _scenario, _twin
    from twins.services import save_twin
    from twins.wire.services import open_session
    from twins.wire.specs import SessionSpec

    call_command("migrate", verbosity=0)
    version, _ = save_twin(document=_twin())
    faults = tuple(_scenario("bench")["spec"]["faults"])
    spec = SessionSpec(version.pk, faults=faults, tenant="demo-co", max_calls=1_000_000)
    sessions = [open_session(spec=spec, label="bench", lifetime_seconds=3600) for _ in range(CASES)]
    print(json.dumps([{"id": session.public_id, "token": token} for session, token in sessions]))


if __name__ == "__main__":
    if sys.argv[1:] == ["open"]:
        _open()
    else:
        print(json.dumps(wire_figures(), indent=2))
