"""Criteria: the list, one with its standing, its rubric, its examples taken in from files and cases."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agenttwin_site.htmx import redirect_after_post
from agenttwin_site.kept_forms import kept_form
from evaluations.errors import EvaluationError, NotRunnableError, RequestError
from evaluations.judge_forms import CriterionForm, ImportForm
from evaluations.judges.interface import JudgeIdentity
from evaluations.models import CriterionVersion
from evaluations.page_queries import case_path
from evaluations.page_queries import judges as queries
from evaluations.services import labelling
from evaluations.services.calibration import configured_identity, standing
from evaluations.services.criteria import (
    carry_over,
    example_from_result,
    import_examples,
    results_to_take,
    save_criterion,
)
from twins.documents.problems import DocumentError

CRITERIA_PER_PAGE = 50
CALIBRATIONS_PER_PAGE = 10

may_see = permission_required("evaluations.view_criterion", raise_exception=True)
may_edit = permission_required("evaluations.add_criterion", raise_exception=True)
may_import = permission_required("evaluations.add_example", raise_exception=True)


@require_safe
@may_see
def criterion_list(request: HttpRequest) -> HttpResponse:
    """Every criterion by its current rubric, with what the configured judge's verdicts on it are worth."""
    judge = judge_here()
    page, rows = queries.criterion_page(request.GET, person=request.user, judge=judge, size=CRITERIA_PER_PAGE)
    context = {"page": page, "rows": rows, "judge": judge}
    return render(request, "evaluations/criterion_list.html", context)


