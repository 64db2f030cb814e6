"""Manual sessions: a live case for an agent without an endpoint, watched while it works, then graded."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agenttwin_site.htmx import page_or_fragment, redirect_after_post, wants_fragment
from agenttwin_site.kept_forms import kept_form
from agenttwin_site.paging import keyset_page
from evaluations.agents.answers import OUTCOMES
from evaluations.errors import AlreadyEndedError, ConflictError, RequestError
from evaluations.models import ManualSession
from evaluations.services.manual import (
    MAX_LABEL,
    close_manual_session,
    kit_of,
    open_manual_session,
    takes_no_more,
)
from reviews.page_queries.manual import record_rows, result_rows
from scenarios.holdouts import sight_of
from scenarios.models import ScenarioVersion

SESSIONS_SHOWN = 50
SCENARIOS_SHOWN = 1000
MAX_OUTPUT = 200_000
LIFETIMES = ((15, "15 minutes"), (60, "an hour"), (240, "four hours"), (1440, "a day"))
_WITHOUT_CONTENT = ("records", "results", "answer", "metrics")

may_see = permission_required("evaluations.view_case", raise_exception=True)
may_run = permission_required("evaluations.add_comparison", raise_exception=True)


class OpenForm(forms.Form):
    """Which case, for which agent, for how long. The same form sent twice opens one session."""

    form_token = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    scenario = forms.ChoiceField()
    agent_label = forms.CharField(
        label="Agent and version",
        max_length=MAX_LABEL,
        help_text="What you call it: it is shown beside the grades.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    minutes = forms.TypedChoiceField(
        label="Open for",
        coerce=int,
        choices=LIFETIMES,
        initial=60,
        help_text="After that it takes no more calls and is graded.",
    )

    def __init__(self, *args: Any, scenarios: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["scenario"].choices = [(name, name) for name in scenarios]  # type: ignore[attr-defined]
        _describe(self)


class CloseForm(forms.Form):
    """What the agent said in the end, if anybody wants that to be graded too."""

    output = forms.CharField(
        label="What the agent answered",
        required=False,
        max_length=MAX_OUTPUT,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Its last words to the customer. Without them, checks of the answer see no answer.",
    )
    claimed_outcome = forms.ChoiceField(
        label="What it says it achieved",
        required=False,
        choices=[("", "nothing was said"), *((name, name) for name in OUTCOMES)],
        help_text="A claim: it is held against what the tools recorded.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _describe(self)

    @property
    def answer(self) -> dict[str, Any] | None:
        said = {name: value for name, value in self.cleaned_data.items() if value}
        return said or None


@require_safe
@may_see
def session_list(request: HttpRequest) -> HttpResponse:
    """The sessions, newest first."""
    sessions = sight_of(request.user).of(ManualSession.objects.all(), "scenario_version")
    sessions = sessions.defer(*_WITHOUT_CONTENT).select_related("scenario_version__scenario", "created_by")
    page = keyset_page(sessions, keys=("-pk",), query=request.GET, size=SESSIONS_SHOWN)
    return page_or_fragment(
        request, "reviews/session_list.html", "reviews/_session_table.html", {"page": page}
    )


@require_http_methods(["GET", "HEAD", "POST"])
@may_run
def session_open(request: HttpRequest) -> HttpResponse:
    """GET `?scenario=NAME` shows the form; POST opens the session and shows its page with the token, once."""
    names = list(
        sight_of(request.user)
        .of(ScenarioVersion.objects.filter(scenario__current_version=F("pk")))
        .exclude(twin_name="")
        .order_by("scenario__name")
        .values_list("scenario__name", flat=True)[:SCENARIOS_SHOWN]
    )
    if request.method != "POST":
        form = OpenForm(scenarios=names, initial=_first_values(request))
        return _form_page(request, form)
    form = OpenForm(request.POST, scenarios=names)
    if not form.is_valid():
        return _form_page(request, form, status=422)
    values = form.cleaned_data
    try:
        opened = open_manual_session(
            scenario=values["scenario"],
            agent_label=values["agent_label"],
            lifetime_seconds=values["minutes"] * 60,
            form_token=values["form_token"],
            actor=request.user,
        )
    except RequestError as error:
        for problem in error.problems:
            form.add_error(None, problem)
        return _form_page(request, form, status=422)
    except ConflictError as error:
        form.add_error(None, f"{error.detail[:1].upper()}{error.detail[1:]}. Open the form anew for another.")
        return _form_page(request, form, status=409)
    if opened.token is None:
        messages.warning(request, "This form had already opened this session. Its token was shown then.")
        return redirect_after_post(request, opened.session.get_absolute_url())
    # Shown in the answer itself: a token that waited for another page would have to be kept somewhere.
    return _session_page(request, opened.session, token=opened.token, status=201)


@require_safe
@may_see
def session_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The page of a session. htmx asks for what was called, with `?seen=N` for what it shows already."""
    session = get_object_or_404(_sessions(request), pk=pk)
    if not wants_fragment(request):
        return _session_page(request, session)
    if not session.is_open:
        # Somebody closed it, or its time is over: the whole page is another one now.
        return redirect_after_post(request, session.get_absolute_url())
    context = _calls(session)
    if request.GET.get("seen") == context["seen"]:
        response = HttpResponse(status=204)
        patch_vary_headers(response, ["HX-Request"])
        return response
    return page_or_fragment(request, "", "reviews/_session_calls.html", {**context, "session": session})


