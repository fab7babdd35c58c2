"""What is written into the releases of every method: rows in an order that reveals nothing, the tables in which a file
describes itself, and, last, the stamp.

Many rows of which most are equal are counted. A file that says how often each kind of row is there is a fraction of the
size, and every answer takes a fraction of the time. People who read rows have a view that repeats them.

The stamp is

    date     the day on which the release was entered in the ledger
    policy   the public part of the policy, as JSON
    digest   of the rows of table published, whatever their order, with their weights
    digests  a table of its own: of the other published rows, the domains and the public tables
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import duckdb

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.relation import Scratch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.policy.file import Declared, Policy, public_part
from sqlpriv.policy.require import public_argument
from sqlpriv.release.digest import table_digest
from sqlpriv.release.file import COPIES, FORMAT, SCHEMA, WRITTEN, ReleaseFile, double
from sqlpriv.release.layout import COMMON_TABLES, REQUIREMENTS, TOGETHER, Contents
from sqlpriv.release.ledger.entry import Spent
from sqlpriv.table.engines.rows import COUNT
from sqlpriv.table.engines.types import reads_apart
from sqlpriv.version import __version__

REPEATED = 2
"""Rows are counted where each kind is there so often on average."""


def in_order(columns: Sequence[str], kinds: Mapping[str, str]) -> str:
    """ORDER BY these columns, and where equal values read differently, by how they read."""
    texts = [f"CAST({quoted(c)} AS VARCHAR)" for c in columns if reads_apart(kinds[c])]
    return ", ".join([*map(quoted, columns), *texts])


def write_in_order(con: duckdb.DuckDBPyConnection, table: str, rows: str, *, may_count: bool = False) -> int:
    """Write a table of rows, given by a query, in the order of all their columns; how many there are.

    A column COUNT is no part of the rows: each is written so often. With `may_count` each kind of row is written once,
    with COPIES, where that is worth it.
    """
    kinds = {str(r[0]): str(r[1]) for r in fetch(con, f"DESCRIBE {rows}")}
    columns = tuple(c for c in kinds if c != COUNT)
    by = in_order(columns, kinds)
    if may_count:
        return _write_counted(con, table, rows, columns, by, has_count=COUNT in kinds)
    if COUNT in kinds:  # rows of a kind may have become equal
        listed = ", ".join(map(quoted, columns))
        rows = f"SELECT {listed}, CAST(sum({COUNT}) AS BIGINT) AS {COUNT} FROM ({rows}) GROUP BY {by}"
    ordered = _each_row(f"FROM ({rows}) ORDER BY {by}", kinds)
    return int(fetch(con, f"CREATE TABLE {table} AS {ordered}")[0][0])


def _write_counted(
    con: duckdb.DuckDBPyConnection, table: str, rows: str, columns: Sequence[str], by: str, *, has_count: bool
) -> int:
    listed, number = ", ".join(map(quoted, columns)), f"sum({COUNT})" if has_count else "count(*)"
    grouped = f"SELECT {listed}, CAST({number} AS BIGINT) AS {COPIES} FROM ({rows}) GROUP BY {by}"
    with Scratch(con).nested() as scratch:
        counted = scratch.table(grouped, "counted")
        kinds, copies = fetch(con, f"SELECT count(*), sum({COPIES}) FROM {counted.name}")[0]
        if kinds and copies >= REPEATED * kinds:
            fetch(con, f"CREATE TABLE {table} AS FROM {counted.name} ORDER BY {by}")
        else:
            copied = f"SELECT {listed}, {COPIES} AS {COUNT} FROM {counted.name} ORDER BY {by}"
            fetch(con, f"CREATE TABLE {table} AS {_each_row(copied, (*columns, COUNT))}")
    return int(copies or 0)


def each_row(con: duckdb.DuckDBPyConnection, rows: str) -> str:
    """A query for the rows that a query stands for: of a column COUNT, each so often."""
    return _each_row(rows, [str(r[0]) for r in fetch(con, f"DESCRIBE {rows}")])


def _each_row(rows: str, columns: Collection[str]) -> str:
    if COUNT not in columns:
        return rows
    listed = ", ".join(quoted(c) for c in columns if c != COUNT)
    return f"SELECT {listed} FROM (SELECT {listed}, unnest(range({COUNT})) AS {COUNT} FROM ({rows}))"


def write_table(
    con: duckdb.DuckDBPyConnection, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[object]]
) -> None:
    """A small table in the release's own schema, which may be empty: its columns with their types, and its rows."""
    described = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    fetch(con, f"CREATE TABLE {WRITTEN}.{SCHEMA}.{table} ({described})")
    cells = ([double(c) if isinstance(c, float) else literal(c) for c in row] for row in rows)
    if listed := ", ".join(f"({', '.join(row)})" for row in cells):
        fetch(con, f"INSERT INTO {WRITTEN}.{SCHEMA}.{table} VALUES {listed}")


