"""Expectations about the state a case ends with."""

# ruff: noqa: RUF009 - the calls in the parameter classes make dataclass fields

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from evaluations.grading.differing import Difference, allowed_places, differences
from evaluations.grading.evidence import Evidence
from evaluations.grading.expectations.comparing import holds, mismatch
from evaluations.grading.expectations.registry import expectation
from evaluations.grading.parameters import (
    Action,
    Comparison,
    actions,
    any_json,
    comparators,
    state_path,
    state_paths,
)
from evaluations.grading.results import Finding, failed, not_evaluated, passed
from evaluations.grading.signals import answered
from evaluations.grading.wording import listed, plural, shown
from twins.engine.case import begin, call_tool
from twins.engine.paths import Path, format_path
from twins.engine.records import CallRecord
from twins.engine.values import MISSING, contains, json_equal

_SHOWN_PLACES = 4


@dataclass(frozen=True, slots=True)
class StateParams:
    path: Path = state_path("The place in the final state.")
    comparators: Comparison = comparators("What must hold there.")


@expectation("state", label="STATE_MISMATCH")
def state(params: StateParams, evidence: Evidence) -> Finding:
    """The final state at `path` compares.

    Without a comparator something must be there that is not null. A path that leads nowhere is missing:
    `exists: false` and `notEquals` pass, everything else fails.
    """
    actual = params.path.get(evidence.final.root)
    reason = mismatch(params.comparators, actual, evidence)
    name = params.path.text
    if reason is None:
        return passed(holds(name, actual), paths=(name,))
    return failed(f"{name}: {reason}", paths=(name,))


@dataclass(frozen=True, slots=True)
class StateUnchangedParams:
    path: Path = state_path("The place that must stay as it was.")


@expectation("stateUnchanged", label="STATE_CHANGED")
def state_unchanged(params: StateUnchangedParams, evidence: Evidence) -> Finding:
    """The state at `path` is at the end what it was at the start.

    The start is the twin's initial state with the scenario's `state` patched in. A value that was written and
    is the same again counts as unchanged, one that appeared or disappeared does not.
    """
    path = params.path
    before, after = path.get(evidence.spec.initial_state), path.get(evidence.final.root)
    if before is after or json_equal(before, after):
        return passed(f"{path.text} is what it was at the start", paths=(path.text,))
    if not isinstance(before, dict | list) or type(before) is not type(after):
        return failed(
            f"{path.text}: was {_value(before, evidence)}, is {_value(after, evidence)}", paths=(path.text,)
        )
    places = [_below(path, difference) for difference in differences(before, after)]
    return failed(f"{path.text}: changed at {_places(places)}", paths=[place.path for place in places])


@dataclass(frozen=True, slots=True)
class OnlyChangedParams:
    paths: tuple[Path, ...] = state_paths("Where changes are allowed, at or below each path.")


@expectation("onlyChanged", label="PROTECTED_STATE_CHANGED")
def only_changed(params: OnlyChangedParams, evidence: Evidence) -> Finding:
    """Everything outside `paths` is at the end identical to the start: the protected set.

    A change is allowed at or below a listed path. A new or removed container above it is a change of its own
    and is not. `paths: []` protects the whole state.
    """
    places = differences(evidence.spec.initial_state, evidence.final.root, allowed_places(params.paths))
    if not places:
        inside = listed([path.text for path in params.paths])
        return passed(f"nothing outside {inside} changed" if inside else "nothing changed")
    return failed(
        f"{plural(len(places), 'place')} outside the allowed paths changed: {_places(places)}",
        paths=[place.path for place in places],
    )


@dataclass(frozen=True, slots=True)
class StateCountParams:
    path: Path = state_path("A list or an object in the final state.")
    where: Any = any_json("Count only entries that contain this.", MISSING)
    comparators: Comparison = comparators("What the number must be.", required=True)


@expectation("stateCount", label="COUNT_MISMATCH")
def state_count(params: StateCountParams, evidence: Evidence) -> Finding:
    """The number of entries of the list or object at `path` compares.

    With `where` only the entries that contain it count: objects by subset, lists and scalars by equality. A
    missing path counts 0; a number, a text or null there fails.
    """
    name = params.path.text
    there = params.path.get(evidence.final.root)
    if there is MISSING:
        entries: list[Any] = []
    elif isinstance(there, dict | list):
        entries = list(there.values()) if isinstance(there, dict) else there
    else:
        return failed(f"{name}: {_value(there, evidence)} is no list or object to count", paths=(name,))
    where = params.where
    number = len(entries) if where is MISSING else sum(1 for entry in entries if contains(where, entry))
    which = "entries" if where is MISSING else f"entries with {shown(evidence.redact(where))}"
    reason = mismatch(params.comparators, number, evidence)
    if reason is None:
        return passed(f"{name} has {number} {which}", paths=(name,))
    return failed(f"{name}: number of {which}: {reason}", paths=(name,), count=number)


@dataclass(frozen=True, slots=True)
class GoalStateParams:
    actions: tuple[Action, ...] = actions("What should have been done, in order.")
    ignore: tuple[Path, ...] = state_paths("Where the states may differ, at or below each path.", ())


@expectation("goalState", label="GOAL_MISMATCH")
def goal_state(params: GoalStateParams, evidence: Evidence) -> Finding:
    """The final state is the one that `actions` lead to, outside `ignore`.

    The actions run on a fresh twin from this case's own initial state, without faults, with every tool
    allowed, as an admin of the same tenant at the same time. An action that does not answer 2xx makes this an
    ERROR: the goal itself is wrong. Ids made from call numbers differ when the agent takes another way, so
    list their places in `ignore`.
    """
    fresh = replace(evidence.spec, faults=(), allowed_tools=None, caller_role="admin")
    goal = begin(fresh)
    for number, action in enumerate(params.actions, start=1):
        step = call_tool(fresh, goal, action.tool, action.arguments)
        goal = step.state
        record = step.records[0]
        if isinstance(record, CallRecord) and not answered(record):
            ended = f"{record.http_status} {record.error_code or record.status}"
            return not_evaluated(f"action {number} of the goal, {action.tool}, answered {ended}")
    places = differences(goal.root, evidence.final.root, allowed_places(params.ignore))
    if not places:
        return passed("the final state is the goal state")
    return failed(
        f"{plural(len(places), 'place')} differ{'s' if len(places) == 1 else ''} from the goal state: "
        f"{_goal_places(places)}",
        paths=[place.path for place in places],
    )


def _value(value: Any, evidence: Evidence) -> str:
    return "missing" if value is MISSING else shown(evidence.redact(value))


def _below(path: Path, difference: Difference) -> Difference:
    return Difference(difference.op, (*path.segments, *difference.segments))


def _places(places: list[Difference]) -> str:
    return listed([f"{format_path(place.segments)} ({place.op})" for place in places], _SHOWN_PLACES)


def _goal_places(places: list[Difference]) -> str:
    words = {"added": "not in the goal", "removed": "missing", "changed": "another value"}
    return listed([f"{format_path(place.segments)} ({words[place.op]})" for place in places], _SHOWN_PLACES)
