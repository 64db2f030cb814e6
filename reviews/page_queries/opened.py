"""The open step of a case: everything both sides did there, and the state it left behind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, TextField
from django.db.models.functions import Cast, Left, Length

from evaluations.grading.wording import clean, cut
from evaluations.models import RecordKind, Side, ToolCall
from reviews.page_queries.alignment import Row
from reviews.page_queries.cases import PairPage, call_anchor
from reviews.page_queries.states import CannotRebuild, States
from reviews.presenting.bounded import (
    SHOWN_CHARACTERS,
    Cut,
    Leaf,
    compared_leaves,
    indented,
    one_line,
    stored_text,
)
from reviews.presenting.calls import FaultFacts, fault_facts, search_notes, violation_words
from twins.engine.values import MISSING, json_equal
from twins.engine.visible import visible

CHANGES_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Content:
    """A value inside a step: as leaves if it is small, else its text; `differs` from the other side's."""

    leaves: list[Leaf] | None
    text: Cut
    differs: bool
    href: str


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One change of the state; `differs` where the other side's step did not make it."""

    op: str
    path: str
    before: str
    after: str
    differs: bool


@dataclass(frozen=True, slots=True)
class OpenSide:
    """Everything of one side of the open step."""

    number: int | None
    anchor: str
    is_claim: bool
    arguments: Content | None = None
    answer: Content | None = None
    status: str = ""
    fault: FaultFacts | None = None
    delay_ms: int = 0
    changes: tuple[ChangeLine, ...] = ()
    more_changes: int = 0
    changes_note: str = ""
    identity: tuple[tuple[str, str], ...] = ()
    policy: str = ""
    found: tuple[dict[str, Any], ...] = ()
    state: Cut | None = None
    state_problem: str = ""
    state_href: str = ""


@dataclass(frozen=True, slots=True)
class NamedSide:
    """A side of the open step under its name; `shown` is None where the row has no step of it."""

    label: str
    shown: OpenSide | None


@dataclass(frozen=True, slots=True)
class OpenStep:
    baseline: OpenSide | None
    candidate: OpenSide | None
    has_baseline: bool = True

    @property
    def sides(self) -> list[NamedSide]:
        before = [NamedSide("baseline", self.baseline)] if self.has_baseline else []
        return [*before, NamedSide("candidate", self.candidate)]

    @property
    def has_records(self) -> bool:
        """False for the last row, the claims."""
        return any(side is not None and not side.is_claim for side in (self.baseline, self.candidate))

    @property
    def has_calls(self) -> bool:
        return any(side is not None and side.policy for side in (self.baseline, self.candidate))

    @property
    def has_identity(self) -> bool:
        return any(side is not None and side.identity for side in (self.baseline, self.candidate))


def open_step(page: PairPage, states: States, row: Row) -> OpenStep:
    """Both sides of a row with arguments, answers and states: one query, long values cut in the database."""
    sides = {case.pk: name for name, case in page.cases.items()}
    wanted = Q(pk__in=[])
    for case_id, name in sides.items():
        if (position := row.position(name)) is not None:
            wanted |= Q(case=case_id, seq=position)
    records = {}
    for record in (
        ToolCall.objects.filter(wanted)
        .defer("response", "arguments", "query")
        .annotate(
            arguments_text=Left(Cast("arguments", TextField()), SHOWN_CHARACTERS + 1),
            arguments_size=Length("arguments"),
            response_text=Left(Cast("response", TextField()), SHOWN_CHARACTERS + 1),
            response_size=Length("response"),
            short_query=Left("query", 2000),
        )
    ):
        records[sides[record.case_id]] = record
    built = {
        name: _open_side(page, states, row, name, records.get(name), records.get(_other(name)))
        for name in Side.values
    }
    return OpenStep(built[Side.BASELINE], built[Side.CANDIDATE], page.baseline is not None)


