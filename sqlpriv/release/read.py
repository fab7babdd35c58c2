"""Read what a release file says of itself, for the rewriter; several views of one sequence become one relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.core.sqltext import NUMERIC_TYPE, folded, literal, quoted, reader
from sqlpriv.macros.catalog import inlined
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.rewrite.release import Attribute, NoisyRelease, PublicFacts, PublicTable, Release, Weights

MEMORY = "memory"
_MOST_SEARCHED = 1_000_000  # rows of a public table whose keys are looked for: joins by them are known to cost little
_WEIGHT_COLUMNS = ("__weight", "__variance", "__skew")


def describe(files: Sequence[ReleaseFile]) -> NoisyRelease:
    """A weighted relation with its domain: one file, or the views of one sequence, attached to one connection."""
    first = files[0]
    con, parameters, views = first.con, first.parameters, len(files)
    if not first.about.get("table"):
        raise ReleaseError("the release does not say which table it is of; publish it again")
    for other in files[1:]:
        _refuse_other_sequence(first, other)
    numbers = [f.parameters.get("view") for f in files]
    if len(set(numbers)) < views:
        raise ReleaseError("a view is given twice; name each view of the sequence once")
    if views > 1 and (parameters.get("cross_estimate") or parameters.get("cross_square")):
        raise ReleaseError("only views of an alpha-beta sequence can be combined")
    if not first.attributes:
        raise ReleaseError("the release publishes no column")
    attributes = tuple(
        replace(
            attribute(con, c["name"], c["type"], c["size"], quoted(first.catalog, "domain", c["name"])),
            labels=_labels(first, c),
        )
        for c in first.attributes
    )
    published = f"{first.catalog}.{SCHEMA}.published"
    if views > 1:
        names = ", ".join(quoted(a.name) for a in attributes)
        weights = ", ".join(
            inlined(f'_of_views("{c}", {views}, {power})') + f' AS "{c}"' for power, c in enumerate(_WEIGHT_COLUMNS, 1)
        )
        parts = [f"SELECT {names}, {weights} FROM {f.catalog}.{SCHEMA}.published" for f in files]
        published = f"{MEMORY}.main.combined"
        con.execute(f"CREATE VIEW {published} AS {' UNION ALL '.join(parts)}").fetchall()
    tables = " UNION ALL ".join(f"FROM {f.catalog}.{SCHEMA}.domain_weights" for f in files)
    named = enumerate(("weight", "variance", "skew"), 1)
    sums = ", ".join(inlined(f"sum(_of_views({part}, {views}, {power}))") for power, part in named)
    of_domain = fetch(con, f"SELECT power, {sums} FROM ({tables}) GROUP BY power ORDER BY power")
    listed = ", ".join(f'min("{c}"), max("{c}")' for c in _WEIGHT_COLUMNS)
    ends = fetch(con, f"SELECT {listed} FROM {published}")[0]
    constant = None
    if ends[0] is None:  # no rows, so any weights will do
        constant = Weights(0.0, 0.0, 0.0)
    elif ends[0::2] == ends[1::2]:
        constant = Weights(*ends[0::2])
    return NoisyRelease(
        table=first.about["table"],
        attributes=attributes,
        published=published,
        domain_weights={power: Weights(*values) for power, *values in of_domain},
        constant=constant,
        largest=0 if ends[1] is None else ends[1],
        cross_estimate=parameters.get("cross_estimate") or 0.0,
        cross_square=parameters.get("cross_square") or 0.0,
        public=public_tables(con, first.catalog, "public"),
        facts=PublicFacts(con),
    )


def _labels(file: ReleaseFile, column: Mapping[str, Any]) -> str:
    """What the labels of a column are, where they stand for ranges of numbers or dates."""
    domain = quoted(file.catalog, "domain", column["name"])
    is_level = str(column.get("declared", "")).startswith("level of range:")
    if not is_level or column["type"] != "VARCHAR":
        return ""
    found = fetch(file.con, f"SELECT value FROM {domain} WHERE value IS NOT NULL ORDER BY value LIMIT 1")
    return f"ranges, such as {literal(found[0][0])}" if found else ""


def _refuse_other_sequence(first: ReleaseFile, other: ReleaseFile) -> None:
    why = "the releases are no views of one sequence"
    one, two = ([(c["position"], c["name"], c["type"], c["size"]) for c in f.attributes] for f in (first, other))
    if first.about["table"] != other.about.get("table"):
        raise ReleaseError(f"{why}: their table differ")
    if one != two:
        raise ReleaseError(f"{why}: their columns differ")
    for _, name, _, _ in one:
        own, others = (quoted(f.catalog, "domain", name) for f in (first, other))
        if fetch(first.con, f"SELECT count(*) FROM (FROM {own} EXCEPT FROM {others})")[0][0]:
            raise ReleaseError(f"{why}: the domains of {name!r} differ")


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
            continue
        try:
            con.register("__priv_given", data)
            con.execute(f"CREATE TABLE {target} AS FROM __priv_given").fetchall()
            con.unregister("__priv_given")
        except (duckdb.Error, TypeError):
            raise InputError(
                f"the public table {name!r} is neither a file nor a data frame nor an Arrow table"
            ) from None


def attribute(con: duckdb.DuckDBPyConnection, name: str, kind: str, size: int, domain: str) -> Attribute:
    """A published column, from the relation of its domain."""
    least = 'coalesce(min("value") >= 0, true)' if NUMERIC_TYPE.fullmatch(kind) else "false"
    share = "noise" if "noise" in {r[0] for r in fetch(con, f"DESCRIBE {domain}")} else "share"
    query = f'SELECT count(*) > count("value"), count("{share}") > 0, {least} FROM {domain}'
    has_null, has_shares, never_below_zero = fetch(con, query)[0]
    return Attribute(name, kind, size, domain, has_null, share if has_shares else None, never_below_zero)


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
        relation = quoted(catalog, schema, table)
        size = fetch(con, f"SELECT count(*) FROM {relation}")[0][0]
        keys: frozenset[str] = frozenset()
        if size <= _MOST_SEARCHED:  # the columns without a value twice; NULLs meet nothing
            unique = ", ".join(f"count(DISTINCT {quoted(c)}) = count({quoted(c)})" for c in kinds)
            are_keys = fetch(con, f"SELECT {unique} FROM {relation}")[0]
            keys = frozenset(c for c, is_key in zip(kinds, are_keys, strict=True) if is_key)
        found[folded(table)] = PublicTable(table, (catalog, schema, table), kinds, size, keys)
    return found
