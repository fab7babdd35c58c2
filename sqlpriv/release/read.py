"""Read what a release file says of itself, for the rewriter; several views of one sequence become one relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.core.sqltext import NUMERIC_TYPE, folded, literal, quoted, reader
from sqlpriv.macros.catalog import inlined
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.rewrite.public_facts import PublicFacts
from sqlpriv.rewrite.release import Attribute, NoisyRelease, PublicTable, Release, Weights

MEMORY = "memory"
_MOST_SEARCHED = 1_000_000  # rows of a public table whose keys are looked for: joins by them are known to cost little
_WEIGHT_COLUMNS = ("__weight", "__variance", "__skew")


def describe(files: Sequence[ReleaseFile]) -> NoisyRelease:
    """A weighted relation with its domain: one file, or the views of one sequence, attached to one connection."""
    con, catalogs = files[0].con, [f.catalog for f in files]
    first, about, parameters = catalogs[0], files[0].about, files[0].parameters
    if not about.get("table"):
        raise ReleaseError("the release does not say which table it is of; publish it again")
    for other in catalogs[1:]:
        _refuse_other_sequence(con, first, other)
    if len(catalogs) > 1:
        _refuse_the_same_view(con, catalogs)
    if len(catalogs) > 1 and (parameters.get("cross_estimate") or parameters.get("cross_square")):
        raise ReleaseError("only views of an alpha-beta sequence can be combined")
    attributes = _attributes(con, first)
    published = _published(con, catalogs, attributes)
    return NoisyRelease(
        table=about["table"],
        attributes=attributes,
        published=published,
        domain_weights=_domain_weights(con, catalogs),
        constant=_constant(con, published),
        largest=fetch(con, f'SELECT coalesce(max("__weight"), 0) FROM {published}')[0][0],
        cross_estimate=parameters.get("cross_estimate") or 0.0,
        cross_square=parameters.get("cross_square") or 0.0,
        public=public_tables(con, first, "public"),
        facts=PublicFacts(con),
    )


def attach_public(
    con: duckdb.DuckDBPyConnection, tables: Mapping[str, Any], release: Release, catalog: str
) -> dict[str, PublicTable]:
    """Read public tables into a database in memory, for queries to join."""
    for name in tables:
        if folded(name) in {folded(release.table), *release.public}:
            raise InputError(f"there is already a table called {name!r}; give the public table another name")
    read_public(con, tables, catalog)
    return public_tables(con, catalog, "public")


def read_public(con: duckdb.DuckDBPyConnection, tables: Mapping[str, Any], catalog: str) -> None:
    """Read tables into a database in memory: from files by their path, or from what DuckDB can scan."""
    if catalog != MEMORY and tables:
        fetch(con, f"ATTACH ':memory:' AS {catalog} (READ_WRITE)")
    for name, data in tables.items():
        fetch(con, f"CREATE SCHEMA IF NOT EXISTS {catalog}.public")
        target = quoted(catalog, "public", name)
        if isinstance(data, (str, Path)):
            if not Path(data).is_file():
                raise InputError(f"there is no file {str(data)!r} for the public table {name!r}")
            fetch(con, f"CREATE TABLE {target} AS FROM {reader(str(data), {})}")
        else:
            _register(con, target, name, data)


def _register(con: duckdb.DuckDBPyConnection, target: str, name: str, data: Any) -> None:
    try:
        con.register("__priv_given", data)
        con.execute(f"CREATE TABLE {target} AS FROM __priv_given").fetchall()
        con.unregister("__priv_given")
    except (duckdb.Error, TypeError):
        raise InputError(f"the public table {name!r} is neither a file nor a data frame nor an Arrow table") from None


def _attributes(con: duckdb.DuckDBPyConnection, catalog: str) -> tuple[Attribute, ...]:
    listed = fetch(con, f"SELECT name, type, size FROM {catalog}.{SCHEMA}.attributes ORDER BY position")
    if not listed:
        raise ReleaseError("the release publishes no column")
    return tuple(attribute(con, name, kind, size, quoted(catalog, "domain", name)) for name, kind, size in listed)


def attribute(con: duckdb.DuckDBPyConnection, name: str, kind: str, size: int, domain: str) -> Attribute:
    """A published column, from the relation of its domain."""
    least = 'coalesce(min("value") >= 0, true)' if NUMERIC_TYPE.fullmatch(kind) else "false"
    share = "noise" if "noise" in {r[0] for r in fetch(con, f"DESCRIBE {domain}")} else "share"
    asked = f'SELECT count(*) > count("value"), count("{share}") > 0, {least} FROM {domain}'
    has_null, has_shares, never_below_zero = fetch(con, asked)[0]
    return Attribute(name, kind, size, domain, has_null, share if has_shares else None, never_below_zero)


def _published(con: duckdb.DuckDBPyConnection, catalogs: Sequence[str], attributes: Sequence[Attribute]) -> str:
    if len(catalogs) == 1:
        return f"{catalogs[0]}.{SCHEMA}.published"
    names = ", ".join(quoted(a.name) for a in attributes)
    views = len(catalogs)
    weights = ", ".join(
        inlined(f'_of_views("{c}", {views}, {power})') + f' AS "{c}"' for power, c in enumerate(_WEIGHT_COLUMNS, 1)
    )
    parts = [f"SELECT {names}, {weights} FROM {catalog}.{SCHEMA}.published" for catalog in catalogs]
    con.execute(f"CREATE VIEW {MEMORY}.main.combined AS {' UNION ALL '.join(parts)}").fetchall()
    return f"{MEMORY}.main.combined"


def _domain_weights(con: duckdb.DuckDBPyConnection, catalogs: Sequence[str]) -> dict[int, Weights]:
    weights = " UNION ALL ".join(f"FROM {catalog}.{SCHEMA}.domain_weights" for catalog in catalogs)
    named = enumerate(("weight", "variance", "skew"), 1)
    sums = ", ".join(inlined(f"sum(_of_views({part}, {len(catalogs)}, {power}))") for power, part in named)
    rows = fetch(con, f"SELECT power, {sums} FROM ({weights}) GROUP BY power ORDER BY power")
    return {power: Weights(*values) for power, *values in rows}


def _constant(con: duckdb.DuckDBPyConnection, published: str) -> Weights | None:
    """The weights of all rows of the view, if they are the same. Without rows any will do."""
    listed = ", ".join(f'min("{c}"), max("{c}")' for c in _WEIGHT_COLUMNS)
    row = fetch(con, f"SELECT {listed} FROM {published}")[0]
    if row[0] is None:
        return Weights(0.0, 0.0, 0.0)
    return Weights(row[0], row[2], row[4]) if row[0::2] == row[1::2] else None


def public_tables(con: duckdb.DuckDBPyConnection, catalog: str, schema: str) -> dict[str, PublicTable]:
    """The tables of a schema, by folded name."""
    rows = fetch(
        con,
        "SELECT table_name, column_name, data_type FROM duckdb_columns() "
        f"WHERE database_name = {literal(catalog)} AND schema_name = {literal(schema)} "
        "ORDER BY table_name, column_index",
    )
    columns: dict[str, dict[str, str]] = {}
    for table, name, kind in rows:
        columns.setdefault(table, {})[name] = kind
    found = {}
    for table, kinds in columns.items():
        size = fetch(con, f"SELECT count(*) FROM {quoted(catalog, schema, table)}")[0][0]
        keys = _keys(con, quoted(catalog, schema, table), list(kinds)) if size <= _MOST_SEARCHED else frozenset()
        found[folded(table)] = PublicTable(table, (catalog, schema, table), kinds, size, keys)
    return found


def _keys(con: duckdb.DuckDBPyConnection, table: str, columns: Sequence[str]) -> frozenset[str]:
    """The columns without a value twice; NULLs meet nothing."""
    listed = ", ".join(f"count(DISTINCT {quoted(c)}) = count({quoted(c)})" for c in columns)
    return frozenset(
        c for c, is_key in zip(columns, fetch(con, f"SELECT {listed} FROM {table}")[0], strict=True) if is_key
    )


def _refuse_other_sequence(con: duckdb.DuckDBPyConnection, first: str, other: str) -> None:
    for what, text in (
        ("table", f"SELECT value FROM {{}}.{SCHEMA}.about WHERE name = 'table'"),
        ("columns", f"SELECT position, name, type, size FROM {{}}.{SCHEMA}.attributes ORDER BY position"),
    ):
        if fetch(con, text.format(first)) != fetch(con, text.format(other)):
            raise ReleaseError(f"the releases are no views of one sequence: their {what} differ")
    for (name,) in fetch(con, f"SELECT name FROM {first}.{SCHEMA}.attributes"):
        one, two = (quoted(c, "domain", name) for c in (first, other))
        differ = f"(SELECT count(*) FROM (FROM {one} EXCEPT FROM {two}))"
        if fetch(con, f"SELECT {differ}")[0][0]:
            raise ReleaseError(f"the releases are no views of one sequence: the domains of {name!r} differ")


def _refuse_the_same_view(con: duckdb.DuckDBPyConnection, catalogs: Sequence[str]) -> None:
    found = [fetch(con, f"SELECT value FROM {c}.{SCHEMA}.parameters WHERE name = 'view'") for c in catalogs]
    numbers = [row[0][0] if row else None for row in found]
    if len(set(numbers)) < len(numbers):
        raise ReleaseError("a view is given twice; name each view of the sequence once")
