"""Every expectation of a case with both sides' grade, what it rests on and what people made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evaluations.grading.run_findings import AGENT_RUN
from evaluations.grading.verdicts import OUTCOME_TYPES
from evaluations.models import ExpectationResult, ResultStatus, Side
from evaluations.page_queries.verdicts import Judged, Judging, judgings
from reviews.models import Decision, Review
from reviews.page_queries.cases import CaseAddress, PairPage, SideOfCase
from reviews.page_queries.rounds import ShownDecision, ShownRound
from reviews.page_queries.states import FinalStates

LINKS_SHOWN = 12
PATH_CHARACTERS = 24


@dataclass(frozen=True, slots=True)
class EvidenceLink:
    text: str
    href: str
    title: str


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """A review as it is told under its check; `withdraw_href` only for the one that counts.

    `together` are the decisions of the other reviewers of its round, if it came of one.
    """

    review: Review
    side: str
    check: str
    was_withdrawn: bool
    withdraw_href: str
    together: tuple[ShownDecision, ...] = ()


def standing_of(reviews: Sequence[Review]) -> Review | None:
    """The one that counts of all reviews of a result, oldest first."""
    withdrawn = {review.withdraws_id for review in reviews if review.withdraws_id}
    counting = [review for review in reviews if not review.is_withdrawal and review.pk not in withdrawn]
    return counting[-1] if counting else None


@dataclass(slots=True)
class CheckSide:
    """One side of a check. `standing` is the review that counts, `closed` why the reader may not decide.

    `round` is the round of two reviewers that is under way.
    """

    side: SideOfCase
    result: ExpectationResult
    reviews: list[Review]
    closed: str
    links: list[EvidenceLink]
    round: ShownRound | None = None
    ask_why: Callable[[], str] = str
    settled: dict[int, ShownRound] = field(default_factory=dict)
    judged: Judged | None = None

    @property
    def standing(self) -> Review | None:
        return standing_of(self.reviews)

    @property
    def two(self) -> str:
        """Why two must decide, empty if one is enough; the policy is read where somebody wants to know."""
        return self.ask_why()

    @property
    def latest_review_id(self) -> int:
        return self.reviews[-1].pk if self.reviews else 0

    @property
    def status(self) -> str:
        return self.result.effective_status

    @property
    def overridden_by(self) -> str:
        """Who made it count as something else than what was measured; empty if nobody did."""
        standing = self.standing
        if standing is None or self.result.status == self.result.effective_status:
            return ""
        return standing.reviewer.get_username()

    @property
    def confirmed_by(self) -> str:
        """Who looked and left it as it was measured."""
        standing = self.standing
        return standing.reviewer.get_username() if standing is not None and not self.overridden_by else ""


@dataclass(slots=True)
class CheckRow:
    """One expectation. `anchor` is the id of its place in the page."""

    id: str
    type: str
    critical: bool
    description: str
    position: int
    anchor: str
    is_new_failure: bool
    address: CaseAddress
    baseline: CheckSide | None = None
    candidate: CheckSide | None = None
    # The form that is open under the check, if one is.
    form: Any = None
    # Whether its button is the one the keyboard presses.
    is_first: bool = False
    # Where the queue shows it; empty on the page of the case.
    queue_href: str = ""

    @property
    def told(self) -> CheckSide:
        """The side whose reason is told first: the candidate, if it was graded."""
        found = self.candidate or self.baseline
        assert found is not None
        return found

    @property
    def other_reason(self) -> str:
        """The baseline's reason where it says something else."""
        if self.candidate is None or self.baseline is None:
            return ""
        reason = self.baseline.result.reason
        return reason if reason != self.candidate.result.reason else ""

    @property
    def sides(self) -> list[CheckSide]:
        return [side for side in (self.candidate, self.baseline) if side is not None]

    @property
    def reviews(self) -> list[ReviewLine]:
        """Of both sides, in the order they were given."""
        lines = [self._line(side, review) for side in self.sides for review in side.reviews]
        return sorted(lines, key=lambda line: line.review.pk)

    @property
    def judgings(self) -> list[Judging]:
        """Who judged what no check of ours can."""
        return judgings((side.side.label, side.judged) for side in self.sides)

    @property
    def override_href(self) -> str:
        """The page with the form open; empty where nobody may decide."""
        side = self.decidable
        return self.form_href(side) if side is not None else ""

    def form_href(self, side: CheckSide) -> str:
        """The page (of the case, or of the queue) with the form for this side open."""
        if self.queue_href:
            return f"{self.queue_href}&override={side.result.pk}#{self.anchor}"
        return self.address.href(self.anchor, override=side.result.pk)

    @property
    def closed_form_href(self) -> str:
        """The same page without a form, even if something was typed into it before."""
        if self.queue_href:
            return f"{self.queue_href}&closed=1#{self.anchor}"
        return self.address.href(self.anchor, closed=1)

    def _line(self, side: CheckSide, review: Review) -> ReviewLine:
        counts = side.standing is not None and side.standing.pk == review.pk
        return ReviewLine(
            review=review,
            side=side.side.label,
            check=self.id,
            was_withdrawn=any(other.withdraws_id == review.pk for other in side.reviews),
            withdraw_href=(
                self.address.href(self.anchor, withdraw=review.pk)
                if counts and not side.closed and not self.queue_href
                else ""
            ),
            together=side.settled[review.pk].others if review.pk in side.settled else (),
        )

    @property
    def closed(self) -> str:
        """Why the check as a whole cannot be decided on; empty if one side can."""
        return self.told.closed if all(side.closed for side in self.sides) else ""

    @property
    def decidable(self) -> CheckSide | None:
        """The side that the button opens: the candidate's, else the baseline's."""
        if any(side.round is not None and side.closed for side in self.sides):
            return None  # what the reader has decided waits for somebody else
        return next((side for side in self.sides if not side.closed), None)

    @property
    def rounds(self) -> list[tuple[CheckSide, ShownRound]]:
        """Of both sides, those that are under way."""
        return [(side, side.round) for side in self.sides if side.round is not None]

    @property
    def two(self) -> str:
        """Why two must decide on what the button opens; empty if one is enough or a round is told."""
        side = self.decidable
        return side.two if side is not None and side.round is None else ""

    @property
    def is_quiet(self) -> bool:
        """Nothing to see: measured, and passing wherever it was."""
        return all(
            side.status == ResultStatus.PASS and not side.reviews and side.round is None
            for side in self.sides
        )

    @property
    def rank(self) -> tuple[bool, bool, bool, int]:
        """New critical failures first, then what newly fails, then what is not passing, then the document."""
        is_fact = self.type == AGENT_RUN
        return (
            not (self.is_new_failure and self.critical),
            not self.is_new_failure,
            self.is_quiet and not is_fact,
            self.position,
        )


