"""Fault cases that are missing, of a twin, a dataset or one scenario, and the button that drafts them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from agenttwin_site.htmx import redirect_after_post
from evaluations.errors import RequestError
from evaluations.services.fault_cases import KINDS, Missing, draft_fault_cases, missing_of
from scenarios.errors import HoldoutHiddenError, UnknownDatasetError, UnknownSubjectError
from scenarios.holdouts import Sight, sight_of
from scenarios.models import ScenarioVersion
from twins.documents.problems import DocumentError
from twins.errors import StaleEditError

ADD = "scenarios.add_scenario"


@dataclass(frozen=True, slots=True)
class Subject:
    """What the page is about: one of a twin, a dataset and a scenario, and what is missing in it."""

    kind: str
    name: str
    href: str
    missing: list[Missing]
    problems: tuple[str, ...] = ()

    @property
    def drafts(self) -> list[Missing]:
        return [one for one in self.missing if one.document is not None]

    @property
    def address(self) -> str:
        return f"{reverse('evaluations:fault_cases')}?{urlencode({self.kind: self.name})}"


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("scenarios.view_scenario", raise_exception=True)
def fault_cases(request: HttpRequest) -> HttpResponse:
    """`twin=`, `dataset=` or `scenario=`. POST stores every draft that can be made."""
    sight = sight_of(request.user)
    may_draft = request.user.has_perm(ADD)
    if request.method == "POST" and not may_draft:
        raise PermissionDenied(f"You need a role with the permission {ADD} to draft fault cases.")
    subject = _subject(request.POST if request.method == "POST" else request.GET, sight)
    if request.method == "POST" and not subject.problems:
        try:
            made = draft_fault_cases(subject.missing, actor=request.user)
        except (DocumentError, StaleEditError):
            messages.warning(request, "Somebody else has just changed these scenarios. Nothing was stored.")
        else:
            _tell(request, made)
        return redirect_after_post(request, subject.address)
    context = {"subject": subject, "may_draft": may_draft}
    return render(request, "evaluations/fault_cases.html", context, status=422 if subject.problems else 200)


def _tell(request: HttpRequest, made: list[ScenarioVersion]) -> None:
    count = f"{len(made)} draft{'' if len(made) == 1 else 's'}"
    if made:
        messages.success(request, f"{count} stored. Read and approve each: until then it has no say.")
    else:
        messages.warning(request, "There was nothing to draft.")


def _subject(query: QueryDict, sight: Sight) -> Subject:
    asked = {kind: query.get(kind, "").replace("\x00", "")[:200] for kind in KINDS}
    given = [kind for kind, name in asked.items() if name]
    if len(given) != 1:
        raise Http404
    kind, name = given[0], asked[given[0]]
    # A dataset may be asked for by name and version.
    page, _, number = name.partition("@")
    href = reverse(_PAGES[kind], args=[page]) + (f"?version={number}" if number else "")
    try:
        return Subject(kind, name, href, missing_of(kind, name, sight))
    except (UnknownDatasetError, UnknownSubjectError):
        raise Http404 from None
    except HoldoutHiddenError as hidden:
        raise PermissionDenied(hidden.detail) from None
    except RequestError as refused:
        return Subject(kind, name, href, [], tuple(refused.problems))


_PAGES = {"twin": "twins:twin", "dataset": "evaluations:dataset", "scenario": "scenarios:scenario"}
