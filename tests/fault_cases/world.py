"""A scenario that has passed, and drafts made of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.running import documents

# One refund under a key: sent again, it is the same.
KEYED = tuple(
    step.replace('"amount": 10', '"amount": 10, "key": "k"') if "refund" in step else step
    for step in documents.GOOD
)


@pytest.fixture
def passed(given: Any, compared: Any) -> Any:
    """Scenario `refund` has passed in a comparison; answers the comparison."""
    given(documents.scenario("refund"), baseline=KEYED, candidate=KEYED)
    return compared()


@pytest.fixture
def drafted(passed: Any) -> list[Any]:
    """Both drafts of scenario `refund`: the timeout, and the lie."""
    from evaluations.services.fault_cases import draft_fault_cases, missing_of
    from scenarios.holdouts import EVERYTHING

    return draft_fault_cases(missing_of("scenario", "refund", EVERYTHING))
