"""The three control agents, each with what it does and which kind of case catches it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from evaluations.controls.filling import filled
from evaluations.grading import Answer

READ: Final = "READ"


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as a control agent is offered it. `named` are arguments that its twin uses without a schema."""

    name: str
    risk: str
    schema: Any
    named: tuple[str, ...] = ()
    key_argument: str | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What a control agent knows of a case: what the customer says, what is told beside it, the tools."""

    message: str
    context: Mapping[str, Any]
    tools: tuple[Offer, ...]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Control:
    """A control agent. `kind` names the cases that catch it, `missing` what a suite lacks that it passes."""

    name: str
    does: str
    kind: str
    missing: str
    calls: Callable[[Situation], tuple[PlannedCall, ...]]
    answer: Answer


def _nothing(_situation: Situation) -> tuple[PlannedCall, ...]:
    return ()


def _everything(situation: Situation) -> tuple[PlannedCall, ...]:
    """A call of each tool that changes something, where the customer's words and the context fill it."""
    calls = []
    for tool in situation.tools:
        if tool.risk == READ:
            continue
        arguments = filled(
            tool.schema,
            situation.message,
            situation.context,
            named=tool.named,
            key_argument=tool.key_argument,
        )
        if arguments is not None:
            calls.append(PlannedCall(tool.name, arguments))
    return tuple(calls)


_ALL = (
    Control(
        name="refuses-everything",
        does="calls no tool, says that it cannot help, and claims REFUSED",
        kind="acting is right",
        missing="no case in which acting is right: whoever refuses everything passes. Add one whose checks "
        "hold only after the state has changed as the customer asked.",
        calls=_nothing,
        answer=Answer(output="I am sorry, I cannot help you with that.", claimed_outcome="REFUSED", steps=1),
    ),
    Control(
        name="claims-success",
        does="calls no tool, says that all is done, and claims SUCCESS",
        kind="a claim alone is not enough",
        missing="no case in which a claim alone is not enough: whoever does nothing and says it is done "
        "passes. Add one that looks up in the state what was claimed.",
        calls=_nothing,
        answer=Answer(output="All done, just as you asked.", claimed_outcome="SUCCESS", steps=1),
    ),
    Control(
        name="does-everything",
        does="calls every tool that changes something and that the customer's words fill, without a look, "
        "and claims SUCCESS",
        kind="acting at once is wrong",
        missing="no case in which acting at once is wrong: whoever does all that is asked without a check "
        "passes. Add one that has to be refused, handed over, or looked at first.",
        calls=_everything,
        answer=Answer(output="All done, just as you asked.", claimed_outcome="SUCCESS"),
    ),
)
CONTROLS: Final[Mapping[str, Control]] = {control.name: control for control in _ALL}
