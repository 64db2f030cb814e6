"""What a person has decided so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from agenttwin_site.htmx import page_or_fragment
from agenttwin_site.paging import keyset_page
from evaluations.holdouts import seen
from reviews.models import DoubleReview, Review
from reviews.page_queries.cases import CaseAddress
from reviews.page_queries.rounds import ShownDecision, ShownRound, shown_round
from scenarios.holdouts import sight_of

LISTED = 30
UNDER_WAY_SHOWN = 50


@dataclass(frozen=True, slots=True)
class OwnLine:
    """`standing` is a word for what became of the review; `decided` what the reader said in its round, if
    the review is another's.
    """

    review: Review
    href: str
    side: str
    standing: str
    decided: ShownDecision | None


@dataclass(frozen=True, slots=True)
class UnderWay:
    """What the reader has decided in a round that waits for somebody else."""

    shown: ShownRound
    own: ShownDecision
    href: str
    side: str


@require_safe
@permission_required("reviews.view_review", raise_exception=True)
def own_reviews(request: HttpRequest) -> HttpResponse:
    """Newest first, a page at a time; those included in whose round the reader was one of two.

    A fixed number of queries.
    """
    user: Any = request.user
    later = Review.objects.standing().filter(result=OuterRef("result"), pk__gt=OuterRef("pk"))
    rounds = DoubleReview.objects.filter(decisions__reviewer=user.pk, review__isnull=False)
    own = Review.objects.filter(Q(reviewer=user.pk) | Q(pk__in=rounds.values("review")))
    reviews = seen(own, sight_of(user), pair="result__case__pair").for_list()
    reviews = reviews.prefetch_related("double_review__decisions__reviewer")
    page = keyset_page(
        reviews.annotate(is_followed=Exists(later)), keys=("-pk",), query=request.GET, size=LISTED
    )
    context = {
        "page": page,
        "lines": [_line(review, user) for review in page.rows],
        "under_way": _under_way(user),
    }
    return page_or_fragment(request, "reviews/own_reviews.html", "reviews/_own_reviews.html", context)


def _under_way(user: Any) -> list[UnderWay]:
    rounds = seen(DoubleReview.objects.unsettled(), sight_of(user), pair="result__case__pair")
    rounds = rounds.filter(decisions__reviewer=user.pk).for_list()
    found = []
    for one in rounds[:UNDER_WAY_SHOWN]:
        shown, case = shown_round(one, user), one.result.case
        if shown.own is not None:
            href = CaseAddress.of(case.pair).href()
            found.append(UnderWay(shown, shown.own, href, case.run.side.lower()))
    return found


def _line(review: Any, user: Any) -> OwnLine:
    case = review.result.case
    if review.is_withdrawal:
        standing = "withdrawal"
    elif hasattr(review, "withdrawn_by"):
        standing = f"withdrawn by {review.withdrawn_by.reviewer.get_username()}"
    else:
        standing = "a later decision counts" if review.is_followed else "counts"
    round_ = getattr(review, "double_review", None)
    return OwnLine(
        review=review,
        href=CaseAddress.of(case.pair).href(),
        side=case.run.side.lower(),
        standing=standing,
        decided=shown_round(round_, user).own if round_ and review.reviewer_id != user.pk else None,
    )
