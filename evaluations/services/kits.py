"""A scenario version with its twin version, compiled once and shared by every case of it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evaluations.grading import CompiledExpectation, compile_expectations
from evaluations.grading.expectations.judged import SEMANTIC
from evaluations.services.storable import Redaction, secrets_of
from scenarios.documents.cases import case_spec
from scenarios.documents.scenario import Scenario, validate_scenario
from scenarios.models import ScenarioVersion
from scenarios.services import scenario_of
from twins.documents.problems import Problem
from twins.engine.case import CaseSpec
from twins.engine.definition import Definition
from twins.engine.state import merge_patch
from twins.models import TwinVersion
from twins.services import planted_secrets, twin_definition

KITS_KEPT = 64
FITTING_KEPT = 2048


class KitKey(NamedTuple):
    """Names a kit. The digests are there because an id alone can be given out again after a rollback."""

    scenario_version_id: int
    scenario_digest: str
    twin_version_id: int
    twin_digest: str


@dataclass(frozen=True, slots=True)
class Kit:
    """What a case needs besides its seed; nothing in it is changed by running a case."""

    scenario_version_id: int
    twin_version_id: int
    scenario: Scenario
    definition: Definition
    expectations: tuple[CompiledExpectation, ...]
    spec: CaseSpec
    redaction: Redaction
    # Positions of the expectations that a judge grades; most scenarios have none.
    judged: tuple[int, ...] = ()

    def spec_for(self, seed: int) -> CaseSpec:
        """The pinned start of a case: everything but the seed is the same for every trial."""
        return replace(self.spec, seed=seed)


def misfits(scenario_version: ScenarioVersion, twin_version: TwinVersion) -> Sequence[Problem]:
    """Where a scenario does not fit a version of its twin. That it fits is remembered: neither can change."""
    key = KitKey(scenario_version.pk, scenario_version.digest, twin_version.pk, twin_version.digest)
    with _lock:
        if key in _fitting:
            _fitting.move_to_end(key)
            return ()
    found = validate_scenario(scenario_version.document, twin=twin_definition(twin_version))
    if not found:
        with _lock:
            _fitting[key] = None
            while len(_fitting) > FITTING_KEPT:
                _fitting.popitem(last=False)
    return found


def build_kit(scenario_version: ScenarioVersion, twin_version: TwinVersion) -> Kit:
    """The compiled kit, from a small cache."""
    key = KitKey(scenario_version.pk, scenario_version.digest, twin_version.pk, twin_version.digest)
    with _lock:
        if (kit := _cache.get(key)) is not None:
            _cache.move_to_end(key)
            return kit
    scenario, definition = scenario_of(scenario_version), twin_definition(twin_version)
    spec = case_spec(definition, scenario)
    expectations = compile_expectations(scenario.expectations)
    kit = Kit(
        scenario_version_id=scenario_version.pk,
        twin_version_id=twin_version.pk,
        scenario=scenario,
        definition=definition,
        expectations=expectations,
        spec=spec,
        redaction=Redaction(secrets_of(definition.secrets, scenario), spec.initial_state),
        judged=tuple(place for place, one in enumerate(expectations) if one.type.name == SEMANTIC),
    )
    with _lock:
        _cache[key] = kit
        while len(_cache) > KITS_KEPT:
            _cache.popitem(last=False)
    return kit


def redaction_of(scenario_version: ScenarioVersion, twin_version: TwinVersion) -> Redaction:
    """What hides the secrets of a case, also where its twin cannot be used here: it needs no adapter."""
    scenario, document = scenario_of(scenario_version), twin_version.document
    initial_state = merge_patch(document["spec"].get("initialState") or {}, scenario.state_patch)
    return Redaction(secrets_of(planted_secrets(document), scenario), initial_state)


def kits_for(keys: Iterable[KitKey]) -> dict[KitKey, Kit | str]:
    """Kits by key; at most two queries, none for what is cached.

    A text says why there is none: the documents were valid when they were stored, but this process may lack
    something they need, such as an adapter registered in code.
    """
    wanted = set(keys)
    with _lock:
        kits: dict[KitKey, Kit | str] = {key: _cache[key] for key in wanted if key in _cache}
    missing = wanted - kits.keys()
    if missing:
        scenarios = ScenarioVersion.objects.in_bulk({key.scenario_version_id for key in missing})
        twins = TwinVersion.objects.in_bulk({key.twin_version_id for key in missing})
        for key in missing:
            try:
                kits[key] = build_kit(scenarios[key.scenario_version_id], twins[key.twin_version_id])
            except ValueError as problem:
                kits[key] = f"its documents cannot be used here: {problem}"
    return kits


_cache: OrderedDict[KitKey, Kit] = OrderedDict()
_fitting: OrderedDict[KitKey, None] = OrderedDict()
_lock = threading.Lock()
