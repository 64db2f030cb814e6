"""A scenario's expectations in words. Pure: from the document as it is shown, secrets redacted.

What a type asks for is told by the schema that ships with the product, which follows from the registry of a
later room (`manage.py write_schemas`). The table below says the common ones with their parameters filled in;
a type that is not in it is told by the schema alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from scenarios.documents.expectations import default_id
from scenarios.documents.scenario import SCENARIO_SCHEMA
from twins.describing import COMPARATOR_WORDS, Part, Sentence, code, compared, say, value

_PREFIX: Final = "expectation_"


@dataclass(frozen=True, slots=True)
class ExpectationType:
    """What a type of expectation asks for, its fine print, and words for its parameters."""

    name: str
    asks: Sentence
    fine_print: Sentence
    parameters: tuple[tuple[str, Sentence], ...]


@dataclass(frozen=True, slots=True)
class ExpectationWords:
    """An expectation as a scenario states it.

    `asks` has its parameters filled in. Where there is no such sentence it is the type's own, and
    `parameters` (name, value, words) says the rest.
    """

    id: str
    type: ExpectationType
    is_critical: bool
    description: str
    category: str
    asks: Sentence
    parameters: tuple[tuple[str, Any, Sentence], ...]


def expectation_words(written: Sequence[Mapping[str, Any]]) -> list[ExpectationWords]:
    """The expectations of a document in words, in their order."""
    types = expectation_types()
    return [_expectation(one, position, types[one["type"]]) for position, one in enumerate(written)]


@cache
def expectation_types() -> Mapping[str, ExpectationType]:
    """Every type of expectation by its name, as the shipped schema tells it."""
    definitions = SCENARIO_SCHEMA.schema["$defs"]
    return {
        key.removeprefix(_PREFIX): _type(key.removeprefix(_PREFIX), definition)
        for key, definition in definitions.items()
        if key.startswith(_PREFIX)
    }


def _type(name: str, definition: Mapping[str, Any]) -> ExpectationType:
    asks, _, fine_print = definition["description"].partition("\n\n")
    parameters = (
        (key, _marked(schema.get("description", "")))
        for key, schema in definition["properties"].items()
        if isinstance(schema, dict) and key not in COMPARATOR_WORDS
    )
    return ExpectationType(name, _marked(asks), _marked(fine_print), tuple(parameters))


def _marked(text: str) -> Sentence:
    """A text whose names stand in backticks."""
    pieces = " ".join(text.split()).split("`")
    return tuple(Part(piece, is_code=bool(at % 2)) for at, piece in enumerate(pieces) if piece)


def _expectation(one: Mapping[str, Any], position: int, kind: ExpectationType) -> ExpectationWords:
    filled_in = _FILLED_IN.get(kind.name)
    words = dict(kind.parameters)
    return ExpectationWords(
        id=one.get("id", default_id(position)),
        type=kind,
        is_critical=one.get("critical", False),
        description=one.get("description", ""),
        category=one.get("category", ""),
        asks=kind.asks if filled_in is None else filled_in(one),
        parameters=()
        if filled_in is not None
        else tuple((name, one[name], words[name]) for name in one if name in words),
    )


# --- the common types with their parameters filled in ---------------------------------------------


def _state(one: Mapping[str, Any]) -> Sentence:
    return say("At the end ", code(one["path"]), _compares(one), ".")


def _state_count(one: Mapping[str, Any]) -> Sentence:
    which = say(" that contain ", value(one["where"])) if "where" in one else ""
    return say("At the end the number of entries of ", code(one["path"]), which, compared(one), ".")


def _only_changed(one: Mapping[str, Any]) -> Sentence:
    if not one["paths"]:
        return say("Nothing in the state is changed.")
    return say("Nothing is changed outside ", _listed(one["paths"]), ".")


def _outcome_verified(one: Mapping[str, Any]) -> Sentence:
    if "path" in one:
        backed = say(code(one["path"]), _compares(one))
        return say("If the agent claims success, then ", backed, " at the end.")
    return say(
        "If the agent claims success, no tool that should have changed something said it did and had not."
    )


def _tool_called(one: Mapping[str, Any]) -> Sentence:
    return say(code(one["tool"]), f" is called at least {_times(one.get('min', 1))}, whatever it answers.")


def _tool_args(one: Mapping[str, Any]) -> Sentence:
    which = f"Call {one['call']}" if "call" in one else "Every call"
    optional = " No call at all is fine." if one.get("ifCalled") else " It must be called."
    argument = say(code(one["path"]), _compares(one))
    return say(f"{which} of ", code(one["tool"]), " has arguments where ", argument, ".", optional)


def _tool_status(one: Mapping[str, Any]) -> Sentence:
    which = f"Call {one['call']}" if "call" in one else "The last call"
    return say(f"{which} of ", code(one["tool"]), " answers ", code(one["status"]), ".")


def _order(one: Mapping[str, Any]) -> Sentence:
    first, later = _listed(one["mustCall"]), _listed(one["before"], "or")
    return say(first, " answered before the first call of ", later, ".")


def _semantic(one: Mapping[str, Any]) -> Sentence:
    judge = say(" ", code(one["judge"])) if "judge" in one else ""
    score = one.get("threshold", 0.7)
    return say("A judge", judge, f" passes the answer with a score of at least {score}: {one['rubric']}")


def _at_most(what: str) -> Callable[[Mapping[str, Any]], Sentence]:
    def words(one: Mapping[str, Any]) -> Sentence:
        return say("At most ", value(one["value"]), f" {what}", _of_tool(one), ".")

    return words


def _of_tool(one: Mapping[str, Any]) -> Sentence:
    return say(" of ", code(one["tool"])) if "tool" in one else ()


def _compares(one: Mapping[str, Any]) -> Sentence:
    return compared(one) or say(" is there and not null")


def _listed(names: Iterable[str], last: str = "and") -> Sentence:
    parts: list[Part] = []
    names = list(names)
    for at, name in enumerate(names):
        if at:
            parts.append(Part(f" {last} " if at == len(names) - 1 else ", "))
        parts.append(code(name))
    return tuple(parts)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


_FILLED_IN: Final[Mapping[str, Callable[[Mapping[str, Any]], Sentence]]] = {
    "state": _state,
    "stateUnchanged": lambda one: say("At the end ", code(one["path"]), " is what it was at the start."),
    "stateCount": _state_count,
    "onlyChanged": _only_changed,
    "finalOutcome": lambda one: say("The agent claims ", code(one["equals"]), "."),
    "outcomeVerified": _outcome_verified,
    "toolCalled": _tool_called,
    "toolNotCalled": lambda one: say(code(one["tool"]), " is never called, not even in vain."),
    "toolArgs": _tool_args,
    "toolStatus": _tool_status,
    "order": _order,
    "maxToolCalls": _at_most("tool calls"),
    "maxRetries": _at_most("retries"),
    "maxSteps": _at_most("steps"),
    "maxLatencyMs": _at_most("milliseconds until the answer"),
    "maxCostUsd": _at_most("US dollars of cost"),
    "approvalRequired": lambda one: say(code(one["tool"]), " is not executed without an approval."),
    "requiredEscalation": lambda one: say(
        "The case is handed to a person by ",
        code(one.get("tool", "escalate_to_human")),
        ", and the hand-over takes effect.",
    ),
    "proposal": lambda one: say("In what the agent proposes ", code(one["path"]), _compares(one), "."),
    "outputContains": lambda one: say("The answer contains ", value(one["value"]), "."),
    "outputNotContains": lambda one: say("The answer does not contain ", value(one["value"]), "."),
    "outputRegex": lambda one: say("Something in the answer matches ", code(one["pattern"]), "."),
    "outputJsonPath": lambda one: say("The answer is JSON in which ", code(one["path"]), _compares(one), "."),
    "semantic": _semantic,
}
