"""A scenario's faults in words. Pure: from the document as it is shown, so with its secrets redacted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from twins.engine.faults import FAULTS, MAX_DELAY_MS
from twins.engine.values import compact_json

_ARGUMENTS_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class FaultWords:
    """A fault rule: whom it meets and when, the two facts of its type, what it changes about them."""

    target: str
    condition: str
    type: str
    did: str
    sees: str
    about: str
    details: tuple[tuple[str, Any], ...]

    @property
    def is_for_every_tool(self) -> bool:
        return self.target == "*"


def condition_words(rule: Mapping[str, Any]) -> str:
    """When a fault rule of a document fires: "call 1", "the first 2 calls, if the arguments contain …"."""
    when = rule.get("when") or {}
    phrases = [*_numbers(when), *_further(when)]
    return ", ".join(phrases) if phrases else "every call"


def fault_words(rule: Mapping[str, Any]) -> FaultWords:
    """A fault rule of a document in words. KeyError for a type that is not in the engine's table."""
    behavior = rule["behavior"]
    fault = FAULTS[behavior["type"]]
    return FaultWords(
        target=rule["target"],
        condition=condition_words(rule),
        type=behavior["type"],
        did=fault.did.value,
        sees=fault.sees.value,
        about=fault.about,
        details=tuple(_details(behavior)),
    )


def _numbers(when: Mapping[str, Any]) -> Iterator[str]:
    if when.get("everyCall") is False:
        yield "never (everyCall is false)"
    if when.get("callNumber") is not None:
        yield f"call {when['callNumber']}"
    if (listed := when.get("callNumbers")) is not None:
        yield _calls([str(number) for number in listed])
    if (first := when.get("firstN")) is not None:
        yield "the first call" if first == 1 else f"the first {first} calls"


def _calls(numbers: list[str]) -> str:
    if len(numbers) < 2:
        return f"call {numbers[0]}" if numbers else "no call"
    return f"calls {', '.join(numbers[:-1])} and {numbers[-1]}"


def _further(when: Mapping[str, Any]) -> Iterator[str]:
    if when.get("argsMatch") is not None:
        text = compact_json(when["argsMatch"])
        cut = text if len(text) <= _ARGUMENTS_SHOWN else text[: _ARGUMENTS_SHOWN - 1] + "…"
        yield f"if the arguments contain {cut}"
    if (chance := when.get("probability")) is not None:
        yield f"with a chance of {chance * 100:g} %"


def _details(behavior: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if (delay := behavior.get("delayMs")) is not None:
        yield "Waits", f"{min(delay, MAX_DELAY_MS):,} ms"
    if (seconds := behavior.get("retryAfterSeconds")) is not None:
        yield "Retry-After", f"{seconds} s"
    if "message" in behavior:
        yield "Message", behavior["message"]
    if "body" in behavior:
        yield "Body", behavior["body"]
