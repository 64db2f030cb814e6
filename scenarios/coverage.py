"""Which faults the scenarios of a twin exercise, tool by tool, and what is missing. Pure.

A fault counts for a tool where a rule could fire on a call of it. Left out are rules that never fire, rules
behind an earlier one that always wins, tools a scenario does not allow, and tools an agent may not call:
faults act only on calls that got past the gates (FORMATS 2.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from twins.engine.faults import FAULTS, FaultRule

# What a write that cannot be taken back must have been tried with, and what is missing without it: words that
# complete "no scenario …".
REQUIRED: Final[Mapping[str, str]] = {
    "timeout_after_mutation": "lets it time out after the effect",
    "success_without_mutation": "lets it report a success without an effect",
}
_IRREVERSIBLE: Final = "WRITE_IRREVERSIBLE"
_UNREACHABLE: Final = "ADMIN"


@dataclass(frozen=True, slots=True)
class FaultyScenario:
    """What coverage needs of a scenario. `conditions` says of each rule when it fires."""

    name: str
    severity: str
    allowed_tools: frozenset[str] | None
    rules: tuple[FaultRule, ...]
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exercise:
    """One rule that can act on the tool. `for_every_tool`: it is aimed at "*"."""

    scenario: str
    severity: str
    condition: str
    for_every_tool: bool
    by_chance: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A tool and a fault. `is_gap`: nothing exercises it although it must be exercised."""

    fault: str
    exercises: tuple[Exercise, ...]
    is_gap: bool

    @property
    def scenario_count(self) -> int:
        return len({exercise.scenario for exercise in self.exercises})

    @property
    def gap_words(self) -> str:
        """Completes "no scenario …"; empty where there is no gap."""
        return REQUIRED[self.fault] if self.is_gap else ""


@dataclass(frozen=True, slots=True)
class ToolCoverage:
    """One tool with a cell for each fault, in the order of the engine's table."""

    tool: str
    risk: str
    cells: tuple[Cell, ...]

    @property
    def gaps(self) -> tuple[str, ...]:
        """The faults that must be exercised and are not."""
        return tuple(cell.fault for cell in self.cells if cell.is_gap)

    @property
    def exercised(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells if cell.exercises)

    @property
    def is_reachable(self) -> bool:
        """Whether a fault can meet an agent's call of the tool at all."""
        return self.risk != _UNREACHABLE


def fault_coverage(tools: Mapping[str, str], scenarios: Iterable[FaultyScenario]) -> tuple[ToolCoverage, ...]:
    """The coverage of each tool (name to risk), in the order of `tools`."""
    found: dict[tuple[str, str], list[Exercise]] = {}
    for scenario in scenarios:
        for tool, risk in tools.items():
            if risk == _UNREACHABLE or not _allows(scenario, tool):
                continue
            for rule in firing_rules(scenario.rules, tool):
                found.setdefault((tool, rule.type), []).append(_exercise(scenario, rule))
    return tuple(
        ToolCoverage(tool, risk, tuple(_cell(fault, risk, found.get((tool, fault), ())) for fault in FAULTS))
        for tool, risk in tools.items()
    )


def firing_rules(rules: Sequence[FaultRule], tool: str) -> list[FaultRule]:
    """The rules that can be the one that acts on some call of the tool."""
    firing: list[FaultRule] = []
    for rule in rules:
        if rule.target in (tool, "*") and _can_fire(rule, firing):
            firing.append(rule)
    return firing


def _allows(scenario: FaultyScenario, tool: str) -> bool:
    return scenario.allowed_tools is None or tool in scenario.allowed_tools


def _cell(fault: str, risk: str, exercises: Sequence[Exercise]) -> Cell:
    is_gap = not exercises and risk == _IRREVERSIBLE and fault in REQUIRED
    return Cell(fault, tuple(exercises), is_gap)


def _exercise(scenario: FaultyScenario, rule: FaultRule) -> Exercise:
    return Exercise(
        scenario=scenario.name,
        severity=scenario.severity,
        condition=scenario.conditions[rule.index],
        for_every_tool=rule.target == "*",
        by_chance=rule.probability is not None and rule.probability < 1,
    )


def _can_fire(rule: FaultRule, earlier: Sequence[FaultRule]) -> bool:
    """Whether some call number is left to the rule by the earlier ones that leave nothing to chance."""
    if rule.never or rule.probability == 0:
        return False
    certain = [one for one in earlier if one.args_match is None and (one.probability or 1) >= 1]
    if any(one.call_numbers is None and one.first_n is None for one in certain):
        return False
    if rule.call_numbers is not None:
        return any(_meets(rule, number) and not _taken(certain, number) for number in rule.call_numbers)
    # Calls from here on are taken one by one only, by lists of call numbers.
    start = 1 + max((one.first_n or 0 for one in certain if one.call_numbers is None), default=0)
    listed = sum(len(one.call_numbers) for one in certain if one.call_numbers is not None)
    stop = start + listed + 1 if rule.first_n is None else rule.first_n + 1
    return any(not _taken(certain, number) for number in islice(range(start, stop), listed + 1))


def _meets(rule: FaultRule, number: int) -> bool:
    return rule.first_n is None or number <= rule.first_n


def _taken(certain: Sequence[FaultRule], number: int) -> bool:
    return any(
        (one.call_numbers is None or number in one.call_numbers) and _meets(one, number) for one in certain
    )


def gap_sentences(coverage: Iterable[ToolCoverage]) -> list[str]:
    """One sentence for each tool that misses something it must have been tried with."""
    return [
        f"{one.tool}: no scenario {', and none '.join(REQUIRED[fault] for fault in one.gaps)}."
        for one in coverage
        if one.gaps
    ]
