"""Repeated trials do not know of one another, and a version against itself is no regression."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evaluations.agents.registry import adapter_for
from evaluations.models import Case, ToolCall
from evaluations.services.agents import installation
from evaluations.services.comparisons import cancel_comparison
from evaluations.services.kits import Kit, build_kit
from evaluations.services.outcomes import CaseOrder, CaseOutcome, run_case
from evaluations.services.running import run_chunk
from evaluations.services.statistics import comparison_statistics
from scenarios.documents.agent import load_agent
from scenarios.models import ScenarioVersion
from tests.running import agents, documents
from twins.models import TwinVersion

READ = ("call config {}", "sleep 0.02", "call config {}", 'call lookup {"order_id": "A"}')
CHANGE = (
    'call note {"name": "note", "text": "changed"}',
    "mutate",
    'call forget {"name": "api_key"}',
    'call refund {"order_id": "A", "amount": 90}',
)


def kit_of(name: str) -> Kit:
    version = ScenarioVersion.objects.select_related("scenario").get(scenario__name=name)
    return build_kit(version, TwinVersion.objects.get())


def order(kit: Kit, trial: int, *steps: str) -> CaseOrder:
    manifest = load_agent(documents.agent("3.0.0", *steps))
    return CaseOrder(kit, manifest, adapter_for(manifest, installation()), 7 + trial, trial, 1, trial)


def run(one: CaseOrder) -> CaseOutcome:
    found = run_case(one, lambda: True)
    assert found is not None
    return found


def test_eight_trials_side_by_side_do_not_share_state(given: Any) -> None:
    # TRAPS 13: every second one changes nested values of the state that the others read.
    given(documents.scenario("refund"))
    kit = kit_of("refund")
    orders = [order(kit, trial, *(CHANGE if trial % 2 else READ)) for trial in range(1, 9)]
    alone = run(order(kit, 2, *READ))
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(run, orders))
    assert [record.response for record in alone.records] != []
    for one, outcome in zip(orders, found, strict=True):
        if one.trial % 2:
            assert outcome.final_state_digest != alone.final_state_digest
        else:
            assert outcome.records == alone.records
            assert outcome.final_state_digest == alone.final_state_digest
    assert {outcome.initial_state_digest for outcome in found} == {alone.initial_state_digest}


def test_a_faulted_trial_leaves_nothing_to_the_clean_one_after_it(given: Any) -> None:
    fault = {
        "target": "refund",
        "when": {"callNumber": 1},
        "behavior": {"type": "timeout_after_mutation"},
    }
    given(documents.scenario("faulted", faults=[fault]), documents.scenario("clean"))
    clean = run(order(kit_of("clean"), 1, *documents.GOOD))
    faulted = run(order(kit_of("faulted"), 1, *documents.GOOD))
    again = run(order(kit_of("clean"), 1, *documents.GOOD))
    assert [record.fault for record in faulted.records] == [None, "timeout_after_mutation"]
    assert again.records == clean.records
    assert {record.fault for record in again.records} == {None}


def test_a_fault_with_probability_0_acts_in_no_trial(given: Any, compared: Any) -> None:
    fault = {"target": "*", "when": {"probability": 0}, "behavior": {"type": "http_500"}}
    given(documents.scenario("refund", faults=[fault]))
    compared(trials=20, candidate="1.0.0")
    assert ToolCall.objects.count() == 2 * 20 * len(documents.GOOD)
    assert not ToolCall.objects.exclude(fault=None).exists()


def test_every_trial_asks_the_agent_anew(given: Any, compared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # TRAPS 14: five trials are five runs, nothing is answered from memory.
    asked: list[int] = []
    original = agents.StepAgent.run

    def counted(self: Any, request: Any, tools: Any) -> Any:
        asked.append(request.run_context.trial)
        return original(self, request, tools)

    monkeypatch.setattr(agents.StepAgent, "run", counted)
    given()
    comparison = compared(trials=5)
    assert sorted(asked) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert comparison.pairs.count() == 5


def test_a_version_against_itself_with_a_coin_is_no_significant_regression(given: Any, compared: Any) -> None:
    """Ten rounds of ten trials: the classes report every failure, the statistics call none of it a change."""
    agents.COIN.seed(2026)
    given(baseline=('coin refund {"order_id": "A", "amount": 10}',))
    worse = 0
    for _ in range(10):
        comparison = compared(candidate="1.0.0", trials=10)
        found = comparison_statistics(comparison.pk)
        assert found.tasks[0].trials("CANDIDATE").n == 10
        assert found.mcnemar is not None
        assert not found.mcnemar.significant
        assert "could be noise" in found.mcnemar.words
        assert not any(check.test is not None and check.test.significant for check in found.checks)
        worse += found.paired.only_baseline
    # The coin did fall differently on the two sides.
    assert worse > 5


def test_a_comparison_is_cancelled_in_the_middle_of_its_trials(given: Any, start: Any) -> None:
    given(documents.scenario("refund", trials=4))
    comparison = start()
    run_chunk(comparison.pk, limit=3)
    cancel_comparison(comparison)
    states = list(Case.objects.order_by("pair__trial", "run__side").values_list("state", flat=True))
    assert states == ["FINISHED"] * 3 + ["CANCELLED"] * 5
    task = comparison_statistics(comparison.pk).tasks[0]
    # What never ran is no pass and stays in the denominator.
    assert (task.trials("BASELINE").n, task.trials("BASELINE").c, task.trials("BASELINE").errored) == (
        4,
        2,
        2,
    )
    assert (task.trials("CANDIDATE").c, task.trials("CANDIDATE").errored) == (0, 3)
