"""Overriding several results at once in the admin: a page shows what was selected, then the same service."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import models
from django.http import HttpRequest
from django.template.response import TemplateResponse

from evaluations.admin.cases import ExpectationResultAdmin
from evaluations.models import ExpectationResult
from reviews import services
from reviews.errors import InvalidInputError
from reviews.roles import DECIDE
from reviews.texts import NOTE_MAX_LENGTH, NOTE_MIN_LENGTH

AT_ONCE = 100

admin.site.unregister(ExpectationResult)


class DecisionForm(forms.Form):
    decision = forms.ChoiceField(choices=[("PASS", "PASS"), ("FAIL", "FAIL")], widget=forms.RadioSelect)
    note = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 4}),
        min_length=NOTE_MIN_LENGTH,
        max_length=NOTE_MAX_LENGTH,
        help_text="Why; it stays with each of these results.",
    )
    batch_token = forms.UUIDField(widget=forms.HiddenInput)


@admin.register(ExpectationResult)
class DecidableResultAdmin(ExpectationResultAdmin):
    """The results as the evaluations room shows them, with one action more."""

    actions: Any = ("override",)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(DECIDE)

    @admin.action(description="Override the selected results…", permissions=["decide"])
    def override(
        self, request: HttpRequest, queryset: models.QuerySet[ExpectationResult]
    ) -> TemplateResponse | None:
        """The first time round a page asks for decision and note; sent, it comes back here."""
        rows = queryset.select_related("case__run", "case__pair").order_by("pk")
        results = list(rows.defer("evidence", "case__answer", "case__metrics")[: AT_ONCE + 1])
        if len(results) > AT_ONCE:
            self.message_user(request, f"Select at most {AT_ONCE} results at once.", messages.ERROR)
            return None
        sent = "decision" in request.POST or "batch_token" in request.POST
        form = DecisionForm(request.POST if sent else None, initial={"batch_token": uuid.uuid4()})
        if sent and form.is_valid():
            try:
                self._decide(request, results, form.cleaned_data)
            except InvalidInputError as refusal:
                form.add_error(refusal.field, refusal.detail)
            else:
                return None
        return self._ask(request, results, form)

    def _decide(
        self, request: HttpRequest, results: list[ExpectationResult], decided: dict[str, Any]
    ) -> None:
        outcome = services.override_results(
            results=[(row.pk, _seen(request, row.pk)) for row in results],
            decision=decided["decision"],
            note=decided["note"],
            batch_token=decided["batch_token"],
            actor=request.user,
        )
        names = {row.pk: _named(row) for row in results}
        for result_id, refusal in outcome.refused:
            self.message_user(request, f"{names[result_id]}: {refusal.detail}", messages.ERROR)
        self.message_user(request, f"{len(outcome.done)} decided.")

    def _ask(
        self, request: HttpRequest, results: list[ExpectationResult], form: DecisionForm
    ) -> TemplateResponse:
        latest = services.latest_review_ids([row.pk for row in results])
        context = {
            **self.admin_site.each_context(request),
            "title": "Override results",
            "opts": self.opts,
            "form": form,
            "rows": [(row, _named(row), latest[row.pk]) for row in results],
        }
        return TemplateResponse(
            request, "admin/reviews/override_results.html", context, status=422 if form.errors else 200
        )


def _named(row: ExpectationResult) -> str:
    return f"{row.case.pair} in comparison {row.case.pair.comparison_id}"


def _seen(request: HttpRequest, result_id: int) -> int:
    """What the page showed as the latest review of this result."""
    text = request.POST.get(f"seen_{result_id}", "0")
    return int(text) if text.isdecimal() else 0
