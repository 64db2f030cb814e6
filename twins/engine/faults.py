"""The table of faults: what the dependency did, and what the caller sees (FORMATS 2.2).

A row holds exactly these two facts and the sentence for the catalogue. The engine acts on the facts
and never on the names, so a new fault is a new row here and nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from .templates import Template, parse_template
from .values import contains

MAX_DELAY_MS: Final = 30_000


class Did(Enum):
    """What the dependency did with the call."""

    NOTHING = "nothing"
    FIRST_EFFECT = "the first effect only"
    EVERYTHING = "everything"
    EVERYTHING_TWICE = "everything, delivered twice"


class Sees(Enum):
    """What the caller sees, where it is not an error of its own."""

    THE_ANSWER = "the answer"
    A_STALE_ANSWER = "an answer computed from the state before the call, of a read from the initial state"
    THE_PREVIOUS_ANSWER = "the previous answer of this tool"
    A_GIVEN_RESULT = "200 with the rule's body as the result"
    A_SUCCESS = "the success answer"
    NO_ANSWER = "a closed connection and no answer"
    HALF_AN_ANSWER = "the status line and half the body, then a closed connection"
    BROKEN_JSON = "200 and a truncated JSON body"


class RetryAfter(Enum):
    """When an error names the seconds to wait."""

    NEVER = "never"
    IF_GIVEN = "if the rule gives them"
    ALWAYS = "the rule's, else 1"


@dataclass(frozen=True, slots=True)
class SeesError:
    """An error answer, whatever the dependency did."""

    status: int
    code: str
    message: str
    retry_after: RetryAfter = RetryAfter.NEVER

    @property
    def value(self) -> str:
        """The fact in words."""
        return f"{self.status} {self.code}"


@dataclass(frozen=True, slots=True)
class SeesLate:
    """The normal answer, late unless the rule says how late."""

    default_delay_ms: int

    @property
    def value(self) -> str:
        """The fact in words."""
        return f"the answer after a delay ({self.default_delay_ms} ms unless the rule says otherwise)"


@dataclass(frozen=True, slots=True)
class Fault:
    """One row: two facts, and when a scenario wants it."""

    did: Did
    sees: Sees | SeesError | SeesLate
    about: str


_TIMEOUT: Final = SeesError(504, "TIMEOUT", "The request timed out")
_RATE_LIMITED: Final = SeesError(429, "RATE_LIMITED", "Too many requests", RetryAfter.ALWAYS)

FAULTS: Final[Mapping[str, Fault]] = MappingProxyType(
    {
        "timeout_before_mutation": Fault(
            Did.NOTHING, _TIMEOUT, "A timeout before anything happened: sending again is right."
        ),
        "timeout_after_mutation": Fault(
            Did.EVERYTHING, _TIMEOUT, "A timeout after the write: sending again blindly writes twice."
        ),
        "http_429": Fault(Did.NOTHING, _RATE_LIMITED, "Rate limited; the answer says how long to wait."),
        "rate_limit": Fault(Did.NOTHING, _RATE_LIMITED, "The same as http_429, by the name of the policy."),
        "http_500": Fault(
            Did.NOTHING,
            SeesError(500, "UPSTREAM_ERROR", "The service failed"),
            "A crash of the service that left nothing behind, which the caller cannot know.",
        ),
        "http_503": Fault(
            Did.NOTHING,
            SeesError(503, "UNAVAILABLE", "The service is unavailable", RetryAfter.IF_GIVEN),
            "An outage with or without a word on how long.",
        ),
        "transient_unavailable": Fault(
            Did.NOTHING,
            SeesError(503, "TRANSIENT_UNAVAILABLE", "The service is briefly unavailable", RetryAfter.ALWAYS),
            "A short outage: waiting helps.",
        ),
        "permanent_unavailable": Fault(
            Did.NOTHING,
            SeesError(503, "PERMANENTLY_UNAVAILABLE", "The service has been shut down"),
            "An outage for good: trying again is useless.",
        ),
        "non_retryable_error": Fault(
            Did.NOTHING,
            SeesError(422, "NON_RETRYABLE_ERROR", "The request cannot be processed"),
            "A refusal that stays a refusal.",
        ),
        "auth_denied": Fault(
            Did.NOTHING,
            SeesError(403, "AUTH_DENIED", "The credentials were refused"),
            "Access denied by the dependency, not by the twin's own rules.",
        ),
        "dropped_connection": Fault(
            Did.NOTHING, Sees.NO_ANSWER, "The connection closes before anything happened."
        ),
        "partial_response": Fault(
            Did.EVERYTHING, Sees.HALF_AN_ANSWER, "The write is done, the answer breaks off in the middle."
        ),
        "malformed_json": Fault(
            Did.EVERYTHING, Sees.BROKEN_JSON, "The write is done, the answer cannot be parsed."
        ),
        "delay": Fault(Did.EVERYTHING, SeesLate(1000), "Everything works, slowly."),
        "stale_response": Fault(
            Did.EVERYTHING, Sees.A_STALE_ANSWER, "The answer comes from a replica that lags behind."
        ),
        "duplicate_response": Fault(
            Did.EVERYTHING,
            Sees.THE_PREVIOUS_ANSWER,
            "The call works and an older answer arrives in its place.",
        ),
        "semantic_bad_response": Fault(
            Did.EVERYTHING, Sees.A_GIVEN_RESULT, "A well-formed answer that says something wrong."
        ),
        "inconsistent_state": Fault(
            Did.FIRST_EFFECT,
            SeesError(500, "INCONSISTENT_STATE", "The service failed half-way"),
            "The service broke off after the first effect.",
        ),
        "success_without_mutation": Fault(
            Did.NOTHING, Sees.A_SUCCESS, "A success is reported and nothing was written."
        ),
        "message_duplication": Fault(
            Did.EVERYTHING_TWICE,
            Sees.THE_ANSWER,
            "The network delivers the call twice; an idempotency key makes the second a replay.",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class FaultRule:
    """One rule of a scenario, compiled. `index` counts the scenario's rules from 0."""

    index: int
    type: str
    fault: Fault
    target: str
    call_numbers: frozenset[int] | None
    first_n: int | None
    never: bool
    args_match: Any
    probability: float | None
    delay_ms: int
    retry_after: str | None
    body: Template | None
    message: Template | None

    def matches(self, seed: int, tool: str, number: int, arguments: Any) -> bool:
        """Whether every condition of the rule holds for the `number`-th call of a tool."""
        return (
            self.target in (tool, "*")
            and not self.never
            and (self.call_numbers is None or number in self.call_numbers)
            and (self.first_n is None or number <= self.first_n)
            and (self.args_match is None or contains(self.args_match, arguments))
            and (self.probability is None or draw(seed, self.index, tool, number) < self.probability * 2**64)
        )


