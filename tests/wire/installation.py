"""A served site with a database of its own, and sessions in it: what an agent elsewhere would meet."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests import migrated, services

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60

# A connection a request: a broken one takes no other request with it.
CLIENT = httpx.Client(limits=httpx.Limits(max_keepalive_connections=0), timeout=60)


@dataclass
class Session:
    """An open session, as its agent knows it, and its closing."""

    at: Installation
    id: int
    token: str
    tools: str
    mcp: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def call(self, tool: str, arguments: Any = None, **options: Any) -> httpx.Response:
        """One call on a connection of its own; httpx's errors come out."""
        headers = {**self.headers, **options.pop("headers", {})}
        body = {"json": arguments} if "content" not in options else {}
        return CLIENT.post(f"{self.tools}/tools/{tool}", headers=headers, **body, **options)

    def search(self, **parameters: Any) -> httpx.Response:
        return CLIENT.get(f"{self.tools}/kb/search", params=parameters, headers=self.headers)

    def close(self) -> dict[str, Any]:
        """What the twin recorded: records, state, limit_reached, twin_error, disturbed."""
        return self.at.operate(do="close", session=self.id)

    def statuses(self) -> list[str]:
        """Closes the session; the status of every recorded call."""
        return [record.get("status", record["kind"]) for record in self.close()["records"]]


class Installation:
    """One database, its web process, and an operator inside it."""

    def __init__(self, folder: Path, database_url: str, **environment: str) -> None:
        self.folder = folder
        self.database_url = database_url
        self.port = free_port()
        self.environment = {
            **os.environ,
            "DATABASE_URL": database_url,
            "AGENTTWIN_DATA_DIR": str(folder),
            "AGENTTWIN_PUBLIC_URL": f"http://127.0.0.1:{self.port}",
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "agenttwin_site.settings",
            **environment,
        }
        self._operator: subprocess.Popen[str] | None = None

    def open(self, *, lifetime: int = 600, **spec: Any) -> Session:
        """A session of the tests' twin; `spec` are fields of SessionSpec."""
        return Session(at=self, **self.operate(do="open", lifetime=lifetime, spec=spec))

    def operate(self, **command: Any) -> dict[str, Any]:
        if self._operator is None:
            log = (self.folder / "operator.log").open("wb")
            self._operator = subprocess.Popen(
                [sys.executable, "-m", "tests.wire.operator"],
                env=self.environment, cwd=ROOT, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert self._operator.stdin is not None
        assert self._operator.stdout is not None
        self._operator.stdin.write(json.dumps(command) + "\n")
        self._operator.stdin.flush()
        answer = self._operator.stdout.readline()
        assert answer, (self.folder / "operator.log").read_text()
        return dict(json.loads(answer))

    def query(self, statement: str) -> list[Any]:
        """Rows straight from the database, past the application."""
        if self.database_url.startswith("sqlite"):
            import sqlite3

            with contextlib.closing(
                sqlite3.connect(self.database_url.removeprefix("sqlite:///"), timeout=20)
            ) as file:
                return file.execute(statement).fetchall()
        import psycopg

        with psycopg.connect(self.database_url) as server:
            return server.execute(statement).fetchall()

    @contextmanager
    def serving(self, *options: str, port: int | None = None, **environment: str) -> Iterator[Server]:
        """The site under uvicorn, as `manage.py serve` runs it."""
        server = Server(self, port or self.port, options, environment)
        try:
            server.start()
            yield server
        finally:
            server.stop()

    def end(self) -> None:
        if self._operator is not None:
            self._operator.communicate(timeout=30)


class Server:
    """One web process (or a parent of several); it can be killed and started again."""

    def __init__(
        self, at: Installation, port: int, options: tuple[str, ...], environment: dict[str, str]
    ) -> None:
        self._at, self._port, self._options = at, port, options
        self._environment = {**at.environment, **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self.log = at.folder / f"web-{port}.log"

    def start(self) -> None:
        command = [
            sys.executable, "-m", "uvicorn", "tests.wire.serving:application", "--port", str(self._port),
            "--loop", "uvloop", "--log-level", "warning", "--timeout-graceful-shutdown", "2", *self._options,
        ]  # fmt: skip
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, env=self._environment, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + PATIENCE_SECONDS
        while not self._answers():
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(30)

    def wait(self) -> None:
        """Until it has ended by itself."""
        assert self._process is not None
        self._process.wait(30)

    def _answers(self) -> bool:
        try:
            return CLIENT.get(f"http://127.0.0.1:{self._port}/wire/none/tools/none").status_code == 405
        except httpx.TransportError:
            return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def installation(kind: str, folder: Path) -> Iterator[Installation]:
    """One on a database of its own: "sqlite" or "postgresql" (skipped loudly without a server)."""
    with ExitStack() as stack:
        if kind == "postgresql":
            url = stack.enter_context(services.postgres_database(template=migrated.postgres_template()))
        else:
            url = migrated.copy_sqlite(folder / "site.sqlite3")
        here = Installation(folder, url)
        stack.callback(here.end)
        yield here
