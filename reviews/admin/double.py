"""Policies and rounds of two reviewers in the admin, for looking. What is under seal is not shown here."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest

from evaluations.admin.looking import LookingAdmin
from reviews.models import DoubleReview, ReviewPolicy
from reviews.two_reviewers import ASKED_FOR


@admin.register(ReviewPolicy)
class ReviewPolicyAdmin(LookingAdmin):
    """Set on its page (`/queue/policy/`), never here."""

    list_display = (
        "number",
        "asks_two_for",
        "sample_percent",
        "confidence_below",
        "created_by",
        "created_at",
    )
    search_fields = ("note",)

    def looked_at(self, request: HttpRequest) -> models.QuerySet[ReviewPolicy]:
        return ReviewPolicy.objects.select_related("created_by")

    @admin.display(description="two reviewers for")
    def asks_two_for(self, obj: ReviewPolicy) -> str:
        return ", ".join(ASKED_FOR.get(name, name) for name in obj.two_reviewers) or "nothing"


@admin.register(DoubleReview)
class DoubleReviewAdmin(LookingAdmin):
    """Who has decided, and whether it is settled; what was decided stands in the review that came of it."""

    pair_path = "result__case__pair"

    list_display = ("id", "state", "expectation", "case", "side", "who", "opened_at", "settled_at")
    list_filter = ("state", "asked_for")
    search_fields = ("result__expectation_id", "result__case__pair__scenario_name")
    fields = (
        "state", "expectation", "case", "side", "number", "asked_for", "policy", "who", "review",
        "opened_at", "settled_at",
    )  # fmt: skip

    def looked_at(self, request: HttpRequest) -> models.QuerySet[DoubleReview]:
        return DoubleReview.objects.for_list()

    @admin.display(ordering="result__expectation_id")
    def expectation(self, obj: DoubleReview) -> str:
        return obj.result.expectation_id

    @admin.display(ordering="result__case__pair__scenario_name")
    def case(self, obj: DoubleReview) -> str:
        pair = obj.result.case.pair
        return f"{pair} in comparison {pair.comparison_id}"

    @admin.display(ordering="result__case__run__side")
    def side(self, obj: DoubleReview) -> str:
        return obj.result.case.run.side.lower()

    @admin.display(description="decided by")
    def who(self, obj: DoubleReview) -> Any:
        return ", ".join(one.reviewer.get_username() for one in obj.decisions.all())
