"""The queue: one item in the middle, the rest at the side, and the next one at once after a decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import replace_url

from agenttwin_site.htmx import redirect_after_post, wants_fragment
from reviews import services
from reviews.errors import EntryClosedError, EntryTakenError, ReviewError
from reviews.models import FOR_REVIEWERS, BlindDecision, QueueEntry, QueueReason, Review
from reviews.page_queries import queue as queries
from reviews.page_queries.cases import find_pair, load_pair
from reviews.page_queries.checks import check_rows, cited_paths, contradictions
from reviews.page_queries.claims import claims, effects, same_claim
from reviews.page_queries.states import States, final_states
from reviews.roles import DECIDE, MANAGE_QUEUE, WORK_QUEUE
from reviews.services import QueueOverview
from reviews.views.case_parts import Asked
from reviews.views.forms import CLOSE, OVERRIDE, Typed, attempt, kept, override_form, posted
from scenarios.holdouts import sight_of

may_see = permission_required("reviews.view_queueentry", raise_exception=True)
may_work = permission_required(WORK_QUEUE, raise_exception=True)
may_decide = permission_required(DECIDE, raise_exception=True)


@dataclass(frozen=True, slots=True)
class Told:
    """What the last action did, shown above the item; `level` is good, warn or bad."""

    text: str
    level: str = "good"


@require_safe
@may_see
def queue(request: HttpRequest) -> HttpResponse:
    """GET `?entry=ID` shows this entry, else the one in hand, else what would be next. Reserves nothing."""
    entry_id = _number(request.GET.get("entry"))
    shown = queries.entry_by_id(entry_id, sight_of(request.user)) if entry_id else None
    if entry_id and shown is None:
        raise Http404
    return _answer(request, shown, typed=Asked.from_query(request.GET).form(kept(request)))


@require_POST
@may_see
@may_work
def take_next(request: HttpRequest) -> HttpResponse:
    """POST `reason`, `skip`: release what is skipped and reserve the next."""
    reason = _reason(request.POST.get("reason"))
    skip = _number(request.POST.get("skip"))
    entry = services.reserve_next(actor=request.user, reason=reason, skip_entry_id=skip)
    told = None if entry is not None else Told("Nothing is free for you at the moment.", "warn")
    return _done(request, entry, told)


@require_POST
@may_see
@may_work
def take(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Reserve this very entry."""
    return _act(request, entry_id, lambda: services.reserve(entry_id=entry_id, actor=request.user))


@require_POST
@may_see
@may_work
def release(request: HttpRequest, entry_id: int) -> HttpResponse:
    """Give up a reservation; somebody else's only as one who manages the queue."""
    return _act(
        request,
        entry_id,
        lambda: services.release(entry_id=entry_id, actor=request.user),
        told="Released: it is free for everybody again.",
    )


