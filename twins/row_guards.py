"""Rows that are written once: triggers that make the database itself refuse to change them.

Two guards, each the same rule on SQLite and PostgreSQL:

* `Frozen(table)`: no row is updated or deleted. `except_columns` names columns that may still change.
* `Frozen(table, when="state = 'FINISHED'")`: the same for rows of the condition, which starts with a column.

On PostgreSQL the table is not truncated either. On SQLite, where ``INSERT OR REPLACE`` deletes rows without
firing a delete trigger, an insert that would replace a row is refused too. A refusal is an
``IntegrityError`` whose text names the table.

A migration that rebuilds a guarded table on SQLite (Django does so for most changes of a column) loses its
triggers: it installs the guard again as its last operation. A test looks at what is really installed.
"""

from dataclasses import dataclass
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor


@dataclass(frozen=True, slots=True)
class Frozen:
    """A guard of one table.

    `unique` lists column tuples by which an insert may collide with a stored row (SQLite's replace);
    `partly_unique` those that are unique among the rows of a condition only, each with that condition.
    `same_key_is_ignored` makes such an insert do nothing instead of failing: right where the key is a hash
    of the content.
    """

    table: str
    except_columns: tuple[str, ...] = ()
    when: str = ""
    unique: tuple[tuple[str, ...], ...] = ()
    partly_unique: tuple[tuple[tuple[str, ...], str], ...] = ()
    same_key_is_ignored: bool = False


def install(guard: Frozen, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Create the triggers of the guard, replacing older ones."""
    remove(guard, schema_editor)
    for statement in _dialect(schema_editor).create(guard, schema_editor):
        schema_editor.execute(statement, None)


def remove(guard: Frozen, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Drop the triggers of the guard where there are any."""
    for statement in _dialect(schema_editor).drop(guard):
        schema_editor.execute(statement, None)


def trigger_names(guard: Frozen, vendor: str) -> set[str]:
    """What must be installed for the guard to hold."""
    return {f"{guard.table}_{suffix}" for suffix in _DIALECTS[vendor].suffixes(guard)}


class _SQLite:
    @staticmethod
    def suffixes(guard: Frozen) -> tuple[str, ...]:
        return ("no_update", "no_delete", "no_replace") if guard.unique else ("no_update", "no_delete")

    @staticmethod
    def create(guard: Frozen, schema_editor: BaseDatabaseSchemaEditor) -> list[str]:
        table = guard.table
        columns = [name for name in _columns(guard, schema_editor) if name not in guard.except_columns]
        # Only a trigger over all columns sees columns added later, so the narrow form is kept for exceptions.
        changed = " OR ".join(f'OLD."{name}" IS NOT NEW."{name}"' for name in columns)
        conditions = [f"OLD.{guard.when}"] if guard.when else []
        on_update = [*conditions, f"({changed})"] if guard.except_columns else conditions
        statements = [
            _sqlite_trigger(f"{table}_no_update", "UPDATE", table, on_update, _abort(table, "changed")),
            _sqlite_trigger(f"{table}_no_delete", "DELETE", table, conditions, _abort(table, "deleted")),
        ]
        if guard.unique:
            keys = [*((key, "") for key in guard.unique), *guard.partly_unique]
            collides = " OR ".join(_collision(key, among) for key, among in keys)
            action = "RAISE(IGNORE)" if guard.same_key_is_ignored else _abort(table, "replaced")
            stored = f"({collides}) AND {guard.when}" if guard.when else collides
            condition = f'EXISTS (SELECT 1 FROM "{table}" WHERE {stored})'  # noqa: S608 - names from migrations
            statements.append(_sqlite_trigger(f"{table}_no_replace", "INSERT", table, [condition], action))
        return statements

    @staticmethod
    def drop(guard: Frozen) -> list[str]:
        suffixes = ("no_update", "no_delete", "no_replace")
        return [f'DROP TRIGGER IF EXISTS "{guard.table}_{suffix}"' for suffix in suffixes]


class _PostgreSQL:
    # One function for all tables: a row is compared whole, without the columns that may change, so a column
    # added later is frozen from the start.
    FUNCTION = """
        CREATE OR REPLACE FUNCTION agenttwin_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $body$
        BEGIN
            IF TG_OP = 'UPDATE' AND TG_NARGS > 0 THEN
                IF to_jsonb(OLD) - TG_ARGV = to_jsonb(NEW) - TG_ARGV THEN
                    RETURN NEW;
                END IF;
            END IF;
            RAISE EXCEPTION '% is written once: a row cannot be changed or removed (%)', TG_TABLE_NAME, TG_OP
                USING ERRCODE = 'integrity_constraint_violation';
        END
        $body$
    """

    @staticmethod
    def suffixes(guard: Frozen) -> tuple[str, ...]:
        return ("no_update", "no_delete", "no_truncate")

    @classmethod
    def create(cls, guard: Frozen, schema_editor: BaseDatabaseSchemaEditor) -> list[str]:
        table = guard.table
        when = f"WHEN (OLD.{guard.when})" if guard.when else ""
        allowed = ", ".join(f"'{name}'" for name in guard.except_columns)
        return [
            cls.FUNCTION,
            f'CREATE TRIGGER "{table}_no_update" BEFORE UPDATE ON "{table}" FOR EACH ROW {when} '
            f"EXECUTE FUNCTION agenttwin_refuse_change({allowed})",
            f'CREATE TRIGGER "{table}_no_delete" BEFORE DELETE ON "{table}" FOR EACH ROW {when} '
            "EXECUTE FUNCTION agenttwin_refuse_change()",
            f'CREATE TRIGGER "{table}_no_truncate" BEFORE TRUNCATE ON "{table}" FOR EACH STATEMENT '
            "EXECUTE FUNCTION agenttwin_refuse_change()",
        ]

    @classmethod
    def drop(cls, guard: Frozen) -> list[str]:
        return [
            f'DROP TRIGGER IF EXISTS "{guard.table}_{suffix}" ON "{guard.table}"'
            for suffix in cls.suffixes(guard)
        ]


_DIALECTS: dict[str, Any] = {"sqlite": _SQLite, "postgresql": _PostgreSQL}


def _dialect(schema_editor: BaseDatabaseSchemaEditor) -> Any:
    vendor = schema_editor.connection.vendor
    if vendor not in _DIALECTS:
        raise NotImplementedError(
            f"AgentTwin keeps its records on {' or '.join(_DIALECTS)}; this database is {vendor}"
        )
    return _DIALECTS[vendor]


def _columns(guard: Frozen, schema_editor: BaseDatabaseSchemaEditor) -> list[str]:
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        return [column.name for column in connection.introspection.get_table_description(cursor, guard.table)]


def _sqlite_trigger(name: str, event: str, table: str, conditions: list[str], action: str) -> str:
    when = f" WHEN {' AND '.join(conditions)}" if conditions else ""
    return f'CREATE TRIGGER "{name}" BEFORE {event} ON "{table}"{when} BEGIN SELECT {action}; END'


def _collision(key: tuple[str, ...], among: str) -> str:
    conditions = [f'"{name}" = NEW."{name}"' for name in key]
    return f"({' AND '.join([*conditions, among] if among else conditions)})"


def _abort(table: str, done: str) -> str:
    return f"RAISE(ABORT, '{table} is written once: a row cannot be {done}')"
