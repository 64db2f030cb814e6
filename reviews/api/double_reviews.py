"""Rounds of two reviewers in the API, and how well they agree. What is under seal is null for all but its
author.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import re_path, reverse
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import ListQuery, NoQuery, list_of, listing, read_query
from agenttwin_site.api.schema import operation
from agenttwin_site.api.views import ApiView, absolute
from evaluations.api.cases import SIDES
from evaluations.api.comparisons import ID
from evaluations.grading.agreement import Agreement
from evaluations.holdouts import seen
from evaluations.page_queries import case_path
from reviews.api.examples import AGREEMENT, ROUND
from reviews.models import Decision, DoubleReview, DoubleReviewState
from reviews.page_queries.rounds import shown_round
from reviews.services import reviewer_agreement
from reviews.two_reviewers import ASKED_FOR
from scenarios.holdouts import sight_of

_READ = Access(("read", "review"), "reviews.view_doublereview")
_LARGEST = 2**63 - 1


class BlindDecisionShape(serializers.Serializer):
    """One person's decision."""

    position = serializers.IntegerField(help_text="1 and 2 decide apart, 3 where they disagree.")
    reviewer = serializers.CharField()
    decision = serializers.ChoiceField(
        choices=Decision.values, allow_null=True, help_text="null: under seal, and not yours."
    )
    note = serializers.CharField(allow_null=True)
    token = serializers.CharField(allow_null=True, help_text="The API token it came with; null: a browser.")
    decided_at = serializers.DateTimeField()


class RoundLinks(serializers.Serializer):
    self = serializers.URLField()
    case = serializers.URLField()
    page = serializers.URLField()


class DoubleReviewShape(serializers.Serializer):
    """One round of two reviewers on one result. It changes nothing before it is settled."""

    id = serializers.IntegerField()
    result = serializers.IntegerField()
    expectation = serializers.CharField()
    number = serializers.IntegerField(help_text="Counts the rounds of the result from 1.")
    state = serializers.ChoiceField(
        choices=DoubleReviewState.values,
        help_text="OPEN waits for the second reviewer, SPLIT for a third; AGREED and DECIDED are settled.",
    )
    asked_for = serializers.ChoiceField(choices=list(ASKED_FOR), help_text="Why two were asked.")
    policy = serializers.IntegerField(help_text="The number of the review policy that asked.")
    decisions = BlindDecisionShape(many=True)
    review = serializers.IntegerField(allow_null=True, help_text="The review that came of it.")
    case = serializers.IntegerField()
    comparison = serializers.IntegerField()
    scenario = serializers.CharField()
    trial = serializers.IntegerField()
    side = serializers.ChoiceField(choices=SIDES)
    opened_at = serializers.DateTimeField()
    settled_at = serializers.DateTimeField(allow_null=True)
    links = RoundLinks()


class RoundQuery(ListQuery):
    state = serializers.ChoiceField(
        choices=DoubleReviewState.values, required=False, help_text="In this state alone."
    )
    result = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, required=False, help_text="On this result alone."
    )
    case = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, required=False, help_text="Of this case alone."
    )
    comparison = serializers.IntegerField(
        min_value=1, max_value=_LARGEST, required=False, help_text="Of this comparison alone."
    )


class _Interval(serializers.Serializer):
    low = serializers.FloatField()
    high = serializers.FloatField()


class AgreementShape(serializers.Serializer):
    """What two reviewers decided of the same results."""

    asked_for = serializers.ChoiceField(choices=list(ASKED_FOR), allow_null=True, help_text="null: all.")
    rounds = serializers.IntegerField(help_text="In which both have decided.")
    agreed = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True, help_text="null: there was no round.")
    kappa = serializers.FloatField(allow_null=True, help_text="Cohen's kappa; null: undefined.")
    kappa_interval = _Interval(allow_null=True, help_text="95%.")


class ReviewerAgreementShape(serializers.Serializer):
    """How well reviewers agree who decide apart. The third's decision is no part of it."""

    all = AgreementShape()
    by_kind = AgreementShape(many=True)
    waiting = serializers.IntegerField(help_text="Rounds with one decision.")
    split = serializers.IntegerField(help_text="Rounds that wait for a third.")


