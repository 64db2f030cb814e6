"""Columns for what must come back exactly as it went in, or say that it does not."""

import json
from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    _Text = models.TextField[Any, Any]
else:
    _Text = models.TextField


class ExactJSONField(_Text):
    """A JSON value kept as compact text: the order of keys, ``1.0`` against ``1`` and NUL characters survive.

    PostgreSQL's ``jsonb`` sorts keys and refuses ``\\u0000``. Both matter here: half of an answer's compact
    JSON is what a caller sees of a partial answer, so a reordered document would misbehave differently, and
    records are promised byte for byte. What is searched by the database belongs in
    ``agenttwin_site.fields.JSONField`` instead. ``None`` is SQL NULL.
    """

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        """Keep bulk inserts off PostgreSQL's UNNEST, which escapes every quote in Python."""
        return "%s"

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        return value

    def get_prep_value(self, value: Any) -> Any:
        if value is None or hasattr(value, "resolve_expression"):
            return value
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def value_to_string(self, obj: models.Model) -> Any:
        """The value itself, as Django's own JSON column does: a fixture holds JSON, not JSON in a text."""
        return self.value_from_object(obj)


class AlwaysReadableTextField(_Text):
    """A text that can be read whatever somebody wrote over it, so that a changed byte is seen and told.

    SQLite stores any bytes as a text and refuses to read back what is no UTF-8, which would take every list
    with that row along. To migrations it is a plain text.
    """

    def select_format(self, compiler: Any, sql: str, params: Any) -> tuple[str, Any]:
        return (f"CAST({sql} AS BLOB)" if compiler.connection.vendor == "sqlite" else sql), params

    def from_db_value(self, value: bytes | str | None, expression: Any, connection: Any) -> Any:
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs
