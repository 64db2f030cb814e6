"""Both trajectories of a case side by side, from the few columns that decide what is the same.

Tens of thousands of records are aligned without loading one answer: a short JSON column comes as its text, a
long one as a digest made by the database. `evaluations.grading.align` does the work; what is here only looks
like its steps (docs/decisions/0720).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import Case as SqlCase
from django.db.models import QuerySet, TextField, Value, When
from django.db.models.functions import MD5, Cast, Concat, Left, Length
from django.db.models.lookups import LessThanOrEqual

from evaluations.grading import align
from evaluations.grading.signals import fingerprint, retry_seqs
from evaluations.grading.trajectory import OUTCOME, POLICY, RETRIEVAL, TOOL
from evaluations.models import Case, CaseState, Side, ToolCall
from reviews.page_queries.remembering import Remembered

# Longer JSON is compared as it was stored. Arguments come from agents, who order keys as they like, so for
# them the limit is higher; answers and changes are written by one program in one order.
SHORT_ARGUMENTS = 20_000
SHORT_JSON = 4_000
# Alignments of ended cases that are remembered, by the number of their rows in all.
REMEMBERED_ROWS = 60_000

_PLAIN = (
    "case_id", "seq", "kind", "tool", "redelivered", "policy_violation", "status", "http_status", "mutated",
    "replayed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredStep:
    """One step of one side as `align` and `differing` need it, and nothing to show.

    `position` counts from 1 and, but for the last step (the claim), is the `seq` of the record.
    """

    position: int
    kind: str
    seq: int | None
    place_key: tuple[Any, ...]
    asked_key: tuple[Any, ...]
    policy: str | None
    result_key: tuple[Any, ...]

    @property
    def same_key(self) -> tuple[Any, ...]:
        return (self.place_key, self.asked_key, self.policy, self.result_key)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the view. `number` counts from 1; a side is the position of its step, None without one."""

    number: int
    kind: str
    baseline: int | None
    candidate: int | None
    differing: tuple[str, ...]

    def position(self, side: str) -> int | None:
        return self.baseline if side == Side.BASELINE else self.candidate


@dataclass(frozen=True, slots=True)
class Alignment:
    """All rows, how many records each side has, the retries, and the tools of each side in order."""

    rows: tuple[Row, ...]
    counts: Mapping[str, int]
    retries: Mapping[str, frozenset[int]]
    tools: Mapping[str, tuple[str, ...]]

    def row_of(self, side: str, position: int) -> Row | None:
        """The row in which this side's step stands."""
        return next((row for row in self.rows if row.position(side) == position), None)

    @property
    def differing_rows(self) -> int:
        return sum(row.kind != "same" for row in self.rows)


@dataclass(frozen=True, slots=True)
class _Delivery:
    """What the one function that knows a retry looks at; equal arguments have equal texts here."""

    seq: int
    tool: str
    status: str
    arguments: str
    redelivered: bool
    kind: str = "tool_call"
    sent_arguments: None = None
    sent_texts: tuple[()] = ()


def alignment_of(cases: Mapping[str, Case]) -> Alignment:
    """The alignment of the two sides (by side name): one query, none if it was made before.

    The records of an ended case never change, so its alignment is remembered.
    """
    return _remembered.of(cases, lambda: _aligned(cases), lambda made: len(made.rows))


