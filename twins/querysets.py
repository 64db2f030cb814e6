"""Queries over twins and their versions."""

import json
from typing import TYPE_CHECKING, Any

from django.db import connection, models
from django.db.models.functions import Cast

if TYPE_CHECKING:
    from twins.models import Twin, TwinVersion  # noqa: F401 - named in quotes below


class TwinQuerySet(models.QuerySet["Twin"]):
    def with_current_version(self) -> "TwinQuerySet":
        """Twins with their current version and its author loaded."""
        return self.select_related("current_version__created_by")


class TwinVersionQuerySet(models.QuerySet["TwinVersion"]):
    def without_content(self) -> "TwinVersionQuerySet":
        """Versions for a list: the document (up to 1 MiB, twice) stays in the database."""
        return self.defer("document", "source_text")

    def with_people(self) -> "TwinVersionQuerySet":
        return self.select_related("twin", "created_by")

    def current_of(self, name: str) -> Any:
        """The current version of the twin of this name, or None."""
        return (
            self.filter(twin__name=name, twin__current_version=models.F("pk")).select_related("twin").first()
        )


def lookup_text(text: str) -> str:
    """What a database can be asked for: without NUL and lone surrogates, which no stored text holds."""
    return text.encode("utf-8", "ignore").decode("utf-8").replace("\x00", "")


def holding(rows: Any, column: str, text: str) -> Any:
    """Rows whose JSON list `column` holds `text`."""
    if connection.features.supports_json_field_contains:
        return rows.filter(**{f"{column}__contains": [text]})
    # SQLite has no containment for JSON: there the quoted text is looked for in the stored one.
    return rows.alias(_as_text=Cast(column, models.TextField())).filter(_as_text__contains=json.dumps(text))
