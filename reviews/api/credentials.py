"""Tokens as credentials of requests."""

from __future__ import annotations

from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed

from reviews.errors import TokenRefusedError
from reviews.models import ApiToken
from reviews.services.tokens import note_use, token_of

_WORDS = ("bearer", "token")
# Longer than any token; nobody's megabytes are hashed.
_LONGEST = 200


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer SECRET` (or `Token SECRET`). Needs no CSRF token: no browser sends it by itself.

    From then on the audit log says that the request came with this token.
    """

    def authenticate(self, request: Any) -> tuple[Any, ApiToken] | None:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        if not header.strip():
            return None
        word, _, secret = header.strip().partition(" ")
        secret = secret.strip()
        if word.lower() not in _WORDS or not secret or " " in secret or len(secret) > _LONGEST:
            raise AuthenticationFailed("Send the header as: Authorization: Bearer TOKEN.")
        try:
            token = token_of(secret)
        except TokenRefusedError as refusal:
            raise AuthenticationFailed(refusal.detail) from None
        note_use(token)
        request._request.acting_via = token.name
        return token.user, token

    def authenticate_header(self, request: Any) -> str:
        return 'Bearer realm="agenttwin"'
