"""Pages of the site itself: start page, login and password. The rooms bring their own."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import views as auth_views
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_GET, require_safe

from agenttwin_site.kept_forms import has_kept_form, leave_to_owner
from evaluations.page_queries import latest_comparisons
from reviews.models.queue import queue_reasons
from reviews.services import queue_counts
from scenarios.holdouts import sight_of

LATEST = 8


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The latest comparisons with their counts, what waits for a person, the way to everything else."""
    context: dict[str, Any] = {}
    if request.user.has_perm("evaluations.view_comparison"):
        context["comparisons"] = latest_comparisons(LATEST)
    if request.user.has_perm("reviews.view_queueentry"):
        labels = dict(queue_reasons())
        counts = queue_counts(sight_of(request.user))
        context["waiting"] = [
            {"reason": reason, "label": labels.get(reason, reason), "count": count}
            for reason, count in counts.items()
            if count
        ]
        context["waiting_count"] = sum(counts.values())
    return render(request, "home.html", context)


@method_decorator(login_not_required, name="dispatch")
class LoginView(auth_views.LoginView):
    """The one login page. What was typed when a session ended comes back with the page it was typed on."""

    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        # An anonymous session that held a form was short-lived; the person's own lives as configured.
        self.request.session.set_expiry(None)
        leave_to_owner(self.request)
        if has_kept_form(self.request, self.get_success_url()):
            messages.info(self.request, "What you typed is back in its form. It has not been sent yet.")
        return response

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        context = super().get_context_data(**context)
        context["kept_text"] = has_kept_form(self.request, str(context.get("next") or ""))
        return context


class PasswordChangeView(auth_views.PasswordChangeView):
    success_url = reverse_lazy("home")

    # The change and its record in the audit log are stored together.
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, "Your password was changed.")
        return super().form_valid(form)


@require_GET
@login_not_required
def favicon(request: HttpRequest) -> HttpResponse:
    return redirect(static("agenttwin/favicon.svg"))


@require_safe
@login_not_required
def ci_client(request: HttpRequest) -> HttpResponse:
    """The CI client, for everybody: a build fetches it before it uses its token, and it holds no secret."""
    content = (settings.BASE_DIR / "agenttwin_ci.py").read_bytes()
    return HttpResponse(content, content_type="text/x-python; charset=utf-8")


@require_safe
@login_not_required
def admin_login(request: HttpRequest) -> HttpResponse:
    """The admin's own login page leads to the one that everybody uses.

    Django sends here also who is logged in but not staff; the login page would send them back without end.
    """
    if request.user.is_authenticated and not admin.site.has_permission(request):
        raise PermissionDenied("The admin pages are for editors and administrators.")
    query = request.META.get("QUERY_STRING", "")
    return redirect(f"{reverse('login')}?{query}" if query else "login")
