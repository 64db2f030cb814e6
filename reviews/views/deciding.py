"""Sending a decision: overriding a result, withdrawing a review, flagging a case.

Each address also answers GET with the page and its form open: a person who had to log in again lands there.
"""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods
from django_htmx.http import replace_url, trigger_client_event

from agenttwin_site.htmx import redirect_after_post, wants_fragment
from evaluations.case_filter import CaseFilter
from evaluations.models import PairedCase
from reviews import services
from reviews.models import BlindDecision, Review
from reviews.page_queries.cases import CaseAddress, find_pair
from reviews.roles import DECIDE, FLAG
from reviews.views.cases import answer, may_see, page_with
from reviews.views.forms import FLAG as FLAG_FORM
from reviews.views.forms import OVERRIDE, WITHDRAW, Typed, attempt, kept, posted
from scenarios.holdouts import sight_of

may_decide = permission_required(DECIDE, raise_exception=True)
may_flag = permission_required(FLAG, raise_exception=True)


@require_http_methods(["GET", "HEAD", "POST"])
@may_see
@may_decide
def override(request: HttpRequest, result_id: int) -> HttpResponse:
    """POST `decision`, `note`, `seen_review_id`, `form_token`: decide on one result of one side."""
    pair = _found(find_pair(sight_of(request.user), cases__results=result_id))
    if request.method != "POST":
        return _form_again(request, pair, kept(request) or Typed(OVERRIDE, result_id))
    typed = posted(request, OVERRIDE, result_id)
    review, typed = attempt(
        typed,
        lambda: services.override_result(
            result_id=result_id,
            decision=typed.decision,
            note=typed.note,
            seen_review_id=typed.seen,
            actor=request.user,
            form_token=typed.form_token or None,
        ),
    )
    return _after(request, pair, typed, review)


@require_http_methods(["GET", "HEAD", "POST"])
@may_see
@may_decide
def withdraw(request: HttpRequest, review_id: int) -> HttpResponse:
    """POST `note`, `seen_review_id`, `form_token`: take back the review that counts."""
    pair = _found(find_pair(sight_of(request.user), cases__results__reviews=review_id))
    if request.method != "POST":
        return _form_again(request, pair, kept(request) or Typed(WITHDRAW, review_id))
    typed = posted(request, WITHDRAW, review_id)
    review, typed = attempt(
        typed,
        lambda: services.withdraw_review(
            review_id=review_id,
            note=typed.note,
            seen_review_id=typed.seen,
            actor=request.user,
            form_token=typed.form_token or None,
        ),
    )
    return _after(request, pair, typed, review)


@require_http_methods(["GET", "HEAD", "POST"])
@may_see
@may_flag
def flag(request: HttpRequest, pair_id: int) -> HttpResponse:
    """POST `note`: put the case into the queue for a reason of one's own."""
    pair = _found(find_pair(sight_of(request.user), pk=pair_id))
    if request.method != "POST":
        return _form_again(request, pair, kept(request) or Typed(FLAG_FORM, pair_id))
    typed = posted(request, FLAG_FORM, pair_id)
    flagged, typed = attempt(
        typed, lambda: services.flag_case(pair_id=pair_id, note=typed.note, actor=request.user)
    )
    if flagged is None:
        return _form_again(request, pair, typed)
    if not wants_fragment(request):
        messages.success(request, "The case is in the queue.")
        return redirect_after_post(request, _address(request, pair).href())
    return _shown(request, pair, event="case-flagged")


def _after(
    request: HttpRequest, pair: PairedCase, typed: Typed, made: Review | BlindDecision | None
) -> HttpResponse:
    """The new state of the case, or the form again with what spoke against it."""
    sight = sight_of(request.user)
    if made is None:
        return _form_again(request, _found(find_pair(sight, pk=pair.pk)), typed)
    review = made if isinstance(made, Review) else None
    round_id = made.double_review_id if isinstance(made, BlindDecision) else None
    if not wants_fragment(request):
        told = {"reviewed": review.pk} if review is not None else {"sealed": round_id}
        return redirect_after_post(request, _address(request, pair).href("decided", **told))
    fresh = _found(find_pair(sight, pk=pair.pk))
    clear = f"{typed.kind}-{typed.target}"
    return _shown(request, fresh, event="override-recorded", decided=review, sealed=round_id, clear=clear)


def _shown(
    request: HttpRequest,
    pair: PairedCase,
    *,
    event: str,
    decided: Review | None = None,
    sealed: int | None = None,
    clear: str = "",
) -> HttpResponse:
    parts = page_with(request, pair, decided=decided, sealed=sealed)
    parts.clear_draft = clear
    response = trigger_client_event(answer(request, parts, part="case-verdict"), event)
    # The form is closed: a reload must not open it again.
    return replace_url(response, parts.address.href())


def _form_again(request: HttpRequest, pair: PairedCase, typed: Typed) -> HttpResponse:
    parts = page_with(request, pair, typed=typed)
    return answer(request, parts, status=typed.status, part="case-verdict")


def _address(request: HttpRequest, pair: PairedCase) -> CaseAddress:
    return CaseAddress.of(pair, CaseFilter.from_query(request.GET))


def _found(pair: PairedCase | None) -> PairedCase:
    if pair is None:
        raise Http404
    return pair
