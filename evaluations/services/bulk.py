"""Many rows written or changed at once, past the parts of the ORM that cost more than running the cases.

`bulk_create` builds a model object and a parameter list per row and, on SQLite, a statement per 999 values;
`bulk_update` writes one CASE WHEN per column and row. Here the rows are plain tuples: COPY on PostgreSQL, one
prepared statement on SQLite. Constraints and triggers hold all the same; values go through the fields' own
conversion where they have one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from django.db import connection, models

from twins.columns import ExactJSONField
from twins.engine.values import compact_json

Item = TypeVar("Item")


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """`items` in lists of at most `size`, in order."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def insert_rows(model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows given as values of these fields (by attribute name, such as ``case_id``), in their order.

    All other columns take the database's default, so every column without one must be named.
    """
    columns, convert = _columns(model, tuple(names))
    parameters = [convert(row) for row in rows]
    if not parameters:
        return
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            statement = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
            # Django's cursor hands COPY through as it is, and so the driver's own errors.
            with connection.wrap_database_errors, cursor.copy(statement) as copy:
                for row in parameters:
                    copy.write_row(row)
        else:
            marks = ", ".join(["%s"] * len(columns))
            statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608
            cursor.executemany(statement, parameters)


def update_rows(model: type[models.Model], rows: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
    """Set the given fields (by attribute name) of rows by primary key. All rows must set the same fields."""
    rows = list(rows)
    if not rows:
        return
    columns, convert = _columns(model, tuple(rows[0][1]))
    quote, key = connection.ops.quote_name, model._meta.pk
    assert key is not None
    assert key.column is not None
    settings = ", ".join(f"{column} = %s" for column in columns)
    statement = f"UPDATE {quote(model._meta.db_table)} SET {settings} WHERE {quote(key.column)} = %s"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.executemany(statement, [(*convert(tuple(values.values())), pk) for pk, values in rows])


def _columns(
    model: type[models.Model], names: tuple[str, ...]
) -> tuple[list[str], Callable[[Sequence[Any]], tuple[Any, ...]]]:
    """The quoted columns of these fields, and what turns a row of their values into parameters."""
    fields = _fields(model, names)
    converted = [(index, _conversion(field)) for index, field in enumerate(fields) if not _is_plain(field)]

    def convert(row: Sequence[Any]) -> tuple[Any, ...]:
        values = list(row)
        for index, conversion in converted:
            if values[index] is not None:
                values[index] = conversion(values[index])
        return tuple(values)

    return [connection.ops.quote_name(field.column) for field in fields], convert


def _is_plain(field: models.Field[Any, Any]) -> bool:
    """Whether the driver takes the value as it is. A subclass of TextField may keep other things in it."""
    plain = (models.CharField, models.IntegerField, models.BooleanField, models.ForeignKey)
    return isinstance(field, plain) or type(field) is models.TextField


def _conversion(field: models.Field[Any, Any]) -> Callable[[Any], Any]:
    if isinstance(field, ExactJSONField):
        return compact_json  # what the field does, with an encoder that is made once
    return lambda value: field.get_db_prep_save(value, connection)


@lru_cache(maxsize=64)
def _fields(model: type[models.Model], names: tuple[str, ...]) -> tuple[Any, ...]:
    by_name = {field.attname: field for field in model._meta.concrete_fields}
    return tuple(by_name[name] for name in names)
