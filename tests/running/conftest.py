"""A small world to compare in: one twin, scenarios, two agent versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.running import documents

AGENTS = {
    documents.AGENT: "tests.running.agents.StepAgent",
    "broken-agent": "tests.running.agents.BrokenAtStart",
    "absent-agent": "tests.running.nowhere.Agent",
}


@pytest.fixture(autouse=True)
def _agents(settings: Any) -> None:
    settings.AGENTTWIN_IN_PROCESS_AGENTS = dict(AGENTS)


@pytest.fixture
def given(db: Any) -> Callable[..., None]:
    """Stores a twin, scenarios and the versions 1.0.0 and 2.0.0 of the step agent."""

    def store(
        *scenarios: dict[str, Any],
        baseline: Sequence[str] = documents.GOOD,
        candidate: Sequence[str] = documents.TWICE,
        twin: dict[str, Any] | None = None,
        **agent_spec: Any,
    ) -> None:
        from evaluations.services.agents import save_agent
        from scenarios.services import save_scenario
        from twins.services import save_twin

        save_twin(document=twin or documents.twin())
        for one in scenarios or (documents.scenario("refund"),):
            save_scenario(document=one)
        for version, steps in (("1.0.0", baseline), ("2.0.0", candidate)):
            save_agent(document=documents.agent(version, *steps, **agent_spec))

    return store


@pytest.fixture
def start(db: Any) -> Callable[..., Any]:
    """Starts a comparison of 1.0.0 against 2.0.0 whose cases nobody runs yet."""

    def begin(**options: Any) -> Any:
        from evaluations.services.comparisons import start_comparison

        request = {
            "agent": documents.AGENT,
            "baseline": "1.0.0",
            "candidate": "2.0.0",
            "wake": False,
            **options,
        }
        return start_comparison(**request)[0]

    return begin


@pytest.fixture
def compared(start: Callable[..., Any]) -> Callable[..., Any]:
    """Starts a comparison and runs it to its end in this process."""

    def run(**options: Any) -> Any:
        from evaluations.services.waiting import run_here

        comparison = start(**options)
        run_here(comparison.pk)
        comparison.refresh_from_db()
        return comparison

    return run
