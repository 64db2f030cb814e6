"""Labelling: one example at a time, by keyboard, and nothing of what others or the judge say."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agenttwin_site.htmx import redirect_after_post, wants_fragment
from evaluations.errors import EvaluationError
from evaluations.models import CriterionVersion, Example
from evaluations.page_queries import judges as queries
from evaluations.services import labelling
from evaluations.views.criteria import may_see, version_or_404

EXAMPLES_PER_PAGE = 50

may_label = permission_required("evaluations.add_label", raise_exception=True)


@require_http_methods(["GET", "HEAD", "POST"])
@may_label
def label(request: HttpRequest, name: str) -> HttpResponse:
    """GET: the next example, after `?after=`; POST `example`, `label`: store it and show the one after.

    Without htmx a POST leads back here. `?last=` is the example labelled just before: that label can be
    taken back.
    """
    version = version_or_404(request, name)
    if request.method != "POST":
        after, last = _number(request.GET.get("after")), _number(request.GET.get("last"))
        return _page(request, version, after=after, last=last)
    example = _example(version, request.POST.get("example"))
    said = request.POST.get("label", "")
    try:
        labelling.add_label(example=example, label=said, actor=request.user)
    except EvaluationError as error:
        return _page(request, version, after=example.pk - 1, problem=error.detail, status=409)
    if not wants_fragment(request):
        return redirect_after_post(request, _address(version, after=example.pk, last=example.pk))
    return _page(request, version, after=example.pk, last=example.pk, told=f"Labelled {said}.")


@require_POST
@may_label
def undo(request: HttpRequest, name: str) -> HttpResponse:
    """Take back one's label of `example`, and show that example again."""
    version = version_or_404(request, name)
    example = _example(version, request.POST.get("example"))
    try:
        labelling.take_back(example=example, actor=request.user)
    except EvaluationError as error:
        return _page(request, version, after=example.pk, problem=error.detail, status=409)
    if not wants_fragment(request):
        messages.success(request, "Taken back: here it is again.")
        return redirect_after_post(request, _address(version, after=example.pk - 1))
    return _page(request, version, after=example.pk - 1, told="Taken back: here it is again.")


@require_safe
@may_see
def example_list(request: HttpRequest, name: str) -> HttpResponse:
    """The examples of a version; `?show=unlabelled` those this person has not labelled."""
    version = version_or_404(request, name)
    unlabelled = request.GET.get("show") == "unlabelled"
    page, rows = queries.example_page(
        version, request.GET, person=request.user, unlabelled=unlabelled, size=EXAMPLES_PER_PAGE
    )
    context = {"version": version, "page": page, "rows": rows, "unlabelled": unlabelled}
    return render(request, "evaluations/example_list.html", context)


@require_safe
@may_see
def example_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One example. Labels, verdicts and the case it comes from show once both labels are in."""
    example = queries.example_of(pk)
    if example is None:
        raise Http404
    labels = queries.labels_of(example)
    is_shown = labelling.may_see_labels(example, labels, request.user)
    own = next((one for one in labels if one.person_id == request.user.pk), None)
    context = {
        "example": example,
        "version": example.criterion_version,
        "labels": labels if is_shown else [],
        "people": len(labels),
        "own": own,
        "is_shown": is_shown,
        "verdicts": queries.verdicts_of(example) if is_shown else [],
        "case": example.result.case if is_shown and example.result else None,
    }
    return render(request, "evaluations/example.html", context)


def _page(
    request: HttpRequest,
    version: CriterionVersion,
    *,
    after: int = 0,
    last: int = 0,
    told: str = "",
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    progress = labelling.progress_of(version, request.user)
    example = None
    if not progress.is_onlooker:
        example = labelling.next_example(version, request.user, after=after)
    context: dict[str, Any] = {
        "version": version,
        "progress": progress,
        "example": example,
        "last": last,
        "told": told,
        "problem": problem,
    }
    fragment = wants_fragment(request)
    template = "evaluations/_labelling.html" if fragment else "evaluations/label.html"
    response = render(request, template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    if fragment:
        response["HX-Replace-Url"] = _address(version, after=after, last=last)
    return response


def _address(version: CriterionVersion, *, after: int = 0, last: int = 0) -> str:
    query = {"version": version.number, "after": after, "last": last}
    path = reverse("evaluations:label", args=[version.criterion.name])
    return f"{path}?{urlencode({name: value for name, value in query.items() if value})}"


def _example(version: CriterionVersion, asked: str | None) -> Example:
    example = version.examples.filter(pk=_number(asked)).first()
    if example is None:
        raise Http404
    # Loaded already, with its criterion.
    example.criterion_version = version
    return example


def _number(text: str | None) -> int:
    """A whole number that fits a row id; 0 for anything else."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else 0
