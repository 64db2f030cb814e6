"""A column for JSON values that must come back exactly as they went in."""

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
