"""Changing rows behind the application's back, as somebody with the database's password would."""

from typing import Any

from django.db import connection

from tests.triggers import triggers_lifted


def tamper(sql: str, *values: Any) -> None:
    """Run a statement with all triggers lifted, in the middle of a test's transaction."""
    _settle()
    with triggers_lifted(connection):
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
        _settle()


def _settle() -> None:
    # PostgreSQL lifts no trigger of a table while checks of its foreign keys wait for the commit.
    if connection.vendor == "postgresql":
        connection.check_constraints()