RoundList = list_of("DoubleReviewList", DoubleReviewShape)


class DoubleReviews(ApiView):
    access = {"GET": _READ}

    @operation(
        "Rounds of two reviewers, newest first",
        name="double_reviews_list",
        tag="reviews",
        answers={200: RoundList},
        query=RoundQuery,
        example={"results": [ROUND], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, RoundQuery)
        columns = {
            "state": "state",
            "result": "result_id",
            "case": "result__case__pair_id",
            "comparison": "result__case__pair__comparison_id",
        }
        chosen = {column: query[name] for name, column in columns.items() if query.get(name)}
        return listing(
            request,
            _rows(request).filter(**chosen),
            keys=("-pk",),
            query=query,
            render=lambda row: round_json(request, row),
        )


class OneDoubleReview(ApiView):
    access = {"GET": _READ}

    @operation(
        "One round of two reviewers",
        name="double_reviews_detail",
        tag="reviews",
        answers={200: DoubleReviewShape},
        example=ROUND,
    )
    def get(self, request: Any, pk: str) -> Response:
        read_query(request, NoQuery)
        return Response(round_json(request, found(request, int(pk))))


class ReviewersAgree(ApiView):
    access = {"GET": _READ}

    @operation(
        "How well two reviewers agree",
        name="double_reviews_agreement",
        tag="reviews",
        answers={200: ReviewerAgreementShape},
        example=AGREEMENT,
    )
    def get(self, request: Any) -> Response:
        read_query(request, NoQuery)
        told = reviewer_agreement()
        return Response(
            {
                "all": _agreement(None, told.all),
                "by_kind": [_agreement(kind, one) for kind, one in told.by_kind],
                "waiting": told.waiting,
                "split": told.split,
            }
        )


def round_json(request: Any, row: DoubleReview) -> dict[str, Any]:
    """A row of `DoubleReview.objects.for_list()`, as the account of the request may see it."""
    case = row.result.case
    pair = case.pair
    shown = shown_round(row, request.user)
    return {
        "id": row.pk,
        "result": row.result_id,
        "expectation": row.result.expectation_id,
        "number": row.number,
        "state": row.state,
        "asked_for": row.asked_for,
        "policy": row.policy.number,
        "decisions": [
            {
                "position": one.position,
                "reviewer": one.reviewer,
                "decision": one.decision or None,
                "note": one.note or None,
                "token": one.token_name or None,
                "decided_at": one.decided_at,
            }
            for one in shown.decisions
        ],
        "review": row.review_id,
        "case": pair.pk,
        "comparison": pair.comparison_id,
        "scenario": pair.scenario_name,
        "trial": pair.trial,
        "side": case.run.side.lower(),
        "opened_at": row.opened_at,
        "settled_at": row.settled_at,
        "links": {
            "self": absolute(request, f"{reverse('api:double_reviews')}{row.pk}/"),
            "case": absolute(request, f"{reverse('api:cases')}{pair.pk}/"),
            "page": absolute(request, case_path(pair.comparison_id, pair.scenario_name, pair.trial)),
        },
    }


def _rows(request: Any) -> Any:
    """Rounds on cases this account may look into."""
    return seen(DoubleReview.objects.for_list(), sight_of(request.user), pair="result__case__pair")


def found(request: Any, pk: int) -> DoubleReview:
    row = _rows(request).filter(pk=pk).first()
    if row is None:
        raise Http404(f"There is no double review {pk}.")
    return row


def _agreement(kind: str | None, one: Agreement) -> dict[str, Any]:
    interval = None if one.interval is None else {"low": one.interval.low, "high": one.interval.high}
    return {
        "asked_for": kind,
        "rounds": one.total,
        "agreed": one.agreed,
        "share": None if one.share is None else float(one.share),
        "kappa": None if one.kappa is None else float(one.kappa),
        "kappa_interval": interval,
    }


urlpatterns = [
    re_path(r"^double-reviews/$", DoubleReviews.as_view(), name="double_reviews"),
    re_path(r"^double-reviews/agreement/$", ReviewersAgree.as_view(), name="double_reviews_agreement"),
    re_path(rf"^double-reviews/(?P<pk>{ID})/$", OneDoubleReview.as_view(), name="double_review"),
]
