"""States of a case, rebuilt from its start and the stored changes; and where both sides ended up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Case as SqlCase
from django.db.models import F, Q, When

from evaluations.grading.differing import differences
from evaluations.grading.signals import duplicate_effects
from evaluations.models import Side, StateSnapshot, ToolCall
from evaluations.models.cases import CallStatus
from reviews.page_queries.cases import PairPage
from reviews.page_queries.remembering import Remembered
from reviews.presenting.bounded import one_line
from twins.columns import ExactJSONField
from twins.engine.paths import PathSyntaxError, parse_path, split_path
from twins.engine.state import apply_changes
from twins.engine.values import MISSING, json_equal
from twins.services import key_arguments_of

ROWS_SHOWN = 100
PLACES_TOLD = 4
# Writes of ended cases whose facts are remembered, in all.
REMEMBERED_WRITES = 100_000
TOUCHES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Write:
    """A record whose effects were applied, or that answered success as if (`mutated` False).

    Has what the rule for duplicate effects looks at.
    """

    seq: int
    tool: str
    arguments: Any
    effect_key: str | None
    idempotency_key: str | None
    changes: list[dict[str, Any]]
    mutated: bool = True
    kind: str = "tool_call"


class CannotRebuild(ValueError):
    """The stored changes do not fit the stored start."""


@dataclass(frozen=True, slots=True)
class Ends:
    """Where the sides ended: places as (path, start, baseline, candidate, differs), and who changed them.

    Without a baseline the candidate's end is held against the start.
    """

    places: tuple[tuple[str, str, str, str, bool], ...] = ()
    touched: Mapping[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    differing: int = 0
    more: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What follows from the writes of both sides; remembered once they have ended.

    By side: `applied` are the writes of each tool, `empty` its calls that answered success and changed
    nothing, `again` names for each write that applied an effect once more the record that had applied it
    first.
    """

    applied: Mapping[str, Mapping[str, tuple[int, ...]]]
    empty: Mapping[str, Mapping[str, tuple[int, ...]]]
    again: Mapping[str, Mapping[int, int]]
    ends: Ends


class States:
    """The states of one case, read when they are asked for: two queries, however many steps there are."""

    def __init__(self, page: PairPage) -> None:
        self._page = page

    @cached_property
    def initial(self) -> Any:
        return StateSnapshot.objects.values_list("state", flat=True).get(pk=self._page.pair.initial_state_id)

    @cached_property
    def writes(self) -> Mapping[str, Sequence[Write]]:
        """Every write of each side in order, those included that only answered as if."""
        return _writes(self._page)

    def after(self, side: str, seq: int | None = None) -> Any:
        """The state after this record of a side, None: at its end. Raises CannotRebuild."""
        state = self.initial
        try:
            for write in self.writes[side]:
                if seq is not None and write.seq > seq:
                    break
                if write.changes:
                    state = apply_changes(state, write.changes)
        except (ValueError, KeyError, IndexError, TypeError) as misfit:
            raise CannotRebuild("The stored changes do not fit the stored start of this case.") from misfit
        return state

    def facts(self, cited: Sequence[str]) -> Facts:
        """`cited` are the paths that evidence points at, the most important first."""
        return _remembered.of(self._page.cases, lambda: self._facts(cited), _size_of)

    def _facts(self, cited: Sequence[str]) -> Facts:
        applied: dict[str, dict[str, list[int]]] = {}
        empty: dict[str, dict[str, list[int]]] = {}
        again: dict[str, dict[int, int]] = {}
        twin = self._page.pair.twin_version
        keys = key_arguments_of(twin.pk, twin.digest)
        for side, writes in self.writes.items():
            applied[side], empty[side], again[side] = {}, {}, {}
            for write in writes:
                by_tool = (applied if write.mutated else empty)[side]
                by_tool.setdefault(write.tool, []).append(write.seq)
            for effect in duplicate_effects(writes, keys):
                first, *later = effect.calls
                again[side] |= {call.seq: first.seq for call in later}
        return Facts(_by_tool(applied), _by_tool(empty), again, self._ends(cited))

    def _ends(self, cited: Sequence[str]) -> Ends:
        not_run = [side.label for side in self._page.sides.values() if not side.has_run]
        if not_run:
            return Ends(problem=_without_end(not_run))
        try:
            ends = {name: self.after(name) for name in self._page.sides}
        except CannotRebuild as misfit:
            return Ends(problem=str(misfit))
        before = ends.get(Side.BASELINE, self.initial)
        differing = [one.path for one in differences(before, ends[Side.CANDIDATE])]
        paths = [path for path in dict.fromkeys([*cited, *differing]) if _segments(path) is not None]
        shown = paths[:ROWS_SHOWN]
        return Ends(
            places=tuple(_place(path, self.initial, ends) for path in shown),
            touched={side: _touched(writes, shown) for side, writes in self.writes.items()},
            differing=len(differing),
            more=len(paths) - len(shown),
        )


def _without_end(sides: Sequence[str]) -> str:
    """`sides` are the labels of those that did not run, one or both."""
    if len(sides) == 1:
        return f"The {sides[0]} has no final state: it did not run."
    return f"The {' and the '.join(sides)} have no final state: they did not run."


