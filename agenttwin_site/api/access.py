"""Who may use an address: a permission of the account, and with a token also one of its scopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rest_framework import exceptions
from rest_framework.authentication import SessionAuthentication as FrameworkSessions
from rest_framework.permissions import BasePermission


@dataclass(frozen=True, slots=True)
class Access:
    """`scopes`: any of these lets a token in. `permission`: what the account needs, with or without one.

    Both empty: everybody with an account. `is_public`: nobody is asked.
    """

    scopes: tuple[str, ...] = ()
    permission: str = ""
    is_public: bool = False


PUBLIC = Access(is_public=True)


class CsrfFailed(exceptions.PermissionDenied):
    default_code = "csrf_failed"


class SessionAuthentication(FrameworkSessions):
    """The session of the pages. It comes with a cookie, so a write needs the CSRF token too."""

    def enforce_csrf(self, request: Any) -> None:
        try:
            super().enforce_csrf(request)
        except exceptions.PermissionDenied:
            raise CsrfFailed(
                "With a session a write needs the header X-CSRFToken; a program uses an API token instead."
            ) from None


class HasAccess(BasePermission):
    """Asks the view's `access` for the method of the request."""

    def has_permission(self, request: Any, view: Any) -> bool:
        access: Access = view.access_of(request.method)
        if access.is_public:
            return True
        user = request.user
        if not user or not user.is_authenticated:
            return False
        token = request.auth
        if token is not None and access.scopes and not token.has_scope(*access.scopes):
            wanted = " or ".join(access.scopes)
            raise exceptions.PermissionDenied(f"This token lacks the scope {wanted}.")
        if access.permission and not user.has_perm(access.permission):
            raise exceptions.PermissionDenied(f"You need a role with the permission {access.permission}.")
        return True


def may_see_secrets(request: Any, *permissions: str) -> bool:
    """Whether planted secrets are shown as written: to who may edit them, and with a token that may."""
    if request.auth is not None and not request.auth.has_scope("edit"):
        return False
    return bool(request.user.has_perms(permissions))
