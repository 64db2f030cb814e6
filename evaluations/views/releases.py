"""Releases: the decisions of the gate, one decision with its evidence, deciding anew, overriding."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from agenttwin_site.htmx import page_or_fragment, redirect_after_post
from agenttwin_site.kept_forms import kept_form
from evaluations.errors import ConflictError, EvaluationError, NotInForceError, RequestError
from evaluations.models import Agent, Comparison, GateDecision, GateOutcome, GateOverride, GatePolicy
from evaluations.models.gate import NOTE_MIN_LENGTH, TICKET_LENGTH
from evaluations.page_queries import releases as queries
from evaluations.reporting.gate_report import as_seen, gate_report
from evaluations.services.gate import evaluate
from evaluations.services.gate_overrides import (
    LONGEST,
    MAX_REASON,
    OVERRIDE,
    override,
    standing_of,
    withdraw_override,
)
from evaluations.services.gate_policies import DEFAULT

RELEASES_PER_PAGE = 25
OBSERVATIONS_OPEN = 5
_USUAL = timedelta(days=14)

may_see = permission_required("evaluations.view_gatedecision", raise_exception=True)
may_decide = permission_required("evaluations.add_gatedecision", raise_exception=True)
may_override = permission_required(OVERRIDE, raise_exception=True)


class OverrideForm(forms.Form):
    """Why, on whose word, until when. The same form sent twice is one override."""

    form_token = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    reason = forms.CharField(
        label="Why it may go out all the same",
        min_length=NOTE_MIN_LENGTH,
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=f"At least {NOTE_MIN_LENGTH} characters. It stands in the audit log beside your name.",
    )
    ticket = forms.CharField(
        max_length=TICKET_LENGTH,
        help_text="Where it was agreed.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    expires_on = forms.DateField(
        label="Until the end of",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text=f"UTC. It ends by itself, after at most {LONGEST.days} days.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        today = timezone.now().date()
        last = today + LONGEST - timedelta(days=1)
        self.fields["expires_on"].initial = today + _USUAL
        self.fields["expires_on"].widget.attrs |= {"min": today.isoformat(), "max": last.isoformat()}
        for name, field in self.fields.items():
            described = [f"id_{name}_help"] if field.help_text else []
            if self.is_bound and name in self.errors:
                field.widget.attrs["aria-invalid"] = "true"
                described.append(f"id_{name}_error")
            if described:
                field.widget.attrs["aria-describedby"] = " ".join(described)

    @property
    def expires_at(self) -> datetime:
        return datetime.combine(self.cleaned_data["expires_on"], time(23, 59, 59), UTC)


@require_safe
@may_see
def release_list(request: HttpRequest) -> HttpResponse:
    """The decisions, newest first; `agent=` and `outcome=` narrow them."""
    agent, outcome = request.GET.get("agent", "")[:200].replace("\x00", ""), request.GET.get("outcome", "")
    outcome = outcome if outcome in GateOutcome.values else ""
    page, rows = queries.release_page(request.GET, agent=agent, outcome=outcome, size=RELEASES_PER_PAGE)
    context = {
        "page": page,
        "rows": rows,
        "agent": agent,
        "outcome": outcome,
        "agents": Agent.objects.order_by("name").values_list("name", flat=True)[:500],
        "outcomes": GateOutcome.values,
        "is_filtered": bool(agent or outcome),
    }
    return page_or_fragment(
        request, "evaluations/release_list.html", "evaluations/_release_table.html", context
    )


@require_safe
@may_see
def release_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One decision: what it is, why, on what evidence, and what may be done about it."""
    decision = _decision(pk)
    form = None
    kept = kept_form(request, action=reverse("evaluations:gate_override", args=[pk]))
    if kept:
        form = OverrideForm(initial={name: kept.first(name) for name in ("reason", "ticket", "expires_on")})
    return _page(request, decision, form=form, is_open=kept is not None)


@require_POST
@may_decide
def comparison_decide(request: HttpRequest, pk: int) -> HttpResponse:
    """Decide on a comparison as it stands now; leads to the new decision."""
    if not Comparison.objects.filter(pk=pk).exists():
        raise Http404
    try:
        decision = evaluate(
            comparison_id=pk, policy=request.POST.get("policy", "")[:100] or DEFAULT, actor=request.user
        )
    except EvaluationError as error:
        messages.error(request, f"{error.detail[:1].upper()}{error.detail[1:]}.")
        return redirect_after_post(request, reverse("evaluations:comparison", args=[pk]))
    return redirect_after_post(request, decision.get_absolute_url())


