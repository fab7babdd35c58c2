"""What tables and columns there are, as an analyst sees them: SHOW TABLES, and the views of information_schema."""

from __future__ import annotations

from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.release import Release

SCHEMA = "information_schema"
SCHEMAS = frozenset({"main", "public"})
"""The names under which tools look for the one schema that there is."""
_CATALOG = "memory"
_VIEWS = {
    "tables": {
        "table_catalog": "VARCHAR", "table_schema": "VARCHAR", "table_name": "VARCHAR", "table_type": "VARCHAR",
        "self_referencing_column_name": "VARCHAR", "reference_generation": "VARCHAR", "is_insertable_into": "VARCHAR",
        "is_typed": "VARCHAR", "commit_action": "VARCHAR", "table_comment": "VARCHAR",
    },
    "columns": {
        "table_catalog": "VARCHAR", "table_schema": "VARCHAR", "table_name": "VARCHAR", "column_name": "VARCHAR",
        "ordinal_position": "INTEGER", "column_default": "VARCHAR", "is_nullable": "VARCHAR", "data_type": "VARCHAR",
        "character_maximum_length": "INTEGER", "character_octet_length": "INTEGER", "numeric_precision": "INTEGER",
        "numeric_precision_radix": "INTEGER", "numeric_scale": "INTEGER", "datetime_precision": "INTEGER",
        "column_comment": "VARCHAR",
    },
    "schemata": {
        "catalog_name": "VARCHAR", "schema_name": "VARCHAR", "schema_owner": "VARCHAR",
        "default_character_set_catalog": "VARCHAR", "default_character_set_schema": "VARCHAR",
        "default_character_set_name": "VARCHAR", "sql_path": "VARCHAR",
    },
}  # fmt: skip


def catalog_view(release: Release, name: str) -> tuple[str, list[str], int] | None:
    """A view of information_schema: a query of constants, its columns, and how many rows it has."""
    columns = _VIEWS.get(folded(name))
    if columns is None:
        return None
    rows = _rows(release, folded(name))
    listed = ", ".join(f"({', '.join(map(_constant, row))}{', NULL' * (len(columns) - len(row))})" for row in rows)
    typed = ", ".join(f"CAST(c{i} AS {kind})" for i, kind in enumerate(columns.values()))
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    return f"SELECT {typed} FROM (VALUES {listed}) AS t({names})", list(columns), len(rows)


def tables_shown(release: Release) -> str:
    """The query that SHOW TABLES is."""
    names = sorted(name for name, _ in _tables(release))
    return f"SELECT name FROM (VALUES {', '.join(f'({_constant(n)})' for n in names)}) AS t(name) ORDER BY name"


def _tables(release: Release) -> list[tuple[str, dict[str, str]]]:
    own = (release.table, {a.name: a.type for a in release.attributes})
    return [own, *((t.name, dict(t.columns)) for t in release.public.values())]


def _rows(release: Release, view: str) -> list[tuple[str | int | None, ...]]:
    if view == "schemata":
        return [(_CATALOG, "main", "duckdb")]
    tables = _tables(release)
    if view == "tables":
        return [(_CATALOG, "main", name, "BASE TABLE", None, None, "NO", "NO") for name, _ in tables]
    return [
        (_CATALOG, "main", table, name, place, None, "YES", kind)
        for table, columns in tables
        for place, (name, kind) in enumerate(columns.items(), 1)
    ]


def _constant(value: str | int | None) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else str(value)
