"""Scenarios to read: the list, the page of one; the faults a twin has met; the catalogue of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agenttwin_site.htmx import page_or_fragment, redirect_after_post, wants_fragment
from scenarios import page_queries
from scenarios.coverage import REQUIRED, fault_coverage, gap_sentences
from scenarios.errors import ApprovalError, NotGeneratedError
from scenarios.expectation_words import expectation_types, expectation_words
from scenarios.fault_words import fault_words
from scenarios.holdouts import sight_of
from scenarios.models import Scenario, ScenarioApproval, ScenarioVersion, Severity
from scenarios.page_queries import ScenarioFilter
from scenarios.services.approvals import APPROVE, approve_scenario
from twins import document_pages
from twins.describing import RISK_WORDS
from twins.documents.twin import TWIN_SCHEMA
from twins.engine.definition import HANDLER_KINDS
from twins.engine.faults import FAULTS
from twins.engine.redaction import redactor
from twins.models import Twin
from twins.services import planted_secrets
from twins.views import PagePart, ShownTool, page_parts

SCENARIOS_PER_PAGE = 50
ALERTS_SHOWN = 6

may_see = permission_required("scenarios.view_scenario", raise_exception=True)


@dataclass(frozen=True, slots=True)
class Generated:
    """What the page of a generated version says of it."""

    approval: ScenarioApproval | None
    origin: str
    origin_version: int
    may_approve: bool


@require_safe
@may_see
def scenario_list(request: HttpRequest) -> HttpResponse:
    """Scenarios, worst severity first, under the filters of the address. htmx gets the table alone."""
    chosen = ScenarioFilter.from_query(request.GET)
    listed, options, total = page_queries.scenario_rows(chosen, sight_of(request.user))
    page = document_pages.numbered_page(Paginator(listed, SCENARIOS_PER_PAGE), request.GET)
    versions = page_queries.saved_versions(page.rows)
    context = {
        "page": page,
        "rows": [{"scenario": row, "version": versions[row.pk]} for row in page.rows],
        "shown": _counted(len(listed), total),
        "total": total,
        "chosen": chosen,
        "options": options,
        "severities": Severity.values,
        "add_href": _add_href(request),
    }
    response = page_or_fragment(
        request, "scenarios/scenario_list.html", "scenarios/_scenario_table.html", context
    )
    if wants_fragment(request) and request.htmx.trigger == "scenario-filters":  # type: ignore[attr-defined]
        # The form sends its empty fields too; the address names only what is chosen.
        query = f"?{chosen.query}" if chosen.query else ""
        response["HX-Push-Url"] = reverse("scenarios:scenario_list") + query
    return response


@require_safe
@may_see
def scenario(request: HttpRequest, name: str) -> HttpResponse:
    """One scenario: `version=` another than the current one, `from=` and `to=` what differs between two.

    htmx gets the versions alone.
    """
    found, version = _found(request, name)
    return document_pages.document_page(
        request,
        template="scenarios/scenario_detail.html",
        versions_template="twins/_versions.html",
        versions=_versions_context(request, found, version),
        around=lambda: _page_context(request, found, version),
    )


@require_POST
@permission_required(APPROVE, raise_exception=True)
def scenario_approve(request: HttpRequest, name: str) -> HttpResponse:
    """POST `version` and `note`: a person stands for what a program wrote."""
    found, version = _found(request, name, request.POST)
    note = request.POST.get("note", "").replace("\x00", "")
    try:
        approval, is_new = approve_scenario(version=version, note=note, actor=request.user)
    except NotGeneratedError as refused:
        messages.warning(request, f"{refused.detail}.")
    except ApprovalError as refused:
        context = {
            **_versions_context(request, found, version),
            **_page_context(request, found, version),
            "approval_typed": {"note": note, "problem": f"{refused.detail.capitalize()}."},
        }
        return render(request, "scenarios/scenario_detail.html", context, status=422)
    else:
        by = approval.person.get_username()
        messages.success(
            request, "Approved: it counts from now on." if is_new else f"{by} had approved it already."
        )
    address = reverse("scenarios:scenario", args=[found.name])
    return redirect_after_post(request, f"{address}?version={version.number}")


@require_safe
@may_see
def scenario_text(request: HttpRequest, name: str) -> HttpResponse:
    """The text of a version as a file, the planted secrets in it redacted."""
    found, version = _found(request, name)
    return document_pages.text_response(version, found.name, page_queries.hidden_secrets(version))


@require_safe
@may_see
def catalogue(request: HttpRequest) -> HttpResponse:
    """The words of the documents: faults, risks, handlers and expectations, from their registries."""
    definitions = TWIN_SCHEMA.schema["$defs"]
    context = {
        "faults": FAULTS.items(),
        "risks": RISK_WORDS.items(),
        "handlers": [(kind, definitions[f"handler_{kind}"]["description"]) for kind in HANDLER_KINDS],
        "expectations": expectation_types().values(),
    }
    return render(request, "scenarios/catalogue.html", context)


def coverage_part(
    twin: Twin, tools: Sequence[ShownTool], on_page: Sequence[ShownTool], person: Any
) -> PagePart:
    """The section of a twin's page that shows which faults its scenarios exercise: one query.

    Those that are hidden from this person count for nothing: what is named nowhere covers nothing here.
    """
    version: Any = twin.current_version
    redact = redactor(planted_secrets(version.document))
    scenarios = page_queries.faulty_scenarios(twin.name, redact, sight_of(person))
    coverage = fault_coverage({tool.name: tool.risk for tool in tools}, scenarios)
    by_name = {one.tool: one for one in coverage}
    rows: list[dict[str, Any]] = [{"tool": tool, "coverage": by_name[tool.name]} for tool in on_page]
    alerts = [redact(sentence) for sentence in gap_sentences(coverage)]
    more = len(alerts) - ALERTS_SHOWN
    return PagePart(
        anchor="coverage",
        title="Fault coverage",
        template="scenarios/_coverage.html",
        content={
            "faults": FAULTS.items(),
            "required": REQUIRED,
            "rows": rows,
            "untried": [
                row["tool"]
                for row in rows
                if row["coverage"].is_reachable and not row["coverage"].exercised and not row["coverage"].gaps
            ],
            "scenario_count": len(scenarios),
            "list_href": f"{reverse('scenarios:scenario_list')}?{ScenarioFilter(twin=twin.name).query}",
            "draft_href": _draft_href("twin", twin.name) if alerts else "",
        },
        alerts=[*alerts[:ALERTS_SHOWN], *([f"{more} more tools have gaps."] if more > 0 else [])],
    )


page_parts.append(coverage_part)


def _found(
    request: HttpRequest, name: str, query: QueryDict | None = None
) -> tuple[Scenario, ScenarioVersion]:
    found = Scenario.objects.with_current_version().filter(name=name.replace("\x00", "")).first()
    if found is None or sight_of(request.user).hides(found.name):
        raise Http404
    return found, document_pages.chosen_version(found, found.versions.all(), query or request.GET)


def _versions_context(request: HttpRequest, found: Scenario, version: ScenarioVersion) -> dict[str, Any]:
    versions = found.versions.all()
    latest = found.current_version.number if found.current_version else 0
    return {
        "document": found,
        "shown_version": version,
        "latest": latest,
        "versions": document_pages.version_page(versions, request.GET),
        "compared": document_pages.compared_versions(
            versions,
            request.GET,
            latest=latest,
            secrets_of=lambda both: page_queries.hidden_secrets(*both),
        ),
    }


def _page_context(request: HttpRequest, found: Scenario, version: ScenarioVersion) -> dict[str, Any]:
    secrets = page_queries.hidden_secrets(version)
    document = redactor(secrets)(version.document)
    metadata, spec = document["metadata"], document["spec"]
    given = spec["input"]
    return {
        "metadata": metadata,
        "spec": spec,
        "message": given["message"],
        "facts": list((given.get("context") or {}).items()),
        "documents": given.get("documents") or (),
        "faults": [fault_words(rule) for rule in spec.get("faults") or ()],
        "expectations": expectation_words(spec["expectations"]),
        "is_current": version.pk == found.current_version_id,
        "has_twin": Twin.objects.filter(name=version.twin_name).exists(),
        "edit_href": document_pages.edit_href(request, found),
        "text_href": f"{reverse('scenarios:scenario_text', args=[found.name])}?version={version.number}",
        "text": document_pages.shown_texts([version], secrets)[0],
        "is_redacted": document_pages.is_redacted(version, secrets),
        "generated": _generated(request, version, metadata.get("generated")),
        "draft_href": _draft_href("scenario", found.name) if _may_draft(request, found, version) else "",
    }


def _generated(request: HttpRequest, version: ScenarioVersion, written: Any) -> Generated | None:
    if not version.is_generated:
        return None
    # Whoever imported the document may have written anything here.
    sight = sight_of(request.user)
    match written:
        case {"from": {"scenario": str(name), "version": int(number)}} if not sight.hides(name):
            origin, origin_version = name, number
        case _:
            origin, origin_version = "", 0
    return Generated(
        approval=ScenarioApproval.objects.filter(scenario_version=version).select_related("person").first(),
        origin=origin,
        origin_version=origin_version,
        may_approve=request.user.has_perm(APPROVE),
    )


def _may_draft(request: HttpRequest, found: Scenario, version: ScenarioVersion) -> bool:
    """Whether drafts could be made of it: a person's current version in which nothing goes wrong."""
    return (
        request.user.has_perm("scenarios.add_scenario")
        and version.pk == found.current_version_id
        and not version.is_generated
        and bool(version.twin_name)
        and not version.document["spec"].get("faults")
    )


def _counted(listed: int, total: int) -> str:
    some = "" if listed == total else f"{listed} of "
    return f"{some}{total} scenario{'' if total == 1 else 's'}"


def _draft_href(kind: str, name: str) -> str:
    return f"{reverse('evaluations:fault_cases')}?{urlencode({kind: name})}"


def _add_href(request: HttpRequest) -> str:
    user: Any = request.user
    may_add = user.is_staff and user.has_perm("scenarios.add_scenario")
    return reverse("admin:scenarios_scenario_add") if may_add else ""