@require_POST
@may_override
def release_override(request: HttpRequest, pk: int) -> HttpResponse:
    """Let a decision pass for a while. What is refused comes back with every problem (422)."""
    decision = _decision(pk)
    form = OverrideForm(request.POST)
    if form.is_valid():
        values = form.cleaned_data
        try:
            override(
                decision=decision,
                actor=request.user,
                reason=values["reason"],
                ticket=values["ticket"],
                expires_at=form.expires_at,
                form_token=values["form_token"],
            )
        except RequestError as refused:
            _tell(form, refused)
        except ConflictError:
            form.add_error(None, "This form gave another override already. Open the page anew for one more.")
            return _page(request, decision, form=form, is_open=True, status=409)
        else:
            messages.success(request, "The override is in force. It ends by itself, and can be withdrawn.")
            return redirect_after_post(request, decision.get_absolute_url())
    return _page(request, decision, form=form, is_open=True, status=422)


@require_POST
@may_override
def override_withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    """Take an override back. One that has ended meanwhile stays as it is, and the page says so."""
    found = GateOverride.objects.select_related("decision").filter(pk=pk).first()
    if found is None:
        raise Http404
    try:
        withdraw_override(
            override=found, actor=request.user, reason=request.POST.get("reason", ""), form_token=uuid4()
        )
        messages.success(request, "The override was withdrawn: the decision counts again.")
    except NotInForceError:
        messages.warning(request, "That override was not in force any more.")
    except RequestError as refused:
        messages.error(request, f"Not withdrawn. {' '.join(refused.problems)}.")
    return redirect_after_post(request, found.decision.get_absolute_url())


def decide_context(request: HttpRequest, comparison: Comparison) -> dict[str, Any]:
    """What the page of a comparison shows of its decisions: at most four queries."""
    if not request.user.has_perm("evaluations.view_gatedecision"):
        return {"gate_rows": [], "gate_policies": []}
    may = comparison.state in ("COMPLETED", "INCOMPLETE") and request.user.has_perm(
        "evaluations.add_gatedecision"
    )
    return {
        "gate_rows": queries.decisions_of(comparison.pk),
        "gate_policies": _policy_names() if may else [],
    }


def _policy_names() -> list[str]:
    return sorted({DEFAULT, *GatePolicy.objects.values_list("name", flat=True)[:200]})


def _decision(pk: int) -> GateDecision:
    # Whole, not as in a list: the content is what is shown.
    found = GateDecision.objects.with_names().defer(None).filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def _page(
    request: HttpRequest,
    decision: GateDecision,
    *,
    form: OverrideForm | None = None,
    is_open: bool = False,
    status: int = 200,
) -> HttpResponse:
    report = as_seen(gate_report(decision, standing_of(decision)), request.user)
    standing = report.standing
    may = request.user.has_perm(OVERRIDE) and report.verification.holds and decision.outcome != "PASS"
    context: Mapping[str, Any] = {
        "decision": decision,
        "report": report,
        "standing": standing,
        "comparison": decision.comparison,
        "blocking": [one for one in report.fired if one.outcome == "BLOCK"],
        "warning": [one for one in report.fired if one.outcome == "WARN"],
        "overrides": queries.overrides_of(decision),
        "now": timezone.now(),
        "history": queries.history_of(decision),
        "observations_open": OBSERVATIONS_OPEN,
        "form": (form or OverrideForm()) if may and standing.override is None else None,
        "form_is_open": is_open,
        "may_override": request.user.has_perm(OVERRIDE),
        "may_decide": request.user.has_perm("evaluations.add_gatedecision"),
    }
    return render(request, "evaluations/release_detail.html", context, status=status)


def _tell(form: OverrideForm, refused: RequestError) -> None:
    """Each problem beside the field it is about."""
    fields = {"reason": "reason", "ticket": "ticket", "expires_at": "expires_on"}
    for problem in refused.problems:
        name, _, detail = problem.partition(": ")
        form.add_error(fields.get(name), f"{detail[:1].upper()}{detail[1:]}.")