@require_POST
@may_see
@may_work
def assign(request: HttpRequest, entry_id: int) -> HttpResponse:
    """POST `assignee` (an account, empty for nobody)."""
    chosen = request.POST.get("assignee", "")
    assignee = _number(chosen) if chosen else None
    return _act(
        request,
        entry_id,
        lambda: services.assign(
            entry_id=entry_id, assignee_id=0 if chosen and assignee is None else assignee, actor=request.user
        ),
        told="Assigned." if chosen else "It is assigned to nobody now.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@may_see
@may_decide
def close(request: HttpRequest, entry_id: int) -> HttpResponse:
    """POST `note`: close the entry without a decision, and take the next."""
    if request.method != "POST":
        return _answer(request, _entry(request, entry_id), typed=kept(request) or Typed(CLOSE, entry_id))
    typed = posted(request, CLOSE, entry_id)
    closed, typed = attempt(
        typed, lambda: services.close_entry(entry_id=entry_id, note=typed.note, actor=request.user)
    )
    if closed is None:
        return _answer(request, _entry(request, entry_id), typed=typed, status=typed.status)
    return _and_next(request, f"Closed: {closed.pair}.", clear=f"close-{entry_id}")


@require_http_methods(["GET", "HEAD", "POST"])
@may_see
@may_decide
def decide(request: HttpRequest, entry_id: int) -> HttpResponse:
    """POST `result`, `decision`, `note`, `seen_review_id`, `form_token`: decide, and go on with what is next.

    Deciding takes the entry first, so that two people do not work on the same one unawares.
    """
    if request.method != "POST":
        return _answer(request, _entry(request, entry_id), typed=kept(request))
    entry = _entry(request, entry_id)
    result_id = _number(request.POST.get("result")) or 0
    # What is taken, decided and told must be one case.
    if not queries.is_of(entry, result_id):
        raise Http404(f"The case of entry {entry_id} has no result {result_id}.")
    typed = posted(request, OVERRIDE, result_id)
    if entry.is_open:
        _, typed = attempt(typed, lambda: services.reserve(entry_id=entry_id, actor=request.user))
        if typed.refusal is not None and not isinstance(typed.refusal, EntryClosedError):
            return _answer(request, _entry(request, entry_id), typed=typed, status=409)
        typed = posted(request, OVERRIDE, result_id)
    made, typed = attempt(
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
    if made is None:
        return _answer(request, _entry(request, entry_id), typed=typed, status=typed.status)
    entry = _entry(request, entry_id)
    text, clear = _recorded(made, entry), f"override-{result_id}"
    if entry.is_open and queries.is_left_for(entry, request.user):
        return _done(request, entry, Told(f"{text} More of this case is undecided."), clear=clear)
    return _and_next(request, text, clear=clear)


def _recorded(made: Review | BlindDecision, entry: QueueEntry) -> str:
    """What became of a decision, for the person who gave it."""
    if isinstance(made, Review):
        return f"Recorded: {made.decision} on {made.result.expectation_id} of {entry.pair}."
    name = made.double_review.result.expectation_id
    if made.double_review.is_sealed:
        return f"Kept under seal: {made.decision} on {name} of {entry.pair}. Another reviewer decides too."
    return f"Recorded: {made.decision} on {name} of {entry.pair}. The other disagrees; a third decides."


# ----------------------------------------------------------------------------------------- answers


def _act(request: HttpRequest, entry_id: int, act: Any, *, told: str = "") -> HttpResponse:
    """Do one thing to an entry and show it; a refusal is told above it (409)."""
    entry, typed = attempt(Typed("act", entry_id), act)
    if entry is None:
        assert typed.refusal is not None
        return _answer(request, _entry(request, entry_id), told=_refused(typed.refusal), status=typed.status)
    return _done(request, entry, Told(told) if told else None)


def _refused(refusal: ReviewError) -> Told:
    return Told(refusal.detail, "warn" if isinstance(refusal, EntryTakenError) else "bad")


def _and_next(request: HttpRequest, text: str, *, clear: str) -> HttpResponse:
    following = services.reserve_next(actor=request.user, reason=_reason(request.GET.get("reason")))
    return _done(request, following, Told(text), clear=clear)


def _done(
    request: HttpRequest, entry: QueueEntry | None, told: Told | None, *, clear: str = ""
) -> HttpResponse:
    """After an action: the queue with this entry. Without htmx the address leads there."""
    reason = _reason(request.POST.get("reason") or request.GET.get("reason"))
    parameters = {"entry": entry.pk if entry is not None else "", "reason": reason}
    query = urlencode({name: value for name, value in parameters.items() if value})
    href = reverse("reviews:queue") + (f"?{query}" if query else "")
    if not wants_fragment(request):
        if told is not None:
            level = {"good": messages.SUCCESS, "warn": messages.WARNING, "bad": messages.ERROR}[told.level]
            messages.add_message(request, level, told.text)
        return redirect_after_post(request, href)
    shown = queries.entry_by_id(entry.pk, sight_of(request.user)) if entry is not None else None
    return replace_url(_answer(request, shown, told=told, reason=reason, clear=clear), href)


def _answer(
    request: HttpRequest,
    shown: QueueEntry | None,
    *,
    typed: Typed | None = None,
    told: Told | None = None,
    reason: str | None = None,
    clear: str = "",
    status: int = 200,
) -> HttpResponse:
    """The page, or what htmx wants of it: all of it, or one check with its form."""
    now = timezone.now()
    reason = _reason(request.GET.get("reason")) if reason is None else reason
    user: Any = request.user
    target = (request.htmx.target or "") if wants_fragment(request) else ""  # type: ignore[attr-defined]
    if target.startswith("check-"):
        if shown is None:
            raise Http404
        template, context = "reviews/_case_check.html", _item(request, shown, typed, reason)
        context["row"] = next((row for row in context["checks"] if row.anchor == target), None)
        if context["row"] is None:
            raise Http404
    else:
        template = "reviews/_queue.html" if wants_fragment(request) else "reviews/queue.html"
        overview = services.queue_overview(actor=user, now=now)
        listed = queries.queue_list(request.GET, reason=reason, actor=user, now=now)
        if shown is None:
            shown = queries.entry_in_hand(
                actor=user, now=now, reason=reason, listed=listed, overview=overview
            )
        context = _item(request, shown, typed, reason) if shown is not None else {}
        context |= _around(user, overview, listed, shown, reason)
        context |= {"told": told, "clear": clear, "now": now}
    context |= _rights(request)
    response = render(request, template, context, status=status)
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


def _around(
    user: Any, overview: QueueOverview, listed: queries.QueueList, shown: QueueEntry | None, reason: str
) -> dict[str, Any]:
    return {
        "overview": overview,
        "reason": reason,
        "reasons": [
            {
                "value": value,
                "label": _label(value),
                "count": count,
                "href": f"?{urlencode({'reason': value})}" if value != reason else "?",
            }
            for value, count in overview.counts.items()
            if count or value == reason
        ],
        "listed": listed.page,
        "lines": listed.lines(shown),
        "progress": services.progress_by_reviewer(held=overview.held, now=listed.now),
        "done": queries.done_today(listed.now, sight_of(user)) if overview.is_all_done else None,
    }


def _item(request: HttpRequest, entry: QueueEntry, typed: Typed | None, reason: str) -> dict[str, Any]:
    """The entry in the middle with exactly the evidence its reason asks for."""
    pair = find_pair(sight_of(request.user), pk=entry.pair_id)
    assert pair is not None  # a pair outlives its entries
    page = load_pair(pair, actor=request.user)
    cited = cited_paths(page)
    facts = States(page).facts(cited)
    ends = final_states(page, facts.ends, cited)
    now = timezone.now()
    user: Any = request.user
    deciding = typed.target if typed is not None and typed.kind == OVERRIDE else None
    rows = queries.rows_in_question(entry, check_rows(page, ends, page.address.href()), result_id=deciding)
    parameters = {"entry": entry.pk} | ({"reason": reason} if reason else {})
    for row in rows:
        row.queue_href = f"{reverse('reviews:queue')}?{urlencode(parameters)}"
    # What was written is shown again even if the entry was closed meanwhile: the note is still in it.
    is_wanted = typed is not None and typed.kind == OVERRIDE and (entry.is_open or typed.is_written)
    if typed is not None and is_wanted and user.has_perm(DECIDE):
        action = reverse("reviews:queue_decide", args=[entry.pk])
        action += f"?{urlencode({'reason': reason})}" if reason else ""
        for row in rows:
            for side in row.sides:
                if side.result.pk == typed.target and not side.closed:
                    row.form = override_form(
                        row=row, side=side, typed=typed, address=page.address, action=action, target="queue"
                    )
    said = claims(page)
    closing = typed if typed is not None and typed.kind == CLOSE and typed.target == entry.pk else None
    return {
        "entry": entry,
        "sentence": queries.sentence(entry),
        "is_mine": entry.is_held_by(user, now),
        "is_held": entry.is_held(now),
        "is_left": queries.is_left_for(entry, user),
        # By hand it cannot be closed while a reviewer's decision waits for another's.
        "is_under_way": entry.reason in FOR_REVIEWERS and any(row.rounds for row in rows),
        "page": page,
        "pair": pair,
        "comparison": page.comparison,
        "list_href": reverse("evaluations:comparison", args=[page.comparison.pk]),
        "address": page.address,
        "checks": rows,
        "ended": queries.what_ended_it(page) if entry.reason == QueueReason.INCOMPLETE else [],
        "shows_claim": queries.needs_claim(entry),
        "claims": said,
        "same_claim": same_claim(said),
        "contradictions": contradictions(page),
        "effects": [(side, effects(page, facts, name)) for name, side in page.sides.items()],
        "places": ends.told(),
        "places_base": page.address.href(),
        "ends": ends,
        "closing": closing or Typed(CLOSE, entry.pk),
        "is_closing": closing is not None,
        "problem": typed.problem if typed is not None and not any(row.form for row in rows) else "",
        "assignees": queries.people_who_decide() if user.has_perm(WORK_QUEUE) else [],
    }


def _rights(request: HttpRequest) -> dict[str, bool]:
    user: Any = request.user
    return {
        "may_decide": user.has_perm(DECIDE),
        "may_work": user.has_perm(WORK_QUEUE),
        "may_manage": user.has_perm(MANAGE_QUEUE),
    }


def _label(reason: str) -> str:
    return dict(QueueReason.choices).get(reason, reason)


def _entry(request: HttpRequest, entry_id: int) -> QueueEntry:
    entry = queries.entry_by_id(entry_id, sight_of(request.user))
    if entry is None:
        raise Http404
    return entry


def _reason(text: str | None) -> str:
    return text if text in QueueReason.values else ""


def _number(text: str | None) -> int | None:
    """A whole number from 1 that fits a row id; None for anything else."""
    if not text or not text.isascii() or not text.isdigit() or len(text) > 18:
        return None
    return int(text) or None
