"""Rounds of two reviewers as one person may see them: no other place reads sealed decisions to show them.

While a round waits for its second reviewer everybody sees who has decided and when, and nobody but the author
what and why. Once both have decided, everybody sees everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from reviews.models import DoubleReview, DoubleReviewState
from reviews.services.policies import current_policy
from reviews.two_reviewers import ASKED_FOR, Measured, Policy, asked_for

WAITS_FOR_ANOTHER = "You have decided, under seal. It counts when another reviewer has decided too."
WAITS_FOR_THIRD = "You are one of the two who disagree here: a third reviewer decides."


@dataclass(frozen=True, slots=True)
class ShownDecision:
    """`decision` and `note` are empty where the seal holds for this reader."""

    position: int
    reviewer: str
    is_own: bool
    is_sealed: bool
    decision: str
    note: str
    token_name: str
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class ShownRound:
    """`closed`: why this reader may not decide in it (any more); empty if they may, or nobody need."""

    round: DoubleReview
    why: str
    decisions: tuple[ShownDecision, ...]
    closed: str

    @property
    def result_id(self) -> int:
        return self.round.result_id

    @property
    def own(self) -> ShownDecision | None:
        return next((one for one in self.decisions if one.is_own), None)

    @property
    def is_unsettled(self) -> bool:
        return not self.round.is_settled

    @property
    def is_split(self) -> bool:
        return self.round.state == DoubleReviewState.SPLIT

    @property
    def others(self) -> tuple[ShownDecision, ...]:
        """Those whose decision is told beside the review that came of the round."""
        review = self.round.review_id
        return tuple(one for one in self.decisions if one.position < len(self.decisions)) if review else ()


class TwoReviewers:
    """What one reader may know of the rounds of a pair, and what the policy asks; read when needed."""

    def __init__(self, pair_id: int, actor: Any) -> None:
        self._pair_id = pair_id
        self._actor = actor

    @cached_property
    def rounds(self) -> list[ShownRound]:
        return [shown_round(one, self._actor) for one in DoubleReview.objects.on_pair(self._pair_id)]

    @cached_property
    def policy(self) -> Policy:
        return current_policy()

    def unsettled(self, result_id: int) -> ShownRound | None:
        return next((one for one in self.rounds if one.is_unsettled and one.result_id == result_id), None)

    def of_review(self, review_id: int) -> ShownRound | None:
        return next((one for one in self.rounds if one.round.review_id == review_id), None)

    def why(self, result: Any, candidate: str | None, baseline: str | None) -> str:
        """Why two must decide on this result, in words; empty if one is enough."""
        under_way = self.unsettled(result.pk)
        if under_way is not None:
            return under_way.why
        check = Measured(result.type, result.critical, result.status, candidate, baseline)
        return ASKED_FOR.get(asked_for(self.policy, check), "")


def shown_round(round_: DoubleReview, actor: Any) -> ShownRound:
    """The round as this person may see it. Its decisions with their reviewers are loaded."""
    decisions = tuple(
        _shown(one, is_own=one.reviewer_id == actor.pk, is_sealed=round_.is_sealed)
        for one in round_.decisions.all()
    )
    closed = ""
    if not round_.is_settled and any(one.is_own for one in decisions):
        closed = WAITS_FOR_THIRD if round_.state == DoubleReviewState.SPLIT else WAITS_FOR_ANOTHER
    return ShownRound(round_, ASKED_FOR.get(round_.asked_for, round_.asked_for), decisions, closed)


def _shown(one: Any, *, is_own: bool, is_sealed: bool) -> ShownDecision:
    hidden = is_sealed and not is_own
    return ShownDecision(
        position=one.position,
        reviewer=one.reviewer.get_username(),
        is_own=is_own,
        is_sealed=hidden,
        decision="" if hidden else one.decision,
        note="" if hidden else one.note,
        token_name="" if hidden else one.token_name,
        decided_at=one.decided_at,
    )
