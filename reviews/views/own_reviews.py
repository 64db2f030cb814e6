"""What a person has decided so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from agenttwin_site.htmx import page_or_fragment
from agenttwin_site.paging import keyset_page
from reviews.models import Review
from reviews.page_queries.cases import CaseAddress

LISTED = 30


@dataclass(frozen=True, slots=True)
class OwnLine:
    """`standing` is a word for what became of the review."""

    review: Review
    href: str
    side: str
    standing: str


@require_safe
@permission_required("reviews.view_review", raise_exception=True)
def own_reviews(request: HttpRequest) -> HttpResponse:
    """Newest first, a page at a time; one query."""
    user: Any = request.user
    later = Review.objects.standing().filter(result=OuterRef("result"), pk__gt=OuterRef("pk"))
    reviews = Review.objects.by(user.pk).for_list().annotate(is_followed=Exists(later))
    page = keyset_page(reviews, keys=("-pk",), query=request.GET, size=LISTED)
    context = {"page": page, "lines": [_line(review) for review in page.rows]}
    return page_or_fragment(request, "reviews/own_reviews.html", "reviews/_own_reviews.html", context)


def _line(review: Any) -> OwnLine:
    case = review.result.case
    if review.is_withdrawal:
        standing = "withdrawal"
    elif hasattr(review, "withdrawn_by"):
        standing = f"withdrawn by {review.withdrawn_by.reviewer.get_username()}"
    else:
        standing = "a later decision counts" if review.is_followed else "counts"
    return OwnLine(
        review=review, href=CaseAddress.of(case.pair).href(), side=case.run.side.lower(), standing=standing
    )
