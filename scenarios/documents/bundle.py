"""Several files of twins, scenarios, datasets, agents and policies read together, in any order.

All or nothing: a bundle with a problem anywhere has no use. A scenario is held against its twin and a dataset
against its scenarios wherever those are: in the bundle itself, or where the caller looks them up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from scenarios.documents.agent import validate_agent
from scenarios.documents.dataset import (
    KnownScenario,
    KnownScenarios,
    ScenarioLookup,
    WrittenFor,
    validate_dataset,
)
from scenarios.documents.gate_policy import validate_gate_policy
from scenarios.documents.scenario import looked_for_secrets, validate_scenario
from twins.documents.problems import Problem, format_problem, without_secrets
from twins.documents.source import Finding, Source, read_source, source_kind
from twins.documents.twin import load_twin, planted_secrets, validate_twin
from twins.documents.wording import not_allowed
from twins.engine.definition import Definition


@dataclass(frozen=True, slots=True)
class UnusableTwin:
    """A twin that exists and that this process cannot use, and why."""

    reason: str
    secrets: tuple[str, ...]


TwinLookup = Callable[[str], Definition | UnusableTwin | None]

TWIN, SCENARIO, DATASET, AGENT = "TwinDefinition", "Scenario", "Dataset", "Agent"
GATE_POLICY = "GatePolicy"
# The order in which they can be stored: a scenario needs its twin, a dataset its scenarios.
KINDS = (TWIN, SCENARIO, DATASET, AGENT, GATE_POLICY)


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A problem and the file it is in."""

    file: str
    problem: Problem

    def __str__(self) -> str:
        return format_problem(self.file, self.problem)


