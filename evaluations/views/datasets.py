"""Datasets to read: the list, one with its cases, uses and versions, and what differs between two versions.

Of a holdout only those who may look into it see cases, text and the cases in a difference; what it is, how
large, and how often it was used is for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agenttwin_site.htmx import page_or_fragment, redirect_after_post, wants_fragment
from agenttwin_site.paging import keyset_page
from evaluations.errors import RequestError
from evaluations.models import Agent
from evaluations.page_queries import datasets as queries
from evaluations.page_queries.suites import suite_health
from evaluations.services.fault_cases import coverage_of_dataset
from evaluations.services.suite_health import check_suite
from scenarios.coverage import REQUIRED, gap_sentences
from scenarios.dataset_difference import DatasetDifference, dataset_difference
from scenarios.holdouts import DETAILS, sight_of
from scenarios.models import Dataset, DatasetVersion, Purpose
from scenarios.services.datasets import verifies
from twins import document_pages

DATASETS_PER_PAGE = 50
CASES_PER_PAGE = 50
USES_SHOWN = 8
USES_PER_PAGE = 50
# More would keep a browser waiting; a command runs them.
CASES_CHECKED_AT_ONCE = 1000
# The documents of more are not read for a page; the page of what is missing reads them.
CASES_COVERED = 300
_HIDDEN = f"The cases of a holdout are shown to those with the permission {DETAILS}."

may_see = permission_required("scenarios.view_dataset", raise_exception=True)
may_check = permission_required("evaluations.add_suitecheck", raise_exception=True)


@dataclass(frozen=True, slots=True)
class ComparedVersions:
    """Two versions held against each other, or why the two that were asked for cannot be."""

    asked_from: str
    asked_to: str
    before: DatasetVersion | None = None
    after: DatasetVersion | None = None
    difference: DatasetDifference | None = None
    problem: str = ""

    @property
    def is_hidden(self) -> bool:
        """Whether the difference is told in numbers alone."""
        return self.before is not None and self.difference is None


@require_safe
@may_see
def dataset_list(request: HttpRequest) -> HttpResponse:
    """Datasets, latest first; `agent=` and `purpose=` narrow it."""
    agent = request.GET.get("agent", "")[:200].replace("\x00", "")
    purpose = request.GET.get("purpose", "")
    purpose = purpose if purpose in Purpose.values else ""
    versions = queries.current_versions(agent=agent, purpose=purpose)
    page = keyset_page(versions, keys=("-dataset_id",), query=request.GET, size=DATASETS_PER_PAGE)
    user: Any = request.user
    context = {
        "page": page,
        "rows": queries.dataset_rows(page.rows),
        "agent": agent,
        "purpose": purpose,
        "agents": Agent.objects.order_by("name").values_list("name", flat=True)[:500],
        "purposes": Purpose.values,
        "is_filtered": bool(agent or purpose),
        "add_href": (
            reverse("admin:scenarios_dataset_add")
            if user.is_staff and user.has_perm("scenarios.add_dataset")
            else ""
        ),
    }
    return page_or_fragment(
        request, "evaluations/dataset_list.html", "evaluations/_dataset_table.html", context
    )


@require_safe
@may_see
def dataset(request: HttpRequest, name: str) -> HttpResponse:
    """One dataset: `version=` another than the current one, `from=` and `to=` what differs between two.

    htmx gets the versions alone.
    """
    found, version = _found(request, name)
    return document_pages.document_page(
        request,
        template="evaluations/dataset_detail.html",
        versions_template="evaluations/_dataset_versions.html",
        versions=_versions_context(request, found, version),
        around=lambda: _page_context(request, found, version),
    )


@require_safe
@may_see
def dataset_cases(request: HttpRequest, name: str) -> HttpResponse:
    """All cases of a version, page by page."""
    found, version = _found(request, name)
    _refuse_hidden(request, version)
    rows = queries.cases_of_version(version)
    page = keyset_page(rows, keys=("position",), query=request.GET, size=CASES_PER_PAGE)
    context = {"dataset": found, "version": version, "page": page, "cases": page.rows}
    return page_or_fragment(
        request, "evaluations/dataset_cases.html", "evaluations/_dataset_cases.html", context
    )


@require_safe
@may_see
def dataset_uses(request: HttpRequest, name: str) -> HttpResponse:
    """All uses of a version, latest first."""
    found, version = _found(request, name)
    page = keyset_page(queries.uses_of(version), keys=("-pk",), query=request.GET, size=USES_PER_PAGE)
    context = {"dataset": found, "version": version, "page": page, "uses": page.rows}
    return render(request, "evaluations/dataset_uses.html", context)


@require_safe
@may_see
def dataset_text(request: HttpRequest, name: str) -> HttpResponse:
    """The text of a version as a file."""
    found, version = _found(request, name)
    _refuse_hidden(request, version)
    return document_pages.text_response(version, found.name, ())


@require_POST
@may_check
def dataset_check(request: HttpRequest, name: str) -> HttpResponse:
    """POST `version`: run the control agents on it now, and show what they make of it."""
    found, version = _found(request, name, request.POST)
    problems: tuple[str, ...] = ()
    if version.case_count > CASES_CHECKED_AT_ONCE:
        problems = (f"More than {CASES_CHECKED_AT_ONCE} cases: manage.py check_suite {version} runs them.",)
    else:
        try:
            check = check_suite(version, actor=request.user)
            told = ", ".join(check.flagged)
            said = f"{told} passes: the suite lacks a kind of case." if told else "No control agent passes."
            messages.success(request, said)
        except RequestError as refused:
            problems = refused.problems
    if not wants_fragment(request) and not problems:
        address = reverse("evaluations:dataset", args=[found.name])
        return redirect_after_post(request, f"{address}?version={version.number}#suite-health")
    context = {
        "dataset": found,
        "version": version,
        **_health_context(request, version),
        "check_problems": problems,
    }
    if wants_fragment(request):
        return render(request, "evaluations/_suite_health.html", context, status=422 if problems else 200)
    page = {**_versions_context(request, found, version), **_page_context(request, found, version), **context}
    return render(request, "evaluations/dataset_detail.html", page, status=422)


def _coverage(version: DatasetVersion) -> list[dict[str, Any]]:
    """The irreversible tools of each twin, and what the cases try on each: three queries."""
    found = coverage_of_dataset(version)
    return [
        {
            "twin": twin,
            "rows": [
                (tool.tool, [cell for cell in tool.cells if cell.fault in REQUIRED]) for tool in coverage
            ],
            "gaps": gap_sentences(coverage),
        }
        for twin, coverage in found.items()
        if coverage
    ]


def _health_context(request: HttpRequest, version: DatasetVersion) -> dict[str, Any]:
    is_hidden = sight_of(request.user).hides_cases_of(version)
    rows = queries.cases_of_version(version).order_by("position")
    return {
        "is_hidden": is_hidden,
        "health": suite_health(version, [] if is_hidden else list(rows[:CASES_PER_PAGE])),
        "may_check": request.user.has_perm("evaluations.add_suitecheck"),
    }


def _found(request: HttpRequest, name: str, query: QueryDict | None = None) -> tuple[Dataset, DatasetVersion]:
    found = Dataset.objects.with_current_version().filter(name=name.replace("\x00", "")).first()
    if found is None:
        raise Http404
    version = document_pages.chosen_version(found, found.versions.all(), query or request.GET)
    # `str(version)` names the dataset: it is at hand.
    version.dataset = found
    return found, version


def _refuse_hidden(request: HttpRequest, version: DatasetVersion) -> None:
    if sight_of(request.user).hides_cases_of(version):
        raise PermissionDenied(_HIDDEN)


def _versions_context(request: HttpRequest, found: Dataset, version: DatasetVersion) -> dict[str, Any]:
    versions = found.versions.all()
    page = document_pages.version_page(versions, request.GET)
    return {
        "dataset": found,
        "version": version,
        "latest": found.current_version.number if found.current_version else 0,
        "versions": page,
        "use_counts": queries.dataset_rows(page.rows),
        "compared": _compared(request, found),
    }


def _compared(request: HttpRequest, found: Dataset) -> ComparedVersions | None:
    query = request.GET
    if "from" not in query and "to" not in query:
        return None
    asked = query.get("from", "")[:20], query.get("to", "")[:20]
    numbers = [document_pages.version_number(text) for text in asked]
    stored = {one.number: one for one in found.versions.filter(number__in=numbers).without_content()}
    before, after = (stored.get(number) for number in numbers)
    if before is None or after is None:
        pairs = zip(asked, (before, after), strict=True)
        missing = " and no version ".join(text or "(nothing)" for text, one in pairs if one is None)
        return ComparedVersions(*asked, problem=f"No version {missing} of this dataset.")
    sight = sight_of(request.user)
    if sight.hides_cases_of(before) or sight.hides_cases_of(after):
        return ComparedVersions(*asked, before, after)
    old, new = (
        queries.listed_cases(list(queries.cases_of_version(one).order_by("position")))
        for one in (before, after)
    )
    return ComparedVersions(*asked, before, after, dataset_difference(old, new))


def _page_context(request: HttpRequest, found: Dataset, version: DatasetVersion) -> dict[str, Any]:
    is_hidden = sight_of(request.user).hides_cases_of(version)
    cases = list(queries.cases_of_version(version).order_by("position"))
    uses = queries.use_counts([version.pk])
    return {
        "is_current": version.pk == found.current_version_id,
        "is_verified": verifies(version, cases),
        "cases": [] if is_hidden else cases[:CASES_PER_PAGE],
        "uses": list(queries.uses_of(version).order_by("-pk")[:USES_SHOWN]),
        **_health_context(request, version),
        "coverage": [] if is_hidden or version.case_count > CASES_COVERED else _coverage(version),
        "faults_href": f"{reverse('evaluations:fault_cases')}?{urlencode({'dataset': str(version)})}",
        "use_count": uses.get(version.pk, queries.UseCounts()),
        "edit_href": "" if is_hidden else document_pages.edit_href(request, found),
        "text": "" if is_hidden else version.source_text,
        "text_href": f"{reverse('evaluations:dataset_text', args=[found.name])}?version={version.number}",
    }
