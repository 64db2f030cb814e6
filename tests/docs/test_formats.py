"""docs/formats.md says what the product does: its examples are valid, its tables are those of the code."""

from __future__ import annotations

import copy
import re
import subprocess
from typing import Any

import pytest

from evaluations.grading import EXPECTATION_TYPES
from evaluations.grading.parameters import is_required, kinds_of
from evaluations.grading.signals import FAILED_STATUSES
from evaluations.rehearsal import rehearse
from scenarios.documents.agent import load_agent
from scenarios.documents.calls import load_calls
from scenarios.documents.scenario import load_scenario
from tests.docs.pages import DOCS, ROOT, fenced, headings, names, table
from twins.documents.source import read_source
from twins.documents.twin import load_twin
from twins.engine.faults import FAULTS, RetryAfter, SeesError

TEXT = (DOCS / "formats.md").read_text(encoding="utf-8")
EXAMPLES = [read_source(block) for block in fenced(TEXT, "yaml")]


def kind_of(value: Any) -> str:
    return str(value.get("kind", "calls"))


def example(kind: str) -> Any:
    """A copy of the page's one example of a kind."""
    (found,) = [source.value for source in EXAMPLES if kind_of(source.value) == kind]
    return copy.deepcopy(found)


# ----------------------------------------------------------------------------------- examples


@pytest.mark.parametrize("source", EXAMPLES, ids=[kind_of(source.value) for source in EXAMPLES])
def test_every_example_is_valid(source: Any) -> None:
    loaders = {
        "TwinDefinition": load_twin,
        "Scenario": lambda document: load_scenario(document, twin=load_twin(example("TwinDefinition"))),
        "Agent": load_agent,
        "calls": lambda document: load_calls(document, with_scenario=True),
    }
    assert loaders[kind_of(source.value)](source)


def test_there_is_an_example_of_every_kind() -> None:
    assert sorted(kind_of(source.value) for source in EXAMPLES) == [
        "Agent",
        "Scenario",
        "TwinDefinition",
        "calls",
    ]


def test_the_rehearsal_of_the_examples_ends_as_the_page_says() -> None:
    calls = example("calls")
    result = rehearse(example("TwinDefinition"), example("Scenario"), calls)
    assert [one["status"] for one in result["results"]] == ["PASS"] * 5
    assert result["verdict"] == "PASSED"
    first, second = [one for one in result["records"] if one.get("tool") == "sell_seat"]
    assert (first["status"], first["mutated"], second["replayed"]) == ("timeout", True, True)
    assert [one["id"] for one in result["replies"][-1]["documents"]] == ["exchange"]

    for call in calls["calls"][1:3]:
        del call["arguments"]["request_id"]
    twice = rehearse(example("TwinDefinition"), example("Scenario"), calls)
    assert twice["verdict"] == "FAILED"
    assert next(one for one in twice["results"] if one["id"] == "sold-once")["status"] == "FAIL"


def test_the_keys_of_a_rehearsal_and_of_its_records_are_those_of_the_page() -> None:
    result = rehearse(example("TwinDefinition"), example("Scenario"), example("calls"))
    assert [names(row[0])[0] for row in table(TEXT, "key")] == list(result)
    record = next(one for one in result["records"] if one["kind"] == "tool_call")
    paragraph = re.search(r"(?s)A record holds:(.*?)\.\n", TEXT)
    assert paragraph is not None
    listed = set(names(paragraph[1])) - {"{op: added|removed|changed, path, before?, after?}"}
    assert listed == {*record} - {"kind"}


# ----------------------------------------------------------------------------------- tables


def test_the_faults_are_those_of_the_engine() -> None:
    rows = {names(row[0])[0]: row for row in table(TEXT, "type")}
    assert list(rows) == list(FAULTS)
    for name, fault in FAULTS.items():
        _, did, sees = rows[name]
        assert did == fault.did.value, name
        if not isinstance(fault.sees, SeesError):
            assert not re.search(r"`[A-Z_]+`", sees), name
            continue
        assert sees.startswith(f"{fault.sees.status} `{fault.sees.code}`"), name
        retry = {
            RetryAfter.NEVER: "",
            RetryAfter.IF_GIVEN: ", Retry-After if the rule has it",
            RetryAfter.ALWAYS: ", Retry-After 1 or the rule's",
        }
        assert sees.endswith(f"`{retry[fault.sees.retry_after]}"), name


def expectation_rows() -> dict[str, list[str]]:
    _, _, checks = TEXT.partition("### 3.1 ")
    return {names(row[0])[0]: row for row in table(checks, "type")}


def test_the_expectations_are_those_of_the_registry() -> None:
    assert sorted(expectation_rows()) == sorted(EXPECTATION_TYPES)


@pytest.mark.parametrize("name", sorted(EXPECTATION_TYPES))
def test_an_expectation_has_its_parameters_and_labels(name: str) -> None:
    kind = EXPECTATION_TYPES[name]
    _, parameters, _, labels = expectation_rows()[name]
    expected: set[str] = set()
    for parameter, how in kinds_of(kind.parameters).items():
        if how.spread:
            expected.add("comparators (one or more)" if how.required else "comparators")
        else:
            optional = "" if is_required(kind.parameters, parameter) else "?"
            expected.add(f"`{parameter}{optional}`")
    assert set(parameters.split(", ")) == expected
    assert tuple(names(labels)) == kind.labels


def test_a_retry_follows_the_statuses_of_the_page() -> None:
    sentence = re.search(r"\*\*Retry\.\*\*.*?ended as (.*?)\. After", TEXT, re.DOTALL)
    assert sentence is not None
    assert set(re.split(r",\s+|\s+or\s+", sentence[1])) == FAILED_STATUSES


# ----------------------------------------------------------------------------------- citations


def cited() -> list[str]:
    """What follows the word FORMATS in code, tests and templates, up to the end of the citation."""
    done = subprocess.run(
        ["git", "grep", "-hoE", r"FORMATS[ ,]+[0-9][^)`]*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.splitlines()


def test_every_citation_of_the_code_leads_to_a_section() -> None:
    known = headings(TEXT)
    numbers = {heading.partition(" ")[0] for heading in known}
    citations = cited()
    if not citations:
        pytest.skip("there is no git repository to look through")
    assert len(citations) > 100
    for citation in citations:
        section = re.match(r"FORMATS[ ,]+([0-9]+(?:\.[0-9])?(?:(?:,| and) [0-9]+(?:\.[0-9])?)*)", citation)
        assert section is not None, citation
        assert set(re.findall(r"[0-9]+(?:\.[0-9])?", section[1])) <= numbers, citation
        for part in re.findall(r'8,? \(?"([A-Z][a-z]+)', citation):
            assert part in known, citation
