"""Plays one version of a demo's agent through one scenario: twin, scripted agent and grading, no database."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evaluations.agents.answers import plain_answer, read_answer
from evaluations.agents.base import AgentRequest, RunContext, agent_seed
from evaluations.agents.tools import CaseTools
from evaluations.grading import (
    case_verdict,
    classify,
    compile_expectations,
    first_divergence,
    grade,
    trajectory,
)
from evaluations.grading.classification import SideResults
from evaluations.grading.evidence import Evidence
from scenarios.documents.agent import AgentManifest, load_agent
from scenarios.documents.cases import case_spec
from scenarios.documents.scenario import Scenario, load_scenario
from twins.documents.source import read_source
from twins.documents.twin import load_twin
from twins.engine.definition import Definition

DEMOS = Path(__file__).parent.parent.parent / "demo"


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

    @property
    def state(self) -> Any:
        return self.evidence.final.root

    def reason(self, check: str) -> str:
        return next(result.reason for result in self.results if result.id == check)


class Stage:
    """One agent of a demo: the folder with its twin, scenarios and manifests, and the class that plays it."""

    def __init__(self, folder: str, agent: Any) -> None:
        self.folder = DEMOS / folder
        self.agent = agent
        self.scenarios = tuple(sorted(path.stem for path in (self.folder / "scenarios").glob("*.yaml")))
        self.versions = tuple(sorted(path.stem for path in (self.folder / "agents").glob("*.yaml")))
        self._documents: dict[Path, Any] = {}
        self._played: dict[tuple[str, str, int, int], Played] = {}

    @cached_property
    def definition(self) -> Definition:
        return load_twin(read_source((self.folder / "twin.yaml").read_text()))

    def scenario(self, name: str) -> Scenario:
        path = self.folder / "scenarios" / f"{name}.yaml"
        if path not in self._documents:
            self._documents[path] = load_scenario(read_source(path.read_text()), twin=self.definition)
        return self._documents[path]

    def manifest(self, version: str) -> AgentManifest:
        path = self.folder / "agents" / f"{version}.yaml"
        if path not in self._documents:
            self._documents[path] = load_agent(read_source(path.read_text()))
        return self._documents[path]

    def told(self, version: str, instructions: str) -> AgentManifest:
        """The manifest of a version with other instructions."""
        return replace(self.manifest(version), instructions=instructions)

    def play(self, version: str, name: str, *, trial: int = 1, run_seed: int = 0) -> Played:
        """The case of a version and a scenario as the demo ships them."""
        key = (version, name, trial, run_seed)
        if key not in self._played:
            self._played[key] = self.play_with(
                self.manifest(version), self.scenario(name), trial=trial, run_seed=run_seed
            )
        return self._played[key]

    def play_with(
        self, agent: AgentManifest, chosen: Scenario, *, trial: int = 1, run_seed: int = 0, **changes: Any
    ) -> Played:
        """One case; `changes` replace fields of the case, such as its faults or allowed tools."""
        spec = replace(case_spec(self.definition, chosen, run_seed=run_seed, trial=trial), **changes)
        tools = CaseTools(spec, max_calls=200)
        request = AgentRequest(
            input=chosen.message,
            agent_version=agent.version,
            session_id="session",
            run_context=RunContext("run", "case", chosen.name, trial, seed=agent_seed(spec.seed)),
            tenant=chosen.context.get("tenant"),
            customer_id=chosen.context.get("customer_id"),
            context=chosen.context,
        )
        answer = read_answer(plain_answer(self.agent(agent).run(request, tools)))
        tools.close()
        assert tools.twin_error is None
        evidence = Evidence(spec, tools.state, tuple(tools.records), answer, chosen.message)
        results = grade(compile_expectations(chosen.expectations), evidence)
        return Played(evidence, tuple(results), case_verdict(results))

    def classes(self, baseline: str, candidate: str) -> dict[str, str]:
        """How the scenarios of a pair are classified, one trial each."""

        def side(version: str, name: str) -> SideResults:
            return SideResults(results=self.play(version, name).results)

        return {name: classify(side(baseline, name), side(candidate, name)).klass for name in self.scenarios}

    def divergence(self, baseline: str, candidate: str, name: str) -> Any:
        left, right = self.play(baseline, name).evidence, self.play(candidate, name).evidence
        return first_divergence(
            trajectory(left.records, left.answer),
            trajectory(right.records, right.answer),
            left.spec.definition.key_arguments,
        )

    def passed(self, version: str) -> set[str]:
        """The scenarios that a version passes, one trial each."""
        return {name for name in self.scenarios if self.play(version, name).verdict == "PASSED"}
