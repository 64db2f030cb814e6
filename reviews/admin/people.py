"""Accounts and groups in the admin: nobody hands out more than they hold, no account with a history goes."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from reviews.errors import ReviewError
from reviews.services import people

# What only a superuser sees and sets.
_SUPERUSER_FIELDS = ("is_superuser", "user_permissions")

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Accounts. Changes are recorded by `reviews.services.people`, whichever form makes them."""

    list_display = ("username", "email", "first_name", "last_name", "is_active", "is_staff")
    list_filter = ("is_active", "is_staff", "groups")
    actions = ("deactivate", "activate")
    readonly_fields = ("last_login", "date_joined")

    # ---------------------------------------------------------------- who may change whom

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and (
            obj is None or people.may_manage(request.user, obj)
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and (
            obj is None or (people.may_manage(request.user, obj) and obj.pk != request.user.pk)
        )

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Accounts are deleted one by one, after a look at what they did."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    # ---------------------------------------------------------------- what may be set

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if request.user.is_superuser:
            return fieldsets
        return [(title, {**options, "fields": _without(options["fields"])}) for title, options in fieldsets]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = tuple(super().get_readonly_fields(request, obj))
        if not request.user.is_superuser:
            fields += _SUPERUSER_FIELDS
        # Locking oneself out is never meant.
        return (*fields, "is_active") if obj is not None and obj.pk == request.user.pk else fields

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "groups":
            kwargs["queryset"] = people.grantable_groups(request.user)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    # ---------------------------------------------------------------- leaving

    @admin.action(description="Deactivate the selected accounts", permissions=["change"])
    def deactivate(self, request: HttpRequest, queryset: models.QuerySet[User]) -> None:
        self._set_active(request, queryset, is_active=False)

    @admin.action(description="Activate the selected accounts again", permissions=["change"])
    def activate(self, request: HttpRequest, queryset: models.QuerySet[User]) -> None:
        self._set_active(request, queryset, is_active=True)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """An account with a history is not deleted; the message says what to do instead."""
        account = self.get_object(request, object_id)
        if (
            account is not None
            and self.has_delete_permission(request, account)
            and people.has_history(account)
        ):
            self.message_user(request, people.history_message(account), messages.ERROR)
            return HttpResponseRedirect(reverse("admin:auth_user_change", args=[account.pk]))
        return super().delete_view(request, object_id, extra_context)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        people.refuse_if_history(obj)
        super().delete_model(request, obj)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """In one transaction, so that a changed password and its record come together."""
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)

    def _set_active(self, request: HttpRequest, queryset: models.QuerySet[User], *, is_active: bool) -> None:
        done = 0
        for account in queryset.exclude(is_active=is_active):
            try:
                people.set_active(account_id=account.pk, is_active=is_active, actor=request.user)
                done += 1
            except ReviewError as refusal:
                self.message_user(request, refusal.detail, messages.ERROR)
        word = "activated" if is_active else "deactivated"
        self.message_user(request, f"{done} account{'' if done == 1 else 's'} {word}.")


@admin.register(Group)
class RoleAdmin(GroupAdmin):
    """What a group may do is a superuser's decision: whoever could change a group could give it anything."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_superuser)


def _without(fields: Any) -> Any:
    return tuple(name for name in fields if name not in _SUPERUSER_FIELDS)
