"""Plays one version of the demo agent through one scenario: twin, planner and grading, no database."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from demo.refund.planner import SupportRefundAgent
from evaluations.agents.answers import plain_answer, read_answer
from evaluations.agents.base import AgentRequest, RunContext
from evaluations.agents.tools import CaseTools
from evaluations.grading import case_verdict, compile_expectations, grade
from evaluations.grading.evidence import Evidence
from scenarios.documents.agent import AgentManifest, load_agent
from scenarios.documents.cases import case_spec
from scenarios.documents.scenario import Scenario, load_scenario
from twins.documents.source import read_source
from twins.documents.twin import load_twin
from twins.engine.definition import Definition

FOLDER = Path(__file__).parent.parent.parent / "demo" / "refund"
SCENARIOS = tuple(sorted(path.stem for path in (FOLDER / "scenarios").glob("*.yaml")))
VERSIONS = ("0.9.0", "1.2.4", "1.3.0", "1.3.1")


@dataclass(frozen=True)
class Played:
    """One case as it went."""

    evidence: Evidence
    results: tuple[Any, ...]
    verdict: str

    @property
    def tools(self) -> list[str]:
        return [record.tool for record in self.evidence.calls]

    @property
    def failing(self) -> dict[str, str | None]:
        """The failing checks with their labels."""
        return {result.id: result.label for result in self.results if result.status == "FAIL"}

    @property
    def output(self) -> str:
        return self.evidence.answer.output

    @property
    def claim(self) -> str:
        return self.evidence.answer.claimed_outcome


@cache
def definition() -> Definition:
    return load_twin(read_source((FOLDER / "twin.yaml").read_text()))


@cache
def scenario(name: str) -> Scenario:
    return load_scenario(read_source((FOLDER / "scenarios" / f"{name}.yaml").read_text()), twin=definition())


@cache
def manifest(version: str) -> AgentManifest:
    return load_agent(read_source((FOLDER / "agents" / f"{version}.yaml").read_text()))


@cache
def play(version: str, name: str) -> Played:
    """The case of a version and a scenario as the demo ships them."""
    return play_with(manifest(version), scenario(name))


def told(version: str, instructions: str) -> AgentManifest:
    """The manifest of a version with other instructions."""
    return replace(manifest(version), instructions=instructions)


def play_with(agent: AgentManifest, chosen: Scenario, **changes: Any) -> Played:
    """One case; `changes` replace fields of the case, such as its faults or allowed tools."""
    spec = replace(case_spec(definition(), chosen), **changes)
    tools = CaseTools(spec, max_calls=200)
    request = AgentRequest(
        input=chosen.message,
        agent_version=agent.version,
        session_id="session",
        run_context=RunContext("run", "case", chosen.name, 1),
        tenant=chosen.context.get("tenant"),
        customer_id=chosen.context.get("customer_id"),
        context=chosen.context,
    )
    answer = read_answer(plain_answer(SupportRefundAgent(agent).run(request, tools)))
    tools.close()
    assert tools.twin_error is None
    evidence = Evidence(spec, tools.state, tuple(tools.records), answer, chosen.message)
    results = grade(compile_expectations(chosen.expectations), evidence)
    return Played(evidence, tuple(results), case_verdict(results))