def check_rows(page: PairPage, ends: FinalStates | None = None, base: str = "") -> list[CheckRow]:
    """The rows, worst first; one query for rounds under way.

    `ends` gives the state paths of the evidence their places, which are in the page `base` ("": this one).
    """
    reviews: dict[int, list[Review]] = {}
    for review in page.reviews:
        reviews.setdefault(review.result_id, []).append(review)
    rows: dict[str, CheckRow] = {}
    newly_failing = set(page.pair.newly_failing)
    for side in page.told:
        for result in side.results:
            row = rows.get(result.expectation_id)
            if row is None:
                row = rows[result.expectation_id] = CheckRow(
                    id=result.expectation_id,
                    type=result.type,
                    critical=result.critical,
                    description=page.brief.checks.get(result.expectation_id, ""),
                    position=result.position,
                    anchor=f"check-{len(rows) + 1}",
                    is_new_failure=result.expectation_id in newly_failing,
                    address=page.address,
                )
            own = CheckSide(
                side=side,
                result=result,
                reviews=reviews.get(result.pk, []),
                closed=side.refusals.get(result.pk, ""),
                links=_links(page, side, result, ends, base),
                round=page.two.unsettled(result.pk),
                judged=page.judged.get(result.pk),
            )
            own.closed = own.closed or (own.round.closed if own.round is not None else "")
            rounds = ((review.pk, page.two.of_review(review.pk)) for review in own.reviews)
            own.settled = {pk: one for pk, one in rounds if one is not None}
            if side.name == Side.CANDIDATE:
                row.candidate = own
            else:
                row.baseline = own
    for row in rows.values():
        statuses = [None if side is None else side.result.status for side in (row.candidate, row.baseline)]
        for own in row.sides:
            own.ask_why = partial(page.two.why, own.result, *statuses)
    return with_key(sorted(rows.values(), key=lambda row: row.rank))


