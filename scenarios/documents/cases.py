"""What one case of a scenario starts from: its seed and its CaseSpec (FORMATS 3, 8 "Seeds")."""

from __future__ import annotations

import hashlib

from scenarios.documents.scenario import Scenario
from twins.engine.case import DEFAULT_NOW, CaseSpec, Document
from twins.engine.definition import Definition
from twins.engine.state import merge_patch


def case_seed(scenario: Scenario | None, run_seed: int = 0, trial: int = 1) -> int:
    """The seed of a case.

    Trial 1: the scenario's own, else derived from the run's seed and the scenario's name; without a
    scenario the run's seed itself. Every later trial derives from trial 1.
    """
    if trial < 1:
        raise ValueError(f"trials count from 1, got {trial}")
    if scenario is None:
        first = run_seed
    else:
        first = _derived(f"{run_seed}:{scenario.name}") if scenario.seed is None else scenario.seed
    return first if trial == 1 else _derived(f"{first}:{trial}")


def case_spec(
    definition: Definition,
    scenario: Scenario | None,
    *,
    run_seed: int = 0,
    trial: int = 1,
    tenant: str | None = None,
    caller_role: str = "agent",
) -> CaseSpec:
    """The case that a scenario makes of a twin. ``tenant`` counts only without a scenario, which names
    its own.
    """
    seed = case_seed(scenario, run_seed, trial)
    if scenario is None:
        return CaseSpec(
            definition=definition,
            initial_state=definition.initial_state,
            seed=seed,
            tenant=tenant,
            caller_role=caller_role,
        )
    return CaseSpec(
        definition=definition,
        initial_state=merge_patch(definition.initial_state, scenario.state_patch),
        seed=seed,
        faults=scenario.faults,
        allowed_tools=scenario.allowed_tools,
        tenant=scenario.tenant,
        now=scenario.now or DEFAULT_NOW,
        caller_role=caller_role,
        documents=tuple(Document(one.id, one.id, one.content, one.trusted) for one in scenario.documents),
    )


def _derived(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
