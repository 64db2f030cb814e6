"""Judging once more, on PostgreSQL: its locks, its COPY and its columns are others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests.services import postgres_database

HERE = Path(__file__).parent
MODULES = ("test_claims", "test_sessions")


def test_the_same_holds_on_postgresql(tmp_path: Path) -> None:
    if settings.DATABASES["default"]["ENGINE"] != "django.db.backends.sqlite3":
        pytest.skip("this run is on another database than the default one already")
    with postgres_database() as url:
        environment = {**os.environ, "DATABASE_URL": url, "AGENTTWIN_DATA_DIR": str(tmp_path)}
        files = [str(HERE / f"{name}.py") for name in MODULES]
        command = [sys.executable, "-m", "pytest", *files, "-q", "-x", "-p", "no:cacheprovider"]
        run = subprocess.run(command, cwd=HERE.parents[1], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
