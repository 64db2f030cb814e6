"""Twins to read: the list, and the page of one with its tools in words, its state and its versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from twins import document_pages
from twins.describing import RISK_WORDS, ToolWords, tool_words
from twins.engine.definition import Definition
from twins.engine.redaction import redactor
from twins.errors import UnusableTwinError
from twins.models import Twin, TwinVersion
from twins.services import planted_secrets, twin_definition

TWINS_PER_PAGE = 25
TOOLS_PER_PAGE = 60
STATE_ENTRIES_SHOWN = 200

may_see = permission_required("twins.view_twin", raise_exception=True)


@dataclass(frozen=True, slots=True)
class ShownTool:
    """One tool of the page. `risk` is empty where this process cannot tell; `written` is its document."""

    name: str
    shown_name: str
    risk: str
    risk_is_declared: bool
    words: ToolWords
    written: Mapping[str, Any]

    @property
    def risk_words(self) -> str:
        return RISK_WORDS.get(self.risk, "")

    @property
    def arguments(self) -> list[tuple[str, bool]]:
        """Names in the input schema, and whether each is required."""
        schema = self.written.get("inputSchema")
        if not isinstance(schema, dict):
            return []
        return [(name, name in schema.get("required", ())) for name in schema.get("properties") or ()]

    @property
    def documents(self) -> list[tuple[str, str]]:
        """What is folded away: a label and indented JSON."""
        parts = (
            ("Input schema", "inputSchema"),
            ("Output schema", "outputSchema"),
            ("Handler as written", "handler"),
        )
        return [
            (label, json.dumps(self.written[key], ensure_ascii=False, indent=2))
            for label, key in parts
            if self.written.get(key) is not None
        ]


@dataclass(frozen=True, slots=True)
class PagePart:
    """A section that a later room adds to the page of a twin.

    `template` renders it as `part` and finds `content` in it. `alerts` are said at the top of the page with a
    link to the section.
    """

    anchor: str
    title: str
    template: str
    content: Any
    alerts: Sequence[str] = ()


# Sections of later rooms: a function of the twin, the tools of its current version (all of them, and those on
# this page), and who looks at it. This room imports none of them; they add themselves when their addresses
# are loaded.
page_parts: list[Callable[[Twin, Sequence[ShownTool], Sequence[ShownTool], Any], PagePart]] = []


@require_safe
@may_see
def twin_list(request: HttpRequest) -> HttpResponse:
    """Twins by name, with what their current version stands in for."""
    twins = Twin.objects.with_current_version().filter(current_version__isnull=False).order_by("name")
    page = document_pages.numbered_page(Paginator(twins, TWINS_PER_PAGE), request.GET)
    rows = [_row(twin) for twin in page.rows]
    add_href = reverse("admin:twins_twin_add") if _may_add(request) else ""
    return render(request, "twins/twin_list.html", {"page": page, "rows": rows, "add_href": add_href})


@require_safe
@may_see
def twin(request: HttpRequest, name: str) -> HttpResponse:
    """One twin: `version=` another than the current one, `from=` and `to=` what differs between two.

    htmx gets the versions alone.
    """
    found, version = _found(request, name)
    return document_pages.document_page(
        request,
        template="twins/twin_detail.html",
        versions_template="twins/_versions.html",
        versions=_versions_context(request, found, version),
        around=lambda: _page_context(request, found, version),
    )


@require_safe
@may_see
def twin_text(request: HttpRequest, name: str) -> HttpResponse:
    """The text of a version as a file, its secrets redacted."""
    found, version = _found(request, name)
    return document_pages.text_response(version, found.name, _secrets(found, [version]))


def _found(request: HttpRequest, name: str) -> tuple[Twin, TwinVersion]:
    found = Twin.objects.with_current_version().filter(name=name.replace("\x00", "")).first()
    if found is None:
        raise Http404
    return found, document_pages.chosen_version(found, found.versions.all(), request.GET)


def _secrets(found: Twin, versions: Sequence[TwinVersion]) -> list[str]:
    """What these versions plant, and the current one: an old text may name what is a secret today."""
    planted = [planted_secrets(version.document) for version in [found.current_version, *versions] if version]
    return list(dict.fromkeys(secret for secrets in planted for secret in secrets))


def _versions_context(request: HttpRequest, found: Twin, version: TwinVersion) -> dict[str, Any]:
    versions = found.versions.all()
    current = found.current_version
    latest = current.number if current else 0
    return {
        "document": found,
        "shown_version": version,
        "latest": latest,
        "versions": document_pages.version_page(versions, request.GET),
        "compared": document_pages.compared_versions(
            versions, request.GET, latest=latest, secrets_of=lambda both: _secrets(found, both)
        ),
    }


def _page_context(request: HttpRequest, found: Twin, version: TwinVersion) -> dict[str, Any]:
    secrets = _secrets(found, [version])
    redact = redactor(secrets)
    document = redact(version.document)
    spec = document["spec"]
    tools = list(_shown_tools(version, redact))
    page = document_pages.numbered_page(Paginator(tools, TOOLS_PER_PAGE), request.GET)
    is_current = version.pk == found.current_version_id
    state = spec.get("initialState") or {}
    return {
        "description": document["metadata"].get("description", ""),
        "source": document["metadata"].get("source", ""),
        "is_current": is_current,
        "edit_href": document_pages.edit_href(request, found),
        "text_href": f"{reverse('twins:twin_text', args=[found.name])}?version={version.number}",
        "tenant_key": spec.get("tenantKey"),
        "secret_count": len(version.document["spec"].get("secrets") or ()),
        "kb_path": (spec.get("retrieval") or {}).get("statePath", "kb"),
        "tool_count": len(tools),
        "tools": page,
        "unknown_adapters": [tool.shown_name for tool in tools if not tool.risk],
        "state": list(state.items())[:STATE_ENTRIES_SHOWN],
        "state_count": len(state),
        "text": document_pages.shown_texts([version], secrets)[0],
        "is_redacted": document_pages.is_redacted(version, secrets),
        "parts": [make(found, tools, page.rows, request.user) for make in page_parts] if is_current else [],
    }


def _shown_tools(version: TwinVersion, redact: Callable[[Any], Any]) -> Iterator[ShownTool]:
    definition = _definition(version)
    spec = version.document["spec"]
    for name, tool in spec["tools"].items():
        written = redact(tool)
        yield ShownTool(
            name=name,
            shown_name=redact(name),
            risk=definition.tools[name].risk if definition else tool.get("risk", ""),
            risk_is_declared="risk" in tool,
            words=tool_words(written, tenant_key=redact(spec.get("tenantKey"))),
            written=written,
        )


def _definition(version: TwinVersion) -> Definition | None:
    """None where this process cannot use the document: it has no adapter of a name."""
    try:
        return twin_definition(version)
    except UnusableTwinError:
        return None


def _row(found: Twin) -> dict[str, Any]:
    version: Any = found.current_version
    document = redactor(planted_secrets(version.document))(version.document)
    return {
        "twin": found,
        "version": version,
        "description": document["metadata"].get("description", ""),
        "tool_count": len(document["spec"]["tools"]),
    }


def _may_add(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.is_staff and user.has_perm("twins.add_twin"))
