"""Two reviewers on one result: each decides under seal, and what counts follows from both (decision 1302).

A round begins with the first decision on a result for which the policy asks for two. Nothing changes until
both have decided; where they agree, or once a third has decided, the decision is recorded as any other.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from django.utils import timezone

from evaluations.models import ExpectationResult, Side
from reviews import audit
from reviews.errors import AlreadyDecidedError
from reviews.models import BlindDecision, DoubleReview, DoubleReviewState, QueueReason, Review, ReviewPolicy
from reviews.reconciling import BLIND
from reviews.seals import seal_of
from reviews.services import needs
from reviews.services.wanted import Wanted, label_of
from reviews.two_reviewers import Measured, Policy, asked_for

SPLIT, SETTLED = "double_review_split", "double_review_settled"
UNDER_SEAL = "Decided under seal; it counts when another reviewer has decided too."


def round_for(result: ExpectationResult) -> DoubleReview | None:
    """The round a decision on this locked result belongs to: the one under way, else a new one (not stored)
    if the policy in force asks for two. None: one person decides.
    """
    under_way = result.double_reviews.unsettled().first()
    if under_way is not None:
        return under_way
    policy = ReviewPolicy.objects.first()
    if policy is None:
        return None
    asked = asked_of(policy.values, result)
    if not asked:
        return None
    number = result.double_reviews.count() + 1
    return DoubleReview(result=result, number=number, policy=policy, asked_for=asked)


def asked_of(policy: Policy, result: ExpectationResult) -> str:
    """Why two must decide on this result, empty if one is enough; at most one query."""
    if not policy.two_reviewers or not result.critical:
        return ""
    rows = ExpectationResult.objects.filter(
        case__pair_id=result.case.pair_id, expectation_id=result.expectation_id
    )
    statuses = dict(rows.values_list("case__run__side", "status"))
    return asked_for(policy, measured(result, statuses.get(Side.CANDIDATE), statuses.get(Side.BASELINE)))


def measured(result: ExpectationResult, candidate: str | None, baseline: str | None) -> Measured:
    """What the rule looks at; the statuses of the two sides of the result's expectation."""
    return Measured(result.type, result.critical, result.status, candidate, baseline)


def made_before(wanted: Wanted) -> Review | BlindDecision | None:
    """What this form already made: the decision that was given, or what it settled."""
    stored = BlindDecision.objects.filter(form_token=wanted.form_token).first()
    if stored is None:
        return None
    wanted.refuse_if_other(stored.double_review.result_id, stored)
    review = stored.double_review.review
    return review if review is not None and review.form_token == stored.form_token else stored


def decide(
    round_: DoubleReview, wanted: Wanted, settle: Callable[[Wanted], Review]
) -> Review | BlindDecision:
    """Take one person's decision. Answers it, or the review that came of it if it settled the round.

    The comparison, the pair and its queue entries are locked. Raises AlreadyDecidedError.
    """
    result, pair = wanted.result, wanted.result.case.pair
    if round_.pk is None:
        round_.save()
    elif wanted.actor.pk in round_.votes.people:
        raise AlreadyDecidedError(
            "You are one of the two who disagree on this one. A third reviewer must decide."
            if round_.state == DoubleReviewState.SPLIT
            else "You have decided on this one. Another reviewer must decide too, "
            "without seeing what you decided."
        )
    given = _stored(round_, wanted)
    votes = DoubleReview.objects.get(pk=round_.pk).votes
    if votes.verdict is not None:
        return _settled(round_, wanted, settle)
    reason = QueueReason.SECOND_REVIEW
    if votes.is_split:
        reason, round_.state = QueueReason.SPLIT, DoubleReviewState.SPLIT
        round_.save(update_fields=["state"])
        _record(SPLIT, round_, wanted, after=_opened(round_))
    needs.ask_for_two(pair, result, result.case.run.side, reason)
    return given


def _stored(round_: DoubleReview, wanted: Wanted) -> BlindDecision:
    given = BlindDecision(
        double_review=round_,
        position=round_.decisions.count() + 1,
        reviewer=wanted.actor,
        decision=wanted.decision,
        note=wanted.note,
        salt=secrets.token_hex(32),
        form_token=wanted.form_token,
        token_name=wanted.token_name,
    )
    given.seal = seal_of(given)
    given.save()
    _record(BLIND, round_, wanted, after={"position": given.position, "seal": given.seal})
    return given


def _settled(round_: DoubleReview, wanted: Wanted, settle: Callable[[Wanted], Review]) -> Review:
    is_third = round_.state == DoubleReviewState.SPLIT
    _record(SETTLED, round_, wanted, after=_opened(round_))
    review = settle(wanted)
    round_.state = DoubleReviewState.DECIDED if is_third else DoubleReviewState.AGREED
    round_.review, round_.settled_at = review, timezone.now()
    round_.save(update_fields=["state", "review", "settled_at"])
    return review


def _opened(round_: DoubleReview) -> dict[str, Any]:
    """The seals broken: what everybody decided, and with what the seals in the log can be checked."""
    return {
        "decisions": [
            {
                "position": one.position,
                "reviewer": one.reviewer.get_username(),
                "decision": one.decision,
                "note": one.note,
                "salt": one.salt,
                "seal": one.seal,
            }
            for one in round_.decisions.select_related("reviewer").order_by("position")
        ]
    }


def _record(action: str, round_: DoubleReview, wanted: Wanted, *, after: dict[str, Any]) -> None:
    pair = wanted.result.case.pair
    about = {
        "double_review": round_.pk,
        "asked_for": round_.asked_for,
        "policy": round_.policy.number,
        "comparison": pair.comparison_id,
        "scenario": pair.scenario_name,
        "trial": pair.trial,
    }
    audit.record(
        action=action,
        subject_type="result",
        subject_id=wanted.result.pk,
        subject_label=label_of(wanted.result),
        actor=wanted.actor,
        via=wanted.via,
        after=about | after,
    )
