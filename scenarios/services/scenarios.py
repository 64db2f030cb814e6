"""What is done with scenarios: saving a version, and getting the typed scenario of one."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from django.db import transaction

from scenarios.documents.scenario import Scenario as ScenarioDocument
from scenarios.documents.scenario import load_scenario, looked_for_secrets, validate_scenario
from scenarios.holdouts import sight_of
from scenarios.models import Scenario, ScenarioVersion
from twins.documents.problems import DocumentError, Problem, without_secrets
from twins.documents.source import Finding, Source
from twins.engine.definition import Definition
from twins.engine.values import compact_json
from twins.errors import UnusableTwinError
from twins.services import current_definition, current_secrets, name_problems, twin_names
from twins.versioning import NewContent, add_version, source_of

_NAMES_SHOWN = 10


@transaction.atomic
def save_scenario(
    *,
    text: str | None = None,
    document: Any = None,
    kind: str = "yaml",
    name: str | None = None,
    based_on: int | None = None,
    actor: Any = None,
) -> tuple[ScenarioVersion, bool]:
    """Store a scenario document; answers the version that holds it and whether that version is new.

    The arguments are those of `twins.services.save_twin`. The twin it names must exist, and every tool it
    names must be one of the current version of that twin.
    """
    source, source_text = source_of(text, document, kind)
    problems = [*scenario_problems(source), *name_problems(source, name), *_taken_name(source, actor)]
    if problems:
        raise DocumentError(without_secrets(problems, _secrets_around(source.value)))
    scenario = load_scenario(source)
    return add_version(
        ScenarioVersion,
        of=("scenario", Scenario),
        content=NewContent(scenario.name, source.value, source_text),
        based_on=based_on,
        actor=actor,
        severity=scenario.severity,
        tags=list(scenario.tags),
        source=scenario.source,
        agent_name=scenario.agent,
        twin_name=scenario.twin,
    )


def _taken_name(source: Source, actor: Any) -> list[Problem]:
    """Nobody makes a version of a scenario that is hidden from them, not even by accident."""
    metadata = source.value.get("metadata") if isinstance(source.value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not sight_of(actor).hides(name):
        return []
    return [source.problem(Finding(("metadata", "name"), "is taken by a scenario that is held out"))]


def scenario_problems(source: Source) -> list[Problem]:
    """Every problem of the document, held against the stored twin it names."""
    twin_name = named_twin(source.value)
    twin, missing = _twin_of(twin_name) if twin_name else (None, "")
    problems = list(validate_scenario(source, twin=twin))
    if missing:
        problems.append(source.problem(Finding(("spec", "twin"), missing)))
    return problems


def _twin_of(name: str) -> tuple[Definition | None, str]:
    """The twin a scenario runs on, or why there is none to hold it against."""
    try:
        twin = current_definition(name)
    except UnusableTwinError as problem:
        return None, f"the twin {name} cannot be used here: {problem.detail}"
    return twin, "" if twin is not None else _unknown_twin(name)


def _secrets_around(document: Any) -> list[str]:
    """What the problems of a refused scenario must not repeat: its twin's secrets, and those it looks for."""
    return [*looked_for_secrets(document), *current_secrets(named_twin(document) or "")]


def named_twin(document: Any) -> str | None:
    """The twin a scenario document names, whatever else is wrong with it."""
    spec = document.get("spec") if isinstance(document, dict) else None
    name = spec.get("twin") if isinstance(spec, dict) else None
    return name if isinstance(name, str) and name else None


def scenario_of(version: ScenarioVersion) -> ScenarioDocument:
    """The typed scenario of a stored version; loaded once per content and process."""
    return _loaded(compact_json(version.document))


@lru_cache(maxsize=256)
def _loaded(text: str) -> ScenarioDocument:
    return load_scenario(json.loads(text))


def _unknown_twin(name: str) -> str:
    known = twin_names()
    if not known:
        return f"there is no twin {name}; no twin is stored yet"
    shown = ", ".join(known[:_NAMES_SHOWN]) + (", …" if len(known) > _NAMES_SHOWN else "")
    return f"there is no twin {name}; there are {shown}"
