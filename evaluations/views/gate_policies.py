"""Policies of the gate: the list, one policy in words with its versions, putting a version in force."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agenttwin_site.htmx import redirect_after_post
from evaluations.gate import RULES
from evaluations.gate.wording import policy_sentences
from evaluations.models import GatePolicy, GatePolicyVersion
from evaluations.page_queries import releases as queries
from evaluations.services.gate_policies import ACTIVATE, activate_gate_policy, policy_of
from twins import document_pages

MAX_NOTE = 2000

may_see = permission_required("evaluations.view_gatepolicy", raise_exception=True)
may_activate = permission_required(ACTIVATE, raise_exception=True)


@require_safe
@may_see
def policy_list(request: HttpRequest) -> HttpResponse:
    """Every policy, and the rules that all of them ask."""
    context = {"policies": queries.policies(), "rules": RULES.values()}
    return render(request, "evaluations/gate_policies.html", context)


@require_safe
@may_see
def policy_detail(request: HttpRequest, name: str) -> HttpResponse:
    """One policy: `version=` another than the one in force, `from=` and `to=` what differs between two."""
    policy, version = _found(request, name)
    versions = GatePolicyVersion.objects.filter(policy=policy)
    latest = versions.values_list("number", flat=True).first() or 0
    compared = document_pages.compared_versions(versions, request.GET, latest=latest, secrets_of=lambda _: ())
    in_force = policy.current_version_id
    shown = {
        "document": policy,
        "policy": policy,
        "shown_version": version,
        "is_in_force": version.pk == in_force,
        "in_force": policy.current_version,
        "latest": latest,
        "versions": document_pages.version_page(versions, request.GET),
        "compared": compared,
    }
    return document_pages.document_page(
        request,
        template="evaluations/gate_policy.html",
        versions_template="twins/_versions.html",
        versions=shown,
        around=lambda: _page_context(request, policy, version),
    )


def _page_context(request: HttpRequest, policy: GatePolicy, version: GatePolicyVersion) -> dict[str, Any]:
    document, text = policy_of(version), reverse("evaluations:gate_policy_text", args=[policy.name])
    return {
        "sentences": policy_sentences(document),
        "description": document.description,
        "owner": document.owner,
        "text": version.source_text,
        "is_redacted": False,
        "text_href": f"{text}?version={version.number}",
        "may_activate": request.user.has_perm(ACTIVATE),
        "decisions": queries.rows_of(queries.policy_decisions(policy)),
    }


@require_safe
@may_see
def policy_text(request: HttpRequest, name: str) -> HttpResponse:
    """The text of a version as a file."""
    policy, version = _found(request, name)
    return document_pages.text_response(version, policy.name, ())


@require_POST
@may_activate
def policy_activate(request: HttpRequest, name: str) -> HttpResponse:
    """Put a version in force, with the reason for the audit log."""
    number = request.POST.get("version", "")
    versions = GatePolicyVersion.objects.select_related("policy").filter(policy__name=name)
    wanted = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    version = versions.filter(number=wanted).first()
    if version is None:
        raise Http404
    note = request.POST.get("note", "").strip()[:MAX_NOTE]
    activate_gate_policy(version=version, actor=request.user, note=note)
    messages.success(request, f"{version} is in force: decisions from now on are made by it.")
    return redirect_after_post(request, version.policy.get_absolute_url())


def _found(request: HttpRequest, name: str) -> tuple[GatePolicy, GatePolicyVersion]:
    policy = (
        GatePolicy.objects.select_related("current_version__created_by")
        .filter(name=name.replace("\x00", ""))
        .first()
    )
    if policy is None:
        raise Http404
    version = document_pages.chosen_version(
        policy, GatePolicyVersion.objects.filter(policy=policy), request.GET
    )
    version.policy = policy
    return policy, version
