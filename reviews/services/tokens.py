"""Making, using and revoking tokens. The secret is returned by `create_token`, once, and kept nowhere."""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db import DatabaseError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from reviews import audit
from reviews.acting import COMMAND, SESSION
from reviews.errors import InvalidInputError, NotAllowedError, NotFoundError, TokenRefusedError
from reviews.models.tokens import ApiToken, Scope
from reviews.roles import MANAGE_TOKENS
from reviews.texts import clean_text

logger = logging.getLogger(__name__)

CREATED, REVOKED = "api_token_created", "api_token_revoked"
# What every token begins with, so that scanners of repositories can find one that leaked.
MARK = "att_"
SHOWN_CHARACTERS = 8
NAME_CHARACTERS = 100
# The last use is written once in this time: a write for every read would cost more than the read.
USE_NOTED_EVERY = timedelta(minutes=1)
# Names that would read as something else in the audit log.
_RESERVED = (SESSION, COMMAND)
_DURATION = re.compile(r"([1-9][0-9]{0,4})([hdw])", re.ASCII)
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def create_token(
    *,
    user: Any,
    name: str,
    scopes: Iterable[str],
    actor: Any,
    expires_at: datetime | None = None,
    via: str | None = None,
) -> tuple[ApiToken, str]:
    """A new token for `user`, and its secret, which nobody can read again.

    `actor` None is the operator at the command line. Raises InvalidInputError (name, scopes, expires_at,
    user) and NotAllowedError: nobody but a superuser makes a token that acts as another account.
    """
    name, chosen = _name(name), _scopes(scopes)
    now = timezone.now()
    if expires_at is not None and expires_at <= now:
        raise InvalidInputError("expires_at", "A token must expire in the future.")
    if not user.is_active:
        raise InvalidInputError("user", f"The account {user.get_username()} is deactivated.")
    if actor is not None and actor.pk != user.pk and not actor.is_superuser:
        raise NotAllowedError("A token acts as its account: make one for your own.")
    secret = MARK + secrets.token_urlsafe(32)
    with transaction.atomic():
        # Two forms of one person wait for each other, so the name is free when it is looked up.
        get_user_model()._default_manager.select_for_update(no_key=True).get(pk=user.pk)
        if ApiToken.objects.filter(user=user, name=name, revoked_at__isnull=True).exists():
            raise InvalidInputError(
                "name", f"There is a token {name} already. Revoke it, or choose another name."
            )
        token = ApiToken.objects.create(
            user=user,
            name=name,
            prefix=secret[: len(MARK) + SHOWN_CHARACTERS],
            token_hash=hash_of(secret),
            scopes=chosen,
            expires_at=expires_at,
        )
        _record(CREATED, token, actor, via, after=_described(token))
    return token, secret


def revoke_token(*, token_id: int, actor: Any, via: str | None = None) -> ApiToken:
    """End a token now; one that is revoked already stays as it is.

    Raises NotFoundError, also for a token of somebody else that the actor may not manage.
    """
    with transaction.atomic():
        token = (
            ApiToken.objects.select_for_update(of=("self",))
            .select_related("user")
            .filter(pk=token_id)
            .first()
        )
        if token is None or not may_revoke(actor, token):
            raise NotFoundError(f"There is no token {token_id}.")
        if token.revoked_at is None:
            token.revoked_at = timezone.now()
            token.save(update_fields=["revoked_at"])
            _record(REVOKED, token, actor, via, before=_described(token))
    return token


def may_revoke(actor: Any, token: ApiToken) -> bool:
    """Everybody ends their own; those of others need the permission."""
    return bool(actor.is_active and (token.user_id == actor.pk or actor.has_perm(MANAGE_TOKENS)))


def token_of(secret: str) -> ApiToken:
    """The valid token with this secret, its account loaded: one query.

    Raises TokenRefusedError with the reason. Whoever holds the secret may know why it no longer works.
    """
    token = ApiToken.objects.select_related("user").filter(token_hash=hash_of(secret)).first()
    if token is None:
        raise TokenRefusedError("This token is unknown.")
    state = token.state(timezone.now())
    if state == "revoked":
        raise TokenRefusedError(f"This token was revoked at {token.revoked_at:%Y-%m-%d %H:%M} UTC.")
    if state == "expired":
        raise TokenRefusedError(f"This token expired at {token.expires_at:%Y-%m-%d %H:%M} UTC.")
    if not token.user.is_active:
        raise TokenRefusedError("The account of this token is deactivated.")
    return token


def note_use(token: ApiToken) -> None:
    """Write down that it was used, if that was not done within the last minute.

    The request goes on without it when the database is busy: this is a note, not evidence.
    """
    now = timezone.now()
    due = now - USE_NOTED_EVERY
    if token.last_used_at is not None and token.last_used_at > due:
        return
    try:
        with transaction.atomic():
            ApiToken.objects.filter(
                Q(last_used_at__isnull=True) | Q(last_used_at__lte=due), pk=token.pk
            ).update(last_used_at=now)
    except DatabaseError as problem:
        logger.warning("the use of token %s could not be written down: %s", token.pk, problem)


def hash_of(secret: str) -> str:
    """A plain hash is enough: a secret of 256 random bits cannot be guessed from it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def expiry_from(text: str, now: datetime) -> datetime | None:
    """ "90d", "12h", "4w", a day (to its end, UTC) or a moment; empty for never.

    Raises InvalidInputError("expires_at").
    """
    text = text.strip()
    if not text:
        return None
    if found := _DURATION.fullmatch(text):
        return now + int(found[1]) * _UNITS[found[2]]
    try:
        if (day := parse_date(text)) is not None and len(text) <= 10:
            return timezone.make_aware(datetime.combine(day, datetime.max.time()))
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise InvalidInputError(
            "expires_at",
            f"“{text[:40]}” is no end: write 90d, 12h, 4w, a day such as 2027-01-31 or a moment.",
        )
    return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def _name(text: str) -> str:
    name = " ".join(clean_text(text).split())
    if not name:
        raise InvalidInputError("name", "Give the token a name that says where it is used.")
    if len(name) > NAME_CHARACTERS or not name.isprintable():
        raise InvalidInputError("name", f"A name has at most {NAME_CHARACTERS} printable characters.")
    if name.casefold() in _RESERVED:
        raise InvalidInputError(
            "name", f"“{name}” means something else in the audit log: choose another name."
        )
    return name


def _scopes(scopes: Iterable[str]) -> list[str]:
    asked = list(scopes)
    if unknown := sorted({str(scope) for scope in asked if scope not in Scope.values}):
        known = ", ".join(Scope.values)
        raise InvalidInputError("scopes", f"There is no scope {', '.join(unknown)[:200]}; there are {known}.")
    if not asked:
        raise InvalidInputError("scopes", f"Choose at least one scope of {', '.join(Scope.values)}.")
    return [scope for scope in Scope.values if scope in asked]


def _described(token: ApiToken) -> dict[str, Any]:
    return {
        "user": token.user.get_username(),
        "name": token.name,
        "prefix": token.prefix,
        "scopes": token.scopes,
        "expires_at": token.expires_at and token.expires_at.isoformat(),
    }


def _record(action: str, token: ApiToken, actor: Any, via: str | None, **values: Any) -> None:
    audit.record(
        action=action,
        subject_type="token",
        subject_id=token.pk,
        subject_label=f"token {token.name} of {token.user.get_username()}",
        actor=actor,
        via=via,
        **values,
    )
