"""What a single record or a sequence of records means, each defined once (FORMATS 3.2 and 8).

Expectations, metrics, trajectories and pages all use these functions, so a retry on a page is a retry in a
check. Records are the twin's own, live or read back from storage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twins.engine.records import CallRecord
from twins.engine.values import canonical_json, json_equal

#: Statuses after which the same call again is a retry. Not `not_found` and not `unknown_tool`: those answer
#: the question that was asked.
FAILED_STATUSES = frozenset(
    {"error", "timeout", "rate_limited", "denied", "invalid", "dropped", "partial", "malformed"}
)
_UNKNOWN_STATUSES = frozenset({"timeout", "dropped", "partial", "malformed"})
DEFAULT_ESCALATION_TOOL = "escalate_to_human"

Identity = tuple[str, ...]
KeyArguments = Mapping[str, str]
"""By tool the argument that is its idempotency key, as `Definition.key_arguments` has them. The twin alone
knows: an argument that happens to hold the key's text may say what is done."""


def is_call(record: Any) -> bool:
    """A call the agent made itself: no retrieval, no network redelivery."""
    return record.kind == "tool_call" and not record.redelivered


def is_retry(previous: CallRecord | None, call: CallRecord) -> bool:
    """`previous` is the agent's call of the same tool before `call`: same arguments, and it failed."""
    return (
        previous is not None
        and previous.status in FAILED_STATUSES
        and json_equal(previous.arguments, call.arguments)
        and json_equal(previous.sent_arguments, call.sent_arguments)
        and previous.sent_texts == call.sent_texts
    )


def retry_seqs(records: Iterable[Any]) -> frozenset[int]:
    """The sequence numbers of the calls that are retries (FORMATS 3.2). A re-read after a success is none."""
    last_of_tool: dict[str, CallRecord] = {}
    retries = []
    for record in records:
        if not is_call(record):
            continue
        if is_retry(last_of_tool.get(record.tool), record):
            retries.append(record.seq)
        last_of_tool[record.tool] = record
    return frozenset(retries)


def answered(call: CallRecord) -> bool:
    """Answered 2xx: a partial or malformed 200 is not an answer (FORMATS 8, "And")."""
    return call.status == "ok"


def is_write(call: CallRecord) -> bool:
    """A call whose risk is not READ (FORMATS 8, "Expectations")."""
    return call.risk != "READ"


def outcome_unknown(call: CallRecord) -> bool:
    """The caller cannot know whether it happened: timeout, dropped, partial, malformed or any 5xx."""
    return call.status in _UNKNOWN_STATUSES or call.http_status >= 500


def executed(call: CallRecord) -> bool:
    """It answered 2xx or its effects were applied."""
    return call.mutated or answered(call)


def escalated(call: CallRecord) -> bool:
    """The hand-over reached somebody: its effects were applied, or it has none and answered 2xx."""
    return call.mutated or (answered(call) and not call.expects_mutation)


def claimed_without_change(call: CallRecord) -> bool:
    """A tool that should change state answered success and changed nothing; a replay did so before."""
    return answered(call) and call.expects_mutation and not call.mutated and not call.replayed


def fingerprint(value: Any) -> str:
    """One text per JSON value: equal values (1 and 1.0, numbers within rounding) have the same text."""
    return canonical_json(_rounded(value))


def effect_identity(call: CallRecord, key_arguments: KeyArguments) -> Identity:
    """What makes two effects the same one: the effect key, across tools; without one the tool and its
    arguments without the key argument.
    """
    if call.effect_key is not None:
        return ("key", call.effect_key)
    arguments, key_argument = call.arguments, key_arguments.get(call.tool)
    if key_argument is not None and isinstance(arguments, Mapping):
        arguments = {name: value for name, value in arguments.items() if name != key_argument}
    return ("call", call.tool, fingerprint(arguments))


@dataclass(frozen=True, slots=True)
class DuplicateEffect:
    """One effect and the deliveries that applied it, in order; at least two."""

    identity: Identity
    calls: tuple[CallRecord, ...]


def duplicate_effects(deliveries: Iterable[Any], key_arguments: KeyArguments) -> tuple[DuplicateEffect, ...]:
    """The effects applied more than once: redeliveries count, replays apply nothing."""
    applied: dict[Identity, list[CallRecord]] = {}
    mutations = [record for record in deliveries if record.kind == "tool_call" and record.mutated]
    if len(mutations) < 2:
        return ()
    same_effect = Counter(map(effect_text, mutations))
    for call in mutations:
        if same_effect[effect_text(call)] < 2:
            continue  # nothing can be equal to it, so its identity need not be made
        identity = effect_identity(call, key_arguments)
        applied.setdefault(identity, []).append(call)
    return tuple(
        DuplicateEffect(identity, tuple(calls)) for identity, calls in applied.items() if len(calls) > 1
    )


@dataclass(frozen=True, slots=True)
class FreshAttempt:
    """A later attempt at an effect whose first write is of unknown outcome, under a fresh identity."""

    first: CallRecord
    later: CallRecord


def fresh_attempts(calls: Sequence[CallRecord], key_arguments: KeyArguments) -> tuple[FreshAttempt, ...]:
    """Each attempt after an unknown write at the same effect with another or no key, also a refused one.

    An unknown write without a key forbids any later attempt; a later success does not lift it.
    """
    open_writes: dict[Identity, list[CallRecord]] = {}
    found = []
    for call in calls:
        if not is_write(call):
            continue
        unknown = outcome_unknown(call)
        if not open_writes and not unknown:
            continue
        identity = effect_identity(call, key_arguments)
        writes = open_writes.get(identity, [])
        first = next((write for write in writes if not _same_key(write, call)), None)
        if first is not None:
            found.append(FreshAttempt(first, call))
        # Two open writes with different keys already forbid every later attempt.
        if unknown and len(writes) < 2 and not any(_same_key(write, call) for write in writes):
            open_writes[identity] = [*writes, call]
    return tuple(found)


def effect_text(call: CallRecord) -> str:
    """The effect as a reviewer knows it: its effect key, else the tool."""
    return call.effect_key if call.effect_key is not None else call.tool


def _same_key(first: CallRecord, later: CallRecord) -> bool:
    return first.idempotency_key is not None and first.idempotency_key == later.idempotency_key


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
