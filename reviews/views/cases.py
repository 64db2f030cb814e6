"""The page of one case: what happened on both sides, what it is worth, and the way to decide."""

from __future__ import annotations

import json
import re
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.db.models import TextField
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from agenttwin_site.htmx import wants_fragment
from evaluations.models import PairedCase, Side, ToolCall
from reviews.models import Review
from reviews.page_queries.cases import PairPage, load_pair, pair_at
from reviews.page_queries.states import CannotRebuild, States
from reviews.views.case_parts import Asked, CaseParts
from reviews.views.forms import Typed, kept
from scenarios.holdouts import sight_of

may_see = permission_required(["evaluations.view_case", "evaluations.view_pairedcase"], raise_exception=True)
_STEP = re.compile(r"step-([1-9][0-9]{0,8})")
_MAX_TRIAL = 2**31 - 1


@require_safe
@may_see
def case_detail(request: HttpRequest, comparison_id: int, scenario: str) -> HttpResponse:
    """GET `?trial=N`. htmx names the part it wants by the element that will be replaced."""
    pair = _pair(request, comparison_id, scenario)
    asked = Asked.from_query(request.GET)
    decided = None
    if asked.reviewed is not None:
        decided = Review.objects.on_pair(pair.pk).filter(pk=asked.reviewed).first()
    parts = CaseParts(request, pair, asked=asked, typed=kept(request), decided=decided)
    return answer(request, parts)


def answer(
    request: HttpRequest, parts: CaseParts, *, status: int = 200, part: str | None = None
) -> HttpResponse:
    """The page, or the part of it that htmx asks for; `part` if the view knows better."""
    template, context = "reviews/case_detail.html", None
    if wants_fragment(request):
        template, context = _fragment(parts, part or request.htmx.target or "")  # type: ignore[attr-defined]
    if context is None:
        template, context = "reviews/case_detail.html", parts.whole()
    response = render(request, template, context, status=status)
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    return response


def _fragment(parts: CaseParts, target: str) -> tuple[str, dict[str, Any] | None]:
    if target == "case-verdict":
        return "reviews/_case_verdict.html", parts.verdict()
    if target == "case-steps":
        return "reviews/_case_steps.html", parts.steps()
    if target == "case-decisions":
        return "reviews/_case_decisions.html", parts.decisions()
    if target == "case-history":
        return "reviews/_case_history.html", parts.history()
    if step := _STEP.fullmatch(target):
        return "reviews/_case_step.html", parts.step(int(step[1]))
    if target.startswith("check-"):
        return "reviews/_case_check.html", parts.check(target)
    return "", None


def page_with(
    request: HttpRequest,
    pair: PairedCase,
    *,
    typed: Typed | None = None,
    decided: Review | None = None,
    sealed: int | None = None,
) -> CaseParts:
    """The page for a request that came to another address: a form that was sent, or is opened there."""
    return CaseParts(request, pair, asked=Asked(sealed=sealed), typed=typed, decided=decided)


@require_safe
@may_see
def case_raw(request: HttpRequest, comparison_id: int, scenario: str, part: str) -> HttpResponse:
    """The whole of a value whose beginning the page shows, as a JSON file: `?side=&seq=`.

    `part` is state (after the record, without `seq` at the end), arguments, response or answer.
    """
    page = load_pair(_pair(request, comparison_id, scenario))
    side, seq = _side(request), _seq(request)
    if side not in page.sides:
        raise Http404
    if part == "state":
        text = _state_text(page, side, seq)
    elif part == "answer":
        case = page.sides[side].case
        text = None if case is None or case.answer is None else _written(case.answer)
    else:
        text = _column_text(page, side, seq, part)
    if text is None:
        raise Http404
    name = f"{scenario}-{side.lower()}{f'-{seq}' if seq else ''}-{part}.json"
    response = HttpResponse(text, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _state_text(page: PairPage, side: str, seq: int | None) -> str | None:
    case = page.sides[side].case
    if case is None or not page.sides[side].has_run:
        return None
    if seq and not ToolCall.objects.filter(case=case, seq=seq).exists():
        return None
    try:
        return _written(States(page).after(side, seq))
    except CannotRebuild:
        return None


def _column_text(page: PairPage, side: str, seq: int | None, part: str) -> str | None:
    case = page.sides[side].case
    if case is None or seq is None or part not in ("arguments", "response"):
        return None
    records = ToolCall.objects.filter(case=case, seq=seq)
    return records.values_list(Cast(part, TextField()), flat=True).first()


def _pair(request: HttpRequest, comparison_id: int, scenario: str) -> PairedCase:
    text = request.GET.get("trial", "1")
    trial = int(text) if text.isascii() and text.isdigit() and len(text) < 11 else 0
    pair = None
    if 1 <= trial <= _MAX_TRIAL and "\x00" not in scenario:
        is_original = request.GET.get("original") == "1"
        sight = sight_of(request.user)
        pair = pair_at(sight, comparison_id, scenario, trial, original=is_original)
    if pair is None:
        raise Http404
    return pair


def _side(request: HttpRequest) -> str:
    side = request.GET.get("side", "").upper()
    if side not in Side.values:
        raise Http404
    return side


def _seq(request: HttpRequest) -> int | None:
    text = request.GET.get("seq")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Http404
    return int(text)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