@dataclass(frozen=True, slots=True)
class BundleDocument:
    """A document of a bundle. ``kind`` and ``name`` are empty where the document does not say them."""

    file: str
    text: str | bytes
    source: Source
    kind: str
    name: str
    version: str

    @property
    def value(self) -> Any:
        return self.source.value


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was read: the documents by kind in the order of KINDS, then by file as given, and all problems."""

    documents: tuple[BundleDocument, ...]
    problems: tuple[FileProblem, ...]

    def of_kind(self, kind: str) -> tuple[BundleDocument, ...]:
        return tuple(document for document in self.documents if document.kind == kind)


def read_bundle(
    files: Iterable[tuple[str, str | bytes]],
    *,
    twin_lookup: TwinLookup | None = None,
    scenario_lookup: ScenarioLookup | None = None,
) -> Bundle:
    """Reads and checks the files, each (file name, text); a name that ends in .json is JSON, any other
    YAML.

    ``twin_lookup`` answers the definition of a twin that is not in the bundle, why it cannot be used, or
    None, ``scenario_lookup``
    what is known of scenarios that are elsewhere; without them a scenario whose twin is not in the bundle,
    and a dataset, are not held against what they name. Problems are in the order of the files, and none
    repeats a secret that a twin of the bundle or a looked up one plants.
    """
    documents = [_read(file, text) for file, text in files]
    twins, broken = _twins(documents)
    scenarios = None if scenario_lookup is None else _with_bundled(documents, scenario_lookup)
    elsewhere: dict[str, Definition | UnusableTwin | None] = {}

    def twin_of(name: str) -> tuple[Definition | None, str]:
        """The definition, and what is to be said of a twin that certainly is not there."""
        if name in twins or name in broken:
            return twins.get(name), ""
        if twin_lookup is None:
            return None, ""
        if name not in elsewhere:
            elsewhere[name] = twin_lookup(name)
        found = elsewhere[name]
        if isinstance(found, UnusableTwin):
            return None, f"the twin {name} cannot be used here: {found.reason}"
        return found, "" if found is not None else f"there is no twin {name}"

    problems = [
        FileProblem(document.file, problem)
        for document in documents
        for problem in _problems(document, twin_of, scenarios)
    ]
    problems.extend(_given_twice(documents))
    secrets = [secret for twin in elsewhere.values() if twin is not None for secret in twin.secrets]
    for document in documents:
        secrets += [*planted_secrets(document.value), *looked_for_secrets(document.value)]
    hidden = without_secrets((one.problem for one in problems), secrets)
    problems = [FileProblem(one.file, problem) for one, problem in zip(problems, hidden, strict=True)]
    position = {document.file: index for index, document in reversed(list(enumerate(documents)))}
    problems.sort(key=lambda one: position[one.file])
    known = [document for document in documents if document.kind in KINDS]
    return Bundle(tuple(sorted(known, key=lambda one: KINDS.index(one.kind))), tuple(problems))


def _read(file: str, text: str | bytes) -> BundleDocument:
    source = read_source(text, kind=source_kind(file))
    value = source.value if isinstance(source.value, dict) else {}
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return BundleDocument(
        file,
        text,
        source,
        _text(value.get("kind")),
        _text(metadata.get("name")),
        _text(metadata.get("version")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _twins(documents: list[BundleDocument]) -> tuple[dict[str, Definition], set[str]]:
    """The twins of the bundle by name, and the names of those that are themselves refused."""
    twins: dict[str, Definition] = {}
    broken: set[str] = set()
    for document in documents:
        if document.kind != TWIN:
            continue
        if validate_twin(document.source):
            broken.add(document.name)
        else:
            twins[document.name] = load_twin(document.source)
    return twins, broken


def _with_bundled(documents: list[BundleDocument], stored: ScenarioLookup) -> ScenarioLookup:
    """The lookup of what is stored, with the scenarios of the bundle as they will be: current, and perhaps
    the next version.
    """
    bundled: dict[str, WrittenFor] = {}
    for document in documents:
        if document.kind == SCENARIO and document.name:
            spec = document.value.get("spec")
            spec = spec if isinstance(spec, dict) else {}
            # One whose document is wrong is blamed for that, not its dataset for what it does not say.
            bundled[document.name] = WrittenFor(_text(spec.get("agent")), _text(spec.get("twin")) or "?")

    def both(names: Collection[str]) -> KnownScenarios:
        known = stored(names)
        by_name = dict(known.by_name)
        for name in names:
            if name in bundled:
                versions = dict(by_name[name].versions) if name in by_name else {}
                next_number = max(versions, default=0) + 1
                by_name[name] = KnownScenario(bundled[name], {**versions, next_number: bundled[name]})
        return KnownScenarios(by_name, sorted({*known.names, *bundled}))

    return both


def _problems(
    document: BundleDocument,
    twin_of: Callable[[str], tuple[Definition | None, str]],
    scenarios: ScenarioLookup | None,
) -> list[Problem]:
    source = document.source
    if document.kind == TWIN:
        return validate_twin(source)
    if document.kind == AGENT:
        return validate_agent(source)
    if document.kind == GATE_POLICY:
        return validate_gate_policy(source)
    if document.kind == DATASET:
        return validate_dataset(source, scenarios=scenarios)
    if document.kind == SCENARIO:
        return _scenario_problems(source, twin_of)
    if not source.readable:
        return list(source.problems)
    if not isinstance(source.value, dict):
        return [*source.problems, source.problem(Finding((), "is no document: it has no kind"))]
    detail = not_allowed(source.value["kind"], KINDS) if "kind" in source.value else "is required"
    return [*source.problems, source.problem(Finding(("kind",), detail))]


def _scenario_problems(
    source: Source, twin_of: Callable[[str], tuple[Definition | None, str]]
) -> list[Problem]:
    spec = source.value.get("spec") if isinstance(source.value, dict) else None
    named = spec.get("twin") if isinstance(spec, dict) else None
    if not isinstance(named, str) or not named:
        return validate_scenario(source)
    twin, missing = twin_of(named)
    problems = validate_scenario(source, twin=twin)
    if missing:
        problems.append(source.problem(Finding(("spec", "twin"), missing)))
    return problems


def _given_twice(documents: list[BundleDocument]) -> list[FileProblem]:
    first: dict[tuple[str, ...], str] = {}
    problems: list[FileProblem] = []
    for document in documents:
        if document.kind not in KINDS or not document.name:
            continue
        key = (document.kind, document.name, *((document.version,) if document.kind == AGENT else ()))
        if key in first:
            detail = f"this {document.kind} is also in {first[key]}"
            problems.append(
                FileProblem(document.file, document.source.problem(Finding(("metadata", "name"), detail)))
            )
        first.setdefault(key, document.file)
    return problems