def draw(seed: int, rule_index: int, tool: str, number: int) -> int:
    """A number below 2^64 that depends on nothing but what is named here (FORMATS 8).

    It is compared with probability * 2^64, which is exact: dividing it would round the largest to 1.
    """
    text = f"{seed}:{rule_index}:{tool}:{number}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def first_match(
    rules: tuple[FaultRule, ...], seed: int, tool: str, number: int, arguments: Any
) -> FaultRule | None:
    """The rule that acts on a call: the first that matches."""
    for rule in rules:
        if rule.matches(seed, tool, number, arguments):
            return rule
    return None


def compile_fault_rules(rules: Sequence[Mapping[str, Any]]) -> tuple[FaultRule, ...]:
    """The rules of a validated scenario, in their order. KeyError for a type that is not in the table."""
    return tuple(_compile_rule(index, rule) for index, rule in enumerate(rules))


def _compile_rule(index: int, rule: Mapping[str, Any]) -> FaultRule:
    when = rule.get("when") or {}
    behavior = rule["behavior"]
    fault = FAULTS[behavior["type"]]
    return FaultRule(
        index=index,
        type=behavior["type"],
        fault=fault,
        target=rule["target"],
        call_numbers=_call_numbers(when),
        first_n=when.get("firstN"),
        never=when.get("everyCall") is False,
        args_match=when.get("argsMatch"),
        probability=when.get("probability"),
        delay_ms=_delay(fault, behavior),
        retry_after=_retry_after(fault, behavior),
        body=_optional_template(behavior, "body"),
        message=_optional_template(behavior, "message"),
    )


def _call_numbers(when: Mapping[str, Any]) -> frozenset[int] | None:
    """The call numbers that pass; with `callNumber` and `callNumbers` both given, both must hold."""
    listed = when.get("callNumbers")
    numbers = None if listed is None else frozenset(listed)
    if when.get("callNumber") is not None:
        single = frozenset([when["callNumber"]])
        numbers = single if numbers is None else numbers & single
    return numbers


def _delay(fault: Fault, behavior: Mapping[str, Any]) -> int:
    default = fault.sees.default_delay_ms if isinstance(fault.sees, SeesLate) else 0
    return int(min(behavior.get("delayMs", default), MAX_DELAY_MS))


def _retry_after(fault: Fault, behavior: Mapping[str, Any]) -> str | None:
    """The text of the header, if the row names it at all."""
    rule = fault.sees.retry_after if isinstance(fault.sees, SeesError) else RetryAfter.NEVER
    if rule is RetryAfter.NEVER:
        return None
    seconds = behavior.get("retryAfterSeconds", 1 if rule is RetryAfter.ALWAYS else None)
    return None if seconds is None else str(int(seconds))


def _optional_template(behavior: Mapping[str, Any], field: str) -> Template | None:
    return parse_template(behavior[field]) if field in behavior else None
