"""The small world of the running tests, with datasets on top of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.api.conftest import _uncounted, api  # noqa: F401 - fixtures
from tests.running.conftest import _agents, compared, given, start  # noqa: F401 - fixtures


@pytest.fixture
def freeze(db: Any) -> Callable[..., Any]:
    """Freezes a dataset of these scenarios, as C-1 and so on; answers its version."""

    def save(*scenarios: str, name: str = "suite", purpose: str = "development", **options: Any) -> Any:
        from scenarios.services.datasets import save_dataset

        cases = options.pop("cases", None) or [
            {"id": f"C-{number}", "scenario": scenario} for number, scenario in enumerate(scenarios, start=1)
        ]
        document = {
            "apiVersion": "agenttwin.dev/v1",
            "kind": "Dataset",
            "metadata": {"name": name, **options.pop("metadata", {})},
            "spec": {"purpose": purpose, "cases": cases},
        }
        return save_dataset(document=document, **options)[0]

    return save
