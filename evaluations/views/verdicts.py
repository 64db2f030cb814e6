"""The page of one verdict: exactly what the judge was shown and what it answered."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from evaluations.judges.interface import ANSWER, CUSTOMER_MESSAGE, TOOL_CALL
from evaluations.models import JudgeVerdict
from evaluations.page_queries.verdicts import verdict_at
from scenarios.holdouts import sight_of

may_see = permission_required(
    ["evaluations.view_case", "evaluations.view_judgeverdict"], raise_exception=True
)
_SOURCES = {ANSWER: "the reply", CUSTOMER_MESSAGE: "the customer’s message"}


@require_safe
@may_see
def judge_verdict(request: HttpRequest, pk: int) -> HttpResponse:
    """GET alone: a verdict is written once."""
    found = verdict_at(pk, sight_of(request.user))
    if found is None:
        raise Http404
    verdict = found.verdict
    context = {
        "verdict": verdict,
        "standing": found.standing,
        "place": _place(verdict),
        "quotes": [(_source(quote["source"]), quote["text"]) for quote in verdict.quotes],
    }
    return render(request, "evaluations/judge_verdict.html", context)


def _place(verdict: JudgeVerdict) -> dict[str, str]:
    """Where the verdict belongs: its case, or its session."""
    if verdict.session is not None:
        name = verdict.session.scenario_version.scenario.name
        return {"name": name, "side": "", "href": verdict.session.get_absolute_url()}
    assert verdict.result is not None
    case = verdict.result.case
    pair = case.pair
    wanted = [f"trial={pair.trial}"] if pair.trial != 1 else []
    wanted += ["original=1"] if pair.replaced else []
    path = reverse("reviews:case", args=[pair.comparison_id, pair.scenario_name])
    return {
        "name": pair.scenario_name,
        "side": case.run.side.lower(),
        "href": f"{path}{'?' if wanted else ''}{'&'.join(wanted)}",
        "comparison": str(pair.comparison_id),
        "comparison_href": reverse("evaluations:comparison", args=[pair.comparison_id]),
    }


def _source(name: str) -> str:
    kind, _, number = name.partition(":")
    return f"call #{number}" if kind == TOOL_CALL else _SOURCES.get(name, name)
