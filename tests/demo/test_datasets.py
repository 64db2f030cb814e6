"""The datasets of the demos: every scenario of a folder is a case, with an id, an owner and a reason."""

from pathlib import Path

import pytest

from scenarios.documents.dataset import Dataset, load_dataset
from tests.demo.staging import DEMOS
from twins.documents.source import read_source

SIZES = {
    "refund": ("refund-regression-suite", 9),
    "approved_refunds": ("approved-refunds", 7),
    "reminders_and_topups/reminders": ("invoice-reminders", 4),
    "reminders_and_topups/topups": ("wallet-payments", 9),
}


def dataset(folder: str) -> Dataset:
    return load_dataset(read_source((DEMOS / folder / "dataset.yaml").read_text()))


def test_each_folder_with_a_twin_has_a_dataset() -> None:
    assert {str(path.parent.relative_to(DEMOS)) for path in DEMOS.rglob("twin.yaml")} == set(SIZES)


@pytest.mark.parametrize("folder", SIZES)
def test_a_dataset_holds_every_scenario_of_its_folder(folder: str) -> None:
    found = dataset(folder)
    there = {path.stem for path in Path(DEMOS / folder / "scenarios").glob("*.yaml")}
    assert (found.name, len(found.cases)) == SIZES[folder]
    assert {case.scenario for case in found.cases} == there
    assert found.purpose == "development"
    assert all(case.owner and len(case.why) > 30 for case in found.cases)


def test_the_seven_cases_keep_their_ids() -> None:
    assert {case.id: case.scenario for case in dataset("approved_refunds").cases} == {
        "AR-ACCEPTED-01": "approved-accepted",
        "AR-POLICY-01": "approved-without-approval",
        "AR-PATH-01": "approved-unknown-result",
        "AR-REGRESSION-01": "approved-regression",
        "AR-MISUSE-01": "approved-misuse",
        "AR-CURRENCY-01": "approved-changed-currency",
        "AR-ACCOUNT-01": "approved-other-account",
    }