@require_safe
@may_see
def criterion_detail(request: HttpRequest, name: str) -> HttpResponse:
    """One criterion, `?version=N` for another rubric than the current one."""
    version = version_or_404(request, name)
    judge = judge_here()
    labelled = labelling.labelled(version.pk)
    progress = labelling.progress_of(version, request.user)
    versions = queries.versions_of(version)
    context = {
        "version": version,
        "versions": versions,
        "is_current": version.pk == version.criterion.current_version_id,
        "judge": judge,
        "standing": judge and standing(judge, name, version.rubric_sha256),
        "labelled": labelled,
        "examples": version.examples.count(),
        "left": progress.left,
        "is_onlooker": progress.is_onlooker,
        "page": queries.calibration_page(version, request.GET, size=CALIBRATIONS_PER_PAGE),
        "form_token": uuid4(),
    }
    return render(request, "evaluations/criterion.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@may_edit
def criterion_edit(request: HttpRequest, name: str = "") -> HttpResponse:
    """A new criterion, or with a `name` another rubric of it. What does not hold comes back with 422."""
    version = version_or_404(request, name) if name else None
    if request.method != "POST":
        kept = kept_form(request, action=request.path)
        initial = {"name": name, "rubric": version.rubric if version else ""}
        if kept:
            initial = {field: kept.first(field) for field in ("name", "rubric")}
        return _edit_page(request, CriterionForm(initial=initial), version)
    form = CriterionForm({**request.POST.dict(), **({"name": name} if name else {})})
    if not form.is_valid():
        return _edit_page(request, form, version, status=422)
    try:
        saved, is_new = save_criterion(
            name=form.cleaned_data["name"], rubric=form.cleaned_data["rubric"], actor=request.user
        )
    except RequestError as refused:
        for problem in refused.problems:
            field, _, detail = problem.partition(": ")
            form.add_error(field, detail)
        return _edit_page(request, form, version, status=422)
    if is_new:
        messages.success(request, f"{saved} is current now. Labels of other rubrics do not count for it.")
    else:
        messages.info(request, f"This is the rubric of {saved} already: nothing was changed.")
    return redirect_after_post(request, saved.get_absolute_url())


@require_http_methods(["GET", "HEAD", "POST"])
@may_import
def examples_import(request: HttpRequest, name: str = "") -> HttpResponse:
    """Examples from a file or a text, for the criterion `name` or the one the document names.

    All or nothing: a problem anywhere comes back with all others, by line (422).
    """
    if name:
        version_or_404(request, name)
    if request.method != "POST":
        kept = kept_form(request, action=request.path)
        initial = {field: kept.first(field) for field in ("text", "kind")} if kept else {}
        return _import_page(request, ImportForm(initial=initial), name)
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _import_page(request, form, name, status=422)
    text, kind, file = form.source()
    try:
        found = import_examples(
            text=text,
            kind=kind,
            criterion=name or None,
            actor=request.user,
            source=f"from {file}" if file else "",
        )
    except DocumentError as refused:
        return _import_page(request, form, name, problems=refused.problems, status=422)
    told = f"{found.created} new example{'' if found.created == 1 else 's'} for {found.version}"
    known = f", {found.known} {'was' if found.known == 1 else 'were'} there already" if found.known else ""
    messages.success(request, f"{told}{known}.")
    return redirect_after_post(request, found.version.get_absolute_url())


@require_POST
@may_import
def examples_carry_over(request: HttpRequest, name: str) -> HttpResponse:
    """Take the examples of the other rubrics into this version, without labels."""
    version = version_or_404(request, name)
    count = carry_over(version, actor=request.user)
    messages.success(
        request, f"{count} example{'' if count == 1 else 's'} taken over into {version}, without labels."
    )
    return redirect_after_post(request, version.get_absolute_url())


@require_POST
@may_import
def example_from(request: HttpRequest, result_id: int) -> HttpResponse:
    """Take what a judge read of a case as an example, and show it."""
    result = results_to_take().filter(pk=result_id).first()
    if result is None:
        raise Http404
    try:
        example, is_new = example_from_result(result=result, actor=request.user)
    except EvaluationError as error:
        refused(request, error)
        pair = result.case.pair
        return redirect_after_post(request, case_path(pair.comparison_id, pair.scenario_name, pair.trial))
    told = f"is an example of {example.criterion_version} now" if is_new else "was an example already"
    messages.success(request, f"This reply {told}. Who saw the judge’s verdict does not label it.")
    return redirect_after_post(request, example.get_absolute_url())


@require_POST
@permission_required("evaluations.add_label", raise_exception=True)
def look_on(request: HttpRequest, name: str) -> HttpResponse:
    """See the labels of a version without having given one's own; POST `next` is the calibration to show."""
    version = version_or_404(request, name)
    labelling.look_on(version=version, actor=request.user)
    messages.info(request, f"You see the labels of {version} from now on, and label it no more.")
    calibration = request.POST.get("calibration", "")
    href = version.get_absolute_url()
    if calibration.isascii() and calibration.isdigit() and len(calibration) <= 18:
        href = reverse("evaluations:calibration", args=[int(calibration)])
    return redirect_after_post(request, href)


def judge_here() -> JudgeIdentity | None:
    """The judge of this installation, None if its settings name none."""
    try:
        return configured_identity()
    except NotRunnableError:
        return None


def version_or_404(request: HttpRequest, name: str) -> CriterionVersion:
    """The version that `?version=` (or the form) asks for; without one the current one."""
    asked = request.GET.get("version") or request.POST.get("version") or ""
    if asked and not (asked.isascii() and asked.isdigit() and len(asked) < 10):
        raise Http404
    version = queries.version_of(name, int(asked) if asked else None) if "\x00" not in name else None
    if version is None:
        raise Http404
    return version


def refused(request: HttpRequest, error: EvaluationError) -> None:
    """Tell why something was not done, on the page that comes next."""
    messages.error(request, error.detail)


def _edit_page(
    request: HttpRequest, form: CriterionForm, version: CriterionVersion | None, *, status: int = 200
) -> HttpResponse:
    context = {"form": form, "version": version}
    return render(request, "evaluations/criterion_edit.html", context, status=status)


def _import_page(
    request: HttpRequest, form: ImportForm, name: str, *, problems: Any = (), status: int = 200
) -> HttpResponse:
    context = {"form": form, "name": name, "problems": problems}
    return render(request, "evaluations/examples_import.html", context, status=status)
