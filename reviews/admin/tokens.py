"""Tokens in the admin: who has which, ending one, making one. The secret is shown once, here too."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from evaluations.admin.looking import LookingAdmin
from reviews.admin.records import each
from reviews.models import ApiToken
from reviews.roles import MANAGE_TOKENS
from reviews.services.tokens import revoke_token
from reviews.token_forms import AnyonesTokenForm, TokenForm


@admin.register(ApiToken)
class ApiTokenAdmin(LookingAdmin):
    """Rows are only looked at; what can be done with one goes through the services."""

    list_display = (
        "name",
        "user",
        "prefix",
        "scope_list",
        "state",
        "created_at",
        "expires_at",
        "last_used_at",
    )
    list_filter = ("user",)
    search_fields = ("name", "prefix", "user__username")
    exclude = ("token_hash",)
    actions: Any = ("revoke",)

    def looked_at(self, request: HttpRequest) -> models.QuerySet[ApiToken]:
        return ApiToken.objects.select_related("user")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Everybody who sees this list may make a token, for their own account."""
        return self.has_view_permission(request)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(MANAGE_TOKENS)

    @admin.display(description="scopes")
    def scope_list(self, obj: ApiToken) -> str:
        return ", ".join(obj.scopes)

    @admin.display
    def state(self, obj: ApiToken) -> str:
        return obj.state(timezone.now())

    @admin.action(description="Revoke the selected tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: models.QuerySet[ApiToken]) -> None:
        each(
            self,
            request,
            queryset,
            lambda token: revoke_token(token_id=token.pk, actor=request.user),
            "revoked",
        )

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Its own form: the secret is in the answer to the POST, which no redirect could carry."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        kind = AnyonesTokenForm if request.user.is_superuser else TokenForm
        form = kind(request.POST if request.method == "POST" else None)
        made = form.create(request.user) if request.method == "POST" else None
        if made is not None:
            messages.success(request, f"The token {made[0].name} was made.")
        context = {
            **self.admin_site.each_context(request),
            "title": "Add API token",
            "opts": self.opts,
            "form": form,
            "secret": made[1] if made else "",
        }
        status = 422 if request.method == "POST" and made is None else 200
        return TemplateResponse(request, "admin/reviews/token_form.html", context, status=status)
