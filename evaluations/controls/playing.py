"""A control agent in one case: its calls made on a fresh twin, one after the other, whatever they answer."""

from __future__ import annotations

from dataclasses import dataclass

from evaluations.controls.agents import Control, Situation
from twins.engine.case import CaseSpec, CaseState, begin, call_tool
from twins.engine.records import Record


@dataclass(frozen=True, slots=True)
class Played:
    """Where the case ended and what the twin recorded."""

    state: CaseState
    records: tuple[Record, ...]


def play(control: Control, spec: CaseSpec, situation: Situation) -> Played:
    """Make the control's calls. Only an exception of the twin's own code comes out."""
    state = begin(spec)
    records: list[Record] = []
    for call in control.calls(situation):
        step = call_tool(spec, state, call.tool, call.arguments)
        state = step.state
        records.extend(step.records)
    return Played(state, tuple(records))
