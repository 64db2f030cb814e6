"""A page of the aligned trajectories, and the one step that is open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, TextField
from django.db.models.functions import Cast, Left, Length

from evaluations.grading.wording import clean, cut
from evaluations.models import RecordKind, Side, ToolCall
from reviews.page_queries.alignment import Alignment, Row
from reviews.page_queries.cases import PairPage, call_anchor
from reviews.page_queries.opened import OpenStep, open_step
from reviews.page_queries.states import Facts, States
from reviews.presenting.calls import CallText, Note, call_line, call_notes, claim_line, search_notes

STEPS_PER_PAGE = 100
# Arguments longer than this are counted in a line of the list, not read.
_LINE_ARGUMENTS = 4000

_SIGNS = {
    "same": ("=", "the same on both sides"),
    "changed": ("≈", "different"),
    "left": ("←", "only the baseline"),
    "right": ("→", "only the candidate"),
}


@dataclass(frozen=True, slots=True)
class StepSide:
    """One side of a row: a call, a search or the claim, in one line."""

    anchor: str
    number: int | None
    line: CallText
    notes: list[Note]
    fault: str = ""
    is_claim: bool = False


@dataclass(slots=True)
class StepRow:
    """One row of the list. `opened` is there for the open step alone."""

    row: Row
    baseline: StepSide | None
    candidate: StepSide | None
    href: str
    is_open: bool = False
    starts_divergence: bool = False
    opened: OpenStep | None = None

    @property
    def anchor(self) -> str:
        return f"step-{self.row.number}"

    @property
    def sign(self) -> str:
        return _SIGNS[self.row.kind][0]

    @property
    def sign_words(self) -> str:
        what = f": {', '.join(self.row.differing)}" if self.row.differing else ""
        return _SIGNS[self.row.kind][1] + what


@dataclass(slots=True)
class StepPage:
    """`first` and `last` are numbers of rows, `count` all of them."""

    rows: list[StepRow]
    number: int
    pages: int
    first: int
    last: int
    count: int
    previous_href: str
    next_href: str


def page_number_of(row_number: int) -> int:
    """The page of the list on which a row stands; both count from 1."""
    return (row_number - 1) // STEPS_PER_PAGE + 1


def step_page(
    page: PairPage, alignment: Alignment, states: States, facts: Facts, *, number: int, open_row: int | None
) -> StepPage:
    """The rows of one page (one query) and what is inside the open one (one more)."""
    pages = max(1, -(-len(alignment.rows) // STEPS_PER_PAGE))
    number = min(max(number, 1), pages)
    start = (number - 1) * STEPS_PER_PAGE
    rows = alignment.rows[start : start + STEPS_PER_PAGE]

    def at(other: int) -> str:
        return page.address.href("case-steps", steps=other) if 1 <= other <= pages else ""

    return StepPage(
        rows=step_rows(page, alignment, states, facts, rows, open_row=open_row),
        number=number,
        pages=pages,
        first=start + 1 if rows else 0,
        last=start + len(rows),
        count=len(alignment.rows),
        previous_href=at(number - 1),
        next_href=at(number + 1),
    )


def step_rows(
    page: PairPage,
    alignment: Alignment,
    states: States,
    facts: Facts,
    rows: Sequence[Row],
    *,
    open_row: int | None,
) -> list[StepRow]:
    """These rows with what a line says of them."""
    records = _records(page, rows)
    divergence = page.pair.first_divergence if isinstance(page.pair.first_divergence, dict) else {}
    made = []
    for row in rows:
        sides = {
            name: _side(page, alignment, records, facts.again[name], name, row.position(name))
            for name in Side.values
        }
        is_open = row.number == open_row
        made.append(
            StepRow(
                row=row,
                baseline=sides[Side.BASELINE],
                candidate=sides[Side.CANDIDATE],
                href=_toggle_href(page, row.number, is_open),
                is_open=is_open,
                starts_divergence=row.number == divergence.get("step"),
                opened=open_step(page, states, row) if is_open else None,
            )
        )
    return made


def _toggle_href(page: PairPage, number: int, is_open: bool) -> str:
    if is_open:
        return page.address.href(f"step-{number}", steps=page_number_of(number))
    return page.address.href(f"step-{number}", step=number)


def _records(page: PairPage, rows: Sequence[Row]) -> dict[tuple[str, int], Any]:
    """The records of these rows by (side, seq), without their answers: one query."""
    sides = {case.pk: name for name, case in page.cases.items()}
    wanted = Q(pk__in=[])
    for case_id, name in sides.items():
        seqs = [position for row in rows if (position := row.position(name)) is not None]
        if seqs:
            wanted |= Q(case=case_id, seq__gte=min(seqs), seq__lte=max(seqs))
    found = (
        ToolCall.objects.filter(wanted)
        .defer("response", "changes", "arguments", "effect_key", "idempotency_key", "query")
        .annotate(
            arguments_text=Left(Cast("arguments", TextField()), _LINE_ARGUMENTS),
            arguments_size=Length("arguments"),
            short_query=Left("query", 300),
        )
        .order_by()
    )
    return {(sides[record.case_id], record.seq): record for record in found}


def _side(
    page: PairPage,
    alignment: Alignment,
    records: Mapping[tuple[str, int], Any],
    again: Mapping[int, int],
    name: str,
    position: int | None,
) -> StepSide | None:
    if position is None:
        return None
    record = records.get((name, position))
    if record is None:
        case = page.sides[name].case
        claim = claim_line(case.claimed_outcome, case.answer is not None) if case is not None else "no answer"
        return StepSide(f"{name.lower()}-end", None, CallText("", claim), [], is_claim=True)
    anchor = call_anchor(name, position)
    if record.kind == RecordKind.RETRIEVAL:
        line = CallText("search", f' "{cut(clean(record.short_query or ""), 200)}"')
        return StepSide(anchor, position, line, search_notes(record.documents or []))
    notes = call_notes(
        record, first_applied=again.get(position), is_retry=position in alignment.retries[name]
    )
    return StepSide(anchor, position, _line(record), notes, fault=record.fault or "")


def _line(record: Any) -> CallText:
    if record.arguments_text is None:
        return call_line(record.tool, {})
    if record.arguments_size > _LINE_ARGUMENTS:
        return call_line(record.tool, f"{record.arguments_size:,} characters of arguments")
    return call_line(record.tool, json.loads(record.arguments_text))
