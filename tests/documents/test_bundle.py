"""Files of mixed kinds read together: order does not matter, one problem refuses them all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scenarios.documents.bundle import read_bundle
from scenarios.documents.dataset import KnownScenario, KnownScenarios, WrittenFor
from tests.documents.samples import agent, dataset, scenario, twin, with_metadata
from twins.documents.twin import load_twin


def file(name: str, document: Any) -> tuple[str, str]:
    return name, json.dumps(document)


FILES = [file("s.yaml", scenario()), file("a.json", agent()), file("t.yml", twin())]


def test_documents_come_back_by_kind_whatever_the_order() -> None:
    for files in (FILES, FILES[::-1]):
        bundle = read_bundle(files, twin_lookup=lambda name: None)
        assert bundle.problems == ()
        assert [one.kind for one in bundle.documents] == ["TwinDefinition", "Scenario", "Agent"]
    assert bundle.of_kind("Agent")[0].version == "1.2.4"


def test_a_scenario_is_held_against_the_twin_of_the_bundle() -> None:
    faulty = scenario(faults=[{"target": "pay", "behavior": {"type": "delay"}}])
    bundle = read_bundle([file("s.json", faulty), file("t.json", twin())])
    (problem,) = bundle.problems
    assert str(problem).startswith('s.json: spec.faults[0].target: the twin has no tool "pay"')


def test_a_scenario_is_held_against_a_twin_that_is_looked_up() -> None:
    known = {"shop": load_twin(twin())}
    assert read_bundle([file("s.json", scenario())], twin_lookup=known.get).problems == ()
    (problem,) = read_bundle([file("s.json", scenario(twin="shops"))], twin_lookup=known.get).problems
    assert str(problem) == "s.json: spec.twin: there is no twin shops"


def test_the_twin_of_the_bundle_counts_before_the_stored_one() -> None:
    stored = {"shop": load_twin(twin(tools={"other": {"handler": {"kind": "echo"}}}))}
    assert read_bundle(FILES, twin_lookup=stored.get).problems == ()


def test_a_scenario_is_not_blamed_for_its_broken_twin() -> None:
    bundle = read_bundle(
        [file("s.json", scenario()), file("t.json", twin(tenantKey=5))], twin_lookup=lambda name: None
    )
    assert [str(problem) for problem in bundle.problems] == [
        "t.json: spec.tenantKey: must be text, found 5 (quote it)"
    ]


def test_every_problem_of_every_file_is_told_in_the_order_of_the_files() -> None:
    files = [
        ("a.yaml", "kind: Agent\nmetadata: {name: A}\n"),
        ("b.yaml", "x: [\n"),
        ("c.yaml", "kind: Thing\n"),
        ("d.json", "[1]"),
        ("e.yaml", "a: 1\n"),
        ("f.yaml", ""),
    ]
    found = [str(problem) for problem in read_bundle(files).problems]
    assert found == [
        "a.yaml:1: apiVersion: is required",
        "a.yaml:1: spec.model.provider: is required",
        "a.yaml:1: spec.model.name: is required",
        "a.yaml:1: spec.tools: is required",
        "a.yaml:2: metadata.version: is required",
        'a.yaml:2: metadata.name: found "A", allowed 1 to 99 lower-case letters, digits, _ and -, '
        "starting with a letter or digit",
        "b.yaml:2: $: is not valid YAML: did not find expected node content",
        'c.yaml:1: kind: found "Thing", allowed TwinDefinition, Scenario, Dataset, Agent, GatePolicy',
        "d.json: $: is no document: it has no kind",
        "e.yaml:1: kind: is required",
        "f.yaml: $: the document is empty",
    ]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            [file("a.json", twin()), file("b.json", twin())],
            "b.json: metadata.name: this TwinDefinition is also in a.json",
        ),
        (
            [file("a.json", agent()), file("b.json", agent())],
            "b.json: metadata.name: this Agent is also in a.json",
        ),
    ],
)
def test_one_name_in_two_files_is_a_problem(files: list[tuple[str, str]], problem: str) -> None:
    assert [str(one) for one in read_bundle(files).problems] == [problem]


def test_two_versions_of_an_agent_are_two_documents() -> None:
    files = [file("a.json", agent()), file("b.json", with_metadata(agent(), version="1.3.0"))]
    assert read_bundle(files).problems == ()


def nothing_stored(names: object) -> KnownScenarios:
    return KnownScenarios({})


def test_a_dataset_is_held_against_the_scenarios_of_the_bundle() -> None:
    files = [file("d.json", dataset("late-refund", "lost")), *FILES]
    (problem,) = read_bundle(files, scenario_lookup=nothing_stored).problems
    assert str(problem) == (
        "d.json: spec.cases[1].scenario: there is no scenario lost; there are late-refund"
    )


def test_a_dataset_may_name_a_stored_version_and_the_one_the_bundle_makes() -> None:
    known = KnownScenario(WrittenFor("desk-bot", "shop"), {1: WrittenFor("desk-bot", "shop")})

    def lookup(names: object) -> KnownScenarios:
        return KnownScenarios({"late-refund": known}, ["late-refund"])

    def problems(version: int) -> list[str]:
        case = {"id": "C-1", "scenario": "late-refund", "version": version}
        bundle = read_bundle([file("d.json", dataset(cases=[case])), *FILES], scenario_lookup=lookup)
        return [str(problem) for problem in bundle.problems]

    assert problems(1) == problems(2) == []
    assert problems(3) == [
        "d.json: spec.cases[0].version: the scenario late-refund has no version 3; there are 1, 2"
    ]


def test_a_dataset_is_not_blamed_for_a_broken_scenario() -> None:
    broken = scenario(expectations=[])
    del broken["spec"]["twin"]
    files = [file("d.json", dataset("late-refund")), file("s.json", broken)]
    (problem,) = read_bundle(files, scenario_lookup=nothing_stored).problems
    assert str(problem).startswith("s.json: spec.expectations")
