"""A migrated database to copy, and what an undisturbed run of the drilled comparison stores."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import migrated
from tests.drills.sites import DrillSite, drill_site
from tests.running import documents
from tests.running.sites import Site

SCENARIOS = 6
STEPS = ("sleep 0.15", *documents.GOOD), ("sleep 0.15", *documents.TWICE)


@pytest.fixture(scope="session")
def template() -> str:
    """The name of a migrated PostgreSQL database."""
    return migrated.postgres_template()


@pytest.fixture(params=["rabbitmq", "redis"])
def drilled(request: Any, tmp_path: Path, template: str) -> Iterator[DrillSite]:
    with drill_site(request.param, tmp_path, template) as here:
        yield here


@pytest.fixture
def on_rabbitmq(tmp_path: Path, template: str) -> Iterator[DrillSite]:
    with drill_site("rabbitmq", tmp_path, template) as here:
        yield here


@pytest.fixture
def on_redis(tmp_path: Path, template: str) -> Iterator[DrillSite]:
    with drill_site("redis", tmp_path, template) as here:
        yield here


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one process without broker and workers stores for the comparison that the drills disturb."""
    folder = tmp_path_factory.mktemp("drill-undisturbed")
    quiet = Site(folder, migrated.copy_sqlite(folder / "site.sqlite3"), "")
    quiet.fill(SCENARIOS, *STEPS)
    assert quiet.compare().returncode == 3
    dump = quiet.dump()
    shutil.rmtree(folder)
    return dump
