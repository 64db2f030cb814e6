"""Datasets among the files of an import and of a demo: after their scenarios, all or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from evaluations.services.importing import ImportRefusedError, import_documents
from scenarios.models import Dataset, DatasetVersion, Scenario
from tests.documents.samples import dataset
from tests.running import documents
from twins.models import Twin

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose dataset sorts before everything it needs."""
    files = {
        "a-dataset.yaml": dataset("refund", "late"),
        "refund.yaml": documents.scenario("refund"),
        "late.yaml": documents.scenario("late"),
        "twin.yaml": documents.twin(),
        "agent.yaml": documents.agent("1.0.0", *documents.GOOD),
    }
    for name, document in files.items():
        (tmp_path / name).write_text(yaml.safe_dump(document))
    return tmp_path


def said(folder: Path) -> list[str]:
    with pytest.raises(ImportRefusedError) as refused:
        import_documents([str(folder)])
    return [str(problem).removeprefix(f"{folder}/") for problem in refused.value.problems]


def test_a_dataset_is_frozen_after_the_scenarios_of_its_folder(folder: Path) -> None:
    imported = import_documents([str(folder)])
    assert [(one.kind, one.name, one.version, one.created) for one in imported][-2:] == [
        ("dataset", "suite", "1", True),
        ("agent", documents.AGENT, "1.0.0", True),
    ]
    assert [case.case_id for case in DatasetVersion.objects.get().cases.all()] == ["C-1", "C-2"]


def test_a_second_import_changes_nothing(folder: Path) -> None:
    import_documents([str(folder)])
    assert not any(one.created for one in import_documents([str(folder)]))
    assert DatasetVersion.objects.count() == 1


def test_a_changed_scenario_freezes_its_dataset_anew(folder: Path) -> None:
    import_documents([str(folder)])
    (folder / "late.yaml").write_text(yaml.safe_dump(documents.scenario("late", severity="low")))
    made = [one for one in import_documents([str(folder)]) if one.created]
    assert [(one.kind, one.version) for one in made] == [("scenario", "2"), ("dataset", "2")]


def test_a_refused_dataset_stores_nothing_of_its_folder(folder: Path) -> None:
    (folder / "a-dataset.yaml").write_text(yaml.safe_dump(dataset("refund", "lost")))
    (problem,) = said(folder)
    assert "cases[1].scenario: there is no scenario lost; there are late, refund" in problem
    assert not any(model.objects.exists() for model in (Twin, Scenario, Dataset))


def test_what_shows_only_when_it_is_frozen_stores_nothing_either(folder: Path) -> None:
    case = {"id": "C-1", "scenario": "refund", "version": 2}
    import_documents([str(folder)])
    Scenario.objects.get(name="refund")
    (folder / "a-dataset.yaml").write_text(yaml.safe_dump(dataset(cases=[case])))
    (folder / "late.yaml").write_text(yaml.safe_dump(documents.scenario("late", severity="low")))
    # The bundle's scenario could be version 2; it is the stored version 1.
    (problem,) = said(folder)
    assert problem.endswith("cases[0].version: the scenario refund has no version 2; there are 1")
    assert Scenario.objects.get(name="late").versions.count() == 1


def test_problems_of_datasets_stand_beside_those_of_other_files(folder: Path) -> None:
    (folder / "a-dataset.yaml").write_text(yaml.safe_dump(dataset("lost", purpose="production")))
    broken: dict[str, Any] = documents.scenario("late")
    broken["spec"]["expectations"] = []
    (folder / "late.yaml").write_text(yaml.safe_dump(broken))
    problems = said(folder)
    assert [problem.split(":")[0] for problem in problems] == ["a-dataset.yaml"] * 2 + ["late.yaml"]
