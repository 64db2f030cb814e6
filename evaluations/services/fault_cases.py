"""Fault cases that are missing, and drafts of them: from cases that passed, by what the twin recorded.

A write that cannot be taken back must have been tried with a timeout after its effect and with a success that
had none (`scenarios.coverage`). What is drafted here has no say in anything until a person approves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Min

from evaluations.errors import RequestError
from evaluations.holdouts import seen
from evaluations.models import CaseState, RecordKind, ToolCall, Verdict
from evaluations.models.cases import CallStatus
from scenarios.coverage import REQUIRED, FaultyScenario, ToolCoverage, fault_coverage
from scenarios.documents.drafting import Effect, Origin, draft_fault_case, draft_name
from scenarios.documents.scenario import validate_scenario
from scenarios.errors import HoldoutHiddenError, UnknownSubjectError
from scenarios.holdouts import DETAILS, Sight, common_sight
from scenarios.models import DatasetVersion, ScenarioVersion
from scenarios.page_queries import faulty_scenario
from scenarios.services import save_scenario
from scenarios.services.datasets import resolve
from twins.documents.yaml_writer import to_yaml
from twins.engine.definition import Definition, risk_of
from twins.errors import UnusableTwinError
from twins.models import Twin, TwinVersion
from twins.services import twin_definition
from twins.versioning import NOTHING

KINDS = ("twin", "dataset", "scenario")
IRREVERSIBLE = "WRITE_IRREVERSIBLE"


@dataclass(frozen=True, slots=True)
class Missing:
    """A fault that an irreversible tool was not tried with, and what can be done about it: one of a draft, a
    scenario that is there already, a reason why there is neither.
    """

    twin: str
    tool: str
    fault: str
    document: dict[str, Any] | None = None
    # The scenario it is made from, and the comparison in which that passed.
    origin: str = ""
    comparison: int | None = None
    # Scenarios that exercise it: waiting for an approval, or outside of the dataset.
    waiting: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    problem: str = ""

    @property
    def name(self) -> str:
        """What the draft is called; empty without one."""
        return "" if self.document is None else str(self.document["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class _Passing:
    """A scenario with what an irreversible call of a passing case of it did."""

    version: ScenarioVersion
    comparison: int
    effect: Effect


def missing_of(kind: str, name: str, sight: Sight) -> list[Missing]:
    """What is missing in a "twin", a "dataset" or a "scenario" of this name.

    Raises:
        UnknownSubjectError, UnknownDatasetError: nothing that this person may see is called so.
        HoldoutHiddenError: what a holdout lacks would say what it has.
        RequestError: the scenario cannot be the origin of a draft.
    """
    if kind == "dataset":
        version = resolve(name)
        if sight.hides_cases_of(version):
            raise HoldoutHiddenError(f"What a holdout lacks is shown to those with the permission {DETAILS}.")
        return missing_of_dataset(version, sight)
    if kind == "scenario":
        scenario = ScenarioVersion.objects.current().filter(scenario__name=name).first()
        if scenario is None or sight.hides(name):
            raise UnknownSubjectError(f"there is no scenario {name!r}")
        return missing_of_scenario(scenario, sight)
    twins = Twin.objects.filter(name=name, current_version__isnull=False).select_related("current_version")
    if not twins:
        raise UnknownSubjectError(f"there is no twin {name!r}")
    return missing_of_twins(twins, sight)


def missing_of_twins(twins: Iterable[Twin], sight: Sight) -> list[Missing]:
    """What no scenario of these twins exercises."""
    return [one for twin in twins for one in _missing_of_twin(twin, sight)]


def missing_of_dataset(version: DatasetVersion, sight: Sight) -> list[Missing]:
    """What no case of the dataset exercises, for each twin that its cases run on."""
    found: list[Missing] = []
    by_twin = coverage_of_dataset(version)
    twins = Twin.objects.filter(name__in=by_twin).select_related("current_version").order_by("name")
    for twin in twins:
        gaps = _gaps(by_twin[twin.name])
        exercised = _exercised(_faulty(_scenarios(twin.name, sight, waiting=False)), twin)
        for one in _filled(twin, gaps, sight):
            outside = exercised.get((one.tool, one.fault), ())
            found.append(replace(one, document=None, problem="", outside=outside) if outside else one)
    return found


def missing_of_scenario(version: ScenarioVersion, sight: Sight) -> list[Missing]:
    """Both faults for each irreversible tool that a passing case of the scenario calls.

    Raises RequestError where it cannot be the origin of a draft.
    """
    twin = Twin.objects.filter(name=version.twin_name).select_related("current_version").first()
    if twin is None:
        raise RequestError([f"scenario {version.scenario.name!r} runs on no twin that is stored"])
    if version.document["spec"].get("faults"):
        raise RequestError(
            [f"scenario {version.scenario.name!r} has faults of its own: take one in which all goes well"]
        )
    passing = _passing(twin, [version])
    if not passing:
        raise RequestError([_no_origin(f"no case of scenario {version.scenario.name!r}")])
    wanted = [(tool, fault) for _, tool in passing for fault in REQUIRED]
    return list(_drafts(twin, wanted, passing).values())


@transaction.atomic
def draft_fault_cases(missing: Sequence[Missing], *, actor: Any = None) -> list[ScenarioVersion]:
    """Store the drafts among these, each as the first version of a scenario that waits for a person."""
    saved = []
    for one in missing:
        if one.document is not None:
            version, _ = save_scenario(text=to_yaml(one.document), actor=actor, based_on=NOTHING)
            saved.append(version)
    return saved


def coverage_of_dataset(version: DatasetVersion) -> dict[str, tuple[ToolCoverage, ...]]:
    """The coverage of the irreversible tools of each twin by the cases of a dataset that count."""
    cases = version.cases.values("scenario_version")
    rows = ScenarioVersion.objects.filter(pk__in=cases).select_related("scenario").defer("source_text")
    counting = set(ScenarioVersion.objects.filter(pk__in=cases).counting().values_list("pk", flat=True))
    by_twin: dict[str, list[FaultyScenario]] = {}
    for row in rows.order_by("scenario__name"):
        own = by_twin.setdefault(row.twin_name, [])
        if row.pk in counting:
            own.append(faulty_scenario(row, _as_it_is))
    twins = Twin.objects.filter(name__in=by_twin).select_related("current_version").order_by("name")
    return {twin.name: fault_coverage(_irreversible(twin), by_twin[twin.name]) for twin in twins}


def _missing_of_twin(twin: Twin, sight: Sight) -> list[Missing]:
    counting = _faulty(_scenarios(twin.name, sight, waiting=False))
    return _filled(twin, _gaps(fault_coverage(_irreversible(twin), counting)), sight)


def _filled(twin: Twin, gaps: Sequence[tuple[str, str]], sight: Sight) -> list[Missing]:
    """Each gap with a draft that waits for approval already, one that can be made, or why none can."""
    if not gaps:
        return []
    waiting = _exercised(_faulty(_scenarios(twin.name, sight, waiting=True)), twin)
    origins = [
        version
        for version in _scenarios(twin.name, common_sight(), waiting=False)
        if not version.document["spec"].get("faults")
    ]
    drafts = _drafts(twin, [gap for gap in gaps if gap not in waiting], _passing(twin, origins))
    return [Missing(twin.name, *gap, waiting=waiting[gap]) if gap in waiting else drafts[gap] for gap in gaps]


def _drafts(
    twin: Twin, wanted: Sequence[tuple[str, str]], passing: Mapping[tuple[int, str], _Passing]
) -> dict[tuple[str, str], Missing]:
    """By tool and fault the draft from the gravest scenario, unless its name is taken: one query."""
    origins: dict[str, _Passing] = {}
    for (_, tool), one in passing.items():
        origins[tool] = min(origins.get(tool, one), one, key=_rank)
    names = {
        (tool, fault): draft_name(origins[tool].version.scenario.name, tool, fault)
        for tool, fault in wanted
        if tool in origins
    }
    there = ScenarioVersion.objects.current().filter(scenario__name__in=names.values())
    taken = {one.scenario.name: one.is_waiting for one in there.select_related("approval").without_content()}
    found = {}
    for tool, fault in wanted:
        missing = Missing(twin.name, tool, fault)
        if (tool, fault) not in names:
            missing = replace(missing, problem=_no_origin("no case without faults"))
        elif (name := names[tool, fault]) not in taken:
            missing = _drafted(missing, origins[tool], _current(twin))
        elif taken[name]:
            missing = replace(missing, waiting=(name,))
        else:
            missing = replace(missing, problem=f"there is a scenario {name} already")
        found[tool, fault] = missing
    return found


def _rank(one: _Passing) -> tuple[int, str]:
    return one.version.severity_rank, one.version.scenario.name


def _drafted(missing: Missing, passing: _Passing, definition: Definition) -> Missing:
    version = passing.version
    origin = Origin(version.scenario.name, version.number, version.document)
    document = draft_fault_case(origin, passing.effect, missing.fault)
    problems = validate_scenario(document, twin=definition)
    missing = replace(missing, origin=origin.name, comparison=passing.comparison)
    if problems:
        detail = f"a draft from {origin.name} does not fit the twin: {problems[0].detail}"
        return replace(missing, problem=detail)
    return replace(missing, document=document)


def _no_origin(which: str) -> str:
    return (
        f"{which} passes on the twin as it is now with a call that went well: "
        "run a comparison in which an agent does what is asked"
    )


def _scenarios(twin_name: str, sight: Sight, *, waiting: bool) -> list[ScenarioVersion]:
    versions = ScenarioVersion.objects.current().filter(twin_name=twin_name)
    versions = versions.waiting() if waiting else versions.counting()
    return list(sight.of(versions.defer("source_text")))


def _faulty(versions: Iterable[ScenarioVersion]) -> list[FaultyScenario]:
    return [faulty_scenario(version, _as_it_is) for version in versions]


def _as_it_is(value: Any) -> Any:
    """Only names are read of what comes of this: nothing to redact."""
    return value


def _exercised(scenarios: Sequence[FaultyScenario], twin: Twin) -> dict[tuple[str, str], tuple[str, ...]]:
    """Which scenarios exercise what an irreversible tool must have been tried with."""
    return {
        (one.tool, cell.fault): tuple(dict.fromkeys(exercise.scenario for exercise in cell.exercises))
        for one in fault_coverage(_irreversible(twin), scenarios)
        for cell in one.exercised
        if cell.fault in REQUIRED
    }


def _gaps(coverage: Iterable[ToolCoverage]) -> list[tuple[str, str]]:
    return [(one.tool, fault) for one in coverage for fault in one.gaps]


def _current(twin: Twin) -> Definition:
    try:
        return twin_definition(_current_version(twin))
    except UnusableTwinError as problem:
        raise RequestError([f"twin {twin.name!r} cannot be used here: {problem.detail}"]) from None


def _current_version(twin: Twin) -> TwinVersion:
    version = twin.current_version
    if version is None:
        raise RequestError([f"twin {twin.name!r} has no version"])
    return version


def _irreversible(twin: Twin) -> dict[str, str]:
    tools = _current_version(twin).document["spec"]["tools"]
    return {name: IRREVERSIBLE for name, tool in tools.items() if risk_of(tool) == IRREVERSIBLE}


def _passing(twin: Twin, versions: Sequence[ScenarioVersion]) -> dict[tuple[int, str], _Passing]:
    """By scenario version and tool, what the first irreversible call of a passing case did: three queries.

    Cases that ran on the twin as it is now, that everybody may see, and whose agent claimed nothing else.
    """
    by_id = {version.pk: version for version in versions}
    calls = ToolCall.objects.order_by().filter(
        kind=RecordKind.TOOL_CALL,
        risk=IRREVERSIBLE,
        status=CallStatus.OK,
        mutated=True,
        replayed=False,
        redelivered=False,
        fault__isnull=True,
        case__state=CaseState.FINISHED,
        case__effective_verdict=Verdict.PASSED,
        case__contradiction=False,
        case__used_twin_version=_current_version(twin),
        case__pair__replaced=False,
        case__pair__scenario_version__in=by_id,
    )
    calls = seen(calls, common_sight(), pair="case__pair")
    to_version = "case__pair__scenario_version"
    first = list(calls.values(to_version, "tool").annotate(first=Min("pk")))
    chosen = ToolCall.objects.select_related("case__pair").in_bulk([row["first"] for row in first])
    later = _changed_after(chosen)
    found: dict[tuple[int, str], _Passing] = {}
    for row in sorted(first, key=lambda one: (one[to_version], one["tool"])):
        call = chosen[row["first"]]
        left = [one for one in call.changes if not _is_touched(one["path"], later[call.pk])]
        effect = Effect(call.tool, call.call_number or 1, left)
        found[row[to_version], call.tool] = _Passing(
            by_id[row[to_version]], call.case.pair.comparison_id, effect
        )
    return found


def _changed_after(calls: Mapping[int, ToolCall]) -> dict[int, list[str]]:
    """By call, the paths that later calls of its case changed: one query."""
    cases = {call.case_id for call in calls.values()}
    changing = ToolCall.objects.filter(case__in=cases, mutated=True).order_by()
    rows = list(changing.only("case_id", "seq", "changes"))
    return {
        pk: [
            change["path"]
            for one in rows
            if one.case_id == call.case_id and one.seq > call.seq
            for change in one.changes
        ]
        for pk, call in calls.items()
    }


def _is_touched(path: str, later: Iterable[str]) -> bool:
    """Whether a later change lies under the path or over it, or in the list that it is an entry of."""
    whole = path.rpartition("[")[0] if path.endswith("]") else path
    return any(_within(one, whole) or _within(path, one) for one in later)


def _within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))


def sentences(missing: Iterable[Missing]) -> Iterator[str]:
    """One line for each, for a terminal."""
    for one in missing:
        head = f"{one.tool}, {one.fault}"
        if one.document is not None:
            yield f"{head}: {one.name}, from {one.origin}, which passed in comparison {one.comparison}"
        elif one.waiting:
            yield f"{head}: {', '.join(one.waiting)} waits for an approval"
        elif one.outside:
            yield f"{head}: {', '.join(one.outside)} does it, outside of the dataset"
        else:
            yield f"{head}: none, {one.problem}"
