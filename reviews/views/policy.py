"""The review policy: what is asked of reviewers, how well they agree, and setting another."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from agenttwin_site.htmx import redirect_after_post
from agenttwin_site.kept_forms import kept_form
from agenttwin_site.paging import keyset_page
from evaluations.grading.agreement import Agreement
from reviews.models import ReviewPolicy
from reviews.policy_forms import PolicyForm
from reviews.roles import SET_POLICY
from reviews.services import current_policy, reviewer_agreement
from reviews.two_reviewers import ASKED_FOR, Policy, plain

VERSIONS_SHOWN = 20

may_see = permission_required("reviews.view_reviewpolicy", raise_exception=True)


@require_http_methods(["GET", "HEAD", "POST"])
@may_see
def policy(request: HttpRequest) -> HttpResponse:
    """POST `two_reviewers`, `sample_percent`, `confidence_below`, `note`, `seen_number` sets another."""
    user: Any = request.user
    may_set = user.has_perm(SET_POLICY)
    if request.method == "POST":
        if not may_set:
            raise PermissionDenied
        form = PolicyForm(request.POST)
        made = form.put_in_force(user)
        if made is None:
            return _page(request, form, status=409 if form.non_field_errors() else 422)
        found, is_new = made
        said = f"Policy {found.number} is in force." if is_new else "That is in force already."
        messages.success(request, said)
        return redirect_after_post(request, reverse("reviews:policy"))
    return _page(request, _form(request) if may_set else None)


def _form(request: HttpRequest) -> PolicyForm:
    initial = PolicyForm.values_of(current_policy())
    kept = kept_form(request, action=request.path)
    if kept is not None:
        # The number stays that of the page: what was typed may be older than what is in force.
        typed = {name: kept.first(name) for name in ("sample_percent", "confidence_below", "note")}
        initial |= typed | {"two_reviewers": kept.fields.get("two_reviewers", [])}
    return PolicyForm(initial=initial)


def _page(request: HttpRequest, form: PolicyForm | None, *, status: int = 200) -> HttpResponse:
    versions = ReviewPolicy.objects.select_related("created_by").order_by("-number")
    page = keyset_page(versions, keys=("-number",), query=request.GET, size=VERSIONS_SHOWN)
    found, agreement = current_policy(), reviewer_agreement()
    context = {
        "policy": found,
        "told": _words(found),
        "agreement": agreement,
        "rows": [("all", agreement.all, _figures(agreement.all))]
        + [(ASKED_FOR.get(kind, kind), one, _figures(one)) for kind, one in agreement.by_kind],
        "page": page,
        "versions": [(row, _words(row.values)) for row in page.rows],
        "form": form,
    }
    return render(request, "reviews/policy.html", context, status=status)


def _words(policy: Policy) -> dict[str, Any]:
    return {
        "two": [ASKED_FOR[name] for name in ASKED_FOR if name in policy.two_reviewers],
        "sample": plain(policy.sample_percent),
        "confidence": plain(policy.confidence_below),
    }


def _figures(one: Agreement) -> dict[str, str]:
    """Share and kappa as a person reads them; what is undefined says so."""
    interval = one.interval
    return {
        "share": "none yet" if one.share is None else f"{float(one.share):.0%}",
        "kappa": "undefined" if one.kappa is None else f"{float(one.kappa):.2f}",
        "interval": "" if interval is None else f"{interval.low:.2f} to {interval.high:.2f}",
    }
