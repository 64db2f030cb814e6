"""A folder's rules about rows once more, on PostgreSQL: its triggers, constraints and locks are others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from tests.migrated import ROOT, migrated_database


def hold_on_postgresql(folder: Path, modules: tuple[str, ...], scratch: Path) -> None:
    """Run these test modules of the folder in a process of its own, on a database of its own."""
    if connection.vendor == "postgresql":
        pytest.skip("this run is on PostgreSQL already")
    files = [str(folder / f"{name}.py") for name in modules]
    with migrated_database("postgresql", scratch) as url:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *files, "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": url, "AGENTTWIN_DATA_DIR": str(scratch)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
