"""An installation on PostgreSQL whose database and broker can be taken away from it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from tests import services
from tests.drills.proxy import Proxy
from tests.running.sites import ROOT, Site, wait_until


class Outage(Protocol):
    """A server that can be away for a while."""

    def stop(self) -> None: ...

    def start(self) -> None: ...


class OwnRedis:
    """A Redis of the test's own. It keeps nothing: what it held is lost when it stops."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("NOT TESTED on a Redis that stops: there is no redis-server")
        self._folder, self._program = folder, program
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [self._program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", "."]
        self._process = subprocess.Popen(command, cwd=self._folder, stdout=subprocess.DEVNULL)
        wait_until(lambda: services.answers(("Redis", self.port)))

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class DrillSite(Site):
    """A `Site` with a web process; the tests read its database past the proxy."""

    def __init__(self, folder: Path, database: Proxy, broker: Outage, urls: tuple[str, str, str]) -> None:
        direct, database_url, broker_url = urls
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        super().__init__(folder, database_url, broker_url, AGENTTWIN_PUBLIC_URL=self.url)
        self.database, self.broker, self._direct = database, broker, direct
        self._web: subprocess.Popen[bytes] | None = None
        self._replaced: list[subprocess.Popen[bytes]] = []

    def query(self, statement: str) -> list[Any]:
        with psycopg.connect(self._direct) as server:
            return server.execute(statement).fetchall()

    def web(self) -> None:
        """The site's web process, as the documented command starts it."""
        command = [sys.executable, "-m", "uvicorn", "agenttwin_site.asgi:application", "--loop", "uvloop"]
        with (self.folder / "web.log").open("wb") as log:
            self._web = subprocess.Popen(
                [*command, "--port", str(self.port), "--log-level", "warning"],
                env=self.environment, cwd=ROOT, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        wait_until(lambda: services.answers(("the web process", self.port)), seconds=60)

    def replace_ended_workers(self) -> None:
        """What a supervisor does: a Redis that goes away can end a worker, by a fault in kombu."""
        for worker in [one for one in self._workers if one.poll() is not None and one not in self._replaced]:
            self.kill(worker)
            self._replaced.append(worker)
            self.worker(sweep=True)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(f"{self.url}{path}", headers=headers, timeout=30)

    def stop_web(self) -> int:
        """SIGTERM, as a deployment stops it; the exit status."""
        assert self._web is not None
        self._web.send_signal(signal.SIGTERM)
        return self._web.wait(30)

    def close(self) -> None:
        if self._web is not None and self._web.poll() is None:
            os.killpg(self._web.pid, signal.SIGKILL)
            self._web.wait()
        # The broker's queue is removed through the broker.
        self.broker.start()
        super().close()

    def said(self, name: str) -> str:
        return (self.folder / name).read_text(errors="replace")


@contextmanager
def drill_site(broker: str, folder: Path, template: str) -> Iterator[DrillSite]:
    """On a copy of a migrated PostgreSQL database, with "rabbitmq" or "redis"."""
    with ExitStack() as stack:
        direct = stack.enter_context(services.postgres_database(template=template))
        database = Proxy(services.POSTGRES[1])
        stack.callback(database.stop)
        server: Any
        if broker == "redis":
            server = OwnRedis(folder)
            broker_url = server.url
        else:
            services.require(services.RABBITMQ)
            server = Proxy(services.RABBITMQ[1])
            broker_url = services.RABBITMQ_URL.replace(":5672", f":{server.port}")
        stack.callback(server.stop)
        proxied = direct.replace(f":{urlsplit(direct).port}", f":{database.port}")
        here = DrillSite(folder, database, server, (direct, proxied, broker_url))
        stack.callback(here.close)
        yield here


def pause(seconds: float) -> None:
    """An outage has to last: retries are to meet it, not the gap between them."""
    time.sleep(seconds)
