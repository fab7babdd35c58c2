"""Write a generalized release into a file that is open for writing, in the layout of layout.py.

It is given rows, and what their labels are: how labels were found does not matter. The file never holds an identifier,
a count, a path, or a value that no published row has, but for the ends of ranges and the domains that the policy
declares. Rows are sorted by what they show, so their order says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.methods.generalized.kinds import counted_leaves
from sqlpriv.methods.generalized.layout import ATTRIBUTES, view_of_rows
from sqlpriv.methods.generalized.leaves import ShownColumn
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import SCHEMA, WRITTEN, write_about, write_numbers, write_reasons, write_values
from sqlpriv.release.requirements import write_requirements
from sqlpriv.release.write import write_in_order

ROWS = f"{WRITTEN}.{SCHEMA}.published"
"""The published rows of the file that is written."""


@dataclass(frozen=True)
class Rows:
    """A table of published rows: its name in the file, a query for the rows, and the view that people read."""

    table: str
    query: str
    view: str


@dataclass(frozen=True)
class ColumnLabels:
    """What a file tells of the labels of a column. The queries are run when the rows are written."""

    level: int | None
    """The level that the column stands on; None where its labels are on many."""
    levels: int | None
    """That of the top; None without a hierarchy."""
    labels: str
    """A query for label, level, above, and low and high where labels are ranges."""
    leaves: str | None
    """A query for label, value and share of the leaves, where they are stored."""


def write_labelled(
    con: duckdb.DuckDBPyConnection,
    policy: Policy,
    tables: Sequence[Rows],
    columns: Sequence[ShownColumn],
    labels: Mapping[str, ColumnLabels],
    about: Mapping[str, str],
    numbers: Mapping[str, float] | None = None,
    requirements: Sequence[Requirement] | None = None,
) -> int:
    """Write all tables but those that a method alone has; `labels` by columns. How many rows there are."""
    count = 0
    kinds: dict[str, str] = {}
    for rows in tables:
        target = quoted(WRITTEN, SCHEMA, rows.table)
        count += write_in_order(con, target, rows.query)
        own = {str(r[0]): str(r[1]) for r in fetch(con, f"DESCRIBE {target}")}
        kinds |= own
        shown = [(c.name, c.has_ends) for c in columns if c.name in own]
        _write_column_tables(con, [c for c in columns if c.name in own], labels)
        fetch(con, view_of_rows(quoted(WRITTEN, "main", rows.view), shown, rows.table))
    write_about(con, {"method": policy.method, "table": policy.table.name, **about})
    write_reasons(con, policy.reasons)
    write_numbers(con, numbers or {})
    _write_attributes(con, policy, columns, labels, kinds)
    if requirements is not None:
        write_requirements(con, requirements)
    return count


def _write_column_tables(
    con: duckdb.DuckDBPyConnection, columns: Sequence[ShownColumn], labels: Mapping[str, ColumnLabels]
) -> None:
    """Tables labels_<c>, domain.<c> and leaves_<c>."""
    for column in columns:
        own = labels.get(column.name)
        if own is not None:
            target = quoted(WRITTEN, SCHEMA, f"labels_{column.name}")
            fetch(con, f"CREATE TABLE {target} AS FROM ({own.labels}) ORDER BY level, label")
        if column.domain is not None:
            target = quoted(WRITTEN, "domain", column.name)
            fetch(con, f"CREATE TABLE {target} AS SELECT value, share FROM {column.domain} ORDER BY value NULLS LAST")
        if own is not None and own.leaves is not None:
            target, leaves = quoted(WRITTEN, SCHEMA, f"leaves_{column.name}"), counted_leaves(own.leaves)
            fetch(con, f"CREATE TABLE {target} AS {leaves} ORDER BY value NULLS LAST, label NULLS LAST")


def _write_attributes(
    con: duckdb.DuckDBPyConnection,
    policy: Policy,
    columns: Sequence[ShownColumn],
    labels: Mapping[str, ColumnLabels],
    kinds: Mapping[str, str],
) -> None:
    """Table attributes; `kinds` are the types in which columns are published."""
    roles = {folded(c.name): c.role for c in policy.columns}
    listed = []
    for position, column in enumerate(columns):
        own = labels.get(column.name)
        levels = (None, None) if own is None else (own.level, own.levels)
        listed.append((
            str(position), literal(column.name), literal(kinds[column.name]), literal(roles[folded(column.name)]),
            *("CAST(NULL AS INTEGER)" if level is None else str(level) for level in levels),
            literal(column.original), literal(column.labels), literal(column.domain is not None),
        ))  # fmt: skip
    write_values(con, "attributes", ", ".join(ATTRIBUTES), listed)


def labelled_otherwise(column: str, values: int) -> PolicyError:
    """Why a domain is refused whose values have other labels than the same values of the table."""
    return PolicyError(
        f"domain of {column!r}: its hierarchy labels {values:,} values of the domain otherwise than those of the "
        "table; write labels that depend on the value alone"
    )
