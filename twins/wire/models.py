"""Sessions and what their twins recorded, while they are open.

Both hold real values, planted secrets included, because the checks that look for secrets need them. Nobody
reads them but the services of this room; when a session is closed they are emptied (docs/decisions/0920).
"""

from django.conf import settings
from django.db import models

from twins.columns import ExactJSONField


class WireSession(models.Model):
    """One case of a twin that is called from outside with a token of its own."""

    # In every URL of the session; says nothing about others, and is no secret.
    public_id = models.CharField(max_length=32, unique=True)
    # SHA-256 of the token, which is kept nowhere.
    token_hash = models.CharField(max_length=64)
    # For logs and pages: what the session is for.
    label = models.CharField(max_length=200)
    twin_version = models.ForeignKey("twins.TwinVersion", on_delete=models.PROTECT, related_name="+")
    spec = ExactJSONField(null=True)
    spec_digest = models.CharField(max_length=64)
    # The last record's number; the locked row that makes calls of a session wait for one another.
    seq = models.PositiveIntegerField(default=0)
    calls = models.PositiveIntegerField(default=0)
    searches = models.PositiveIntegerField(default=0)
    limit_reached = models.CharField(max_length=200, default="", blank=True)
    twin_error = models.TextField(default="", blank=True)
    disturbed = models.TextField(default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    revoked_at = models.DateTimeField(null=True)
    emptied_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(emptied_at=None) | models.Q(spec=None, revoked_at__isnull=False),
                name="wire_session_is_emptied_after_its_token_is_revoked",
            ),
        ]

    def __str__(self) -> str:
        return f"session {self.public_id} ({self.label})"

    @property
    def tools_base_url(self) -> str:
        """Where an agent calls tools: ``POST …/tools/TOOL``, ``GET …/kb/search`` (FORMATS 5)."""
        return f"{settings.AGENTTWIN_PUBLIC_URL}/wire/{self.public_id}"

    @property
    def mcp_url(self) -> str:
        """Where an MCP client finds the same tools (Streamable HTTP)."""
        return f"{settings.AGENTTWIN_PUBLIC_URL}/mcp/{self.public_id}/"


class WireRecord(models.Model):
    """One record of a session's twin, in the order of `seq`."""

    session = models.ForeignKey(WireSession, on_delete=models.PROTECT, related_name="records", db_index=False)
    seq = models.PositiveIntegerField()
    record = ExactJSONField()
    # What the call made of the case's state (`twins.wire.deltas`); with the last record of a call.
    delta = ExactJSONField(null=True)

    class Meta:
        ordering = ["session", "seq"]
        constraints = [
            models.UniqueConstraint(fields=["session", "seq"], name="wire_record_seq_is_unique"),
        ]

    def __str__(self) -> str:
        return f"record {self.seq} of session {self.session_id}"