def _by_tool(sides: Mapping[str, Mapping[str, list[int]]]) -> dict[str, dict[str, tuple[int, ...]]]:
    return {side: {tool: tuple(seqs) for tool, seqs in tools.items()} for side, tools in sides.items()}


def _writes(page: PairPage) -> dict[str, list[Write]]:
    sides = {case.pk: name for name, case in page.cases.items()}
    writes: dict[str, list[Write]] = {name: [] for name in Side.values}
    # Arguments tell effects apart only where no effect key does.
    needed = SqlCase(
        When(effect_key__isnull=True, then=F("arguments")), default=None, output_field=ExactJSONField()
    )
    # As `evaluations.grading.signals.claimed_without_change` has it.
    as_if = Q(status=CallStatus.OK, expects_mutation=True, replayed=False)
    rows = ToolCall.objects.filter(Q(mutated=True) | as_if, case__in=list(sides)).order_by("case_id", "seq")
    for case_id, *values in rows.values_list(
        "case_id", "seq", "tool", needed, "effect_key", "idempotency_key", "changes", "mutated"
    ):
        writes[sides[case_id]].append(Write(*values))
    return writes


@dataclass(frozen=True, slots=True)
class Touch:
    """A record that changed a place."""

    seq: int
    href: str


@dataclass(frozen=True, slots=True)
class Place:
    """One place of the state: at the start, at both ends, and the first records that changed it."""

    anchor: str
    path: str
    start: str
    baseline: str
    candidate: str
    differs: bool
    is_cited: bool
    touched_by_baseline: list[Touch]
    touched_by_candidate: list[Touch]

    def touched_by(self, side: str) -> list[Touch]:
        return self.touched_by_baseline if side == Side.BASELINE else self.touched_by_candidate


@dataclass(frozen=True, slots=True)
class FinalStates:
    """The places a check points at, then those in which the ends differ; `problem` if they are not known."""

    places: tuple[Place, ...] = ()
    differing: int = 0
    more: int = 0
    problem: str = ""

    def place_of(self, path: str) -> Place | None:
        return next((place for place in self.places if place.path == path), None)

    def told(self) -> list[Place]:
        """The differing places to tell beside the claims: those that evidence points at, else the first."""
        differing = [place for place in self.places if place.differs]
        return ([place for place in differing if place.is_cited] or differing)[:PLACES_TOLD]


def final_states(page: PairPage, ends: Ends, cited: Sequence[str]) -> FinalStates:
    """The ends as the page shows them, with the way to the records."""

    def touches(side: str, path: str) -> list[Touch]:
        return [Touch(seq, page.address.call_href(side, seq)) for seq in ends.touched[side].get(path, ())]

    places = tuple(
        Place(
            f"path-{number}",
            *place,
            is_cited=place[0] in cited,
            touched_by_baseline=touches(Side.BASELINE, place[0]),
            touched_by_candidate=touches(Side.CANDIDATE, place[0]),
        )
        for number, place in enumerate(ends.places, start=1)
    )
    return FinalStates(places, ends.differing, ends.more, ends.problem)


def _place(path: str, initial: Any, ends: Mapping[str, Any]) -> tuple[str, str, str, str, bool]:
    wanted = parse_path(path)
    baseline, candidate = wanted.get(ends.get(Side.BASELINE, initial)), wanted.get(ends[Side.CANDIDATE])
    both_missing = baseline is MISSING and candidate is MISSING
    differs = not both_missing and not json_equal(baseline, candidate)
    return path, one_line(wanted.get(initial)), one_line(baseline), one_line(candidate), differs


def _touched(writes: Sequence[Write], paths: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The first writes that changed each of these places, something inside it or what holds it."""
    wanted = {segments: path for path in paths if (segments := _segments(path)) is not None}
    below: dict[tuple[Any, ...], set[str]] = {}
    for segments, path in wanted.items():
        for length in range(len(segments) + 1):
            below.setdefault(segments[:length], set()).add(path)
    found: dict[str, list[int]] = {path: [] for path in paths}
    for write in writes:
        touched: set[str] = set()
        for change in write.changes:
            place = tuple(split_path(change["path"])[0])
            touched |= below.get(place, set())
            touched |= {wanted[place[:end]] for end in range(len(place)) if place[:end] in wanted}
        for path in touched:
            if len(found[path]) < TOUCHES_SHOWN:
                found[path].append(write.seq)
    return {path: tuple(seqs) for path, seqs in found.items()}


def _segments(path: str) -> tuple[Any, ...] | None:
    """None for what is no path: evidence may name more than places."""
    try:
        return tuple(parse_path(path).segments)
    except PathSyntaxError:
        return None


def _size_of(facts: Facts) -> int:
    sides = [*facts.applied.values(), *facts.empty.values()]
    writes = sum(len(seqs) for tools in sides for seqs in tools.values())
    return writes + len(facts.ends.places)


_remembered: Remembered[Facts] = Remembered(REMEMBERED_WRITES)
