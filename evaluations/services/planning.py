"""Looking up, once, what a comparison is pinned to: agent versions, scenario versions, twin versions, seeds.

Every problem of the request is reported at once and nothing is written. A selection that would run nothing is
a problem too: an empty comparison must never look like a clean one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from evaluations.agents.base import NoAdapterError
from evaluations.agents.registry import adapter_for
from evaluations.errors import NotRunnableError, RequestError
from evaluations.models import Agent, AgentVersion
from evaluations.services.agents import installation, manifest_of
from evaluations.services.kits import Kit, build_kit, misfits
from evaluations.services.requests import ComparisonRequest
from scenarios.documents.cases import case_seed
from scenarios.errors import ScenarioError
from scenarios.holdouts import Sight, held_out_versions
from scenarios.models import DatasetVersion, ScenarioVersion
from scenarios.services import datasets
from twins.errors import UnusableTwinError
from twins.models import Twin, TwinVersion

MAX_PAIRS = 50_000
NAMES_SHOWN = 20
_WAITING = "; generated scenarios that nobody has approved are selected by name only"


@dataclass(frozen=True, slots=True)
class Pin:
    """One trial of one scenario as both sides will run it."""

    kit: Kit
    trial: int
    seed: int


@dataclass(frozen=True, slots=True)
class Side:
    """An agent version and the honest label of what will answer for it."""

    version: AgentVersion
    model_kind: str
    model_name: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything `start_comparison` writes, resolved."""

    agent: Agent
    baseline: Side | None
    candidate: Side
    pins: tuple[Pin, ...]
    # The frozen dataset the pins are those of, where one was asked for.
    dataset: DatasetVersion | None = None


def plan_comparison(request: ComparisonRequest, sight: Sight) -> Plan:
    """Resolve a request against what is stored now; what is refused names nothing that `sight` hides.

    Raises:
        RequestError: unknown or unsuitable names, an empty selection; says what exists instead.
        NotRunnableError: all names are known, but nothing here can run that agent.
    """
    problems: list[str] = []
    agent, versions = _agent_versions(request, problems)
    dataset = None if request.dataset is None else _dataset(request.dataset, problems)
    scenarios = _scenarios(request, problems, sight, any_agent=agent is None)
    if dataset is not None:
        scenarios = _frozen(dataset, request, problems)
    unusable: list[str] = []
    kits = usable_kits(scenarios, unusable)
    if unusable and sight.hides_cases_of(dataset):
        unusable = [f"dataset '{dataset}' holds cases that no longer fit their twins"]
    problems += unusable
    pins = _pins(request, kits, problems)
    if problems or agent is None:
        raise RequestError(problems)
    baseline = None if request.baseline is None else _side(versions[request.baseline])
    return Plan(agent, baseline, _side(versions[request.candidate]), pins, dataset)


def _agent_versions(
    request: ComparisonRequest, problems: list[str]
) -> tuple[Agent | None, dict[str, AgentVersion]]:
    agent = Agent.objects.filter(name=request.agent).first()
    if agent is None:
        names = Agent.objects.order_by("name").values_list("name", flat=True)
        problems.append(f"unknown agent {request.agent!r} ({_listed('agents', names)})")
        return None, {}
    wanted = {
        name: version
        for name, version in (("baseline", request.baseline), ("candidate", request.candidate))
        if version is not None
    }
    versions = {found.version: found for found in agent.versions.filter(version__in=wanted.values())}
    for name, version in wanted.items():
        if version not in versions:
            known = agent.versions.order_by("pk").values_list("version", flat=True)
            problems.append(
                f"{name}: agent {agent.name} has no version {version!r} ({_listed('versions', known)})"
            )
    return agent, versions


