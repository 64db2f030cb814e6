"""The shipped JSON Schemas: of use to any editor, and in step with the registries they describe."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from scenarios.documents import read_bundle
from scenarios.documents.agent import AGENT_SCHEMA
from scenarios.documents.calls import CALLS_SCHEMA
from scenarios.documents.dataset import DATASET_SCHEMA
from scenarios.documents.gate_policy import GATE_POLICY_SCHEMA
from scenarios.documents.scenario import SCENARIO_SCHEMA
from tests.documents.samples import agent, dataset, gate_policy, scenario, twin
from twins.documents.keywords import KEYWORDS
from twins.documents.twin import TWIN_SCHEMA
from twins.documents.validation import DocumentSchema
from twins.engine.faults import FAULTS

ROOT = Path(__file__).parents[2]
SCHEMAS = {
    "twin": TWIN_SCHEMA,
    "scenario": SCENARIO_SCHEMA,
    "dataset": DATASET_SCHEMA,
    "agent": AGENT_SCHEMA,
    "calls": CALLS_SCHEMA,
    "gate-policy": GATE_POLICY_SCHEMA,
}
SMALLEST = {
    "twin": twin(),
    "scenario": scenario(),
    "dataset": dataset("refund"),
    "agent": agent(),
    "calls": {"calls": []},
    "gate-policy": gate_policy(),
}
WORDED = {"x-roots", "x-secret", "x-needs", "patternErrorMessage"}


@pytest.fixture(params=SCHEMAS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_each_is_valid_draft_2020_12(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name].schema)


def test_an_editor_accepts_the_smallest_document_and_marks_a_wrong_one(name: str) -> None:
    plain = Draft202012Validator(SCHEMAS[name].schema)
    assert plain.is_valid(SMALLEST[name])
    assert not plain.is_valid({**SMALLEST[name], "surprise": 1})


def test_every_custom_keyword_is_one_we_know(name: str) -> None:
    used: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            used.update(key for key in value if key.startswith("x-"))
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(SCHEMAS[name].schema)
    assert used <= set(KEYWORDS) | WORDED


def test_the_scenario_schema_lists_exactly_the_faults_of_the_engine() -> None:
    behavior = SCENARIO_SCHEMA.schema["$defs"]["fault"]["properties"]["behavior"]
    assert behavior["properties"]["type"]["enum"] == list(FAULTS)


def test_the_scenario_schema_agrees_with_the_registry_of_expectations() -> None:
    from evaluations.grading.schema import expectation_definitions

    shipped = SCENARIO_SCHEMA.schema["$defs"]
    derived = expectation_definitions()
    assert {key: part for key, part in shipped.items() if key.startswith("expectation")} == derived


def test_every_demo_document_is_valid() -> None:
    paths = [path for path in sorted((ROOT / "demo").rglob("*.yaml")) if path.parent.name != "labelled"]
    bundle = read_bundle([(str(path), path.read_text()) for path in paths], twin_lookup=lambda name: None)
    assert bundle.documents
    assert [str(problem) for problem in bundle.problems] == []


@pytest.mark.parametrize("room", ["twins/documents", "scenarios/documents"])
def test_the_room_is_pure(room: str) -> None:
    for path in (ROOT / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                assert module.split(".")[0] not in {
                    "django",
                    "celery",
                    "rest_framework",
                    "evaluations",
                    "reviews",
                }
                assert room != "twins/documents" or module.split(".")[0] != "scenarios"


def test_a_schema_is_read_once() -> None:
    schema = DocumentSchema(TWIN_SCHEMA.path)
    assert schema.schema is schema.schema
