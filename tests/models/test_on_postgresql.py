"""The tests of this folder once more, on a PostgreSQL server that listens on its standard local port."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

import psycopg
import pytest
from django.conf import settings

SERVER = "postgres://postgres@127.0.0.1:5432"
HERE = Path(__file__).parent


def server_is_reachable() -> bool:
    try:
        psycopg.connect(f"{SERVER}/postgres", connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def test_the_same_holds_on_postgresql(tmp_path) -> None:
    if settings.DATABASES["default"]["ENGINE"] != "django.db.backends.sqlite3":
        pytest.skip("this run is on another database than the default one already")
    if not server_is_reachable():
        pytest.skip(
            f"NOT TESTED: no PostgreSQL at {SERVER}; triggers and version services ran on SQLite only"
        )
    # The test database gets a name of its own: several runs may share the server.
    environment = {
        **os.environ,
        "DATABASE_URL": f"{SERVER}/agenttwin_{uuid.uuid4().hex[:12]}",
        "AGENTTWIN_DATA_DIR": str(tmp_path),
    }
    command = [sys.executable, "-m", "pytest", str(HERE), "-q", "-x", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=HERE.parents[1], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