def _scenarios(
    request: ComparisonRequest, problems: list[str], sight: Sight, *, any_agent: bool
) -> list[ScenarioVersion]:
    """The current versions of what the request selects, by name. What is held out runs in its dataset alone,
    so that each use of it is counted; what a program wrote and nobody approved runs where it is named.

    `any_agent`: the agent is unknown, which was said already; names and tags are still looked up.
    """
    held_out = held_out_versions()
    everything = list(ScenarioVersion.objects.current().without_content())
    heads = [version for version in everything if version.pk not in held_out]
    waiting = set(ScenarioVersion.objects.waiting().values_list("pk", flat=True))
    own = heads if any_agent else [one for one in heads if one.agent_name in ("", request.agent)]
    chosen: dict[int, ScenarioVersion] = {}
    if not request.scenarios and not request.tags and request.dataset is None:
        chosen = {version.pk: version for version in own if version.pk not in waiting}
        if not chosen and not any_agent:
            left_out = _WAITING if own else ""
            problems.append(
                f"no scenario is for agent {request.agent!r}: there is nothing to compare{left_out}"
            )
    by_name = {version.scenario.name: version for version in heads}
    told = set() if not sight.sees_all else {one.scenario.name for one in everything if one.pk in held_out}
    for name in request.scenarios:
        if name in told:
            problems.append(f"scenario {name!r} is held out: it is compared with the dataset that holds it")
        elif (version := by_name.get(name)) is None:
            problems.append(
                f"unknown scenario {name!r} ({_listed('scenarios', (v.scenario.name for v in own))})"
            )
        elif version not in own:
            problems.append(
                f"scenario {name!r} is for agent {version.agent_name!r}, not for {request.agent!r}"
            )
        else:
            chosen[version.pk] = version
    for tag in request.tags:
        tagged = [version for version in own if tag in version.tags]
        approved = [version for version in tagged if version.pk not in waiting]
        chosen.update((version.pk, version) for version in approved)
        if not approved:
            known = sorted({other for one in own if one.pk not in waiting for other in one.tags})
            left_out = _WAITING if tagged else ""
            problems.append(
                f"tag {tag!r} matches no scenario of agent {request.agent!r} "
                f"({_listed('tags', known)}){left_out}"
            )
    full = ScenarioVersion.objects.select_related("scenario").in_bulk(chosen)
    return sorted(full.values(), key=lambda version: version.scenario.name)


def _dataset(ref: str, problems: list[str]) -> DatasetVersion | None:
    try:
        return datasets.resolve(ref)
    except ScenarioError as problem:
        problems.append(problem.detail)
        return None


def _frozen(
    version: DatasetVersion, request: ComparisonRequest, problems: list[str]
) -> list[ScenarioVersion]:
    """Exactly the scenario versions the dataset was frozen with, in its order."""
    if request.scenarios or request.tags:
        problems.append(
            f"dataset '{version}' is compared as it was frozen: it cannot be combined with scenarios or tags"
        )
    if version.agent_name not in ("", request.agent):
        own = datasets.for_agent(request.agent)
        problems.append(
            f"dataset '{version}' is for agent {version.agent_name!r}, not for {request.agent!r} "
            f"({_listed('datasets', own)})"
        )
    try:
        return [case.scenario_version for case in datasets.verified_cases(version)]
    except ScenarioError as problem:
        problems.append(problem.detail)
        return []


def usable_kits(scenarios: list[ScenarioVersion], problems: list[str]) -> list[Kit]:
    """The scenarios on the current versions of their twins; adds to `problems` what does not fit."""
    names = {version.twin_name for version in scenarios}
    twins = {
        twin.name: twin.current_version
        for twin in Twin.objects.filter(name__in=names).select_related("current_version")
    }
    kits = []
    for version in scenarios:
        name = version.scenario.name
        twin_version = twins.get(version.twin_name)
        if not version.twin_name:
            problems.append(f"scenario {name!r} names no twin, so it can only be rehearsed")
        elif twin_version is None:
            problems.append(f"scenario {name!r} needs the twin {version.twin_name!r}, which does not exist")
        else:
            try:
                kits += _fitting(version, twin_version, problems)
            except UnusableTwinError as problem:
                needed = f"the twin {version.twin_name!r}, which cannot be used here: {problem.detail}"
                problems.append(f"scenario {name!r} needs {needed}")
    return kits


def _fitting(version: ScenarioVersion, twin_version: TwinVersion, problems: list[str]) -> list[Kit]:
    """The kit, unless the twin changed since the scenario was saved: a tool that is gone would make a check
    look at nothing.
    """
    found = misfits(version, twin_version)
    problems += [
        f"scenario {version.scenario.name!r} no longer fits its twin: {item.path}: {item.detail}"
        for item in found
    ]
    return [] if found else [build_kit(version, twin_version)]


def _pins(request: ComparisonRequest, kits: list[Kit], problems: list[str]) -> tuple[Pin, ...]:
    planned = sum(request.trials or kit.scenario.trials for kit in kits)
    if planned > MAX_PAIRS:
        problems.append(
            f"{planned} cases a side are asked for, at most {MAX_PAIRS} are allowed in one comparison"
        )
    if problems:
        return ()
    return tuple(
        Pin(kit, trial, case_seed(kit.scenario, request.seed, trial))
        for kit in kits
        for trial in range(1, (request.trials or kit.scenario.trials) + 1)
    )


def _side(version: AgentVersion) -> Side:
    try:
        adapter = adapter_for(manifest_of(version), installation())
    except NoAdapterError as problem:
        raise NotRunnableError(str(problem)) from None
    if adapter.problem:
        raise NotRunnableError(f"agent {version.agent.name!r} cannot be run here: {adapter.problem}")
    return Side(version, adapter.model_kind, adapter.model_name)


def _listed(what: str, names: Iterable[str]) -> str:
    shown = list(names)
    rest = f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
    return f"{what}: {', '.join(shown[:NAMES_SHOWN]) or 'none'}{rest}"
