"""The forms of a decision: what was typed, what is shown again, and what a refusal makes of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.urls import Resolver404, resolve, reverse

from agenttwin_site.kept_forms import KeptForm, kept_form
from evaluations.models import ExpectationResult
from reviews import services
from reviews.errors import (
    FormTokenError,
    InvalidInputError,
    NotAllowedError,
    NotFoundError,
    ReviewConflict,
    ReviewError,
)
from reviews.models import Review
from reviews.page_queries.cases import CaseAddress
from reviews.page_queries.checks import CheckRow, CheckSide
from reviews.texts import NOTE_MIN_LENGTH

OVERRIDE, WITHDRAW, FLAG, CLOSE = "override", "withdraw", "flag", "close"
_ACTIONS = {
    "reviews:override": OVERRIDE,
    "reviews:withdraw": WITHDRAW,
    "reviews:flag": FLAG,
    "reviews:queue_close": CLOSE,
    "reviews:queue_decide": OVERRIDE,
}


@dataclass(frozen=True, slots=True)
class Typed:
    """What a person sent or had typed: into which form (`kind` of `target`), and what was refused, if it was.

    `seen_review_id` None: what the page knows now.
    """

    kind: str
    target: int
    decision: str = ""
    note: str = ""
    form_token: str = ""
    seen_review_id: int | None = None
    refusal: ReviewError | None = None

    @property
    def seen(self) -> int:
        """As the services want it: -1 is no answer they take."""
        return -1 if self.seen_review_id is None else self.seen_review_id

    @property
    def is_written(self) -> bool:
        """Whether it holds what somebody wrote, which must not vanish with what the form was about."""
        return self.refusal is not None or bool(self.note)

    @property
    def note_error(self) -> str:
        return self._error_at("note")

    @property
    def decision_error(self) -> str:
        return self._error_at("decision")

    @property
    def problem(self) -> str:
        """A refusal that is about no field in particular."""
        if self.refusal is None or self.note_error or self.decision_error:
            return ""
        return self.refusal.detail

    @property
    def newer(self) -> tuple[Review, ...]:
        return self.refusal.newer if isinstance(self.refusal, ReviewConflict) else ()

    @property
    def status(self) -> int:
        if self.refusal is None:
            return 200
        return 422 if isinstance(self.refusal, InvalidInputError) else 409

    def refused(self, refusal: ReviewError) -> Typed:
        """The same form with what spoke against it; what changed meanwhile has been seen then."""
        changed: dict[str, Any] = {"refusal": refusal}
        if isinstance(refusal, ReviewConflict):
            changed["seen_review_id"] = refusal.latest_id
        elif isinstance(refusal, InvalidInputError) and refusal.field == "seen_review_id":
            changed["seen_review_id"] = None
        elif isinstance(refusal, FormTokenError) or (
            isinstance(refusal, InvalidInputError) and refusal.field == "form_token"
        ):
            changed["form_token"] = ""
        return replace(self, **changed)

    def _error_at(self, field: str) -> str:
        refusal = self.refusal
        return refusal.detail if isinstance(refusal, InvalidInputError) and refusal.field == field else ""


def posted(request: HttpRequest, kind: str, target: int) -> Typed:
    """The form as it was sent."""
    return Typed(
        kind,
        target,
        decision=request.POST.get("decision", "")[:20],
        note=request.POST.get("note", ""),
        form_token=request.POST.get("form_token", "")[:50],
        seen_review_id=_seen(request.POST.get("seen_review_id", "")),
    )


def kept(request: HttpRequest) -> Typed | None:
    """What was typed on this page when the session had ended, if anything."""
    form = kept_form(request)
    if form is None:
        return None
    try:
        match = resolve(form.action)
    except Resolver404:
        return None
    kind = _ACTIONS.get(match.view_name)
    if kind is None:
        return None
    target = next(iter(match.kwargs.values()))
    if match.view_name == "reviews:queue_decide":
        target = _number(form.first("result"))
    return Typed(kind, target, **_fields(form)) if target else None


def _fields(form: KeptForm) -> dict[str, Any]:
    """What was typed, and the review it was typed under: one made since is a conflict."""
    fields = {name: form.first(name) for name in ("decision", "note", "form_token")}
    return {**fields, "seen_review_id": _seen(form.first("seen_review_id"))}


def _seen(text: str) -> int:
    """-1 for what is no number: no answer the services take."""
    try:
        return int(text[:20])
    except ValueError:
        return -1


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def attempt(typed: Typed, act: Callable[[], Any]) -> tuple[Any, Typed]:
    """What `act` answers, and the form; a refusal leaves None and the form with the reason.

    Raises PermissionDenied and Http404 for what no form can mend.
    """
    try:
        return act(), typed
    except NotAllowedError as refusal:
        raise PermissionDenied(refusal.detail) from refusal
    except NotFoundError as refusal:
        raise Http404(refusal.detail) from refusal
    except ReviewError as refusal:
        return None, typed.refused(refusal)


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to decide, with what it would change."""

    value: str
    effect: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class DecisionForm:
    """An open form under a check. `target` is the id of the element that its answer replaces."""

    kind: str
    action: str
    check: CheckRow
    side: CheckSide
    choices: tuple[Choice, ...]
    effect: str
    review: Review | None
    typed: Typed
    seen_review_id: int
    form_token: str
    cancel_href: str
    target: str
    other: CheckSide | None = None
    other_href: str = ""
    hidden_result: int | None = None
    # Why two must decide, and whether it is the third who does.
    two: str = ""
    is_third: bool = False
    min_length: int = NOTE_MIN_LENGTH

    @property
    def draft(self) -> str:
        return f"{self.kind}-{self.typed.target}"


