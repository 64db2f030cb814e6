"""The site as a person runs it: `manage.py serve` on a folder and a database of its own, the demo loaded."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests import migrated

ROOT = Path(__file__).resolve().parent.parent.parent
PASSWORD = "correct-horse-battery"
ROLES = ("viewer", "reviewer", "editor", "admin")
DATABASE = "agenttwin.sqlite3"
_PEOPLE = """
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
for role in {roles!r}:
    user, _ = get_user_model().objects.get_or_create(username=role, is_staff=role in ("editor", "admin"))
    user.set_password({password!r})
    user.save()
    user.groups.set(Group.objects.filter(name=role))
"""


@dataclass
class Served:
    """A running site. `run` gives it a command of manage.py, `python` runs code inside its Django."""

    folder: Path
    port: int
    url: str = field(init=False)

    def __post_init__(self) -> None:
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "serve.log"

    @property
    def said(self) -> str:
        """What `serve` wrote since it was last started."""
        return self.log.read_text(errors="replace")

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("DATABASE_URL", "CELERY_BROKER_URL")
        }
        return {**kept, "AGENTTWIN_DATA_DIR": str(self.folder), "DJANGO_DEBUG": "0"}

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def python(self, code: str) -> str:
        return self.run("shell", "--verbosity", "0", "--command", code)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(
    site: Served, *, patience: float = 60, started_in: Path = ROOT
) -> Iterator[subprocess.Popen[bytes]]:
    """`serve` for the time of the block, ended with SIGTERM; what it says is in `site.said`."""
    process = start_serving(site, started_in)
    try:
        until = time.monotonic() + patience
        while not answers(site.url + "/login/"):
            assert process.poll() is None, site.said
            assert time.monotonic() < until, f"the server does not come up: {site.said}"
            time.sleep(0.1)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(30)


def start_serving(site: Served, started_in: Path = ROOT) -> subprocess.Popen[bytes]:
    # To a file: nobody reads along, and a full pipe would stop the server in the middle of a log line.
    words = ["serve", "--port", str(site.port), "--concurrency", "1"]
    with site.log.open("wb") as log:
        return subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), *words],
            cwd=started_in,
            env=site.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def prepared(folder: Path) -> Served:
    """A site with the demo and one account per role, not yet serving."""
    shutil.copytree(migrated.shared_folder("demo", _prepare), folder, dirs_exist_ok=True)
    return Served(folder, free_port())


def _prepare(folder: Path) -> None:
    site = bare(folder)
    site.run("seed_demo", "--demo", "refund")
    site.python(_PEOPLE.format(roles=ROLES, password=PASSWORD))


def bare(folder: Path) -> Served:
    """A site with an empty, migrated database."""
    migrated.copy_sqlite(folder / DATABASE)
    return Served(folder, free_port())


def processes_with(text: str) -> list[int]:
    """Ids of the processes whose command line matches."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if re.search(text, line):
                found.append(int(entry.name))
    return found