def _open_side(
    page: PairPage, states: States, row: Row, name: str, record: Any, other: Any
) -> OpenSide | None:
    position = row.position(name)
    if position is None:
        return None
    state, problem = _state_after(states, name, position)
    address = page.address
    if record is None:
        return OpenSide(
            None,
            f"{name.lower()}-end",
            is_claim=True,
            state=state,
            state_problem=problem,
            state_href=address.raw_href("state", name),
        )
    shared: dict[str, Any] = {
        "number": position,
        "anchor": call_anchor(name, position),
        "is_claim": False,
        "state": state,
        "state_problem": problem,
        "state_href": address.raw_href("state", name, position),
    }
    if record.kind == RecordKind.RETRIEVAL:
        return OpenSide(
            **shared,
            arguments=_plain_content(f"{record.short_query or ''} (at most {record.limit})"),
            status=search_notes(record.documents or [])[0].text,
            found=tuple(record.documents or ()),
        )
    changes = record.changes or []
    known = {json.dumps(change, sort_keys=True) for change in (other.changes or [])} if other else None
    return OpenSide(
        **shared,
        arguments=_content(record, other, "arguments", address.raw_href("arguments", name, position)),
        answer=_content(record, other, "response", address.raw_href("response", name, position)),
        status=f"{record.http_status or 'no status'}, {record.status}",
        fault=fault_facts(record.fault) if record.fault else None,
        delay_ms=record.delay_ms,
        changes=tuple(_change_line(change, known) for change in changes[:CHANGES_SHOWN]),
        more_changes=max(0, len(changes) - CHANGES_SHOWN),
        changes_note=_changes_note(record),
        identity=tuple(_identity(record)),
        policy=_policy(record),
    )


def _state_after(states: States, name: str, seq: int) -> tuple[Cut | None, str]:
    try:
        return indented(states.after(name, seq)), ""
    except CannotRebuild as misfit:
        return None, str(misfit)


def _content(record: Any, other: Any, column: str, href: str) -> Content | None:
    text, size = getattr(record, f"{column}_text"), getattr(record, f"{column}_size")
    if text is None:
        return None
    value = _parsed(record, column)
    theirs = _parsed(other, column) if other is not None else MISSING
    both_whole = value is not MISSING and theirs is not MISSING
    return Content(
        leaves=compared_leaves(value, theirs) if value is not MISSING else None,
        text=stored_text(text, size),
        differs=both_whole and not json_equal(value, theirs),
        href=href,
    )


def _parsed(record: Any, column: str) -> Any:
    """The value, MISSING if it was cut."""
    text, size = getattr(record, f"{column}_text", None), getattr(record, f"{column}_size", None)
    if text is None or size is None or size > SHOWN_CHARACTERS:
        return MISSING
    return json.loads(text)


def _plain_content(text: str) -> Content:
    return Content(leaves=None, text=Cut(text, characters=len(text)), differs=False, href="")


def _change_line(change: Mapping[str, Any], known: set[str] | None) -> ChangeLine:
    return ChangeLine(
        op=str(change.get("op", "")),
        path=visible(str(change.get("path", ""))),
        before=one_line(change.get("before", MISSING)),
        after=one_line(change.get("after", MISSING)),
        differs=known is not None and json.dumps(change, sort_keys=True) not in known,
    )


def _changes_note(record: Any) -> str:
    """What to say where there is no change, or where the list alone would mislead."""
    if record.changes:
        return ""
    if record.mutated:
        return "It was applied and every value stayed as it was."
    if record.replayed:
        return "None: the stored answer of the first call with this key was given again."
    return "None, although the tool is meant to change something." if record.expects_mutation else "None."


def _identity(record: Any) -> list[tuple[str, str]]:
    """What ties the call to others: its keys, and whether it was a replay or a second delivery."""
    pairs = []
    if record.effect_key is not None:
        pairs.append(("effect", cut(clean(record.effect_key), 200)))
    if record.expects_mutation or record.idempotency_key is not None:
        key = record.idempotency_key
        pairs.append(("idempotency key", cut(clean(key), 200) if key is not None else "none"))
    if record.replayed:
        pairs.append(("replay", "answered from its idempotency record"))
    if record.redelivered:
        pairs.append(("delivery", "the network delivered the same call once more"))
    return pairs


def _policy(record: Any) -> str:
    if record.policy_violation:
        return f"refused: {violation_words(record.policy_violation)} ({record.policy_violation})"
    if record.cross_tenant == "allowed":
        return "let through, and the answer carries a record of another tenant"
    return "allowed"


def _other(name: str) -> str:
    return Side.CANDIDATE if name == Side.BASELINE else Side.BASELINE
