"""Comparing on a dataset: exactly its cases, counted, and never a green nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evaluations.errors import RequestError
from evaluations.models import Comparison, DatasetUse
from evaluations.services.comparisons import start_comparison
from scenarios.models import DatasetCase
from scenarios.services import save_scenario
from tests.running import documents
from twins.services import save_twin

pytestmark = pytest.mark.django_db
REQUEST = {"agent": documents.AGENT, "baseline": "1.0.0", "candidate": "2.0.0", "wake": False}


def refused(**options: Any) -> list[str]:
    with pytest.raises(RequestError) as problem:
        start_comparison(**{**REQUEST, **options})
    assert not Comparison.objects.exists()
    return list(problem.value.problems)


def test_the_pairs_are_exactly_the_frozen_cases(given: Any, start: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"), documents.scenario("left-out"))
    version = freeze("b", "a")
    save_scenario(document=documents.scenario("a", severity="low"))
    freeze("b", "a")
    comparison = start(dataset="suite@1", trials=2)
    assert comparison.dataset_version == version
    pinned = comparison.pairs.order_by("position").values_list(
        "scenario_name", "scenario_version__number", "trial"
    )
    assert list(pinned) == [("b", 1, 1), ("b", 1, 2), ("a", 1, 1), ("a", 1, 2)]


def test_without_a_number_the_current_version_is_taken_and_kept(given: Any, start: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    freeze("a")
    second = freeze("a", "b")
    first = start(dataset="suite", key="nightly")
    freeze("a")
    assert start(dataset="suite", key="nightly") == first
    assert first.dataset_version == second


def test_each_selection_is_counted_for_the_candidate(given: Any, start: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("open"))
    version = freeze("a", purpose="holdout")
    comparison = start(dataset="suite")
    start(dataset="suite", key="k")
    start(dataset="suite", key="k")
    start()
    uses = DatasetUse.objects.order_by("pk")
    assert [(use.dataset_version, use.agent_version.version) for use in uses] == [(version, "2.0.0")] * 2
    assert comparison.dataset_use == uses[0]


def test_a_dataset_that_does_not_exist_is_told_with_those_that_do(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"))
    freeze("a")
    assert refused(dataset="sweet") == ["unknown dataset 'sweet' (datasets: suite)"]
    assert refused(dataset="suite@9") == ["dataset 'suite' has no version '9' (versions: 1)"]
    assert refused(dataset="") == ["unknown dataset '' (datasets: suite)"]


def test_a_dataset_of_another_agent_is_refused(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("foreign", agent="other-agent"))
    freeze("a", name="own")
    freeze("foreign", name="theirs")
    assert refused(dataset="theirs") == [
        "dataset 'theirs@1' is for agent 'other-agent', not for 'step-agent' (datasets: own)"
    ]


def test_a_dataset_is_not_mixed_with_names_and_tags(given: Any, freeze: Any) -> None:
    given(documents.scenario("a", tags=("x",)), documents.scenario("b"))
    freeze("a")
    said = "dataset 'suite@1' is compared as it was frozen: it cannot be combined with scenarios or tags"
    assert refused(dataset="suite", scenarios=["b"]) == [said]
    assert refused(dataset="suite", tags=["x"]) == [said]


def test_a_case_that_no_longer_fits_its_twin_refuses_the_whole_dataset(given: Any, freeze: Any) -> None:
    given(
        documents.scenario("a", expectations=[{"type": "toolCalled", "tool": "forget"}]),
        documents.scenario("b"),
    )
    freeze("a", "b")
    twin = documents.twin()
    del twin["spec"]["tools"]["forget"]
    save_twin(document=twin)
    (said,) = refused(dataset="suite")
    assert said.startswith("scenario 'a' no longer fits its twin")


def test_a_dataset_that_was_tampered_with_measures_nothing(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    version = freeze("a")
    other = save_scenario(document=documents.scenario("b"))[0]
    DatasetCase.objects.create(version=version, position=1, case_id="C-2", scenario_version=other)
    (said,) = refused(dataset="suite")
    assert "is not what it was frozen with" in said


def test_the_command_compares_a_dataset(given: Any, freeze: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"), candidate=documents.GOOD)
    freeze("b")
    out = io.StringIO()
    call_command(
        "compare", documents.AGENT, baseline="1.0.0", candidate="2.0.0", dataset="suite@1", stdout=out
    )
    assert "1 unchanged" in out.getvalue()
    with pytest.raises(CommandError, match=r"unknown dataset 'sweet' \(datasets: suite\)") as wrong:
        call_command("compare", documents.AGENT, baseline="1.0.0", candidate="2.0.0", dataset="sweet")
    assert wrong.value.returncode == 2
