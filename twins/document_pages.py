"""The read pages of a document kept in versions: twins and scenarios alike.

Nobody reads a planted secret here, whatever their role; who may edit a document reads its text in the admin
(docs/decisions/0710).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import reverse

from agenttwin_site.htmx import page_or_fragment, wants_fragment
from agenttwin_site.paging import Page, keyset_page
from twins.difference import Difference, difference
from twins.documents.yaml_writer import to_yaml
from twins.engine.redaction import redactor
from twins.engine.values import compact_json

VERSIONS_PER_PAGE = 20

Redact = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ComparedVersions:
    """Two versions held against each other, or why the two that were asked for cannot be.

    `asked_from` and `asked_to` are what the form shows again.
    """

    asked_from: str
    asked_to: str
    before: Any = None
    after: Any = None
    difference: Difference | None = None
    problem: str = ""


def chosen_version(parent: Any, versions: QuerySet[Any], query: QueryDict) -> Any:
    """The version that `?version=N` names, else the current one. Http404 where there is none."""
    if "version" not in query:
        if parent is None or parent.current_version is None:
            raise Http404
        return parent.current_version
    number = version_number(query.get("version", ""))
    found = versions.filter(number=number).select_related("created_by").first()
    if found is None:
        raise Http404
    return found


def document_page(
    request: HttpRequest,
    *,
    template: str,
    versions_template: str,
    versions: Mapping[str, Any],
    around: Callable[[], Mapping[str, Any]],
) -> HttpResponse:
    """The page of a document; htmx gets the panel of its versions alone. 422 if two cannot be compared.

    `versions`: the context of that panel, with `compared`; `around`: that of the rest, made where needed.
    """
    context = {**versions, **({} if wants_fragment(request) else around())}
    compared = versions["compared"]
    status = 422 if compared and compared.problem else 200
    return page_or_fragment(request, template, versions_template, context, status=status)


def version_page(versions: QuerySet[Any], query: QueryDict) -> Page:
    """Versions for the table, latest first, without their content: one query."""
    listed = versions.select_related("created_by").defer("document", "source_text")
    return keyset_page(listed, keys=("-number",), query=query, size=VERSIONS_PER_PAGE)


def compared_versions(
    versions: QuerySet[Any],
    query: QueryDict,
    *,
    latest: int,
    secrets_of: Callable[[Sequence[Any]], Sequence[str]],
) -> ComparedVersions | None:
    """What `?from=2&to=4` asks for, None without it: one query beside those of `secrets_of`.

    `secrets_of` answers the secrets to hide in these versions.
    """
    if "from" not in query and "to" not in query:
        return None
    asked_from, asked_to = query.get("from", "")[:20], query.get("to", "")[:20]
    numbers = version_number(asked_from), version_number(asked_to)
    found = {version.number: version for version in versions.filter(number__in=numbers)}
    before, after = (found.get(number) for number in numbers)
    if before is None or after is None:
        asked = ((asked_from, before), (asked_to, after))
        missing = [text or "(nothing)" for text, one in asked if one is None]
        known = "there is only version 1" if latest == 1 else f"there are versions 1 to {latest}"
        problem = f"No version {' and no version '.join(missing)}: {known}."
        return ComparedVersions(asked_from, asked_to, problem=problem)
    old, new = shown_texts([before, after], secrets_of([before, after]))
    return ComparedVersions(asked_from, asked_to, before, after, difference(old, new))


def shown_texts(versions: Sequence[Any], secrets: Sequence[str]) -> list[str]:
    """The texts of versions as anyone may read them.

    As typed where no secret can be in them. Else all are written anew from the redacted content, comments
    left out: a text can spell a secret in ways that a search misses, and like is compared with like.
    """
    redact = redactor(secrets)
    if not secrets or all(_is_free_of_secrets(version, redact) for version in versions):
        return [version.source_text for version in versions]
    return [_written_anew(compact_json(redact(version.document))) for version in versions]


@lru_cache(maxsize=16)
def _written_anew(document: str) -> str:
    """JSON as YAML; remembered, because a document of the largest size takes a second to write."""
    return to_yaml(json.loads(document))


def is_redacted(version: Any, secrets: Sequence[str]) -> bool:
    """Whether `shown_texts` writes this version anew."""
    return bool(secrets) and not _is_free_of_secrets(version, redactor(secrets))


def _is_free_of_secrets(version: Any, redact: Redact) -> bool:
    return redact(version.document) is version.document and redact(version.source_text) is version.source_text


def text_response(version: Any, name: str, secrets: Sequence[str]) -> HttpResponse:
    """The text of a version as a file."""
    response = HttpResponse(shown_texts([version], secrets), content_type="application/yaml; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}-{version.number}.yaml"'
    return response


def numbered_page(paginator: Paginator[Any], query: QueryDict) -> Page:
    """The page that `?page=N` asks for, or the nearest there is: one query for the count, one for rows."""
    page = paginator.get_page(query.get("page"))

    def href(number: int) -> str:
        changed = query.copy()
        changed["page"] = str(number)
        return f"?{changed.urlencode()}"

    return Page(
        rows=list(page.object_list),
        previous_href=href(page.previous_page_number()) if page.has_previous() else "",
        next_href=href(page.next_page_number()) if page.has_next() else "",
    )


def edit_href(request: HttpRequest, parent: Any) -> str:
    """Where this person edits the document, empty for those who may not."""
    options = parent._meta
    user: Any = request.user
    if not (user.is_staff and user.has_perm(f"{options.app_label}.change_{options.model_name}")):
        return ""
    return reverse(f"admin:{options.app_label}_{options.model_name}_change", args=[parent.pk])


def version_number(text: str) -> int:
    """A version number; 0, which no version has, for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0
