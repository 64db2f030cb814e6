"""A small world to decide about: the agents and documents of tests.running, and the people of a gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.pages.conftest import person as member  # noqa: F401 - `member("viewer")`: a client of that role
from tests.reviews.conftest import person
from tests.running.conftest import _agents, compared, given, start  # noqa: F401 - fixtures of this folder too


@pytest.fixture
def boss(db: Any) -> Any:
    """May override and activate."""
    return person("boss", "admin")


@pytest.fixture
def decided(given: Callable[..., None], compared: Callable[..., Any]) -> Callable[..., Any]:  # noqa: F811
    """Runs a comparison of the world and decides on it: BLOCK, the candidate refunds twice."""

    def decide(*scenarios: Any, candidate: Any = None, policy: str = "default", **asked: Any) -> Any:
        from evaluations.services.gate import evaluate

        given(*scenarios, **({} if candidate is None else {"candidate": candidate}))
        return evaluate(comparison_id=compared(**asked).pk, policy=policy)

    return decide
