"""Calibrations: starting one, following it, and what it found."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from agenttwin_site.htmx import page_or_fragment, redirect_after_post, wants_fragment
from evaluations.errors import EvaluationError
from evaluations.models import Calibration
from evaluations.page_queries import judges as queries
from evaluations.services.calibration import standing, start_calibration
from evaluations.services.labelling import gathered
from evaluations.views.criteria import judge_here, refused, version_or_404

RESULTS_PER_PAGE = 50

may_see = permission_required("evaluations.view_calibration", raise_exception=True)
may_start = permission_required("evaluations.add_calibration", raise_exception=True)


@require_POST
@may_start
def calibrate(request: HttpRequest, name: str) -> HttpResponse:
    """Start a calibration of the configured judge; the form's token makes a double submit start one."""
    version = version_or_404(request, name)
    try:
        calibration, _ = start_calibration(
            version=version, form_token=_token(request.POST.get("form_token")), actor=request.user
        )
    except EvaluationError as error:
        refused(request, error)
        return redirect_after_post(request, version.get_absolute_url())
    return redirect_after_post(request, calibration.get_absolute_url())


@require_safe
@may_see
def calibration_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The report. `?people=PASS&judge=FAIL` lists one cell, `?show=` all, left_out or disagreements."""
    calibration = _calibration(pk)
    chosen = queries.ResultFilter.from_query(request.GET)
    context = {
        **_head(request, calibration),
        "chosen": chosen,
        "results": queries.result_list(
            calibration, chosen, request.GET, person=request.user, size=RESULTS_PER_PAGE
        ),
        "may_label": request.user.has_perm("evaluations.add_label"),
    }
    return page_or_fragment(
        request, "evaluations/calibration.html", "evaluations/_calibration_results.html", context
    )


@require_safe
@may_see
def calibration_progress(request: HttpRequest, pk: int) -> HttpResponse:
    """The head of a calibration while it runs; its markup asks again only until it has ended."""
    if not wants_fragment(request):
        return redirect("evaluations:calibration", pk=pk)
    calibration = _calibration(pk)
    context = _head(request, calibration)
    context["announcement"] = f"The calibration has ended. {calibration.decision or calibration.reason}"
    response = render(request, "evaluations/_calibration_head.html", context)
    if not calibration.is_open:
        response["HX-Refresh"] = "true"
    return response


def _head(request: HttpRequest, calibration: Calibration) -> dict[str, Any]:
    version, judge = calibration.criterion_version, judge_here()
    figures = queries.calibration_figures(calibration)
    now = judge and standing(judge, version.criterion.name, version.rubric_sha256)
    return {
        "calibration": calibration,
        "version": version,
        "figures": figures,
        "agreement": figures.agreement,
        "pairs": _people(calibration),
        "outcomes": queries.OUTCOMES,
        "standing": now,
        "counts_now": bool(now and now.calibration_id == calibration.pk and now.state != "stale"),
    }


def _people(calibration: Calibration) -> Any:
    """How the people agreed whose labels this calibration used."""
    rows = calibration.results.values_list("example_id", "labels")
    return gathered((pk, one["person"], one["label"]) for pk, labels in rows for one in labels).pairs


def _calibration(pk: int) -> Calibration:
    found = Calibration.objects.select_related("criterion_version__criterion", "created_by").filter(pk=pk)
    calibration = found.first()
    if calibration is None:
        raise Http404
    return calibration


def _token(text: str | None) -> UUID | None:
    try:
        return UUID(text) if text else None
    except ValueError:
        return None
