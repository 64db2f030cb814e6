"""Running errored trials again, from the page of their comparison or of their case."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from agenttwin_site.htmx import redirect_after_post
from evaluations.errors import NotRerunnableError
from evaluations.models import Comparison
from evaluations.services.rerunning import rerun_trials

REASONS_SHOWN = 3


@require_POST
@permission_required("evaluations.add_comparison", raise_exception=True)
def comparison_rerun(request: HttpRequest, pk: int) -> HttpResponse:
    """Run one trial again (`case`, its id), or without it every one that may be; leads to the comparison."""
    comparison = Comparison.objects.filter(pk=pk).first()
    if comparison is None:
        raise Http404
    asked = request.POST.get("case")
    try:
        reruns = rerun_trials(
            comparison=comparison, pair_ids=None if asked is None else [_id(asked)], actor=request.user
        )
    except NotRerunnableError as refused:
        told = "; ".join(refused.problems[:REASONS_SHOWN])
        messages.warning(request, f"Nothing was run again: {told}.")
    else:
        count = f"{len(reruns)} trial{'' if len(reruns) == 1 else 's'}"
        messages.success(request, f"{count} run again, once. The first run stays and no longer counts.")
    return redirect_after_post(request, reverse("evaluations:comparison", args=[pk]))


def _id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Http404
    return int(text)
