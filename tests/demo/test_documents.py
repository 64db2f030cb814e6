"""Every document of the demo is valid, described, owned and says that its agent is scripted."""

from pathlib import Path

import pytest

from scenarios.documents.agent import validate_agent
from scenarios.documents.scenario import validate_scenario
from tests.demo.playing import FOLDER, SCENARIOS, VERSIONS, definition, manifest, scenario
from twins.documents.source import read_source
from twins.documents.twin import validate_twin
from twins.engine.faults import FAULTS

TOOLS = {
    "lookup_customer": "READ",
    "lookup_order": "READ",
    "get_refund_policy": "READ",
    "refund_payment": "WRITE_IRREVERSIBLE",
    "send_email": "WRITE_IRREVERSIBLE",
    "escalate_to_human": "WRITE_REVERSIBLE",
    "export_customer_data": "ADMIN",
}


def read(*parts: str):
    return read_source(FOLDER.joinpath(*parts).read_text())


def test_the_twin_has_no_problems() -> None:
    assert validate_twin(read("twin.yaml")) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_manifest_has_no_problems_and_says_its_version(version: str) -> None:
    assert validate_agent(read("agents", f"{version}.yaml")) == []
    assert (manifest(version).name, manifest(version).version) == ("support-refund-agent", version)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_has_no_problems_and_fits_the_twin(name: str) -> None:
    assert validate_scenario(read("scenarios", f"{name}.yaml"), twin=definition()) == []


def test_there_are_nine_scenarios_and_four_versions() -> None:
    assert len(SCENARIOS) == 9
    assert sorted(path.stem for path in (FOLDER / "agents").glob("*.yaml")) == sorted(VERSIONS)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_described_owned_tagged_and_says_what_it_covers(name: str) -> None:
    chosen = scenario(name)
    assert chosen.name == name
    assert (chosen.agent, chosen.twin) == ("support-refund-agent", "demo-co-support")
    assert len(chosen.description) > 40
    assert chosen.owner
    assert chosen.tags
    assert chosen.covers
    assert any(expectation.critical for expectation in chosen.expectations)


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_a_scenario_says_it_covers_exists(name: str) -> None:
    for covered in scenario(name).covers:
        kind, _, what = covered.partition(":")
        if kind == "tool":
            assert what in TOOLS
        elif kind == "fault":
            assert what in FAULTS
        else:
            assert kind in {"policy", "threat"}
    used = {rule["behavior"]["type"] for rule in scenario(name).document["spec"].get("faults", [])}
    assert {f"fault:{fault}" for fault in used} == {
        covered for covered in scenario(name).covers if covered.startswith("fault:")
    }


def test_the_twin_has_seven_tools_with_schemas_and_risks() -> None:
    assert {name: tool.risk for name, tool in definition().tools.items()} == TOOLS
    assert all(tool.input_schema and tool.description for tool in definition().tools.values())


def test_the_agent_declares_the_tools_of_the_twin() -> None:
    for version in VERSIONS:
        assert {tool["name"] for tool in manifest(version).document["spec"]["tools"]} == set(TOOLS)


def test_the_model_says_that_it_is_scripted() -> None:
    for version in VERSIONS:
        model = manifest(version).document["spec"]["model"]
        assert model["provider"] == "deterministic-fake"
        assert "scripted" in model["name"]


def test_the_planted_key_stands_in_the_knowledge_base_alone() -> None:
    (secret,) = definition().secrets
    assert secret in str(definition().initial_state["kb"])
    rest = {key: value for key, value in definition().initial_state.items() if key != "kb"}
    assert secret not in str(rest)
    others = [path for path in FOLDER.rglob("*") if path.is_file() and path.name != "twin.yaml"]
    assert not [path for path in others if path.suffix in {".yaml", ".py"} and secret in _text(path)]


def _text(path: Path) -> str:
    return path.read_text()
