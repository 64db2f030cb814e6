"""``kind: Dataset``: from a document to a typed list of cases, and the hash it is frozen under."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twins.documents.problems import DocumentError, Problem
from twins.documents.source import Finding, as_source
from twins.documents.validation import DocumentSchema, Mention
from twins.documents.wording import allowed, suggestion
from twins.engine.values import digest

DATASET_SCHEMA = DocumentSchema(Path(__file__).parent / "schemas" / "dataset.schema.json")


@dataclass(frozen=True, slots=True)
class DatasetCase:
    """One case as the document lists it. ``version`` is None for the scenario's current one."""

    id: str
    scenario: str
    version: int | None
    owner: str
    why: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A valid dataset document."""

    name: str
    description: str
    owner: str
    purpose: str
    cases: tuple[DatasetCase, ...]
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WrittenFor:
    """Whom a version of a scenario is for; empty where it names none."""

    agent: str
    twin: str


@dataclass(frozen=True, slots=True)
class KnownScenario:
    """A scenario that a case may name: its versions by number, and what is current."""

    current: WrittenFor
    versions: Mapping[int, WrittenFor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownScenarios:
    """The scenarios a dataset was asked about, and the names of some there are, for who misspelt one."""

    by_name: Mapping[str, KnownScenario]
    names: Sequence[str] = ()


# Given the names that a dataset lists, what is known of them.
ScenarioLookup = Callable[[Collection[str]], KnownScenarios]


@dataclass(frozen=True, slots=True)
class FrozenCase:
    """One case as it is frozen: with the content of its scenario, by the digest of that."""

    id: str
    scenario: str
    scenario_digest: str
    owner: str
    why: str

    def to_json(self) -> dict[str, str]:
        return {
            "id": self.id,
            "scenario": self.scenario,
            "sha256": self.scenario_digest,
            "owner": self.owner,
            "why": self.why,
        }


def frozen_sha256(purpose: str, cases: Sequence[FrozenCase]) -> str:
    """What a frozen dataset is known by: SHA-256 of the canonical JSON of its purpose and its cases."""
    return digest({"purpose": purpose, "cases": [case.to_json() for case in cases]})


def validate_dataset(document: Any, *, scenarios: ScenarioLookup | None = None) -> list[Problem]:
    """Every problem of a dataset's document: a Source or a parsed value. Empty for a valid one.

    With ``scenarios`` each case must name one that is known, in a version there is, and all must be for one
    agent and have a twin to run on.
    """

    def cases_fit(value: Any, _mentions: Sequence[Mention]) -> Iterator[Finding]:
        cases = list(_named_cases(value))
        yield from _listed_twice(cases)
        if scenarios is not None:
            yield from _unusable(cases, scenarios({name for _, _, name, _ in cases}))

    return DATASET_SCHEMA.problems(as_source(document), cases_fit)


def load_dataset(document: Any, *, scenarios: ScenarioLookup | None = None) -> Dataset:
    """The dataset of a document (a Source or a parsed value). DocumentError with every problem."""
    source = as_source(document)
    problems = validate_dataset(source, scenarios=scenarios)
    if problems:
        raise DocumentError(problems)
    metadata, spec = source.value["metadata"], source.value["spec"]
    return Dataset(
        name=metadata["name"],
        description=metadata.get("description", ""),
        owner=metadata.get("owner", ""),
        purpose=spec["purpose"],
        cases=tuple(
            DatasetCase(
                id=one["id"],
                scenario=one["scenario"],
                version=None if "version" not in one else int(one["version"]),
                owner=one.get("owner", ""),
                why=one.get("why", ""),
            )
            for one in spec["cases"]
        ),
        document=source.value,
    )


# Position, case id (None: not readable), scenario, version (None: the current one).
_Named = tuple[int, str | None, str, int | None]


def _named_cases(document: Any) -> Iterator[_Named]:
    """The cases that name a scenario, whatever else is wrong with them."""
    spec = document.get("spec") if isinstance(document, dict) else None
    cases = spec.get("cases") if isinstance(spec, dict) else None
    for position, one in enumerate(cases if isinstance(cases, list) else ()):
        if not isinstance(one, dict):
            continue
        case_id, scenario = one.get("id"), one.get("scenario")
        version: Any = one.get("version")
        if isinstance(scenario, str) and scenario:
            is_number = isinstance(version, int | float) and not isinstance(version, bool)
            number = int(version) if is_number and version == int(version) else None
            yield (
                position,
                case_id if isinstance(case_id, str) else None,
                scenario,
                number,
            )


def _listed_twice(cases: Sequence[_Named]) -> Iterator[Finding]:
    ids: dict[str, int] = {}
    scenarios: dict[str, int] = {}
    for position, case_id, scenario, _ in cases:
        if case_id is not None and ids.setdefault(case_id, position) != position:
            yield Finding(_at(position, "id"), f"the case {case_id} is also spec.cases[{ids[case_id]}]")
        if scenarios.setdefault(scenario, position) != position:
            detail = f"the scenario {scenario} is also in spec.cases[{scenarios[scenario]}]"
            yield Finding(_at(position, "scenario"), detail)


def _unusable(cases: Sequence[_Named], known: KnownScenarios) -> Iterator[Finding]:
    first: tuple[int, str] | None = None
    for position, _, name, number in cases:
        scenario = known.by_name.get(name)
        if scenario is None:
            yield Finding(_at(position, "scenario"), _unknown(name, known.names))
            continue
        version = scenario.current if number is None else scenario.versions.get(number)
        if version is None:
            there_are = f"there are {allowed(sorted(scenario.versions))}"
            detail = f"the scenario {name} has no version {number}; {there_are}"
            yield Finding(_at(position, "version"), detail)
            continue
        if not version.twin:
            detail = f"the scenario {name} names no twin, so it can only be rehearsed"
            yield Finding(_at(position, "scenario"), detail)
        if version.agent and first is None:
            first = position, version.agent
        elif first is not None and version.agent not in ("", first[1]):
            detail = (
                f"the scenario {name} is for agent {version.agent}, spec.cases[{first[0]}] for {first[1]}: "
                "a dataset is for one agent"
            )
            yield Finding(_at(position, "scenario"), detail)


def _unknown(name: str, names: Sequence[str]) -> str:
    if not names:
        return f"there is no scenario {name}; no scenario is stored yet"
    return f"there is no scenario {name}; there are {allowed(names)}{suggestion(name, names)}"


def _at(position: int, name: str) -> tuple[str | int, ...]:
    return ("spec", "cases", position, name)
