"""A site served by uvicorn and an agent's server beside it, each a process, on a database of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import migrated

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Installation:
    """One database, one web process, commands with settings of their own."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CELERY_BROKER")}
        self.environment = {
            **kept,
            "DATABASE_URL": migrated.copy_sqlite(folder / "site.sqlite3"),
            "AGENTTWIN_DATA_DIR": str(folder),
            "AGENTTWIN_PUBLIC_URL": self.url,
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "agenttwin_site.settings",
            **environment,
        }

    def run(self, *arguments: str, status: int = 0, **environment: str) -> str:
        """A command of manage.py that ends with this status; what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def python(self, code: str, **environment: str) -> Any:
        """Run code inside the installation; the JSON that it printed last."""
        start = "import json, django; django.setup()\n"
        done = subprocess.run(
            [sys.executable, "-c", start + code],
            cwd=ROOT,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    @contextmanager
    def served(self) -> Iterator[None]:
        """The web process for the time of the block; no worker beside it."""
        command = [
            sys.executable, "-m", "uvicorn", "agenttwin_site.asgi:application",
            "--port", str(self.port), "--loop", "uvloop", "--log-level", "warning",
        ]  # fmt: skip
        with process(command, self.folder / "web.log", self.environment, self.url + "/login/"):
            yield


@contextmanager
def process(command: list[str], log: Path, environment: dict[str, str], answers_at: str) -> Iterator[Any]:
    """A child process that has begun to answer, ended with SIGTERM."""
    with log.open("wb") as file:
        child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=file, stderr=file)
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        while not _answers(answers_at):
            assert child.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        yield child
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
        child.wait(30)


@contextmanager
def demo_agent(folder: Path, *options: str) -> Iterator[str]:
    """`python -m demo.refund.server` on a free port; its address."""
    port = free_port()
    command = [sys.executable, "-m", "demo.refund.server", "--port", str(port), *options]
    address = f"http://127.0.0.1:{port}"
    with process(command, folder / f"agent-{port}.log", dict(os.environ), address + "/health"):
        yield address


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