def override_form(
    *,
    row: CheckRow,
    side: CheckSide,
    typed: Typed,
    address: CaseAddress,
    action: str = "",
    target: str = "case-verdict",
) -> DecisionForm:
    """The form under this check for this side, saying what PASS and FAIL would change."""
    result: ExpectationResult = side.result
    other = next((one for one in row.sides if one is not side and not one.closed), None)
    return DecisionForm(
        kind=OVERRIDE,
        action=action or with_query(reverse("reviews:override", args=[result.pk]), address.query),
        check=row,
        side=side,
        choices=tuple(
            Choice(value, services.explain_effect(result, value), typed.decision == value)
            for value in ("PASS", "FAIL")
        ),
        effect="",
        review=None,
        typed=typed,
        seen_review_id=side.latest_review_id if typed.seen_review_id is None else typed.seen_review_id,
        form_token=typed.form_token or str(uuid.uuid4()),
        cancel_href=row.closed_form_href,
        target=target,
        other=other,
        other_href=row.form_href(other) if other is not None else "",
        hidden_result=result.pk if action else None,
        **_two(side),
    )


def withdraw_form(
    *, row: CheckRow, side: CheckSide, review: Review, typed: Typed, address: CaseAddress
) -> DecisionForm:
    """The form that takes back the review that counts, or its text if that one counts no longer."""
    counts = side.standing is not None and side.standing.pk == review.pk
    return DecisionForm(
        kind=WITHDRAW,
        action=with_query(reverse("reviews:withdraw", args=[review.pk]), address.query),
        check=row,
        side=side,
        choices=(),
        effect=services.explain_withdrawal(review) if counts else "nothing, because it counts no longer.",
        review=review,
        typed=typed,
        seen_review_id=side.latest_review_id if typed.seen_review_id is None else typed.seen_review_id,
        form_token=typed.form_token or str(uuid.uuid4()),
        cancel_href=row.closed_form_href,
        target="case-verdict",
        **_two(side),
    )


def _two(side: CheckSide) -> dict[str, Any]:
    return {"two": side.two, "is_third": side.round is not None and side.round.is_split}


def with_query(path: str, query: str) -> str:
    """The path with a query string, if there is one."""
    return f"{path}?{query}" if query else path
