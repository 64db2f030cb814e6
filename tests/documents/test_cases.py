"""Seeds and the start of a case (FORMATS 3, 8 "Seeds")."""

from __future__ import annotations

import hashlib

import pytest

from scenarios.documents.cases import case_seed, case_spec
from scenarios.documents.scenario import load_scenario
from tests.documents.samples import scenario, twin, with_metadata
from twins.documents.twin import load_twin


def first_four_bytes(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def test_trial_1_derives_its_seed_from_the_run_and_the_name() -> None:
    named = load_scenario(with_metadata(scenario(), name="derived-seed"))
    assert case_seed(named, 77) == first_four_bytes("77:derived-seed") == 1494078103


def test_a_pinned_seed_is_the_seed_of_trial_1() -> None:
    assert case_seed(load_scenario(scenario(seed=5)), 77) == 5
    assert case_seed(load_scenario(scenario(seed=0)), 77) == 0


@pytest.mark.parametrize("seed", [None, 5])
def test_a_later_trial_derives_from_trial_1(seed: int | None) -> None:
    loaded = load_scenario(scenario() if seed is None else scenario(seed=seed))
    assert case_seed(loaded, 77, 3) == first_four_bytes(f"{case_seed(loaded, 77)}:3")


def test_without_a_scenario_trial_1_uses_the_seed_of_the_run() -> None:
    assert case_seed(None, 77) == 77
    assert case_seed(None, 77, 2) == first_four_bytes("77:2")


def test_trials_count_from_1() -> None:
    with pytest.raises(ValueError, match="trials count from 1"):
        case_seed(None, 0, 0)


def test_a_case_starts_from_the_patched_state_and_leaves_the_twins_own() -> None:
    shop = load_twin(twin(initialState={"orders": {"A": {"n": 1, "x": [1]}}, "kb": []}))
    patch = {"orders": {"A": {"n": 2, "x": None}, "B": {"note": {"by": None}}}, "kb": [5]}
    spec = case_spec(shop, load_scenario(scenario(state=patch)))
    assert spec.initial_state == {"orders": {"A": {"n": 2}, "B": {"note": {}}}, "kb": [5]}
    assert shop.initial_state == {"orders": {"A": {"n": 1, "x": [1]}}, "kb": []}


def test_a_case_takes_everything_from_its_scenario() -> None:
    given = {
        "message": "m",
        "context": {"tenant": "north", "now": "2026-03-05T10:00:00Z"},
        "documents": [{"id": "d", "content": "text"}, {"id": "e", "content": "t", "trusted": True}],
    }
    faults = [{"target": "*", "behavior": {"type": "http_500"}}]
    loaded = load_scenario(scenario(input=given, faults=faults, allowedTools=["refund"], seed=9))
    spec = case_spec(load_twin(twin()), loaded, tenant="ignored", caller_role="admin")
    assert (spec.tenant, spec.now, spec.seed, spec.caller_role) == (
        "north",
        "2026-03-05T10:00:00Z",
        9,
        "admin",
    )
    assert spec.allowed_tools == frozenset({"refund"})
    assert [rule.type for rule in spec.faults] == ["http_500"]
    assert [(one.id, one.title, one.text, one.trusted) for one in spec.documents] == [
        ("d", "d", "text", False),
        ("e", "e", "t", True),
    ]


def test_a_case_without_a_scenario_has_the_defaults_of_the_twin() -> None:
    shop = load_twin(twin())
    spec = case_spec(shop, None, run_seed=7, tenant="north")
    assert (spec.seed, spec.tenant, spec.now, spec.allowed_tools) == (
        7,
        "north",
        "2026-01-01T00:00:00Z",
        None,
    )
    assert spec.initial_state is shop.initial_state
