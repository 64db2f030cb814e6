"""`kind: Dataset`: what a dataset document may say, and the hash it is frozen under."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from scenarios.documents.dataset import (
    FrozenCase,
    KnownScenario,
    KnownScenarios,
    WrittenFor,
    frozen_sha256,
    load_dataset,
    validate_dataset,
)
from tests.documents.samples import dataset, only, said
from twins.documents.source import read_source

OURS, OTHERS, UNPLACED = WrittenFor("bot", "shop"), WrittenFor("rival", "shop"), WrittenFor("bot", "")
STORED = {
    "a": KnownScenario(OURS, {1: OTHERS, 2: OURS}),
    "b": KnownScenario(OURS, {1: OURS}),
    "rivals": KnownScenario(OTHERS, {1: OTHERS}),
    "adrift": KnownScenario(UNPLACED, {1: UNPLACED}),
    "anyones": KnownScenario(WrittenFor("", "shop"), {1: WrittenFor("", "shop")}),
}


def stored(names: Collection[str]) -> KnownScenarios:
    return KnownScenarios({name: STORED[name] for name in names if name in STORED}, sorted(STORED))


def problems(*cases: dict[str, object]) -> str:
    return said(validate_dataset(dataset(cases=list(cases)), scenarios=stored))


def test_a_document_is_read_into_its_cases() -> None:
    case = {
        "id": "REF-CHANGE-USD-01",
        "scenario": "a",
        "version": 2.0,
        "owner": "payments",
        "why": "policy 4",
    }
    loaded = load_dataset(dataset(cases=[case, {"id": "x", "scenario": "b"}]), scenarios=stored)
    assert (loaded.name, loaded.purpose) == ("suite", "development")
    first, second = loaded.cases
    assert (first.id, first.version, first.owner, first.why) == (
        "REF-CHANGE-USD-01",
        2,
        "payments",
        "policy 4",
    )
    assert (second.scenario, second.version, second.owner) == ("b", None, "")


def test_every_problem_is_told_at_once_with_its_line() -> None:
    text = """\
apiVersion: agenttwin.dev/v1
kind: Dataset
metadata: {name: Suite}
spec:
  purpose: production
  cases:
    - {id: has space, scenario: a}
    - {id: C-1, scenario: aa}
    - {id: C-1, scenario: b, version: 7}
    - {id: C-2, scenario: a, label: x}
"""
    found = [
        f"{problem.line}: {problem}" for problem in validate_dataset(read_source(text), scenarios=stored)
    ]
    assert found == [
        '3: metadata.name: found "Suite", allowed 1 to 99 lower-case letters, digits, _ and -, '
        "starting with a letter or digit",
        '5: spec.purpose: found "production", allowed development, holdout',
        '7: spec.cases[0].id: found "has space", allowed 1 to 100 letters, digits, ., _ and -, '
        "starting with a letter or digit",
        "8: spec.cases[1].scenario: there is no scenario aa; there are a, adrift, anyones, b, rivals",
        "9: spec.cases[2].id: the case C-1 is also spec.cases[1]",
        "9: spec.cases[2].version: the scenario b has no version 7; there are 1",
        "10: spec.cases[3].scenario: the scenario a is also in spec.cases[0]",
        "10: spec.cases[3].label: is not a known field here, allowed id, scenario, version, owner, why",
    ]


def test_a_dataset_without_cases_is_refused() -> None:
    assert "spec.cases: must have at least 1 entry, found 0" in only(validate_dataset(dataset(cases=[])))


def test_a_dataset_is_for_one_agent() -> None:
    found = problems({"id": "1", "scenario": "b"}, {"id": "2", "scenario": "rivals"})
    assert found == (
        "spec.cases[1].scenario: the scenario rivals is for agent rival, spec.cases[0] for bot: "
        "a dataset is for one agent"
    )
    # The version that is named decides, not the current one.
    assert "rival" in problems({"id": "1", "scenario": "b"}, {"id": "2", "scenario": "a", "version": 1})
    assert problems({"id": "1", "scenario": "anyones"}, {"id": "2", "scenario": "b"}) == ""


def test_a_scenario_that_can_only_be_rehearsed_is_refused() -> None:
    assert "names no twin" in problems({"id": "1", "scenario": "adrift"})


def test_without_a_lookup_a_dataset_is_not_held_against_scenarios() -> None:
    assert validate_dataset(dataset("nowhere")) == []


CASE = FrozenCase("C-1", "a", "0" * 64, "me", "because")


@pytest.mark.parametrize(
    "other",
    [
        ("holdout", [CASE]),
        ("development", [FrozenCase("C-2", "a", "0" * 64, "me", "because")]),
        ("development", [FrozenCase("C-1", "b", "0" * 64, "me", "because")]),
        ("development", [FrozenCase("C-1", "a", "1" * 64, "me", "because")]),
        ("development", [FrozenCase("C-1", "a", "0" * 64, "you", "because")]),
        ("development", [FrozenCase("C-1", "a", "0" * 64, "me", "why not")]),
        ("development", [CASE, FrozenCase("C-2", "b", "0" * 64, "", "")]),
    ],
)
def test_the_hash_covers_purpose_and_cases(other: tuple[str, list[FrozenCase]]) -> None:
    assert frozen_sha256("development", [CASE]) == frozen_sha256("development", [CASE])
    assert frozen_sha256(*other) != frozen_sha256("development", [CASE])


def test_the_hash_is_the_sha256_of_canonical_json() -> None:
    import hashlib

    text = (
        '{"cases":[{"id":"C-1","owner":"me","scenario":"a","sha256":"' + "0" * 64 + '","why":"because"}],'
        '"purpose":"development"}'
    )
    assert frozen_sha256("development", [CASE]) == hashlib.sha256(text.encode()).hexdigest()