def _aligned(cases: Mapping[str, Case]) -> Alignment:
    sides = {case.pk: side for side, case in cases.items()}
    steps: dict[str, list[StoredStep]] = {side: [] for side in Side.values}
    deliveries: dict[str, list[_Delivery]] = {side: [] for side in Side.values}
    tools: dict[str, list[str]] = {side: [] for side in Side.values}
    canonical = _Canonical()
    for values in _light_rows(sides):
        row = _LightRow(*values)
        side = sides[row.case_id]
        steps[side].append(_step(row, len(steps[side]) + 1, canonical))
        if row.kind != "retrieval":
            arguments = canonical(row.arguments)
            deliveries[side].append(_Delivery(row.seq, row.tool, row.status, arguments, row.redelivered))
            if not row.redelivered:
                tools[side].append(row.tool)
    counts = {side: len(steps[side]) for side in Side.values}
    for side, case in cases.items():
        if case.state == CaseState.FINISHED:
            steps[side].append(_outcome(case, counts[side] + 1))
    aligned = align(cast(Any, steps[Side.BASELINE]), cast(Any, steps[Side.CANDIDATE]))
    return Alignment(
        rows=tuple(
            Row(number, row.kind, _position(row.baseline), _position(row.candidate), row.differing)
            for number, row in enumerate(aligned, start=1)
        ),
        counts=counts,
        retries={side: retry_seqs(deliveries[side]) for side in Side.values},
        tools={side: tuple(tools[side]) for side in Side.values},
    )


@dataclass(frozen=True, slots=True)
class _LightRow:
    case_id: int
    seq: int
    kind: str
    tool: str
    redelivered: bool
    policy_violation: str | None
    status: str
    http_status: int
    mutated: bool
    replayed: bool
    code: str | None
    has_key: str | None
    arguments: str | None
    response: str | None
    changes: str | None
    query: str | None
    limit: int | None
    documents: str | None


def _light_rows(case_ids: Iterable[int]) -> QuerySet[ToolCall, Any]:
    rows = ToolCall.objects.filter(case__in=list(case_ids)).order_by("case_id", "seq")
    return rows.values_list(
        *_PLAIN,
        Left("error_code", 500),
        Left("idempotency_key", 1),
        _short("arguments", SHORT_ARGUMENTS),
        _short("response", SHORT_JSON),
        _short("changes", SHORT_JSON),
        Left("query", 2000),
        "limit",
        _short("documents", SHORT_JSON),
    )


def _short(column: str, limit: int) -> Any:
    """The text of a JSON column, or a digest of it if it is long."""
    text = Cast(column, TextField())
    digest = Concat(Value("md5:"), MD5(text), output_field=TextField())
    is_short = LessThanOrEqual(Length(column), limit)
    return SqlCase(When(is_short, then=text), default=digest, output_field=TextField())


class _Canonical:
    """Equal JSON values to equal texts (`fingerprint`), each distinct stored text parsed once."""

    def __init__(self) -> None:
        self._known: dict[str | None, str] = {None: "null"}

    def __call__(self, text: str | None) -> str:
        found = self._known.get(text)
        if found is None:
            assert text is not None
            found = self._known[text] = text if text.startswith("md5:") else fingerprint(json.loads(text))
        return found


def _step(row: _LightRow, position: int, canonical: _Canonical) -> StoredStep:
    """The keys of `evaluations.grading.trajectory.TrajectoryStep`, made of texts."""
    if row.kind == "retrieval":
        asked, found = (row.query, row.limit), (canonical(row.documents),)
        return StoredStep(position, RETRIEVAL, row.seq, (RETRIEVAL,), asked, None, found)
    result = (
        row.status,
        row.http_status,
        row.code,
        row.mutated,
        row.replayed,
        canonical(row.response),
        canonical(row.changes),
    )
    return StoredStep(
        position,
        TOOL if row.policy_violation is None else POLICY,
        row.seq,
        ("call", row.tool, row.redelivered),
        (canonical(row.arguments), row.has_key is not None),
        row.policy_violation,
        result,
    )


def _outcome(case: Case, position: int) -> StoredStep:
    claim = (case.claimed_outcome, case.has_answer)  # type: ignore[attr-defined]
    return StoredStep(position, OUTCOME, None, (OUTCOME,), (), None, claim)


def _position(step: Any) -> int | None:
    return None if step is None else step.position


_remembered: Remembered[Alignment] = Remembered(REMEMBERED_ROWS)
