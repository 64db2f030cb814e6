"""Decisions in the API: list, decide, withdraw."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import Http404
from django.urls import re_path, reverse
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.keys import key_of, key_parameter
from agenttwin_site.api.lists import ListQuery, NoQuery, Strict, list_of, listing, read_body, read_query
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, absolute, created
from evaluations.api.cases import SIDES
from evaluations.api.comparisons import ID
from evaluations.holdouts import seen
from evaluations.page_queries import case_path
from reviews import services
from reviews.api.double_reviews import DoubleReviewShape, found, round_json
from reviews.api.examples import DECISION, REVIEW, WITHDRAWAL
from reviews.models import BlindDecision, Decision, Review
from reviews.roles import DECIDE
from reviews.texts import NOTE_MAX_LENGTH, NOTE_MIN_LENGTH
from scenarios.holdouts import sight_of

_READ = Access(("read", "review"), "reviews.view_review")
_DECIDE = Access(("review",), DECIDE)
_LARGEST = 2**63 - 1
# Keys of clients become form tokens of their account: nobody meets the key of another.
_KEYS = uuid.UUID("0c7a5c0e-8f5e-4b71-9a53-5b1e3c1f2a10")


class ReviewLinks(serializers.Serializer):
    self = serializers.URLField()
    case = serializers.URLField()
    page = serializers.URLField()


class ReviewShape(serializers.Serializer):
    """One decision on one result, or the withdrawal of one."""

    id = serializers.IntegerField()
    result = serializers.IntegerField()
    expectation = serializers.CharField()
    number = serializers.IntegerField(help_text="Counts the reviews of the result from 1.")
    decision = serializers.ChoiceField(choices=Decision.values)
    note = serializers.CharField()
    reviewer = serializers.CharField()
    token = serializers.CharField(allow_null=True, help_text="The API token it came with; null: a browser.")
    status_before = serializers.CharField()
    status_after = serializers.CharField()
    replaces = serializers.IntegerField(allow_null=True)
    withdraws = serializers.IntegerField(allow_null=True)
    withdrawn_by = serializers.IntegerField(allow_null=True)
    case = serializers.IntegerField()
    comparison = serializers.IntegerField()
    scenario = serializers.CharField()
    trial = serializers.IntegerField()
    side = serializers.ChoiceField(choices=SIDES)
    created_at = serializers.DateTimeField()
    double_review = serializers.IntegerField(
        allow_null=True, help_text="The round of two reviewers it came of; null: one person decided."
    )
    links = ReviewLinks()


class ReviewQuery(ListQuery):
    result = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, required=False, help_text="Of this result alone."
    )
    case = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, required=False, help_text="Of this case alone."
    )
    comparison = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, required=False, help_text="Of this comparison alone."
    )
    reviewer = serializers.CharField(max_length=200, required=False, help_text="A name.")
    decision = serializers.ChoiceField(
        choices=Decision.values, required=False, help_text="With this decision alone."
    )


class _Note(Strict):
    note = serializers.CharField(
        min_length=NOTE_MIN_LENGTH, max_length=NOTE_MAX_LENGTH, help_text="Why; it stays with the result."
    )


class DecisionShape(_Note):
    result = serializers.IntegerField(min_value=1, max_value=_LARGEST)
    decision = serializers.ChoiceField(choices=["PASS", "FAIL"])
    seen_review = serializers.IntegerField(
        min_value=0,
        max_value=_LARGEST,
        required=False,
        default=0,
        help_text="The latest review of the result you know of; 0 for none.",
    )


class WithdrawalShape(_Note):
    seen_review = serializers.IntegerField(
        min_value=0, max_value=_LARGEST, help_text="The latest review of the result you know of."
    )


ReviewList = list_of("ReviewList", ReviewShape)
KEY = key_parameter("The same decision again under the same key answers the same review.")


class Reviews(ApiView):
    access = {"GET": _READ, "POST": _DECIDE}

    @operation(
        "Reviews, newest first",
        name="reviews_list",
        tag="reviews",
        answers={200: ReviewList},
        query=ReviewQuery,
        example={"results": [REVIEW], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, ReviewQuery)
        columns = {
            "result": "result_id",
            "case": "result__case__pair_id",
            "comparison": "result__case__pair__comparison_id",
            "reviewer": "reviewer__username",
            "decision": "decision",
        }
        chosen = {column: query[name] for name, column in columns.items() if query.get(name)}
        return listing(
            request,
            _rows(request).filter(**chosen),
            keys=("-pk",),
            query=query,
            render=lambda row: review_json(request, row),
        )

    @operation(
        "Decide on a result",
        name="reviews_decide",
        tag="reviews",
        description=(
            "What was measured stays; the case, its class and the totals follow at once (201). Where the "
            "review policy asks for two reviewers a decision is kept under seal until both have decided, and "
            "nothing follows before that (202: the round)."
        ),
        answers={201: ReviewShape, 202: DoubleReviewShape},
        body=DecisionShape,
        body_example=DECISION,
        parameters=[KEY],
        example=REVIEW,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, DecisionShape)
        review = services.override_result(
            result_id=asked["result"],
            decision=asked["decision"],
            note=asked["note"],
            seen_review_id=asked["seen_review"],
            **_acting(request),
        )
        return _made(request, review)


class OneReview(ApiView):
    access = {"GET": _READ}

    @operation("One review", name="reviews_detail", tag="reviews", answers={200: ReviewShape}, example=REVIEW)
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        return Response(review_json(request, _found(request, int(pk))))


class WithdrawReview(ApiView):
    access = {"POST": _DECIDE}

    @operation(
        "Withdraw a review",
        name="reviews_withdraw",
        tag="reviews",
        description=(
            "Only the review that counts can be withdrawn; the one before it counts again (201). Where the "
            "review policy asks for two reviewers, two must want that (202: the round)."
        ),
        answers={201: ReviewShape, 202: DoubleReviewShape},
        body=WithdrawalShape,
        body_example=WITHDRAWAL,
        parameters=[KEY],
        example={**REVIEW, "id": 13, "number": 2, "decision": "WITHDRAWN", "withdraws": 12, "replaces": 12},
        errors=WRITES,
    )
    def post(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, WithdrawalShape)
        review = services.withdraw_review(
            review_id=int(pk),
            note=asked["note"],
            seen_review_id=asked["seen_review"],
            **_acting(request),
        )
        return _made(request, review)


def _made(request: Any, made: Review | BlindDecision) -> Response:
    """What a decision came to: a review, or a round in which somebody must still decide."""
    if isinstance(made, Review):
        return created(review_json(request, _found(request, made.pk)), is_new=True)
    return Response(round_json(request, found(request, made.double_review_id)), status=202)


def review_json(request: Any, row: Any) -> dict[str, Any]:
    """A row of `Review.objects.for_list()`."""
    case = row.result.case
    pair = case.pair
    withdrawal, round_ = getattr(row, "withdrawn_by", None), getattr(row, "double_review", None)
    return {
        "id": row.pk,
        "result": row.result_id,
        "expectation": row.result.expectation_id,
        "number": row.number,
        "decision": row.decision,
        "note": row.note,
        "reviewer": row.reviewer.get_username(),
        "token": row.token_name or None,
        "status_before": row.status_before,
        "status_after": row.status_after,
        "replaces": row.replaces_id,
        "withdraws": row.withdraws_id,
        "withdrawn_by": None if withdrawal is None else withdrawal.pk,
        "case": pair.pk,
        "comparison": pair.comparison_id,
        "scenario": pair.scenario_name,
        "trial": pair.trial,
        "side": case.run.side.lower(),
        "created_at": row.created_at,
        "double_review": None if round_ is None else round_.pk,
        "links": {
            "self": absolute(request, f"{reverse('api:reviews')}{row.pk}/"),
            "case": absolute(request, f"{reverse('api:cases')}{pair.pk}/"),
            "page": absolute(request, case_path(pair.comparison_id, pair.scenario_name, pair.trial)),
        },
    }


def _rows(request: Any) -> Any:
    """Reviews of cases this account may look into."""
    return seen(Review.objects.for_list(), sight_of(request.user), pair="result__case__pair")


def _found(request: Any, pk: int) -> Review:
    row: Review | None = _rows(request).filter(pk=pk).first()
    if row is None:
        raise Http404(f"There is no review {pk}.")
    return row


def _acting(request: Any) -> dict[str, Any]:
    """Who decides, through which token, and the client's key as the service's form token."""
    token = request.auth
    through = {} if token is None else {"via": token.name, "token_name": token.name}
    key = key_of(request)
    form_token = uuid.uuid5(_KEYS, f"{request.user.pk}:{key}") if key else None
    return {"actor": request.user, "form_token": form_token, **through}


urlpatterns = [
    re_path(r"^reviews/$", Reviews.as_view(), name="reviews"),
    re_path(rf"^reviews/(?P<pk>{ID})/$", OneReview.as_view(), name="review"),
    re_path(rf"^reviews/(?P<pk>{ID})/withdraw/$", WithdrawReview.as_view(), name="review_withdraw"),
]
