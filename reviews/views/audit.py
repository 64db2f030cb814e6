"""The audit log: read, filtered, exported, and its chain checked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.handlers.asgi import ASGIRequest
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    StreamingHttpResponse,
)
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from agenttwin_site.htmx import page_or_fragment, redirect_after_post
from reviews.chain_checks import check_chain, latest_check
from reviews.errors import AuditLogError
from reviews.exports import csv_lines, json_lines
from reviews.filters import AuditFilter
from reviews.models import AuditEntry
from reviews.page_queries.audit import audit_page
from reviews.querysets import AuditQuerySet
from reviews.roles import DECIDE
from scenarios.holdouts import Sight, sight_of

may_see = permission_required("reviews.view_auditentry", raise_exception=True)
may_check = permission_required(DECIDE, raise_exception=True)

_LINES_AT_ONCE = 200
_FORMATS: dict[str, tuple[str, Callable[[AuditQuerySet, Sight], Iterator[str]]]] = {
    "csv": ("text/csv; charset=utf-8", csv_lines),
    "json": ("application/json", json_lines),
}


@require_safe
@may_see
def audit_log(request: HttpRequest) -> HttpResponse:
    """Newest first; the whole filter is in the address."""
    wanted = AuditFilter.from_query(request.GET)
    shown = audit_page(wanted, request.GET, sight_of(request.user))
    user: Any = request.user
    context = {
        "wanted": wanted,
        "shown": shown,
        "check": latest_check(),
        "may_check": user.has_perm(DECIDE),
        "export_query": wanted.to_query(),
    }
    return page_or_fragment(request, "reviews/audit_log.html", "reviews/_audit_entries.html", context)


@require_POST
@may_see
@may_check
def check(request: HttpRequest) -> HttpResponse:
    """Verify the chain now. The check is an entry of its own, so the page can say when and by whom."""
    try:
        report = check_chain(actor=request.user)
    except AuditLogError as broken:
        messages.error(request, f"The log cannot even record this check: {broken.detail}")
        return redirect_after_post(request, reverse("reviews:audit"))
    if report.broken is None:
        messages.success(request, f"The chain is intact: {report.entries} entries were checked.")
    else:
        messages.error(request, f"The chain is broken: {report.broken.detail}.")
    return redirect_after_post(request, reverse("reviews:audit"))


@require_safe
@may_see
def export(request: HttpRequest, format: str) -> HttpResponseBase:
    """The filtered log as a file, streamed; 400 for a condition that cannot be read.

    On the page such a condition filters nothing and says so. A file is read without the page.
    """
    chosen = _FORMATS.get(format)
    if chosen is None:
        raise Http404
    content_type, lines = chosen
    wanted = AuditFilter.from_query(request.GET)
    if wanted.problems:
        told = "".join(f"{problem}\n" for problem in wanted.problems)
        return HttpResponseBadRequest(told, content_type="text/plain; charset=utf-8")
    pieces = lines(AuditEntry.objects.matching(wanted), sight_of(request.user))
    # On the asynchronous server a plain iterator would be collected whole before the first byte leaves.
    body: Any = _streamed(pieces) if isinstance(request, ASGIRequest) else pieces
    response = StreamingHttpResponse(body, content_type=content_type)
    name = f"audit-{timezone.now():%Y-%m-%d}.{format}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


async def _streamed(pieces: Iterator[str]) -> AsyncIterator[str]:
    while batch := await sync_to_async(lambda: list(islice(pieces, _LINES_AT_ONCE)))():
        yield "".join(batch)
