"""A case as a sequence of steps: what the twin recorded, and last what the agent claimed (FORMATS 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from evaluations.grading.evidence import Answer
from evaluations.grading.signals import fingerprint
from evaluations.grading.wording import call_text, clean, cut

TOOL, RETRIEVAL, POLICY, OUTCOME = "TOOL", "RETRIEVAL", "POLICY", "OUTCOME"
STEP_KINDS = (TOOL, RETRIEVAL, POLICY, OUTCOME)

Redact = Callable[[Any], Any]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TrajectoryStep:
    """One step. `position` counts from 1; `text` is the step in a few words, redacted and short.

    `record` is the twin's record (None for OUTCOME), `claim` the claimed outcome (OUTCOME only).
    """

    position: int
    kind: str
    text: str
    record: Any = None
    claim: str | None = None
    has_answer: bool = True
    _keys: dict[str, Key] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def is_call(self) -> bool:
        """A tool call, refused by policy or not."""
        return self.kind in (TOOL, POLICY)

    @property
    def seq(self) -> int | None:
        """The sequence number of the record."""
        return None if self.record is None else self.record.seq

    @property
    def tool(self) -> str | None:
        """The called tool."""
        return self.record.tool if self.is_call else None

    @property
    def place_key(self) -> Key:
        """What was turned to: the same for two calls of one tool, whatever the arguments."""
        if self.is_call:
            return ("call", self.record.tool, self.record.redelivered)
        return (self.kind,)

    @property
    def asked_key(self) -> Key:
        """What was asked for; whether an idempotency key went with it, in a header or not, is part of it."""
        return self._key("asked", _asked)

    @property
    def result_key(self) -> Key:
        """What came back and what it did to the state."""
        return self._key("result", _result)

    @property
    def same_key(self) -> Key:
        """Equal for two steps that are the same in everything a reviewer compares."""
        return (self.place_key, self.asked_key, self.policy, self.result_key)

    @property
    def policy(self) -> str | None:
        """The policy that refused the call."""
        return self.record.policy_violation if self.is_call else None

    def _key(self, name: str, compute: Callable[[TrajectoryStep], Key]) -> Key:
        keys = self._keys
        if name not in keys:
            keys[name] = compute(self)
        return keys[name]


def trajectory(
    records: Iterable[Any], answer: Answer | None, *, redact: Redact | None = None
) -> tuple[TrajectoryStep, ...]:
    """The records in order as TOOL, POLICY (refused by a policy) and RETRIEVAL steps, then one OUTCOME.

    Live records and stored ones read back give the same steps. Give `redact` (the twin's redactor) with live
    records: the texts of the steps go to people.
    """
    steps = [_step(number, record, redact) for number, record in enumerate(records, start=1)]
    claim = None if answer is None else answer.claimed_outcome
    has_answer = answer is not None
    steps.append(
        TrajectoryStep(len(steps) + 1, OUTCOME, _outcome_text(claim, has_answer), None, claim, has_answer)
    )
    return tuple(steps)


def _step(position: int, record: Any, redact: Redact | None) -> TrajectoryStep:
    if record.kind == "retrieval":
        query = record.query if redact is None else redact(record.query)
        return TrajectoryStep(position, RETRIEVAL, f'search "{cut(clean(query), 200)}"', record)
    kind = TOOL if record.policy_violation is None else POLICY
    return TrajectoryStep(position, kind, call_text(record.tool, record.arguments, redact), record)


def _outcome_text(claim: str | None, has_answer: bool) -> str:
    if not has_answer:
        return "no answer"
    return f"reported {claim}" if claim is not None else "reported no outcome"


def _asked(step: TrajectoryStep) -> Key:
    record = step.record
    if step.is_call:
        return (fingerprint(record.arguments), record.idempotency_key is not None)
    if step.kind == RETRIEVAL:
        return (record.query, record.limit)
    return ()


def _result(step: TrajectoryStep) -> Key:
    record = step.record
    if step.kind == RETRIEVAL:
        return (fingerprint(record.to_json()["documents"]),)
    if step.kind == OUTCOME:
        return (step.claim, step.has_answer)
    return (
        record.status,
        record.http_status,
        record.error_code,
        record.mutated,
        record.replayed,
        fingerprint(record.response),
        fingerprint(list(record.changes)),
    )
