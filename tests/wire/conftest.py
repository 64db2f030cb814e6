"""One served installation per database, shared by the tests of the wire: each test opens its own sessions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.wire.installation import Installation, installation


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """Served by one web process; every test that uses it runs once on each database."""
    with (
        installation(request.param, tmp_path_factory.mktemp(f"wire-{request.param}")) as here,
        here.serving(),
    ):
        yield here


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Served on SQLite, for what does not depend on the database."""
    with installation("sqlite", tmp_path_factory.mktemp("wire-site")) as here, here.serving():
        yield here
