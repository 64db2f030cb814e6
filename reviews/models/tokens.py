"""Tokens for programs: each acts as the account it belongs to, within its scopes."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from agenttwin_site.fields import JSONField


class Scope(models.TextChoices):
    """What a token may be used for. The account's own permissions hold besides."""

    READ = "read", "read: everything the account may see"
    RUN = "run", "run: start and cancel comparisons, and read what came of them"
    REVIEW = "review", "review: decide on results, work the queue, and read both"
    EDIT = "edit", "edit: save twins, scenarios and agents, and read them"


class ApiToken(models.Model):
    """One token. The secret itself is stored nowhere: `token_hash` is its SHA-256, `prefix` its beginning.

    Rows stay when a token is revoked: reviews and the audit log name it.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16)
    token_hash = models.CharField(max_length=64, unique=True)
    scopes = JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    # NULL: it does not expire.
    expires_at = models.DateTimeField(null=True, blank=True)
    # Exact to a minute (`reviews.services.tokens.note_use`).
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name = "API token"
        # Making and revoking one's own needs no permission; these are for those of others.
        default_permissions = ("change", "view")
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="api_token_has_a_name"),
            # So that a name in the audit log means one token of the account at a time.
            models.UniqueConstraint(
                fields=["user", "name"],
                condition=Q(revoked_at__isnull=True),
                name="api_token_name_is_unique_while_it_is_valid",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def is_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def state(self, now: datetime) -> str:
        """revoked, expired or valid."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.is_expired(now) else "valid"

    def has_scope(self, *scopes: str) -> bool:
        """Whether it has any of these."""
        return any(scope in self.scopes for scope in scopes)
