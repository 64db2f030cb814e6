"""The statistics of a comparison's trials: the suite above its tasks, one task, and their pictures."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from agenttwin_site.paging import keyset_slice
from evaluations.holdouts import hides_cases
from evaluations.models import Comparison, Side
from evaluations.page_queries import case_path, model_kinds_of
from evaluations.page_queries.figures import (
    CHECKS_SHOWN,
    check_rows,
    is_a_picture,
    never_failing,
    suite_curves,
    suite_k_rows,
    suite_rows,
    suite_without,
    task_check_rows,
    task_curves,
    task_k_rows,
    task_row,
)
from evaluations.page_queries.history import HistoryPoint, HistorySide, trials_over_time
from evaluations.reporting.hidden import statistics_as_seen
from evaluations.reporting.trial_figures import shown_ks, usual_k
from evaluations.services.statistics import (
    ComparisonStatistics,
    CostRates,
    TaskStatistics,
    comparison_statistics,
    configured_rates,
    has_ended,
)
from scenarios.holdouts import sight_of

TASKS_PER_PAGE = 50
_TASK_KEYS = ("class_rank", "severity_rank", "position")
_MOST_USD = 1_000_000
# Only what a picture itself holds: its style, and no script, no font, no other picture.
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

may_see = permission_required("evaluations.view_comparison", raise_exception=True)


@require_safe
@may_see
def comparison_figures(request: HttpRequest, pk: int) -> HttpResponse:
    """The whole suite; `k=` chooses the k that is shown, three numbers what a run costs beside its model."""
    comparison = _comparison(pk)
    if not has_ended(comparison):
        return _still_runs(request, comparison)
    found = comparison_statistics(pk)
    k, rates = _k(request.GET, found.most_trials), _rates(request.GET)
    # The suite's figures count every task; what is hidden is only not told task by task.
    told = statistics_as_seen(found, comparison, sight_of(request.user))
    page = keyset_slice(told.tasks, keys=_TASK_KEYS, query=request.GET, size=TASKS_PER_PAGE)
    checks = check_rows(pk, told.checks)
    k_rows = suite_k_rows(found)
    context = _common(comparison) | {
        "statistics": found,
        "k": k,
        "ks": shown_ks(found.most_trials),
        "rates": rates,
        "suite": suite_rows(found, k, rates),
        "tasks": [task_row(task, k, rates) for task in page.rows],
        "page": page,
        "shown": f"{len(told.tasks):,} task{'' if len(told.tasks) == 1 else 's'}, worst class first",
        "k_rows": k_rows,
        "k_without": suite_without(found, k_rows),
        "has_picture": is_a_picture(suite_curves(found)),
        "checks": checks[:CHECKS_SHOWN],
        "checks_count": len(checks),
        "unequal": told.unequal,
        "hidden_tasks": len(found.tasks) - len(told.tasks),
    }
    return render(request, "evaluations/comparison_figures.html", context)


@require_safe
@may_see
def scenario_figures(request: HttpRequest, pk: int, scenario: str) -> HttpResponse:
    """One task of a comparison, and what became of it in the comparisons before."""
    comparison = _comparison_with(request, pk, scenario)
    if not has_ended(comparison):
        return _still_runs(request, comparison)
    found = comparison_statistics(pk)
    task = _task(found, scenario)
    rates = _rates(request.GET)
    history = trials_over_time(comparison, scenario, sight_of(request.user))
    context = _common(comparison) | {
        "statistics": found,
        "task": task,
        "row": task_row(task, _k(request.GET, found.most_trials), rates),
        "rates": rates,
        "k_rows": task_k_rows(task),
        "has_picture": is_a_picture(task_curves(task)),
        "checks": task_check_rows(found, task),
        "checks_passing": never_failing(found, task),
        "history": list(reversed(history)),
        "has_history": len(history) > 1,
        "case_href": case_path(pk, scenario),
    }
    return render(request, "evaluations/scenario_figures.html", context)


@require_safe
@may_see
def suite_chart(request: HttpRequest, pk: int) -> HttpResponse:
    """pass^k against k, the mean over the tasks."""
    comparison = _comparison(pk)
    curves = suite_curves(_ended(comparison))
    if not is_a_picture(curves):
        raise Http404
    return _pass_hat(request, comparison, curves)


@require_safe
@may_see
def scenario_chart(request: HttpRequest, pk: int, scenario: str) -> HttpResponse:
    """pass^k against k of one task."""
    comparison = _comparison_with(request, pk, scenario)
    curves = task_curves(_task(_ended(comparison), scenario))
    if not is_a_picture(curves):
        raise Http404
    return _pass_hat(request, comparison, curves)


@require_safe
@may_see
def history_chart(request: HttpRequest, pk: int, scenario: str) -> HttpResponse:
    """The pass rates of a scenario across comparisons."""
    comparison = _comparison_with(request, pk, scenario)
    points = trials_over_time(comparison, scenario, sight_of(request.user))
    if len(points) < 2:
        raise Http404
    told = tuple((point.comparison.pk, _rate(point.baseline), _rate(point.candidate)) for point in points)

    def draw(scheme: str) -> bytes:
        from evaluations import charts

        moments = tuple(
            charts.Moment(_label(point), *rates[1:]) for point, rates in zip(points, told, strict=True)
        )
        return charts.history_chart(moments, scheme)

    return _picture(request, ("history", told), draw)


def _pass_hat(request: HttpRequest, comparison: Comparison, curves: list[Any]) -> HttpResponse:
    versions = {
        Side.BASELINE.value.lower(): comparison.baseline_version or "",
        Side.CANDIDATE.value.lower(): comparison.candidate.version,
    }

    def draw(scheme: str) -> bytes:
        from evaluations import charts

        return charts.pass_hat_chart(charts.lines_of(curves, versions), scheme)

    return _picture(request, ("pass^k", versions, curves), draw)


def _picture(request: HttpRequest, figures: Any, draw: Callable[[str], bytes]) -> HttpResponse:
    """The SVG. Its tag follows the figures, so a browser asks again and mostly hears that nothing changed."""
    scheme = "dark" if request.GET.get("scheme") == "dark" else "light"
    tag = f'"{hashlib.sha256(repr((figures, scheme)).encode()).hexdigest()[:32]}"'
    response: HttpResponse
    if tag in request.headers.get("If-None-Match", ""):
        response = HttpResponseNotModified()
    else:
        response = HttpResponse(draw(scheme), content_type="image/svg+xml")
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-cache"
    response["Content-Security-Policy"] = _PICTURE_POLICY
    patch_vary_headers(response, ["Cookie"])
    return response


def _rate(side: HistorySide | None) -> tuple[float, float, float] | None:
    rate, interval = (None, None) if side is None else (side.trials.pass_rate, side.trials.interval)
    return None if rate is None or interval is None else (rate, interval.low, interval.high)


def _label(point: HistoryPoint) -> str:
    return f"{point.comparison.candidate.version}\n#{point.comparison.pk}"


def _comparison(pk: int) -> Comparison:
    comparison = Comparison.objects.with_names().filter(pk=pk).first()
    if comparison is None:
        raise Http404
    return comparison


def _comparison_with(request: HttpRequest, pk: int, scenario: str) -> Comparison:
    """The comparison, of which this person may look into the scenario."""
    comparison = _comparison(pk)
    sight = sight_of(request.user)
    if hides_cases(comparison, sight) or sight.hides(scenario):
        raise Http404
    return comparison


def _ended(comparison: Comparison) -> ComparisonStatistics:
    if not has_ended(comparison):
        raise Http404
    return comparison_statistics(comparison.pk, with_checks=False)


def _task(found: ComparisonStatistics, scenario: str) -> TaskStatistics:
    task = next((task for task in found.tasks if task.scenario == scenario), None)
    if task is None:
        raise Http404
    return task


def _common(comparison: Comparison) -> dict[str, Any]:
    return {
        "comparison": comparison,
        "model_kinds": model_kinds_of([comparison.pk]).get(comparison.pk, ()),
    }


def _still_runs(request: HttpRequest, comparison: Comparison) -> HttpResponse:
    return render(request, "evaluations/figures_running.html", _common(comparison))


def _k(query: QueryDict, most: int) -> int:
    """The k asked for, if it is one that is shown; an old address still shows something."""
    text = query.get("k", "")
    asked = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    return asked if asked in shown_ks(most) else usual_k(most)


def _rates(query: QueryDict) -> CostRates:
    own = configured_rates()
    return CostRates(
        _amount(query.get("tool_call_usd"), own.tool_call_usd),
        _amount(query.get("review_minutes"), own.review_minutes),
        _amount(query.get("review_usd_per_hour"), own.review_usd_per_hour),
    )


def _amount(text: str | None, default: float) -> float:
    try:
        amount = float(text or "")
    except ValueError:
        return default
    return amount if math.isfinite(amount) and 0 <= amount <= _MOST_USD else default
