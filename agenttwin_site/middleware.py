"""The gate before every page: nothing without a login, and no typed text lost to an ended session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin

from agenttwin_site.kept_forms import forget_form, keep_form, page_of


class LoginGateMiddleware(LoginRequiredMiddleware):
    """Every view needs a login unless it is marked with `login_not_required`.

    A plain request is redirected to the login page. An htmx request gets 401 and ``HX-Redirect``, so that
    no login page ever lands inside a fragment. The fields of a POST are kept (`agenttwin_site.kept_forms`),
    and the person comes back to the page the form was on.
    """

    def handle_no_permission(  # type: ignore[override]  # not every refusal is a redirect here
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseBase:
        page = page_of(request)
        if request.method == "POST":
            keep_form(request)
        login_url = f"{reverse('login')}?{urlencode({'next': page})}"
        if getattr(request, "htmx", None):
            response: HttpResponse = HttpResponse(status=401)
            response["HX-Redirect"] = login_url
        else:
            response = HttpResponse(status=302 if request.method in ("GET", "HEAD") else 303)
            response["Location"] = login_url
        patch_vary_headers(response, ["HX-Request"])
        return response


class PrivatePagesMiddleware(MiddlewareMixin):
    """What a logged-in person sees is stored by no cache, and a form that was taken is no longer kept."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        user = getattr(request, "user", None)
        if user is None or not user.is_authenticated:
            return response
        if "Cache-Control" not in response:
            response["Cache-Control"] = "private, no-store"
        if request.method == "POST" and response.status_code < 400:
            forget_form(request)
        return response
