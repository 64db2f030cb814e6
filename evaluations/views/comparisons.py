"""The list of comparisons and the page of one: read, filter, follow, cancel, download."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agenttwin_site.htmx import page_or_fragment, redirect_after_post, wants_fragment
from evaluations import page_queries
from evaluations.case_filter import SEVERITIES, CaseFilter
from evaluations.errors import AlreadyEndedError
from evaluations.holdouts import hides_cases, shown_reason
from evaluations.models import Agent, Comparison, ComparisonState, PairedCase, Side
from evaluations.page_queries.judged import by_judge, judged_by
from evaluations.services.comparisons import OPEN_STATES, cancel_comparison
from evaluations.views.downloads import downloads_of
from evaluations.views.releases import decide_context
from scenarios.holdouts import sight_of

CASES_PER_PAGE = 50
COMPARISONS_PER_PAGE = 25

# Words of the tiles, in the order of the classes.
_TILES = (
    ("NEW_CRITICAL_FAILURE", "new critical", "new-critical"),
    ("REGRESSED", "regressed", "regressed"),
    ("INCOMPLETE", "incomplete", "incomplete"),
    ("IMPROVED", "improved", "improved"),
    ("UNCHANGED", "unchanged", "unchanged"),
)

may_see = permission_required("evaluations.view_comparison", raise_exception=True)
may_cancel = permission_required("evaluations.change_comparison", raise_exception=True)


@require_safe
@may_see
def comparison_list(request: HttpRequest) -> HttpResponse:
    """Comparisons, latest first, each with its counts; `agent=` and `state=` narrow it."""
    agent, state = request.GET.get("agent", "")[:200].replace("\x00", ""), request.GET.get("state", "")
    state = state if state in ComparisonState.values else ""
    page, rows = page_queries.comparison_page(
        request.GET, agent=agent, state=state, size=COMPARISONS_PER_PAGE
    )
    context = {
        "page": page,
        "rows": rows,
        "agent": agent,
        "state": state,
        "agents": Agent.objects.order_by("name").values_list("name", flat=True)[:500],
        "states": ComparisonState.values,
        "is_filtered": bool(agent or state),
    }
    return page_or_fragment(
        request, "evaluations/comparison_list.html", "evaluations/_comparison_table.html", context
    )


@require_safe
@may_see
def comparison_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One comparison. htmx gets the tiles and cases alone; the address holds the whole state of the page."""
    comparison = _comparison(pk)
    chosen = CaseFilter.from_query(request.GET)
    context = _cases_context(request, comparison, chosen)
    if not wants_fragment(request):
        context |= _head_context(request, comparison)
        context |= decide_context(request, comparison)
        if not context["is_hidden"]:
            context["pins"] = page_queries.pins_of(comparison, sight_of(request.user))
    response = page_or_fragment(
        request, "evaluations/comparison_detail.html", "evaluations/_comparison_cases.html", context
    )
    if wants_fragment(request) and request.htmx.trigger == "case-filters":  # type: ignore[attr-defined]
        # The form sends its empty fields too; the address names only what is chosen.
        query = f"?{chosen.query}" if chosen.query else ""
        response["HX-Push-Url"] = reverse("evaluations:comparison", args=[pk]) + query
    return response


@require_safe
@may_see
def comparison_progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The head of a comparison while it runs. Its markup asks again only until the comparison has ended."""
    if not wants_fragment(request):
        return redirect("evaluations:comparison", pk=pk)
    comparison = _comparison(pk)
    context = _head_context(request, comparison)
    context["announcement"] = f"The comparison has ended: {comparison.get_state_display().lower()}"
    response = render(request, "evaluations/_comparison_head.html", context)
    if comparison.state not in OPEN_STATES:
        # The cases are classified when the comparison ends: now there is something new to list.
        response["HX-Trigger"] = "comparison-ended"
    return response


@require_POST
@may_cancel
def comparison_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Cancel a comparison that runs. One that has ended meanwhile stays as it is, and the page says so."""
    comparison = _comparison(pk)
    try:
        cancel_comparison(comparison, actor=request.user)
        messages.success(request, f"Comparison {pk} was cancelled. What had finished is kept.")
    except AlreadyEndedError:
        messages.warning(request, f"Comparison {pk} had ended before it could be cancelled.")
    return redirect_after_post(request, reverse("evaluations:comparison", args=[pk]))


def _comparison(pk: int) -> Comparison:
    comparison = Comparison.objects.with_names().filter(pk=pk).first()
    if comparison is None:
        raise Http404
    return comparison


def _head_context(request: HttpRequest, comparison: Comparison) -> dict[str, Any]:
    totals = page_queries.side_totals(comparison)
    baseline, candidate = totals[Side.BASELINE], totals[Side.CANDIDATE]
    is_open = comparison.state in OPEN_STATES
    return {
        "comparison": comparison,
        "reason": shown_reason(comparison, sight_of(request.user)),
        "is_open": is_open,
        "case_count": candidate.cases,
        "ended": baseline.ended + candidate.ended,
        "to_end": baseline.cases + candidate.cases,
        "baseline": baseline,
        "candidate": candidate,
        "calls_verdict": _fewer_is_better(comparison, baseline.tool_calls, candidate.tool_calls),
        "retries_verdict": _fewer_is_better(comparison, baseline.retries, candidate.retries),
        "judges": by_judge(judged_by([comparison.pk]).get(comparison.pk, ())),
        "model_kinds": page_queries.model_kinds_of([comparison.pk]).get(comparison.pk, ()),
        "downloads": [] if is_open else downloads_of(comparison),
        "may_cancel": is_open and request.user.has_perm("evaluations.change_comparison"),
        "rerun": page_queries.rerun_of(comparison),
        "may_rerun": request.user.has_perm("evaluations.add_comparison"),
    }


def _fewer_is_better(comparison: Comparison, before: int, after: int) -> str:
    """Empty where a case is missing on a side: totals of other cases than the baseline's say nothing."""
    if comparison.state != ComparisonState.COMPLETED:
        return ""
    return "same" if before == after else "better" if after < before else "worse"


def _cases_context(request: HttpRequest, comparison: Comparison, chosen: CaseFilter) -> dict[str, Any]:
    sight = sight_of(request.user)
    context = {"comparison": comparison, "is_open": comparison.state in OPEN_STATES, "is_hidden": False}
    if hides_cases(comparison, sight):
        # What a holdout is for is its totals; a filter would tell of single cases.
        pairs = PairedCase.objects.counted().filter(comparison=comparison)
        counts = page_queries.class_counts(pairs, comparison)
        tiles = [{"word": word, "kind": kind, "count": counts[name]} for name, word, kind in _TILES]
        return {**context, "is_hidden": True, "tiles": tiles, "pending": counts.pending}
    by_scenario = page_queries.has_trials(comparison)
    listing = page_queries.scenario_list if by_scenario else page_queries.case_list
    cases: Any = listing(comparison, chosen, request.GET, size=CASES_PER_PAGE, sight=sight)
    return {
        **context,
        "by_scenario": by_scenario,
        "chosen": chosen,
        "cases": cases,
        "pending": cases.counts.pending,
        "tiles": [
            {
                "word": word,
                "kind": kind,
                "count": cases.counts[name],
                "href": chosen.with_class_toggled(name).href,
                "is_pressed": name in chosen.classes,
            }
            for name, word, kind in _TILES
        ],
        "options": page_queries.filter_options(comparison, chosen, sight),
        "severities": SEVERITIES,
        "held_out_count": page_queries.held_out_count(comparison, sight),
    }
