"""Reviews, queue and audit log in the admin: for looking; what can be done there goes through services."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db import models
from django.http import HttpRequest

from evaluations.admin.looking import LookingAdmin
from reviews import services
from reviews.errors import ReviewError
from reviews.holdouts import SUBJECTS
from reviews.models import AuditEntry, QueueEntry, Review
from reviews.roles import DECIDE, WORK_QUEUE
from scenarios.holdouts import sight_of


class NoteForm(ActionForm):
    """The note that actions need, beside the choice of the action."""

    note = forms.CharField(required=False, max_length=10_000, label="Note (why)")


@admin.register(Review)
class ReviewAdmin(LookingAdmin):
    pair_path = "result__case__pair"
    list_display = ("id", "created_at", "reviewer", "decision", "expectation", "case", "side", "note")
    list_filter = ("decision", "reviewer")
    search_fields = ("note", "result__expectation_id", "result__case__pair__scenario_name")
    action_form = NoteForm
    actions: Any = ("withdraw",)

    def looked_at(self, request: HttpRequest) -> models.QuerySet[Review]:
        return Review.objects.for_list()

    @admin.display(ordering="result__expectation_id")
    def expectation(self, obj: Review) -> str:
        return obj.result.expectation_id

    @admin.display(ordering="result__case__pair__scenario_name")
    def case(self, obj: Review) -> str:
        pair = obj.result.case.pair
        return f"{pair} in comparison {pair.comparison_id}"

    @admin.display(ordering="result__case__run__side")
    def side(self, obj: Review) -> str:
        return obj.result.case.run.side.lower()

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(DECIDE)

    @admin.action(description="Withdraw the selected reviews", permissions=["decide"])
    def withdraw(self, request: HttpRequest, queryset: models.QuerySet[Review]) -> None:
        latest = services.latest_review_ids([review.result_id for review in queryset])
        each(
            self,
            request,
            queryset,
            lambda review: services.withdraw_review(
                review_id=review.pk,
                note=request.POST.get("note", ""),
                seen_review_id=latest[review.result_id],
                actor=request.user,
            ),
            "withdrawn",
        )


@admin.register(QueueEntry)
class QueueEntryAdmin(LookingAdmin):
    pair_path = "pair"
    list_display = (
        "id",
        "reason",
        "pair",
        "state",
        "reserved_by",
        "reserved_until",
        "assigned_to",
        "closed_by",
    )
    list_filter = ("state", "reason", "reserved_by", "assigned_to")
    search_fields = ("pair__scenario_name", "detail")
    action_form = NoteForm
    actions: Any = ("close", "release")

    def looked_at(self, request: HttpRequest) -> models.QuerySet[QueueEntry]:
        return QueueEntry.objects.for_list()

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(DECIDE)

    def has_work_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(WORK_QUEUE)

    @admin.action(description="Close the selected entries", permissions=["decide"])
    def close(self, request: HttpRequest, queryset: models.QuerySet[QueueEntry]) -> None:
        note = request.POST.get("note", "")
        each(
            self,
            request,
            queryset,
            lambda entry: services.close_entry(entry_id=entry.pk, note=note, actor=request.user),
            "closed",
        )

    @admin.action(description="Release the selected reservations", permissions=["work"])
    def release(self, request: HttpRequest, queryset: models.QuerySet[QueueEntry]) -> None:
        each(
            self,
            request,
            queryset,
            lambda entry: services.release(entry_id=entry.pk, actor=request.user),
            "released",
        )


@admin.register(AuditEntry)
class AuditEntryAdmin(LookingAdmin):
    list_display = ("sequence", "at", "actor_name", "action", "subject_label", "note", "via")
    list_filter = ("action", "subject_type", "at")
    search_fields = ("actor_name", "subject_label", "note")
    date_hierarchy = None

    def looked_at(self, request: HttpRequest) -> models.QuerySet[AuditEntry]:
        rows = AuditEntry.objects.for_list()
        # The page of the log sifts entry by entry; here whoever may not look into holdouts gets no entry
        # about any case.
        return rows if sight_of(request.user).sees_all else rows.exclude(subject_type__in=SUBJECTS)


def each(page: Any, request: HttpRequest, rows: Any, do: Any, done_word: str) -> None:
    """Do it to each row on its own; say how many were done and, once each, what spoke against the others."""
    done = 0
    refusals: dict[str, list[str]] = {}
    for row in rows:
        try:
            do(row)
            done += 1
        except ReviewError as refusal:
            refusals.setdefault(refusal.detail, []).append(str(row))
    for detail, names in refusals.items():
        page.message_user(request, f"{detail} ({', '.join(names[:5])})", messages.ERROR)
    page.message_user(request, f"{done} {done_word}.", messages.SUCCESS if done else messages.WARNING)
