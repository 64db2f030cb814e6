"""One served installation per database, shared by the tests of the wire: each test opens its own sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.wire.installation import Installation, free_port, installation


@pytest.fixture(scope="session")
def _served_on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Installation]]:
    """The installation on a kind of database, made and served when it is first asked for."""
    made: dict[str, Installation] = {}
    with ExitStack() as stack:

        def on(kind: str) -> Installation:
            if kind not in made:
                here = stack.enter_context(installation(kind, tmp_path_factory.mktemp(f"wire-{kind}")))
                stack.enter_context(here.serving())
                made[kind] = here
            return made[kind]

        yield on


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest, _served_on: Callable[[str], Installation]) -> Installation:
    """Served by one web process; every test that uses it runs once on each database."""
    return _served_on(request.param)


@pytest.fixture(scope="session")
def site(_served_on: Callable[[str], Installation]) -> Installation:
    """Served on SQLite, for what does not depend on the database."""
    return _served_on("sqlite")


@pytest.fixture(scope="session")
def second_base(served: Installation) -> Iterator[str]:
    """The address of a second web process of the same installation."""
    port = free_port()
    with served.serving(port=port):
        yield f"http://127.0.0.1:{port}"
