"""Freezing datasets, and finding a frozen one again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from scenarios.documents.dataset import (
    Dataset as DatasetDocument,
)
from scenarios.documents.dataset import (
    FrozenCase,
    KnownScenario,
    KnownScenarios,
    WrittenFor,
    frozen_sha256,
    load_dataset,
    validate_dataset,
)
from scenarios.errors import DatasetTamperedError, HoldoutHiddenError, UnknownDatasetError
from scenarios.holdouts import DETAILS, EVERYTHING, Sight, sight_of
from scenarios.models import (
    Dataset,
    DatasetCase,
    DatasetVersion,
    Purpose,
    Scenario,
    ScenarioVersion,
)
from twins.documents.problems import DocumentError, Problem
from twins.documents.source import Finding, Source
from twins.engine.redaction import redactor
from twins.engine.values import digest
from twins.models import TwinVersion
from twins.querysets import lookup_text
from twins.services import name_problems, planted_secrets
from twins.versioning import NewContent, add_version, lock_parent, source_of

NAMES_SHOWN = 20
_ROWS_PER_INSERT = 500
_ROWS_PER_FETCH = 100


@dataclass(frozen=True, slots=True)
class _Frozen(NewContent):
    """A dataset on its way to become a version: its content is what it was frozen with, not its text."""

    sha256: str

    @property
    def digest(self) -> str:
        """Over all that a version says. Naming a version by its number changes nothing, nor does layout."""
        metadata = self.document["metadata"]
        said = {name: metadata.get(name, "") for name in ("name", "description", "owner")}
        return digest({**said, "sha256": self.sha256})


@transaction.atomic
def save_dataset(
    *,
    text: str | None = None,
    document: Any = None,
    kind: str = "yaml",
    name: str | None = None,
    based_on: int | None = None,
    actor: Any = None,
) -> tuple[DatasetVersion, bool]:
    """Freeze a dataset document; answers the version that holds it and whether that version is new.

    Each case is resolved to a version of its scenario here, once: the one it names, or the current one. The
    arguments are those of `twins.services.save_twin`; raises the same errors, and HoldoutHiddenError for a
    dataset that was a holdout in any version, if the actor may not look into one.
    """
    sight = sight_of(actor)

    def known(names: Collection[str]) -> KnownScenarios:
        return known_scenarios(names, sight)

    source, source_text = source_of(text, document, kind)
    _refuse_hidden(source, sight)
    problems = [*validate_dataset(source, scenarios=known), *name_problems(source, name)]
    if problems:
        raise DocumentError(problems)
    dataset = load_dataset(source)
    versions = _resolved(dataset)
    # From here on nobody else freezes this dataset: its ids are compared with those of all its versions.
    lock_parent(Dataset, dataset.name)
    problems = [*_moved_ids(source, dataset), *_secrets_told(source, source_text, versions)]
    if problems:
        raise DocumentError(problems)
    cases = [
        FrozenCase(case.id, case.scenario, version.digest, case.owner, case.why)
        for case, version in zip(dataset.cases, versions, strict=True)
    ]
    sha256 = frozen_sha256(dataset.purpose, cases)
    version, is_new = add_version(
        DatasetVersion,
        of=("dataset", Dataset),
        content=_Frozen(dataset.name, source.value, source_text, sha256),
        based_on=based_on,
        actor=actor,
        purpose=dataset.purpose,
        sha256=sha256,
        description=dataset.description,
        owner=dataset.owner,
        agent_name=next((one.agent_name for one in versions if one.agent_name), ""),
        case_count=len(versions),
    )
    if is_new:
        DatasetCase.objects.bulk_create(
            [
                DatasetCase(
                    version=version,
                    position=position,
                    case_id=case.id,
                    scenario_version=scenario_version,
                    owner=case.owner,
                    why=case.why,
                )
                for position, (case, scenario_version) in enumerate(zip(dataset.cases, versions, strict=True))
            ],
            batch_size=_ROWS_PER_INSERT,
        )
    return version, is_new


def resolve(ref: str) -> DatasetVersion:
    """The version that NAME or NAME@VERSION names; without a number the current one.

    Raises:
        UnknownDatasetError: there is none; says what there is.
    """
    name, at, number = ref.partition("@")
    dataset = Dataset.objects.filter(name=lookup_text(name)).first()
    if dataset is None:
        names = Dataset.objects.order_by("name").values_list("name", flat=True)
        raise UnknownDatasetError(f"unknown dataset {ref!r} ({_listed('datasets', names)})")
    versions = dataset.versions.select_related("dataset")
    asked = Q(number=_number(number)) if at else Q(pk=dataset.current_version_id)
    version = versions.filter(asked).first()
    if version is None:
        numbers = dataset.versions.order_by("number").values_list("number", flat=True)
        detail = f"dataset {name!r} has no version {number!r} ({_listed('versions', numbers)})"
        raise UnknownDatasetError(detail)
    return version


def verified_cases(version: DatasetVersion) -> list[DatasetCase]:
    """The cases of a frozen version in their order, each with its scenario version and its name: one query.

    Raises:
        DatasetTamperedError: they are not what the version was frozen with.
    """
    cases = list(version.cases.select_related("scenario_version__scenario").order_by("position"))
    if not verifies(version, cases):
        raise DatasetTamperedError(
            f"dataset '{version}' is not what it was frozen with: its cases do not give its SHA-256"
        )
    return cases


def verifies(version: DatasetVersion, cases: Iterable[DatasetCase]) -> bool:
    """Whether these stored cases are those the version was frozen with."""
    frozen = [
        FrozenCase(
            case.case_id,
            case.scenario_version.scenario.name,
            case.scenario_version.digest,
            case.owner,
            case.why,
        )
        for case in cases
    ]
    return frozen_sha256(version.purpose, frozen) == version.sha256


def for_agent(agent: str) -> list[str]:
    """The names of the datasets whose current versions this agent can be measured with."""
    current = DatasetVersion.objects.filter(dataset__current_version=F("pk"), agent_name__in=["", agent])
    return list(current.order_by("dataset__name").values_list("dataset__name", flat=True))


def known_scenarios(names: Collection[str], sight: Sight = EVERYTHING) -> KnownScenarios:
    """What is stored of these scenarios, as far as `sight` has them: two queries."""
    wanted = [lookup_text(name) for name in names]
    rows = sight.of(ScenarioVersion.objects.filter(scenario__name__in=wanted)).order_by("number")
    columns = ("scenario__name", "scenario__current_version_id", "pk", "number", "agent_name", "twin_name")
    versions: dict[str, dict[int, WrittenFor]] = {}
    current: dict[str, WrittenFor] = {}
    for name, current_pk, pk, number, agent, twin in rows.values_list(*columns):
        written_for = versions.setdefault(name, {})[number] = WrittenFor(agent, twin)
        if pk == current_pk:
            current[name] = written_for
    stored = {name: KnownScenario(current[name], versions[name]) for name in current}
    every_name = Scenario.objects.values_list("name", flat=True)
    return KnownScenarios(stored, [name for name in every_name if not sight.hides(name)])


def _refuse_hidden(source: Source, sight: Sight) -> None:
    """Before anything else: what is wrong with the document would tell of the cases there are."""
    metadata = source.value.get("metadata") if isinstance(source.value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if sight.sees_all or not isinstance(name, str):
        return
    if DatasetVersion.objects.filter(dataset__name=lookup_text(name), purpose=Purpose.HOLDOUT).exists():
        raise HoldoutHiddenError(
            f"dataset {name!r} is or was a holdout: changing it needs the permission {DETAILS}"
        )


def _resolved(dataset: DatasetDocument) -> list[ScenarioVersion]:
    """The scenario version of each case, without its document: one query."""
    names = [case.scenario for case in dataset.cases]
    found: dict[tuple[str, int | None], ScenarioVersion] = {}
    rows = ScenarioVersion.objects.filter(scenario__name__in=names).select_related("scenario")
    for version in rows.without_content():
        found[version.scenario.name, version.number] = version
        if version.pk == version.scenario.current_version_id:
            found[version.scenario.name, None] = version
    return [found[case.scenario, case.version] for case in dataset.cases]


def _moved_ids(source: Source, dataset: DatasetDocument) -> list[Problem]:
    """A case id stays with its scenario: results under it are read together from version to version."""
    known = (
        DatasetCase.objects.filter(
            version__dataset__name=dataset.name, case_id__in=[case.id for case in dataset.cases]
        )
        .order_by("version__number")
        .values_list("case_id", "scenario_version__scenario__name", "version__number")
    )
    before = {case_id: (scenario, number) for case_id, scenario, number in known}
    problems = []
    for position, case in enumerate(dataset.cases):
        scenario, number = before.get(case.id, (case.scenario, 0))
        if scenario != case.scenario:
            detail = (
                f"the case {case.id} is the scenario {scenario} in version {number}: "
                "another scenario needs another id"
            )
            problems.append(source.problem(Finding(("spec", "cases", position, "id"), detail)))
    return problems


def _secrets_told(source: Source, text: str, versions: Sequence[ScenarioVersion]) -> list[Problem]:
    """A dataset is read by everybody: it must not repeat what its twins and scenarios keep secret."""
    names = {version.twin_name for version in versions}
    twins = TwinVersion.objects.filter(twin__name__in=names, twin__current_version=F("pk"))
    secrets = {
        secret
        for document in twins.values_list("document", flat=True).iterator(_ROWS_PER_FETCH)
        for secret in planted_secrets(document)
    }
    told = redactor(sorted(secrets))(text) != text or redactor(sorted(secrets))(source.value) != source.value
    if not told:
        return []
    return [source.problem(Finding((), "repeats a planted secret of its twin: leave it out"))]


def _listed(what: str, names: Iterable[Any]) -> str:
    shown = [str(name) for name in names]
    rest = f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
    return f"{what}: {', '.join(shown[:NAMES_SHOWN]) or 'none'}{rest}"


def _number(text: str) -> int:
    """A version number; 0, which no version has, for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
