"""A dataset is frozen: what makes a version, what never changes, and how one is found again."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from agenttwin_site.events import governance
from scenarios.errors import DatasetTamperedError, UnknownDatasetError
from scenarios.models import Dataset, DatasetCase, DatasetVersion
from scenarios.services import save_scenario
from scenarios.services.datasets import resolve, save_dataset, verified_cases
from tests.running import documents
from tests.triggers import triggers_lifted
from twins.documents.problems import DocumentError
from twins.errors import StaleEditError

pytestmark = pytest.mark.django_db


def refused(call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(DocumentError) as caught:
        call(*args, **options)
    return "\n".join(str(problem) for problem in caught.value.problems)


def test_cases_keep_the_versions_they_were_frozen_with(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    save_scenario(document=documents.scenario("b", severity="low"))
    version = freeze(
        cases=[
            {"id": "B-1", "scenario": "b", "version": 1, "owner": "ann", "why": "policy 4"},
            {"id": "A-1", "scenario": "a"},
        ]
    )
    save_scenario(document=documents.scenario("a", severity="low"))
    cases = verified_cases(DatasetVersion.objects.get())
    assert [(case.case_id, str(case.scenario_version)) for case in cases] == [
        ("B-1", "b version 1"),
        ("A-1", "a version 1"),
    ]
    assert (cases[0].owner, cases[0].why, cases[1].why) == ("ann", "policy 4", "")
    assert (version.agent_name, version.case_count, str(version)) == (documents.AGENT, 2, "suite@1")


def test_the_same_content_makes_no_version(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"))
    first = freeze("a")
    # The number spelt out, and a scenario saved again with the content it had.
    save_scenario(document=documents.scenario("a", severity="low"))
    save_scenario(document=documents.scenario("a"))
    assert freeze(cases=[{"id": "C-1", "scenario": "a", "version": 3}]) == first
    assert DatasetVersion.objects.count() == 1


@pytest.mark.parametrize(
    "change",
    [
        {"purpose": "holdout"},
        {"cases": [{"id": "C-2", "scenario": "a"}]},
        {"cases": [{"id": "C-1", "scenario": "a", "owner": "ann"}]},
        {"cases": [{"id": "C-1", "scenario": "a", "why": "policy 4"}]},
    ],
)
def test_other_content_makes_a_version_under_another_hash(given: Any, freeze: Any, change: Any) -> None:
    given(documents.scenario("a"))
    first = freeze("a")
    second = freeze("a", **change)
    assert second.number == 2
    assert second.sha256 != first.sha256


def test_a_changed_scenario_makes_a_version_of_the_same_text(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"))
    first = freeze("a")
    save_scenario(document=documents.scenario("a", severity="low"))
    second = freeze("a")
    assert (second.number, second.document) == (2, first.document)
    assert second.sha256 != first.sha256


def test_what_the_document_says_of_the_dataset_makes_a_version_under_the_same_hash(
    given: Any, freeze: Any
) -> None:
    given(documents.scenario("a"))
    first = freeze("a")
    second = freeze("a", metadata={"description": "Refunds.", "owner": "payments"})
    assert (second.number, second.sha256) == (2, first.sha256)
    assert (second.description, second.owner) == ("Refunds.", "payments")


def test_a_case_id_stays_with_its_scenario(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    freeze("a")
    freeze("b", cases=[{"id": "C-2", "scenario": "b"}])
    assert refused(freeze, "b") == (
        "spec.cases[0].id: the case C-1 is the scenario a in version 1: another scenario needs another id"
    )
    assert Dataset.objects.get().current_version.number == 2
    # Another dataset has ids of its own.
    assert freeze("b", name="other").number == 1


def test_a_refused_dataset_leaves_nothing_behind(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("foreign", agent="other"))
    assert "one agent" in refused(freeze, "a", "foreign")
    assert "there is no scenario c; there are a, foreign" in refused(freeze, "c")
    assert not Dataset.objects.exists()


def test_a_planted_secret_is_not_taken_in(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"))
    said = refused(freeze, "a", metadata={"description": f"The key is {documents.SECRET}."})
    assert said == "$: repeats a planted secret of its twin: leave it out"
    assert not Dataset.objects.exists()


def test_an_edit_never_renames_and_says_what_it_started_from(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"))
    first = freeze("a")
    said = refused(save_dataset, document=first.document, name="other")
    assert "metadata.name: must stay other" in said
    freeze("a", purpose="holdout")
    with pytest.raises(StaleEditError):
        freeze("a", metadata={"owner": "me"}, based_on=1)


def test_a_version_is_announced_to_the_record(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"))
    heard: list[dict[str, Any]] = []

    def hear(**told: Any) -> None:
        heard.append(told)

    governance.connect(hear)
    try:
        version = freeze("a")
    finally:
        governance.disconnect(hear)
    (told,) = heard
    assert (told["action"], told["subject"]) == ("dataset_version_created", "dataset suite")
    assert told["after"] == {"version": 1, "digest": version.digest}


def test_a_dataset_is_found_by_name_and_version(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"))
    first, second = freeze("a"), freeze("a", purpose="holdout")
    assert resolve("suite") == resolve("suite@2") == second
    assert resolve("suite@1") == first


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("nightly", "unknown dataset 'nightly' (datasets: suite)"),
        ("nightly@1", "unknown dataset 'nightly@1' (datasets: suite)"),
        ("suite@2", "dataset 'suite' has no version '2' (versions: 1)"),
        ("suite@", "dataset 'suite' has no version '' (versions: 1)"),
        ("suite@one", "dataset 'suite' has no version 'one' (versions: 1)"),
        ("suite@1@1", "dataset 'suite' has no version '1@1' (versions: 1)"),
        ("", "unknown dataset '' (datasets: suite)"),
    ],
)
def test_one_that_is_not_there_is_told_with_what_is(given: Any, freeze: Any, ref: str, said: str) -> None:
    given(documents.scenario("a"))
    freeze("a")
    with pytest.raises(UnknownDatasetError) as unknown:
        resolve(ref)
    assert unknown.value.detail == said


def test_one_more_case_slipped_into_a_frozen_version_is_noticed(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    version = freeze("a")
    other = save_scenario(document=documents.scenario("b"))[0]
    DatasetCase.objects.create(version=version, position=1, case_id="C-2", scenario_version=other)
    with pytest.raises(DatasetTamperedError, match="suite@1"):
        verified_cases(version)


def test_a_changed_case_is_noticed(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"))
    version = freeze("a")
    with triggers_lifted(connection), connection.cursor() as cursor:
        cursor.execute("UPDATE scenarios_datasetcase SET why = 'because'")
    with pytest.raises(DatasetTamperedError):
        verified_cases(version)
