"""Which faults count as exercised. No database."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from scenarios.coverage import FaultyScenario, ToolCoverage, fault_coverage, firing_rules, gap_sentences
from scenarios.fault_words import condition_words
from twins.engine.definition import RISKS
from twins.engine.faults import FAULTS, compile_fault_rules

TOOLS = {"look": "READ", "pay": "WRITE_IRREVERSIBLE", "drop": "ADMIN"}


def rule(fault: str = "http_500", target: str = "pay", **when: Any) -> dict[str, Any]:
    return {"target": target, "when": when, "behavior": {"type": fault}}


def scenario(*rules: dict[str, Any], name: str = "s", allowed: set[str] | None = None) -> FaultyScenario:
    return FaultyScenario(
        name=name,
        severity="high",
        allowed_tools=None if allowed is None else frozenset(allowed),
        rules=compile_fault_rules(rules),
        conditions=tuple(condition_words(one) for one in rules),
    )


def covered(*scenarios: FaultyScenario) -> dict[str, ToolCoverage]:
    return {one.tool: one for one in fault_coverage(TOOLS, scenarios)}


def exercised(coverage: ToolCoverage) -> dict[str, list[str]]:
    return {cell.fault: [one.scenario for one in cell.exercises] for cell in coverage.exercised}


def test_there_is_a_cell_for_every_fault_in_the_order_of_the_engine() -> None:
    assert [cell.fault for cell in covered()["pay"].cells] == list(FAULTS)


def test_a_rule_counts_for_its_tool_and_a_star_for_each_that_an_agent_may_call() -> None:
    found = covered(scenario(rule(target="pay"), rule("delay", "*")))

    assert exercised(found["pay"]) == {"http_500": ["s"]}  # the first rule takes every call of it
    assert exercised(found["look"]) == {"delay": ["s"]}
    assert exercised(found["drop"]) == {}
    assert found["look"].exercised[0].exercises[0].for_every_tool


def test_a_tool_that_the_scenario_does_not_allow_is_not_exercised() -> None:
    found = covered(scenario(rule(target="*"), allowed={"look"}))

    assert exercised(found["pay"]) == {}
    assert exercised(found["look"]) == {"http_500": ["s"]}


def test_an_irreversible_write_that_met_nothing_has_both_gaps_and_no_other_tool_has_any() -> None:
    found = covered()

    assert found["pay"].gaps == ("timeout_after_mutation", "success_without_mutation")
    assert {tool: one.gaps for tool, one in found.items() if tool != "pay"} == {"look": (), "drop": ()}


@pytest.mark.parametrize("risk", RISKS)
def test_only_irreversible_writes_have_gaps(risk: str) -> None:
    assert bool(fault_coverage({"t": risk}, [])[0].gaps) is (risk == "WRITE_IRREVERSIBLE")


def test_a_gap_is_closed_by_a_rule_and_stays_open_for_the_other_fault() -> None:
    found = covered(scenario(rule("timeout_after_mutation", callNumber=1)))

    assert found["pay"].gaps == ("success_without_mutation",)


def test_gaps_are_told_by_tool() -> None:
    assert gap_sentences(fault_coverage(TOOLS, [])) == [
        "pay: no scenario lets it time out after the effect, "
        "and none lets it report a success without an effect."
    ]
    closed = scenario(rule("timeout_after_mutation"))
    assert gap_sentences(fault_coverage(TOOLS, [closed])) == [
        "pay: no scenario lets it report a success without an effect."
    ]


def test_conditions_and_chance_are_noted() -> None:
    found = covered(scenario(rule(callNumber=2), rule("delay", probability=0.25), rule("delay", firstN=9)))

    [cell] = [cell for cell in found["pay"].cells if cell.fault == "delay"]
    assert [(one.condition, one.by_chance) for one in cell.exercises] == [
        ("with a chance of 25 %", True),
        ("the first 9 calls", False),
    ]
    assert cell.scenario_count == 1


@pytest.mark.parametrize(
    ("earlier", "late", "fires"),
    [
        ({}, {"callNumber": 5}, False),
        ({"argsMatch": {"a": 1}}, {"callNumber": 5}, True),
        ({"probability": 0.5}, {}, True),
        ({"probability": 1}, {}, False),
        ({"everyCall": True}, {}, False),
        ({"callNumber": 1}, {}, True),
        ({"callNumber": 1}, {"callNumber": 1}, False),
        ({"callNumber": 1}, {"callNumber": 2}, True),
        ({"callNumbers": [1, 2, 3]}, {"firstN": 3}, False),
        ({"callNumbers": [1, 3]}, {"firstN": 3}, True),
        ({"firstN": 3}, {"callNumbers": [1, 2]}, False),
        ({"firstN": 3}, {"callNumbers": [2, 4]}, True),
        ({"firstN": 3}, {"firstN": 2}, False),
        ({"firstN": 2}, {"firstN": 10**9}, True),
        ({"firstN": 10**9}, {"callNumber": 7}, False),
        ({"callNumbers": []}, {}, True),
    ],
)
def test_a_rule_behind_one_that_takes_its_calls_never_fires(
    earlier: dict[str, Any], late: dict[str, Any], fires: bool
) -> None:
    rules = compile_fault_rules([rule("delay", **earlier), rule(**late)])

    assert ("http_500" in [one.type for one in firing_rules(rules, "pay")]) is fires


def test_two_earlier_rules_together_can_take_every_call() -> None:
    rules = compile_fault_rules([rule("delay", firstN=2), rule("delay", callNumbers=[3, 4]), rule(firstN=4)])

    assert [one.type for one in firing_rules(rules, "pay")] == ["delay", "delay"]


@pytest.mark.parametrize(
    "when",
    [
        {"everyCall": False},
        {"firstN": 0},
        {"probability": 0},
        {"callNumbers": []},
        {"callNumber": 3, "firstN": 2},
        {"callNumber": 3, "callNumbers": [1, 2]},
    ],
)
def test_a_rule_that_never_fires_exercises_nothing(when: dict[str, Any]) -> None:
    assert exercised(covered(scenario(rule(**when)))["pay"]) == {}


def test_a_rule_aimed_at_another_tool_takes_no_calls() -> None:
    rules = compile_fault_rules([rule("delay", "look"), rule()])

    assert [one.type for one in firing_rules(rules, "pay")] == ["http_500"]


def test_words_and_coverage_need_no_django() -> None:
    names = "scenarios.coverage, scenarios.fault_words, scenarios.expectation_words, twins.describing"
    code = f"import sys, {names}; sys.exit('django' in sys.modules or 'evaluations' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
