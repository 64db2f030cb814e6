"""Reports of a comparison as files, in the formats of the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from evaluations.models import Comparison
from evaluations.reporting.json_format import render_json
from evaluations.reporting.junit_format import render_junit
from evaluations.reporting.report import ComparisonReport, load_report
from evaluations.reporting.text_format import render_text
from scenarios.holdouts import sight_of


@dataclass(frozen=True, slots=True)
class _Format:
    label: str
    content_type: str
    render: Callable[[ComparisonReport], str]


# By the ending of the file's name.
_FORMATS: dict[str, _Format] = {
    "json": _Format("JSON", "application/json", render_json),
    "xml": _Format("JUnit XML", "application/xml; charset=utf-8", render_junit),
    "txt": _Format("Text", "text/plain; charset=utf-8", render_text),
}


@require_safe
@permission_required("evaluations.view_comparison", raise_exception=True)
def comparison_report(request: HttpRequest, pk: int, format: str) -> HttpResponse:
    """The report as a file. It holds every case, so unlike the pages it grows with the comparison."""
    chosen = _FORMATS.get(format)
    if chosen is None or not Comparison.objects.filter(pk=pk).exists():
        raise Http404
    response = HttpResponse(
        chosen.render(load_report(pk, sight_of(request.user))), content_type=chosen.content_type
    )
    response["Content-Disposition"] = f'attachment; filename="comparison-{pk}.{format}"'
    return response


def downloads_of(comparison: Comparison) -> list[dict[str, str]]:
    """Label and address of each format."""
    return [
        {"label": known.label, "href": reverse("evaluations:comparison_report", args=[comparison.pk, ending])}
        for ending, known in _FORMATS.items()
    ]
