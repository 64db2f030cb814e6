"""Starting a pinned pair, and cancelling it."""

from __future__ import annotations

from typing import Any

import pytest

from evaluations.errors import AlreadyEndedError, ConflictError, NotRunnableError, RequestError
from evaluations.models import Case, Comparison, PairedCase, Run, StateSnapshot
from evaluations.services import claims
from evaluations.services.agents import save_agent
from evaluations.services.comparisons import cancel_comparison, start_comparison
from evaluations.services.running import run_chunk
from evaluations.services.waiting import run_here
from scenarios.documents.cases import case_seed
from scenarios.services import save_scenario, scenario_of
from tests.running import documents
from twins.services import save_twin

REQUEST = {"agent": documents.AGENT, "baseline": "1.0.0", "candidate": "2.0.0", "wake": False}


def nothing_was_written() -> bool:
    return not any(model.objects.exists() for model in (Comparison, Run, PairedCase, Case, StateSnapshot))


def test_both_runs_get_the_same_pinned_cases(given: Any, start: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b", trials=2))
    comparison = start(seed=7)
    pairs = list(comparison.pairs.order_by("position").select_related("scenario_version"))
    assert [(pair.scenario_name, pair.trial) for pair in pairs] == [("a", 1), ("b", 1), ("b", 2)]
    for pair in pairs:
        assert pair.seed == case_seed(scenario_of(pair.scenario_version), 7, pair.trial)
        assert sorted(case.run.side for case in pair.cases.select_related("run")) == ["BASELINE", "CANDIDATE"]
    assert comparison.runs.count() == 2
    # One twin, no patches: every case starts from the one stored state.
    assert StateSnapshot.objects.count() == 1


def test_trials_of_the_request_win_over_those_of_the_scenario(given: Any, start: Any) -> None:
    given(documents.scenario("a", trials=5))
    assert start(trials=2).pairs.count() == 2


def test_later_versions_do_not_reach_a_started_pair(given: Any, start: Any) -> None:
    given(documents.scenario("a"))
    comparison = start()
    before = comparison.pairs.get()
    save_twin(document=documents.twin(retrieval={"statePath": "elsewhere"}))
    save_scenario(document=documents.scenario("a", severity="low"))
    run_here(comparison.pk)
    case = Case.objects.filter(pair=before).first()
    assert case is not None
    assert (case.used_scenario_version_id, case.used_twin_version_id) == (
        before.scenario_version_id,
        before.twin_version_id,
    )


def test_a_version_may_be_paired_with_itself(given: Any, compared: Any) -> None:
    given()
    comparison = compared(candidate="1.0.0")
    assert comparison.state == "COMPLETED"
    assert set(comparison.pairs.values_list("classification", flat=True)) == {"UNCHANGED"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"agent": "nobody"}, ["unknown agent 'nobody' (agents: step-agent)"]),
        (
            {"baseline": "9.9.9"},
            ["baseline: agent step-agent has no version '9.9.9' (versions: 1.0.0, 2.0.0)"],
        ),
        ({"candidate": "9.9.9"}, ["candidate: agent step-agent has no version '9.9.9'"]),
        ({"scenarios": ["nope"]}, ["unknown scenario 'nope' (scenarios: refund)"]),
        ({"tags": ["nope"]}, ["tag 'nope' matches no scenario of agent 'step-agent' (tags: money)"]),
        ({"dataset": "nightly@1"}, ["unknown dataset 'nightly@1' (datasets: none)"]),
        ({"scenarios": ["foreign"]}, ["scenario 'foreign' is for agent 'other-agent'"]),
        (
            {"agent": "a\ud800", "candidate": "2\x00", "tags": ["\udc00"]},
            ["agent: no name has such", "candidate: no name", "tag: no name"],
        ),
        ({"trials": 0}, ["trials: must be a whole number from 1"]),
        ({"trials": 100_000}, ["trials: must be a whole number from 1"]),
        ({"seed": 2**70}, ["seed: must be a whole number"]),
        (
            {"baseline": "8", "candidate": "9", "scenarios": ["x", "y"], "tags": ["z"]},
            ["baseline: ", "candidate: ", "scenario 'x'", "scenario 'y'", "tag 'z'"],
        ),
        ({"scenarios": ["x"], "tags": ["z"], "dataset": "d"}, ["dataset 'd'", "scenario 'x'", "tag 'z'"]),
    ],
)
def test_a_request_is_refused_with_every_problem(given: Any, change: dict[str, Any], said: list[str]) -> None:
    given(documents.scenario("refund", tags=("money",)), documents.scenario("foreign", agent="other-agent"))
    with pytest.raises(RequestError) as refused:
        start_comparison(**{**REQUEST, **change})
    assert len(refused.value.problems) == len(said)
    for problem, expected in zip(refused.value.problems, said, strict=True):
        assert expected in problem
    assert nothing_was_written()


