"""Scenarios that were tried repeatedly, as rows."""

from __future__ import annotations

from evaluations.models import Comparison
from scenarios.models import ScenarioVersion
from tests.models import factories
from tests.reviews.conftest import paired


def tried(comparison: Comparison, name: str, *sides: str, costs: tuple[float | None, ...] = ()) -> None:
    """One trial per pair of letters: ``PF`` passes for the baseline and fails for the candidate.

    `costs` are the candidate's, in US dollars; its runs make two tool calls.
    """
    known = ScenarioVersion.objects.filter(scenario__name=name).first()
    version = known or factories.scenario_version(name)
    letters = {"P": "PASS", "F": "FAIL", "E": "ERROR"}
    for number, side in enumerate(sides):
        cost = costs[number] if costs else None
        paired(
            {"paid": letters[side[0]]},
            {"paid": letters[side[1]]},
            comparison=comparison,
            scenario_version=version,
            candidate_case={"metrics": {"cost_usd": cost}, "tool_call_count": 2},
        )
