"""What is shown when a request cannot be answered. These pages need no database and no session."""

from __future__ import annotations

import sys

from django.contrib import messages
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import Resolver404

from agenttwin_site.api import errors as api_errors
from agenttwin_site.api.failures import RETRY_AFTER_SECONDS, Failure
from agenttwin_site.api.failures import not_found as api_not_found
from agenttwin_site.htmx import redirect_after_post
from agenttwin_site.kept_forms import keep_form, page_of


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400, or 413 for a body larger than a form may be."""
    if api_errors.is_api(request):
        return _told(exception, Failure(400, "bad_request", "The request cannot be used."))
    is_too_large = isinstance(exception, RequestDataTooBig)
    text = render_to_string("400.html", {"is_too_large": is_too_large})
    return HttpResponse(text, status=413 if is_too_large else 400)


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403 with the reason, if the view gave one (`PermissionDenied("…")`)."""
    if api_errors.is_api(request):
        return _told(exception, Failure(403, "permission_denied", "You may not do this."))
    return render(request, "403.html", {"reason": str(exception or "")}, status=403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if api_errors.is_api(request):
        return _told(exception, api_not_found("There is nothing at this address."))
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """500; while the database does not answer 503 with Retry-After, since trying again then helps.

    Django calls this inside the handling of the exception, wherever in the stack it arose: session and login
    read the database before any view does, where no middleware would see the exception pass.
    """
    if api_errors.is_api(request):
        broken = Failure(500, "error", "The fault is ours and was logged.")
        return _told(sys.exc_info()[1], broken)
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        path = request.get_full_path() if request.method in ("GET", "HEAD") else "/"
        response = HttpResponse(render_to_string("503.html", {"path": path}), status=503)
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return response
    return HttpResponse(render_to_string("500.html"), status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form whose token no longer holds, as after logging in anew in another tab.

    If the browser proved that the form came from this site (its Origin is checked before the token) and it is
    this account's, what was typed is kept and the page shown again with it; otherwise it is refused and
    forgotten.
    """
    page = page_of(request)
    origin_holds = "Origin" in request.headers and not reason.startswith("Origin checking")
    if not origin_holds or page == "/" or not keep_form(request):
        return render(request, "csrf_failed.html", {"back_href": page}, status=403)
    messages.warning(
        request, "That form was made before you logged in, so it was not taken. Check it and send it again."
    )
    return redirect_after_post(request, page)


def _told(problem: BaseException | None, otherwise: Failure) -> HttpResponse:
    """A failure below /api/ that no view of it could answer, in the form of all the others."""
    found = api_errors.failure_of(problem)
    is_resolver = isinstance(problem, Resolver404)
    return api_errors.failure_response(otherwise if found is None or is_resolver else found)