def test_a_selection_without_scenarios_is_refused(given: Any) -> None:
    given(documents.scenario("foreign", agent="other-agent"))
    with pytest.raises(RequestError, match="nothing to compare"):
        start_comparison(**REQUEST)
    assert nothing_was_written()


def test_names_and_tags_select_their_union(given: Any, start: Any) -> None:
    given(
        documents.scenario("a"),
        documents.scenario("b", tags=("x",)),
        documents.scenario("c", tags=("x", "y")),
        documents.scenario("d"),
    )
    chosen = start(scenarios=["a", "a"], tags=["x"]).pairs.order_by("position")
    assert list(chosen.values_list("scenario_name", flat=True)) == ["a", "b", "c"]


def test_a_scenario_whose_tool_is_gone_is_refused(given: Any) -> None:
    given(documents.scenario("a", expectations=[{"type": "toolCalled", "tool": "forget"}]))
    document = documents.twin()
    del document["spec"]["tools"]["forget"]
    save_twin(document=document)
    with pytest.raises(RequestError, match=r"scenario 'a' no longer fits its twin: .*forget"):
        start_comparison(**REQUEST)
    assert nothing_was_written()


def test_a_scenario_without_a_twin_is_refused(given: Any) -> None:
    document = documents.scenario("a")
    del document["spec"]["twin"]
    given(document)
    with pytest.raises(RequestError, match="names no twin"):
        start_comparison(**REQUEST)


@pytest.mark.parametrize("name", ["stranger", "absent-agent"])
def test_an_agent_that_cannot_be_run_here_is_said_before_anything_is_written(given: Any, name: str) -> None:
    given(documents.scenario("a", agent=name))
    save_agent(document=documents.agent("1.0.0", name=name))
    with pytest.raises(NotRunnableError, match="cannot be run here"):
        start_comparison(**{**REQUEST, "agent": name, "candidate": "1.0.0"})
    assert nothing_was_written()


def test_the_same_request_under_a_key_is_the_same_pair(given: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    first, created = start_comparison(**REQUEST, scenarios=["a", "b"], key="k1")
    again, created_again = start_comparison(**REQUEST, scenarios=["b", "a"], key="k1")
    assert (created, created_again) == (True, False)
    assert first == again
    assert Comparison.objects.count() == 1
    assert Case.objects.count() == 4


def test_another_request_under_a_key_is_a_conflict(given: Any) -> None:
    given()
    start_comparison(**REQUEST, key="k1")
    with pytest.raises(ConflictError, match="k1"):
        start_comparison(**REQUEST, seed=1, key="k1")
    assert Comparison.objects.count() == 1


@pytest.mark.parametrize("key", ["", "  ", "x" * 201, "a\nb"])
def test_an_unusable_key_is_refused(given: Any, key: str) -> None:
    given()
    with pytest.raises(RequestError, match="key"):
        start_comparison(**REQUEST, key=key)
    assert nothing_was_written()


def test_workers_are_woken_on_commit_only(
    given: Any, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    given()
    sent: list[Any] = []
    monkeypatch.setattr("evaluations.tasks.run_chunk.apply_async", lambda *args, **kwargs: sent.append(args))
    with django_capture_on_commit_callbacks() as callbacks:
        start_comparison(**{**REQUEST, "wake": True})
    assert sent == []
    for callback in callbacks:
        callback()
    assert len(sent) == 1


def test_a_broker_that_is_away_does_not_fail_the_request(
    given: Any, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    given()

    def away(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError("broker")

    monkeypatch.setattr("evaluations.tasks.run_chunk.apply_async", away)
    with django_capture_on_commit_callbacks(execute=True):
        _, created = start_comparison(**{**REQUEST, "wake": True})
    assert created


def test_cancelling_ends_what_waits_and_what_runs(given: Any, start: Any) -> None:
    given(documents.scenario("a"), documents.scenario("b"))
    comparison = start()
    run_chunk(comparison.pk, limit=1)
    claims.claim_cases(comparison.pk, token="t", limit=1)
    cancel_comparison(comparison)
    comparison.refresh_from_db()
    assert comparison.state == "CANCELLED"
    states = list(Case.objects.order_by("pk").values_list("state", flat=True))
    assert states == ["FINISHED", "CANCELLED", "CANCELLED", "CANCELLED"]
    assert set(comparison.runs.values_list("state", flat=True)) == {"CANCELLED"}
    assert run_chunk(comparison.pk).claimed == 0
    comparison.refresh_from_db()
    assert comparison.state == "CANCELLED"


def test_cancelling_twice_or_late_is_refused(given: Any, compared: Any) -> None:
    given()
    comparison = compared()
    with pytest.raises(AlreadyEndedError, match="COMPLETED"):
        cancel_comparison(comparison)
    comparison.refresh_from_db()
    assert comparison.state == "COMPLETED"