def with_key(rows: list[CheckRow]) -> list[CheckRow]:
    """The same rows; the button of the first that can be decided answers to the keyboard."""
    first = next((row for row in rows if row.decidable is not None), None)
    for row in rows:
        row.is_first = row is first
    return rows


def cited_paths(page: PairPage) -> list[str]:
    """The state paths that evidence points at, those of failing checks of the candidate first."""
    results = [result for side in page.told for result in side.results]
    results.sort(key=lambda result: result.status != ResultStatus.FAIL)
    return list(dict.fromkeys(path for result in results for path in _paths(result.evidence)))


def contradicted_by(side: SideOfCase) -> list[ExpectationResult]:
    """The checks of the outcome that disprove a side's claim of success; empty if nothing does."""
    if side.case is None or not side.case.contradiction:
        return []
    return [
        result
        for result in side.results
        if result.type in OUTCOME_TYPES and result.status == ResultStatus.FAIL
    ]


@dataclass(slots=True)
class Contradiction:
    """A side that claims what the records disprove, the checks that do, and who decided otherwise on one."""

    side: SideOfCase
    checks: list[ExpectationResult] = field(default_factory=list)
    overridden: list[Review] = field(default_factory=list)


def contradictions(page: PairPage) -> list[Contradiction]:
    found = []
    for side in page.told:
        if side.case is not None and side.case.contradiction:
            checks = contradicted_by(side)
            found.append(Contradiction(side, checks, _overridden(page, checks)))
    return found


def _overridden(page: PairPage, checks: Sequence[ExpectationResult]) -> list[Review]:
    """The decisions that count on these failing checks and say that they pass."""
    standing = (
        standing_of([review for review in page.reviews if review.result_id == check.pk]) for check in checks
    )
    return [review for review in standing if review is not None and review.decision == Decision.PASS]


def _links(
    page: PairPage, side: SideOfCase, result: ExpectationResult, ends: FinalStates | None, base: str
) -> list[EvidenceLink]:
    """The state paths, then the calls: those the grade names, and those that changed the paths."""
    paths, calls = [], dict.fromkeys(_calls(result.evidence))
    for path in _paths(result.evidence):
        place = ends.place_of(path) if ends is not None else None
        href = f"{base}#{place.anchor}" if place is not None else page.address.href("case-state")
        paths.append(EvidenceLink(_path_end(path), href, f"the state at {path}"))
        calls |= dict.fromkeys(touch.seq for touch in (place.touched_by(side.name) if place else ()))
    numbered = [
        EvidenceLink(f"#{seq}", page.address.call_href(side.name, seq), f"{side.label} call {seq}")
        for seq in sorted(calls)
    ]
    # Both sides point at the same places; once is enough.
    if side.name == Side.BASELINE and page.candidate.results:
        return numbered[:LINKS_SHOWN]
    return [*paths, *numbered][:LINKS_SHOWN]


def _path_end(path: str) -> str:
    """The last segments of a path, as many as fit; the whole of it stands in the reason."""
    segments = path.split(".")
    kept = segments[-1:]
    for segment in reversed(segments[:-1]):
        if len(".".join([segment, *kept])) > PATH_CHARACTERS:
            break
        kept.insert(0, segment)
    return ".".join(kept) if len(kept) == len(segments) else f"…{'.'.join(kept)[-60:]}"


def _calls(evidence: Any) -> Iterable[int]:
    found = evidence.get("calls") if isinstance(evidence, Mapping) else None
    return [seq for seq in found or () if type(seq) is int and seq > 0]


def _paths(evidence: Any) -> Iterable[str]:
    found = evidence.get("paths") if isinstance(evidence, Mapping) else None
    return [path for path in found or () if isinstance(path, str)]
