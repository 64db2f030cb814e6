"""Lets transactional tests empty the database although its triggers refuse that.

Django empties all tables after each test that commits, and rows that are written once refuse
(`twins.row_guards`): around that flush, and only there, the triggers are lifted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.operations import BaseDatabaseOperations

from tests import migrated


@pytest.fixture(autouse=True, scope="session")
def flush_lifts_triggers() -> Iterator[None]:
    """From here on every flush of this session works, on any of its databases."""
    original = BaseDatabaseOperations.execute_sql_flush

    def execute_sql_flush(self: BaseDatabaseOperations, sql_list: list[str]) -> Any:
        with triggers_lifted(self.connection):
            original(self, sql_list)
        if self.connection.vendor == "sqlite":
            # What migrations wrote, the roles for one, is there again for the next test of this process. The
            # reruns on PostgreSQL are one process, where tests that commit come last.
            migrated.load_sqlite(self.connection.connection)

    BaseDatabaseOperations.execute_sql_flush = execute_sql_flush  # type: ignore[method-assign]
    yield
    BaseDatabaseOperations.execute_sql_flush = original  # type: ignore[method-assign]


@contextmanager
def triggers_lifted(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """All triggers of this database off, then exactly those back again."""
    lift, restore = _SWITCHES[connection.vendor](connection)
    _run(connection, lift)
    try:
        yield
    finally:
        _run(connection, restore)


def installed_triggers(connection: BaseDatabaseWrapper) -> set[str]:
    """The names of the triggers that really are in this database."""
    query = {
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D'",
    }[connection.vendor]
    return {name for (name,) in _rows(connection, query)}


def _sqlite(connection: BaseDatabaseWrapper) -> tuple[list[str], list[str]]:
    triggers = _rows(connection, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    return [f'DROP TRIGGER "{name}"' for name, _ in triggers], [sql for _, sql in triggers]


def _postgresql(connection: BaseDatabaseWrapper) -> tuple[list[str], list[str]]:
    tables = _rows(
        connection, "SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"
    )
    return (
        # No table is altered while checks of it are put off to the end of the transaction.
        [
            "SET CONSTRAINTS ALL IMMEDIATE",
            *(f"ALTER TABLE {table} DISABLE TRIGGER USER" for (table,) in tables),
        ],
        [f"ALTER TABLE {table} ENABLE TRIGGER USER" for (table,) in tables],
    )


_SWITCHES = {"sqlite": _sqlite, "postgresql": _postgresql}


def _rows(connection: BaseDatabaseWrapper, query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _run(connection: BaseDatabaseWrapper, statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
