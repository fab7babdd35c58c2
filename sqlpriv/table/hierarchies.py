"""Hierarchies: from the words of a policy about a column to a wide table of labels, one row a value.

Every kind ends as the same ordinary table in schema `hierarchies`, called like its column: the value as text, then its
label on each level, the last one `*`. The formulas are the macros of hierarchy.sql; here the words of the policy
are read and the files are found. What a hierarchy must fulfil for its table (every value covered, levels nest, one
top) is checked by `faults`, for all kinds alike, because also a file or an edited table may be wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import sqlglot
from sqlglot import exp

from sqlpriv.core.engine import fetch, interruptible, open_database
from sqlpriv.core.errors import InputError, InternalError, PolicyError, SqlprivError
from sqlpriv.core.sqltext import NUMERIC_TYPE, folded, literal, quoted
from sqlpriv.table.named_tables import find_named, read_named
from sqlpriv.table.source import Source

TOP = "*"
# A wide file as ARX writes it: no header, semicolons.
_WIDE_FILE = ", delim = ';', header = false, all_varchar = true, quote = '\"'"
_DATE_UNITS = ("day", "month", "quarter", "year", "decade")
KINDS = (
    "ranges:5,10@0, mask:5, dates:month,year, bins:8,4,2, suppression, tree:FILE, table:NAME, "
    "a .csv file or a list of SQL expressions"
)


Given = str | tuple[str, ...]
"""Where a hierarchy comes from, in the words of a policy."""


@dataclass(frozen=True)
class Hierarchy:
    """The hierarchy of a column: its wide table, and the number of levels above the value."""

    column: str
    table: str
    height: int
    given: Given | None = None
    """Where it comes from; None where it is halves of a public range."""

    @property
    def read_from(self) -> str:
        """The file or table that the labels are read from, for the end of a message."""
        return f"; it is {self.given!r}" if self.given is not None and comes_from_a_table(self.given) else ""


def comes_from_a_table(given: Given) -> bool:
    """Whether labels are read from a file or table, and not made by words of the policy."""
    kind = given.partition(":")[0] if isinstance(given, str) else ""
    return isinstance(given, str) and kind not in {"ranges", "mask", "dates", "bins", "suppression"}


def make_hierarchies(source: Source, given: Mapping[str, Given], values: str) -> tuple[Hierarchy, ...]:
    """Make the hierarchies of these columns. `values` is a table that holds every value of the private one."""
    return tuple(_make(source, column, words, values) for column, words in given.items())


def _make(source: Source, column: str, given: Given, values: str) -> Hierarchy:
    try:
        table = source.scratch.table(wide_rows(source, given, column, values), "hierarchy")
    except InternalError:
        what = "its SQL" if isinstance(given, tuple) else "what it is made from"
        raise PolicyError(
            f"{_place(source, column, given)}: {what} does not work on the values of the column"
        ) from None
    except SqlprivError as error:
        raise PolicyError(f"{_place(source, column, given)}: {error}") from None
    if len(table.columns) < 2:
        raise PolicyError(f"hierarchy of {column!r}: it has no level above the value; levels are separated by ;")
    return Hierarchy(column, table.name, len(table.columns) - 1, given)


def _place(source: Source, column: str, given: Given) -> str:
    """The column, its type and its hierarchy in the policy, for messages. Of an ENUM the type would reveal values."""
    kind = source.types.get(column, "")
    kind = "ENUM" if "ENUM" in kind else kind
    words = given if isinstance(given, str) else list(given)
    return f"hierarchy of {column!r}{f', a column of type {kind},' if kind else ''} in [columns], {words!r}"


def wide_rows(source: Source, given: Given, column: str, values: str) -> str:
    """The query whose rows are the wide table of the values in a column of a table."""
    if isinstance(given, tuple):
        return _from_expressions(column, given, values)
    kind, _, rest = given.partition(":")
    here = f"{literal(values)}, {literal(column)}"
    if kind == "ranges":
        widths, _, origin = rest.partition("@")
        listed = ", ".join(_numbers(widths, given))
        return (
            f"FROM {source.need('hierarchy_ranges')}({here}, [{listed}], {_one(_numbers(origin or '0', given), given)})"
        )
    if kind == "mask":
        length = _one(_whole(rest, given), given)
        _refuse_bare_masks(source, column, values, int(length))
        return f"FROM {source.need('hierarchy_mask')}({here}, {length})"
    if kind == "bins":
        # Equal frequency is about rows, so here the table itself is read and not the list of its values.
        where = f"{literal(source.table)}, {literal(column)}"
        return f"FROM {source.need('hierarchy_bins')}({where}, {_whole(rest, given)})"
    if kind == "dates":
        return f"FROM {source.need('hierarchy_dates')}({here}, {literal(_units(source, column, values, rest))})"
    if given == "suppression":
        return f"FROM {source.need('hierarchy_suppression')}({here})"
    if kind == "tree" and rest:
        edges = read_named(source, rest, source.scratch, _WIDE_FILE).name
        return f"FROM {source.need('hierarchy_tree')}({literal(edges)}, {_depth(source, edges)})"
    if kind == "table" and rest:
        return f"SELECT DISTINCT CAST(COLUMNS(*) AS VARCHAR) FROM {find_named(source, rest, _WIDE_FILE)}"
    if source.reference.is_file(given):
        return f"SELECT DISTINCT * FROM {find_named(source, given, _WIDE_FILE)}"
    raise PolicyError(f"{given!r} is neither a file nor a kind of hierarchy; there are {KINDS}")


def _refuse_bare_masks(source: Source, column: str, values: str, length: int) -> None:
    """Stars after a number with fewer digits hide none of them: 21*** is an exact age."""
    name = quoted(column)
    query = f"SELECT any_value(typeof({name})), min(length(CAST({name} AS VARCHAR))) FROM {quoted(values)}"
    kind, shortest = fetch(source.con, f"{query} WHERE {name} IS NOT NULL")[0]
    if kind is not None and NUMERIC_TYPE.fullmatch(kind) and shortest < length:
        raise PolicyError(
            f"mask:{length} shows numbers with fewer digits whole, with stars behind them; for numbers take ranges, as "
            "in ranges:5,10, and for codes a column of text"
        )


def _from_expressions(column: str, levels: tuple[str, ...], values: str) -> str:
    parsed = [_expression(column, text) for text in levels]
    labels = ", ".join(f"CAST(({e}) AS VARCHAR) AS level{i}" for i, e in enumerate(parsed, 1))
    field = quoted(column)
    top = len(levels) + 1
    return (
        f"SELECT DISTINCT CAST({field} AS VARCHAR) AS value, {labels}, {literal(TOP)} AS level{top} "
        f"FROM (SELECT {field} FROM {quoted(values)} GROUP BY {field}, CAST({field} AS VARCHAR))"
    )


def _expression(column: str, text: str) -> str:
    """One SQL expression of the column alone, in our own spelling, so that nothing else gets into the query."""
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        raise PolicyError(f"{text!r} is not one SQL expression") from None
    if not isinstance(tree, exp.Condition | exp.Func | exp.Unary | exp.Binary | exp.Case | exp.Paren) or tree.find(
        exp.Query, exp.AggFunc, exp.Window, exp.Star
    ):
        raise PolicyError(f"{text!r} must be an expression of the one value, without subqueries and aggregates")
    foreign = [c.sql() for c in tree.find_all(exp.Column) if folded(c.name) != folded(column) or c.table]
    if foreign:
        raise PolicyError(f"{text!r} uses {foreign[0]}; a label may depend on {column!r} alone")
    return tree.sql(dialect="duckdb")


def _numbers(text: str, given: str) -> list[str]:
    parts = [p.strip() for p in text.split(",")]
    if not all(re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", p) for p in parts):
        raise PolicyError(f"{given!r} needs numbers, as in ranges:5,10,20@0")
    return parts


def _whole(text: str, given: str) -> list[int]:
    parts = [p.strip() for p in text.split(",")]
    if not all(re.fullmatch("0*[1-9][0-9]*", p) for p in parts):
        raise PolicyError(f"{given!r} needs whole numbers, as in mask:5 or bins:8,4,2")
    return [int(p) for p in parts]


def _one(numbers: Sequence[int | str], given: str) -> int | str:
    if len(numbers) > 1:
        raise PolicyError(f"{given!r} needs one number there, as in mask:5 or ranges:5,10@0")
    return numbers[0]


def _units(source: Source, column: str, values: str, rest: str) -> list[str]:
    if rest:
        return [u.strip() for u in rest.split(",")]
    # The day is a level of its own only where the value says more than the day.
    kind = fetch(source.con, f"SELECT typeof({quoted(column)}) FROM {quoted(values)} LIMIT 1")
    return list(_DATE_UNITS[1:] if kind and kind[0][0] == "DATE" else _DATE_UNITS)


def _depth(source: Source, edges: str) -> int:
    """The length of the longest path up; UNION without ALL ends on a cycle too, which the macro then refuses."""
    rows = fetch(
        source.con,
        f"WITH RECURSIVE edge AS (SELECT labels[1] AS child, labels[2] AS parent FROM (SELECT list_value(*COLUMNS(*)) "
        f"AS labels FROM (SELECT CAST(COLUMNS(*) AS VARCHAR) FROM query_table({literal(edges)})))), "
        f"up(child, ancestor) AS (SELECT child, parent FROM edge UNION "
        f"SELECT up.child, edge.parent FROM up JOIN edge ON up.ancestor = edge.child) "
        f"SELECT max(height) FROM (SELECT count(*) AS height FROM up GROUP BY child)",
    )
    return int(rows[0][0] or 1)


def draw(source: Source, hierarchy: Hierarchy, most: int = 12) -> Iterator[tuple[int, str, int]]:
    """The tree from the top: depth, label and number of values below, at most `most` children of each label."""
    labels = [quoted(r[0]) for r in fetch(source.con, f"DESCRIBE {hierarchy.table}")][::-1]
    yield from _branch(source, hierarchy.table, labels, [], most)


def _branch(
    source: Source, table: str, labels: list[str], above: list[object], most: int
) -> Iterator[tuple[int, str, int]]:
    depth = len(above)
    if depth == len(labels):
        return
    same = " AND ".join(["true", *(f"{name} IS NOT DISTINCT FROM ?" for name in labels[:depth])])
    rows = fetch(
        source.con,
        f"SELECT {labels[depth]}, count(*) FROM {table} WHERE {same} GROUP BY 1 "
        f"ORDER BY TRY_CAST(regexp_extract({labels[depth]}, '-?[0-9.]+') AS DOUBLE), 1",
        list(above),
    )
    for label, below in rows[:most]:
        yield depth, "NULL" if label is None else str(label), int(below)
        yield from _branch(source, table, labels, [*above, label], most)
    if len(rows) > most:
        yield depth, f"... and {len(rows) - most} more", sum(r[1] for r in rows[most:])


def wide_tables(source: Source, hierarchies: Sequence[Hierarchy]) -> dict[str, pa.Table]:
    """The wide tables in memory, as hierarchy_<column>: the database of the private table can be opened then."""
    with interruptible():
        return {f"hierarchy_{h.column}": source.con.sql(f"FROM {h.table}").to_arrow_table() for h in hierarchies}


def save_hierarchies(tables: Mapping[str, pa.Table], database: Path) -> list[str]:
    """Write wide tables into a database file; none of their names may be taken."""
    with open_database(database, write=True) as con:
        taken = [name for name in tables if fetch(con, f"FROM duckdb_tables() WHERE table_name = {literal(name)}")]
        if taken:
            raise InputError(f"{database.name} has a table {taken[0]!r} already; drop it or choose another file")
        for name, table in tables.items():
            con.register("__wide", table)
            fetch(con, f"CREATE TABLE {quoted(name)} AS FROM __wide")
            con.unregister("__wide")
    return list(tables)
