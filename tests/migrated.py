"""Databases to copy, each made once for all processes of a test run: migrated ones, and the demo's.

Migrating takes seconds, copying does not. The folder and the template database of a run go with it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from tests import services

ROOT = Path(__file__).resolve().parents[1]
_RUN = "AGENTTWIN_TEST_RUN"
_begun_here = False


def begin_run() -> None:
    """Processes that a test run starts inherit its name, and leave its end to the one that gave it."""
    global _begun_here
    _begun_here = _RUN not in os.environ
    os.environ.setdefault(_RUN, uuid.uuid4().hex[:12])


def end_run() -> None:
    if not _begun_here:
        return
    folder = _folder()
    if (folder / "postgresql").exists():
        with psycopg.connect(f"{services.POSTGRES_SERVER}/postgres", autocommit=True) as server:
            server.execute(f'DROP DATABASE IF EXISTS "{_template()}" WITH (FORCE)')
    shutil.rmtree(folder, ignore_errors=True)


def copy_sqlite(target: Path) -> str:
    """A migrated SQLite file at `target`; its URL."""
    shutil.copy(_sqlite(), target)
    return f"sqlite:///{target}"


def load_sqlite(into: sqlite3.Connection) -> None:
    """Fill an empty SQLite database, such as one in memory."""
    with closing(sqlite3.connect(_sqlite())) as made:
        made.backup(into)


def _sqlite() -> Path:
    made = shared_folder("sqlite", lambda folder: _migrate(f"sqlite:///{folder / 'made.sqlite3'}", folder))
    return made / "made.sqlite3"


@contextmanager
def migrated_database(kind: str, folder: Path) -> Iterator[str]:
    """The URL of a migrated database of its own: "sqlite" in the folder, or "postgresql"."""
    if kind == "sqlite":
        yield copy_sqlite(folder / "site.sqlite3")
    else:
        with services.postgres_database(template=postgres_template()) as url:
            yield url


def shared_folder(name: str, make: Callable[[Path], object]) -> Path:
    """The folder of this name that `make` filled, in whichever process asked first. To be copied only."""
    with _locked(name) as folder:
        made = folder / name
        if not made.exists():
            begun = folder / f"{name}-begun"
            shutil.rmtree(begun, ignore_errors=True)
            begun.mkdir()
            make(begun)
            begun.rename(made)
    return made


def postgres_template() -> str:
    """The name of a migrated PostgreSQL database, for `services.postgres_database(template=…)`."""
    services.require(services.POSTGRES)
    with _locked("postgresql") as folder:
        if not (folder / "postgresql").exists():
            with psycopg.connect(f"{services.POSTGRES_SERVER}/postgres", autocommit=True) as server:
                server.execute(f'DROP DATABASE IF EXISTS "{_template()}" WITH (FORCE)')
                server.execute(f'CREATE DATABASE "{_template()}"')
            _migrate(f"{services.POSTGRES_SERVER}/{_template()}", folder)
            (folder / "postgresql").touch()
    return _template()


def _template() -> str:
    return f"agenttwin_template_{os.environ[_RUN]}"


def _folder() -> Path:
    return Path(tempfile.gettempdir()) / f"agenttwin-migrated-{os.environ[_RUN]}"


@contextmanager
def _locked(name: str) -> Iterator[Path]:
    folder = _folder()
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _migrate(url: str, folder: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": url, "AGENTTWIN_DATA_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "-v0"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"migrate failed: {done.stderr[-2000:]}")