def write_description(
    con: duckdb.DuckDBPyConnection,
    about: Mapping[str, str],
    reasons: Mapping[str, str | None],
    numbers: Mapping[str, float],
    attributes: tuple[Mapping[str, str], Iterable[Sequence[object]]],
    requirements: Sequence[Requirement] | None = None,
) -> None:
    """What a file says of itself: tables about, reasons and parameters, attributes with their columns, requirements.

    Of a requirement that names a file, only the name is written; None where the method requires nothing of classes.
    """
    written = {"format": str(FORMAT), "sqlpriv": __version__, **about}
    write_table(con, "about", COMMON_TABLES["about"], written.items())
    write_table(con, "reasons", COMMON_TABLES["reasons"], [(name, text) for name, text in reasons.items() if text])
    write_table(con, "parameters", COMMON_TABLES["parameters"], [(n, float(value)) for n, value in numbers.items()])
    write_table(con, "attributes", *attributes)
    if requirements is not None:
        rows = [
            (
                r.name,
                r.sensitive,
                json.dumps({k: public_argument(v) for k, v in r.arguments.items()}),
                float(r.threshold),
            )
            for r in requirements
        ]
        write_table(con, "requirements", REQUIREMENTS, rows)


class Stamps(Declared, Protocol):
    """What stamping needs to know of a method."""

    def contents(self, file: ReleaseFile) -> Contents:
        """What the file holds."""


def stamp(
    con: duckdb.DuckDBPyConnection, path: Path, policy: Policy, method: Stamps, date: str, total: Spent | None = None
) -> None:
    """Stamp a file that is complete but for this. `total` is the cost of all releases of the table up to it."""
    with attached(con, path, WRITTEN, write=True, error=ReleaseError):
        file = ReleaseFile(con, WRITTEN, path.name)
        part = public_part(policy, method, [str(c["name"]) for c in file.rows("attributes")])
        digest = table_digest(con, file.table("published"), file.copies)
        about = {"date": date, "policy": json.dumps(part), "digest": digest}
        # Without noise its ID is made from what is published alone: one made from the private table would let anyone
        # test a guess at it.
        about |= {} if "release" in file.about else {"release": digest}
        about |= {} if total is None else {TOGETHER: json.dumps(total.to_json())}
        rows = ", ".join(f"({literal(name)}, {literal(value)})" for name, value in about.items())
        fetch(con, f"INSERT INTO {file.table('about')} VALUES {rows}")
        digests = table_digests(file, method.contents(file))
        write_table(con, "digests", COMMON_TABLES["digests"], digests.items())


def table_digests(file: ReleaseFile, contents: Contents) -> dict[str, str]:
    """Digests of domains, what is below labels, public tables and other rows; times that read by zone have none."""
    wanted = [(schema, table) for schema, table in sorted(file.tables) if schema in {"domain", "public"}]
    wanted += [(t.schema, t.name) for t in (*contents.rows[1:], *(t for t in contents.tables if t.has_digest))]
    return {
        f"{schema}.{table}": table_digest(file.con, quoted(file.catalog, schema, table))
        for schema, table in wanted
        if not any("TIME ZONE" in kind for kind in file.columns(schema, table).values())
    }
