"""The review policy in the API: what is in force, its versions, and setting another."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import re_path, reverse
from rest_framework import serializers
from rest_framework.response import Response

from agenttwin_site.api.access import Access
from agenttwin_site.api.lists import ListQuery, NoQuery, Strict, list_of, listing, read_body, read_query
from agenttwin_site.api.schema import WRITES, operation
from agenttwin_site.api.views import ApiView, absolute, created, via_of
from reviews import services
from reviews.api.examples import POLICY
from reviews.models import ReviewPolicy
from reviews.roles import SET_POLICY
from reviews.texts import NOTE_MAX_LENGTH, NOTE_MIN_LENGTH
from reviews.two_reviewers import ASKED_FOR, Policy
from twins.document_api import person

_READ = Access(("read", "review", "edit"), "reviews.view_reviewpolicy")
_SET = Access(("edit",), SET_POLICY)


class PolicyLinks(serializers.Serializer):
    self = serializers.URLField()
    page = serializers.URLField()


class ReviewPolicyShape(serializers.Serializer):
    """What is asked of reviewers. Number 0: the defaults, nobody has set one."""

    number = serializers.IntegerField()
    is_in_force = serializers.BooleanField()
    two_reviewers = serializers.ListField(
        child=serializers.ChoiceField(choices=list(ASKED_FOR)),
        help_text="Critical results that two reviewers decide, apart from each other; empty: one decides.",
    )
    sample_percent = serializers.FloatField(
        help_text="Of the passing verdicts of judges, how many go into the queue."
    )
    confidence_below = serializers.FloatField(
        help_text="Verdicts of judges that are less sure than this go into the queue."
    )
    note = serializers.CharField(allow_blank=True)
    created_by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField(allow_null=True)
    links = PolicyLinks()


class NewPolicyShape(Strict):
    two_reviewers = serializers.ListField(
        child=serializers.ChoiceField(choices=list(ASKED_FOR)), max_length=len(ASKED_FOR)
    )
    sample_percent = serializers.DecimalField(
        max_digits=5, decimal_places=2, min_value=0, max_value=100, coerce_to_string=False
    )
    confidence_below = serializers.DecimalField(
        max_digits=3, decimal_places=2, min_value=0, max_value=1, coerce_to_string=False
    )
    note = serializers.CharField(
        min_length=NOTE_MIN_LENGTH, max_length=NOTE_MAX_LENGTH, help_text="Why; it stays with the policy."
    )
    seen_number = serializers.IntegerField(
        min_value=0,
        max_value=2**31 - 1,
        help_text="The number of the policy you know of; 0 for the defaults.",
    )


PolicyList = list_of("ReviewPolicyList", ReviewPolicyShape)


class InForce(ApiView):
    access = {"GET": _READ, "POST": _SET}

    @operation(
        "The review policy in force",
        name="review_policy",
        tag="reviews",
        answers={200: ReviewPolicyShape},
        example=POLICY,
    )
    def get(self, request: Any) -> Response:
        read_query(request, NoQuery)
        return Response(_in_force(request))

    @operation(
        "Set the review policy",
        name="review_policy_set",
        tag="reviews",
        description=(
            "201: another policy is in force; 200: it was in force already. It holds for what ends and is "
            "decided from now on."
        ),
        answers={201: ReviewPolicyShape, 200: ReviewPolicyShape},
        body=NewPolicyShape,
        body_example={
            "two_reviewers": ["NEW_CRITICAL_FAILURE", "CRITICAL_JUDGED"],
            "sample_percent": 5,
            "confidence_below": 0.6,
            "note": "Two people look before a critical failure is lifted.",
            "seen_number": 0,
        },
        example=POLICY,
        errors=WRITES,
    )
    def post(self, request: Any) -> Response:
        read_query(request, NoQuery)
        asked = read_body(request, NewPolicyShape)
        _, is_new = services.set_policy(**asked, actor=request.user, **via_of(request))
        return created(_in_force(request), is_new=is_new)


class Versions(ApiView):
    access = {"GET": _READ}

    @operation(
        "Versions of the review policy, newest first",
        name="review_policy_versions",
        tag="reviews",
        answers={200: PolicyList},
        query=ListQuery,
        example={"results": [POLICY], "next": None, "previous": None},
    )
    def get(self, request: Any) -> Response:
        query = read_query(request, ListQuery)
        number = services.current_policy().number
        return listing(
            request,
            ReviewPolicy.objects.select_related("created_by").order_by("-number"),
            keys=("-number",),
            query=query,
            render=lambda row: _json(request, row.values, row, is_in_force=row.number == number),
        )


class OneVersion(ApiView):
    access = {"GET": _READ}

    @operation(
        "One version of the review policy",
        name="review_policy_version",
        tag="reviews",
        answers={200: ReviewPolicyShape},
        example=POLICY,
    )
    def get(self, request: Any, number: str) -> Response:
        read_query(request, NoQuery)
        row = ReviewPolicy.objects.select_related("created_by").filter(number=int(number)).first()
        if row is None:
            raise Http404(f"There is no review policy {number}.")
        in_force = services.current_policy().number
        return Response(_json(request, row.values, row, is_in_force=row.number == in_force))


def _in_force(request: Any) -> dict[str, Any]:
    row = ReviewPolicy.objects.select_related("created_by").first()
    return _json(request, Policy() if row is None else row.values, row, is_in_force=True)


def _json(request: Any, values: Policy, row: ReviewPolicy | None, *, is_in_force: bool) -> dict[str, Any]:
    own = (
        reverse("api:review_policy")
        if row is None
        else reverse("api:review_policy_version", args=[row.number])
    )
    return {
        "number": values.number,
        "is_in_force": is_in_force,
        "two_reviewers": [name for name in ASKED_FOR if name in values.two_reviewers],
        "sample_percent": float(values.sample_percent),
        "confidence_below": float(values.confidence_below),
        "note": "" if row is None else row.note,
        "created_by": None if row is None else person(row.created_by),
        "created_at": None if row is None else row.created_at,
        "links": {
            "self": absolute(request, own),
            "page": absolute(request, reverse("reviews:policy")),
        },
    }


urlpatterns = [
    re_path(r"^review-policy/$", InForce.as_view(), name="review_policy"),
    re_path(r"^review-policy/versions/$", Versions.as_view(), name="review_policy_versions"),
    re_path(
        r"^review-policy/versions/(?P<number>[0-9]{1,9})/$",
        OneVersion.as_view(),
        name="review_policy_version",
    ),
]
