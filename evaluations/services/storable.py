"""What of a case may be stored: planted secrets replaced, and still consistent to the last change.

Redacting each value on its own would break the promise that a state can be rebuilt from the initial snapshot
and the changes: two keys may become one, a changed value may look unchanged, a path may stop to parse. So the
*states* are redacted, and the changes that are stored are those between redacted states. Where no secret is
near, nothing is copied; where one is, unchanged subtrees are recognised by identity (path copying keeps
them), so the cost still follows what a call touched. No Django in here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

from evaluations.grading.evidence import Answer
from evaluations.grading.wording import clean, cut
from scenarios.documents.scenario import Scenario
from twins.engine.bounds import MAX_TOOL_NAME
from twins.engine.paths import split_path
from twins.engine.records import CUT, Record
from twins.engine.redaction import redactor
from twins.engine.state import Change, apply_changes, changes_between
from twins.engine.values import digest

KEPT_CHARACTERS = 20_000
KEPT_CLAIMS = 200
KEPT_REASON = 600

Changes = tuple[Change, ...]
_Memo = dict[int, tuple[Any, Any]]

# Where a record can hold what a caller or a document wrote; the rest is the twin's own vocabulary.
_CALL_TEXTS = ("tool", "arguments", "response", "error_code", "effect_key", "idempotency_key")
_SEARCH_TEXTS = ("query", "documents")


def secrets_of(planted: Iterable[str], scenario: Scenario) -> tuple[str, ...]:
    """The values that never leave a case: those its twin plants, and those the scenario's checks look for."""
    checked = (
        secret
        for expectation in scenario.expectations
        if expectation.type == "noSecretDisclosure"
        for secret in expectation.params.get("secrets") or ()
    )
    return tuple(dict.fromkeys([*planted, *checked]))


@dataclasses.dataclass(frozen=True, slots=True)
class Stored:
    """The records of a case as they are stored, and the digest of the state they lead to."""

    records: tuple[Record, ...]
    final_digest: str


class Redaction:
    """Hides the secrets of one scenario's cases. One object serves them all, also in several threads."""

    def __init__(self, secrets: Sequence[str], initial_state: Any) -> None:
        self.value = redactor(secrets)
        self._has_secrets = bool(secrets)
        self._raw_initial = initial_state
        self._memo: _Memo = {}
        self.initial_state = self._redacted(initial_state, {}, self._memo)
        # A container without a secret stays the same object, so this is exact; nothing need be remembered.
        self._initial_is_clean = self.initial_state is initial_state
        if self._initial_is_clean:
            self._memo = {}
        self.initial_digest = digest(self.initial_state)

    def text(self, text: str) -> str:
        """A sentence for a reason: redacted first, then on one line and cut."""
        return cut(clean(self.value(text)), KEPT_REASON)

    def stored(self, records: Iterable[Record], final_state: Any) -> Stored:
        """What is kept of a case's records; `final_state` is the state they led to."""
        records = tuple(records)
        if not self._has_secrets:
            return Stored(records, self._final_digest(final_state, records))
        if self._initial_is_clean and all(self._is_clean(_changes(record)) for record in records):
            kept = tuple(self._without_secrets(record, _changes(record)) for record in records)
            return Stored(kept, self._final_digest(final_state, kept))
        return self._through_redacted_states(records)

    def _is_clean(self, changes: Changes) -> bool:
        return not changes or self.value(changes) is changes

    def _through_redacted_states(self, records: tuple[Record, ...]) -> Stored:
        memo: _Memo = {}
        raw, redacted = self._raw_initial, self.initial_state
        kept = []
        for record in records:
            changes = _changes(record)
            if changes:
                raw = apply_changes(raw, changes)
                after = self._redacted(raw, self._memo, memo)
                changes, redacted = changes_between(redacted, after), after
            kept.append(self._without_secrets(record, changes))
        return Stored(tuple(kept), self._final_digest(redacted, kept))

    def _final_digest(self, final: Any, records: Iterable[Record]) -> str:
        """A digest of where a case ended that costs what changed, not the size of the state.

        Two cases from one initial state have the same digest exactly when they ended in the same state; a
        case that changed nothing has the initial state's own.
        """
        changes = sorted(
            (change for record in records for change in _changes(record)), key=itemgetter("path")
        )
        if any(later["path"].startswith(one["path"]) for one, later in pairwise(changes)):
            # A place was touched twice, or one inside another: only the states say what is left of it.
            touched = [tuple(split_path(change["path"])[0]) for change in changes]
            changes = list(changes_between(self.initial_state, final, touched))
        if not changes:
            return self.initial_digest
        return digest({"initial": self.initial_digest, "changes": changes})

    def _without_secrets(self, record: Record, changes: Changes) -> Record:
        """The record with every text redacted and these changes instead of its own."""
        replaced: dict[str, Any] = {}
        for name in _CALL_TEXTS if record.kind == "tool_call" else _SEARCH_TEXTS:
            value = getattr(record, name)
            broke_off = name == "response" and getattr(record, "status", None) in CUT
            if (without := (self.value.cut if broke_off else self.value)(value)) is not value:
                # "[REDACTED]" may be longer than what it hides, and a name has a length that is kept.
                replaced[name] = without[:MAX_TOOL_NAME] if name == "tool" else without
        if changes is not _changes(record):
            replaced["changes"] = changes
        return dataclasses.replace(record, **replaced) if replaced else record

    def _redacted(self, value: Any, known: _Memo, memo: _Memo) -> Any:
        """`value` redacted, the same object where nothing was secret; known containers are skipped."""
        if not isinstance(value, dict | list):
            return self.value(value)
        found = known.get(id(value)) or memo.get(id(value))
        if found is None:
            if isinstance(value, dict):
                redacted = self._redacted_object(value, known, memo)
            else:
                items = [self._redacted(item, known, memo) for item in value]
                redacted = value if all(map(_is, value, items)) else items
            # Held beside its result, so that nobody else can get its id meanwhile.
            found = memo[id(value)] = (value, redacted)
        return found[1]

    def _redacted_object(self, value: dict[str, Any], known: _Memo, memo: _Memo) -> Any:
        items = [self._redacted(item, known, memo) for item in value.values()]
        # The redactor keeps keys apart that look the same without their secrets.
        names = dict.fromkeys(value)
        redacted_names = self.value(names)
        if redacted_names is names and all(map(_is, value.values(), items)):
            return value
        return dict(zip(redacted_names, items, strict=True))


def kept_answer(answer: Answer, redaction: Redaction) -> dict[str, Any]:
    """The copy of an answer that is stored: redacted as a whole, then cut (FORMATS: 20,000 characters)."""
    kept: dict[str, Any] = redaction.value(answer.to_json())
    output = kept["output"]
    return {
        **{name: _cut(value) for name, value in kept.items()},
        "output_cut": isinstance(output, str) and len(output) > KEPT_CHARACTERS,
    }


def _cut(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return value[:KEPT_CHARACTERS]
    if isinstance(value, list) and len(value) > KEPT_CLAIMS and depth == 0:
        value = value[:KEPT_CLAIMS]
    if isinstance(value, list):
        return [_cut(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {name: _cut(item, depth + 1) for name, item in value.items()}
    return value


def _changes(record: Record) -> Changes:
    return getattr(record, "changes", ())


def _is(one: Any, other: Any) -> bool:
    return one is other
