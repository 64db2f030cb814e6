"""How well two reviewers agree where the policy asked for two: share and Cohen's kappa of their decisions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Count, OuterRef, Subquery

from evaluations.grading.agreement import Agreement, Pair, agreement_of
from reviews.models import UNSETTLED, BlindDecision, DoubleReview, DoubleReviewState
from reviews.two_reviewers import ASKED_FOR


@dataclass(frozen=True, slots=True)
class ReviewerAgreement:
    """Over all rounds in which both have decided, and for each kind of result that was asked for.

    `waiting` rounds have one decision and say nothing yet; `split` are those a third has still to decide.
    """

    all: Agreement
    by_kind: tuple[tuple[str, Agreement], ...]
    waiting: int
    split: int


def reviewer_agreement() -> ReviewerAgreement:
    """Two queries. The first decision is one reader, the second the other: who they were is no part of it."""

    def decision(position: int) -> Subquery:
        given = BlindDecision.objects.filter(double_review=OuterRef("pk"), position=position)
        return Subquery(given.values("decision")[:1])

    rounds = DoubleReview.objects.order_by()
    both = rounds.exclude(state=DoubleReviewState.OPEN).annotate(first=decision(1), second=decision(2))
    counted = both.values_list("asked_for", "first", "second").annotate(number=Count("pk"))
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for kind, first, second, number in counted:
        pairs[kind] += [(first, second)] * number
    states = dict(
        rounds.filter(state__in=UNSETTLED, result__case__pair__replaced=False)
        .values_list("state")
        .annotate(number=Count("pk"))
        .values_list("state", "number")
    )
    kinds = [*ASKED_FOR, *(kind for kind in pairs if kind not in ASKED_FOR)]
    return ReviewerAgreement(
        all=agreement_of([pair for found in pairs.values() for pair in found]),
        by_kind=tuple((kind, agreement_of(pairs[kind])) for kind in kinds if kind in pairs),
        waiting=states.get(DoubleReviewState.OPEN, 0),
        split=states.get(DoubleReviewState.SPLIT, 0),
    )
