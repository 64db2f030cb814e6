"""One address, one view, two answers: the whole page for a person, its fragment for htmx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.http import trigger_client_event


def wants_fragment(request: HttpRequest) -> bool:
    """True for a true htmx request: a boosted link and a restored history entry want the whole page."""
    htmx: Any = getattr(request, "htmx", None)
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def page_or_fragment(
    request: HttpRequest,
    page: str,
    fragment: str,
    context: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
    event: str | None = None,
) -> HttpResponse:
    """The template `page`, or `fragment` alone if htmx asks for it.

    `event` is announced to the page (HX-Trigger).
    A form that does not hold is `status=422`, a conflict 409: the configuration in `base.html` swaps both.
    """
    chosen = fragment if wants_fragment(request) else page
    response = render(request, chosen, dict(context or {}), status=status)
    patch_vary_headers(response, ["HX-Request"])
    if event and wants_fragment(request):
        trigger_client_event(response, event)
    return response


def redirect_after_post(request: HttpRequest, url: str) -> HttpResponse:
    """Where a form leads when the whole page is another one afterwards: 303, or HX-Redirect for htmx."""
    if wants_fragment(request):
        response = HttpResponse(status=204)
        response["HX-Redirect"] = url
    else:
        response = HttpResponseRedirect(url)
        response.status_code = 303
    patch_vary_headers(response, ["HX-Request"])
    return response
