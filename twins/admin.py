"""Twins in the admin: edited as text, kept in versions.

The text of a twin holds its planted secrets. Who may change twins reads it as written; everybody else reads a
rendering of the content with the secrets redacted (docs/decisions/0402).
"""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from twins.document_admin import DocumentAdmin
from twins.engine.redaction import redactor
from twins.models import Twin, TwinVersion
from twins.services import planted_secrets, save_twin
from twins.versioning import NOTHING

STARTER = """\
apiVersion: agenttwin.dev/v1
kind: TwinDefinition
metadata:
  name: my-twin
  description: What these tools stand in for.
spec:
  initialState:
    orders:
      ORD-1: {id: ORD-1, status: paid, total: 40}
  tools:
    lookup_order:
      description: Find an order by its id.
      inputSchema:
        type: object
        properties:
          order_id: {type: string}
        required: [order_id]
      handler:
        kind: read
        path: orders.{order_id}
"""


@admin.register(Twin)
class TwinAdmin(DocumentAdmin):
    version_model = TwinVersion
    parent_field = "twin"
    starter = STARTER
    links = []
    remarks = []
    list_display = ["name", "version", "saved"]

    def save_document(
        self, *, text: str, name: str | None, based_on: str, actor: Any
    ) -> tuple[TwinVersion, bool]:
        return save_twin(text=text, name=name, based_on=started_from(based_on), actor=actor)

    def shown_text(self, version: TwinVersion, request: HttpRequest) -> str:
        secrets = self._hidden(version, request)
        if not secrets:
            return version.source_text
        # Rendered anew: a text can spell a secret in ways (escapes, folded lines) that a search would miss.
        return json.dumps(redactor(secrets)(version.document), ensure_ascii=False, indent=2) + "\n"

    def shown_document(self, version: TwinVersion, request: HttpRequest) -> Any:
        secrets = self._hidden(version, request)
        return redactor(secrets)(version.document) if secrets else version.document

    def _hidden(self, version: TwinVersion, request: HttpRequest) -> tuple[str, ...]:
        return () if self.has_change_permission(request) else planted_secrets(version.document)


def started_from(text: str) -> int:
    """The version number an edit page was opened with; empty where there was none yet."""
    return int(text) if text.isdecimal() else NOTHING