@require_POST
@may_run
def session_close(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke the token and grade what was recorded."""
    session = get_object_or_404(_sessions(request), pk=pk)
    form = CloseForm(request.POST)
    if not form.is_valid():
        return _session_page(request, session, close_form=form, status=422)
    try:
        close_manual_session(session, answer=form.answer, actor=request.user)
    except RequestError as error:
        for problem in error.problems:
            form.add_error(None, problem)
        return _session_page(request, session, close_form=form, status=422)
    except AlreadyEndedError:
        messages.warning(request, "It had been closed before; what you see is what was graded then.")
    else:
        messages.success(request, "Closed and graded. Its token is revoked.")
    return redirect_after_post(request, session.get_absolute_url())


def _sessions(request: HttpRequest) -> Any:
    """Sessions on scenarios this person may see."""
    sessions = sight_of(request.user).of(ManualSession.objects.all(), "scenario_version")
    return sessions.select_related(
        "scenario_version__scenario", "twin_version__twin", "wire_session", "created_by", "closed_by"
    )


def _first_values(request: HttpRequest) -> dict[str, Any]:
    kept = kept_form(request, action=request.path)
    if kept is not None:
        return {name: kept.first(name) for name in ("scenario", "agent_label", "minutes") if kept.first(name)}
    return {"scenario": request.GET.get("scenario", "")}


def _form_page(request: HttpRequest, form: OpenForm, *, status: int = 200) -> HttpResponse:
    return render(request, "reviews/session_open.html", {"form": form}, status=status)


def _session_page(
    request: HttpRequest,
    session: ManualSession,
    *,
    token: str = "",
    close_form: CloseForm | None = None,
    status: int = 200,
) -> HttpResponse:
    if close_form is None and session.is_open:
        kept = kept_form(request, action=reverse("reviews:session_close", args=[session.pk]))
        said = {name: kept.first(name) for name in CloseForm.base_fields} if kept is not None else None
        close_form = CloseForm(initial=said)
    context = {
        "session": session,
        "token": token,
        "scenario": session.scenario_version.scenario,
        "task": _task(session),
        "results": [] if session.is_open else result_rows(session),
        "close_form": close_form,
        "may_close": request.user.has_perm("evaluations.add_comparison"),
        **_calls(session),
    }
    response = render(request, "reviews/session_detail.html", context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _task(session: ManualSession) -> dict[str, Any]:
    """What the agent is to be told; nothing where the documents cannot be read here."""
    try:
        kit = kit_of(session)
    except ValueError:
        return {}
    hide = kit.redaction.value
    return {"message": hide(kit.scenario.message), "context": hide(dict(kit.scenario.context))}


def _calls(session: ManualSession) -> dict[str, Any]:
    rows = record_rows(session)
    over = takes_no_more(session) if session.is_open else None
    # What a page that is asked again would show anew: more records, or the end of the calls.
    return {"rows": rows, "over": over, "seen": f"{len(rows)}{'-over' if over else ''}"}


def _describe(form: forms.Form) -> None:
    """Tie help and errors to their fields for those who cannot see them side by side."""
    for name, field in form.fields.items():
        described = [f"id_{name}_help"] if field.help_text else []
        if form.is_bound and name in form.errors:
            field.widget.attrs["aria-invalid"] = "true"
            described.append(f"id_{name}_error")
        if described:
            field.widget.attrs["aria-describedby"] = " ".join(described)
