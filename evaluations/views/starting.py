"""Starting a comparison: first the agent, then its versions and scenarios."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from agenttwin_site.htmx import page_or_fragment, redirect_after_post
from agenttwin_site.kept_forms import kept_form
from evaluations.errors import ConflictError, EvaluationError, RequestError
from evaluations.forms import ALONE, StartForm
from evaluations.models import Agent, AgentVersion
from evaluations.services.comparisons import start_comparison
from scenarios.holdouts import held_out_versions
from scenarios.models import DatasetVersion, ScenarioVersion

VERSIONS_SHOWN = 200
SCENARIOS_SHOWN = 1000


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("evaluations.add_comparison", raise_exception=True)
def comparison_start(request: HttpRequest) -> HttpResponse:
    """GET `?agent=NAME` shows the form of this agent; POST starts the comparison and leads to its page.

    The form's key makes a double submit answer the same comparison. What cannot be started comes back with
    every problem (422, or 409 if the form was changed after it had been taken).
    """
    agents = list(Agent.objects.order_by("name").values_list("name", flat=True)[:VERSIONS_SHOWN])
    if request.method == "POST":
        return _start(request, agents)
    kept = kept_form(request, action=request.path)
    asked = request.GET.get("agent") or (kept.first("agent") if kept else "") or (agents[0] if agents else "")
    agent = asked if asked in agents else ""
    if not agent:
        return _answer(request, agents, agent=asked, form=None)
    form = _form(agent, None)
    if kept and kept.first("agent") == agent:
        form.initial = {
            name: kept.fields.get(name, []) if name in ("tags", "scenarios") else kept.first(name)
            for name in form.fields
        }
    elif len(versions := form.fields["candidate"].choices) > 1:  # type: ignore[attr-defined]
        # Most often the newest is held against the one before it.
        form.initial = {"agent": agent, "baseline": versions[1][0], "candidate": versions[0][0]}
    else:
        form.initial = {"agent": agent}
    return _answer(request, agents, agent=agent, form=form)


def _start(request: HttpRequest, agents: list[str]) -> HttpResponse:
    agent = request.POST.get("agent", "")
    if agent not in agents:
        return _answer(request, agents, agent=agent, form=None, status=422)
    form = _form(agent, request.POST)
    if not form.is_valid():
        return _answer(request, agents, agent=agent, form=form, status=422)
    values = form.cleaned_data
    try:
        comparison, created = start_comparison(
            agent=agent,
            baseline=None if values["baseline"] == ALONE else values["baseline"],
            candidate=values["candidate"],
            scenarios=values["scenarios"],
            tags=values["tags"],
            dataset=values["dataset"] or None,
            trials=values["trials"],
            seed=values["seed"],
            key=f"form-{values['form_key']}",
            actor=request.user,
        )
    except ConflictError:
        form.add_error(
            None, "This form was already sent with other choices. Open it anew to start another comparison."
        )
        return _answer(request, agents, agent=agent, form=form, status=409)
    except RequestError as error:
        for problem in error.problems:
            form.add_error(None, problem)
        return _answer(request, agents, agent=agent, form=form, status=422)
    except EvaluationError as error:
        form.add_error(None, error.detail)
        return _answer(request, agents, agent=agent, form=form, status=422)
    if created:
        messages.success(request, f"Comparison {comparison.pk} was started.")
    return redirect_after_post(request, reverse("evaluations:comparison", args=[comparison.pk]))


def _form(agent: str, data: Any) -> StartForm:
    versions = AgentVersion.objects.filter(agent__name=agent).order_by("-pk")
    # What is held out is compared with its dataset alone, whoever asks.
    scenarios = (
        ScenarioVersion.objects.filter(agent_name__in=[agent, ""], scenario__current_version=F("pk"))
        .exclude(pk__in=held_out_versions())
        .order_by("scenario__name")
        .values_list("scenario__name", "tags")[:SCENARIOS_SHOWN]
    )
    named = list(scenarios)
    return StartForm(
        data,
        versions=list(versions.values_list("version", flat=True)[:VERSIONS_SHOWN]),
        scenario_names=[name for name, _ in named],
        tag_names=sorted({tag for _, tags in named for tag in tags}),
        datasets=_dataset_choices(agent),
    )


def _dataset_choices(agent: str) -> list[tuple[str, str]]:
    """The datasets of this agent as they are now, by name."""
    current = DatasetVersion.objects.filter(dataset__current_version=F("pk"), agent_name__in=[agent, ""])
    rows = current.order_by("dataset__name").values_list("dataset__name", "number", "purpose", "case_count")
    return [
        (f"{name}@{number}", f"{name}@{number} ({purpose}, {count} case{'' if count == 1 else 's'})")
        for name, number, purpose, count in rows[:SCENARIOS_SHOWN]
    ]


def _answer(
    request: HttpRequest, agents: list[str], *, agent: str, form: StartForm | None, status: int = 200
) -> HttpResponse:
    context = {"agents": agents, "agent": agent, "form": form}
    return page_or_fragment(
        request,
        "evaluations/comparison_start.html",
        "evaluations/_start_form.html",
        context,
        status=status,
    )
