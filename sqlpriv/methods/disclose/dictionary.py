"""What the attacker holds, and the attributes as the macros of risk have them: tables of texts under names of ours.

disclose_records    the combinations of the table: number, a0, a1, ...
disclose_entries    the dictionary, one row an entry: e0, e1, ... of the attributes that it knows
disclose_tree_<i>   the hierarchy of attribute i, for all values of the table, the dictionary and the public domain
disclose_values_<i> its values with weights of their own, where the policy names such a table

A private column never lends its name to a query of ours, so none can be taken for another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from sqlpriv.engine import Row, fetch
from sqlpriv.errors import InputError, InternalError, PolicyError, SqlprivError
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.labelled.axes import Axis, BoxScan
from sqlpriv.methods.labelled.scan import FREQUENCIES
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP, comes_from_a_table, wide_rows
from sqlpriv.table.named import find_named
from sqlpriv.table.source import Source

RECORDS, ENTRIES = "disclose_records", "disclose_entries"
_CSV = re.compile(r"\.(csv|tsv|txt)(\.gz|\.zst)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Attribute:
    """A column that has a weight, as the macros have it."""

    axis: Axis
    weight: float
    values: str | None
    """The table of values with weights of their own, if there is one."""
    is_known: bool
    """Whether the dictionary knows it."""

    @property
    def tree(self) -> str:
        """The table of its hierarchy."""
        return f"disclose_tree_{self.axis.number}"

    @property
    def weighed(self) -> dict[str, str | None]:
        """As `sensitivity` has it."""
        weight = "Infinity" if self.weight == math.inf else repr(self.weight)
        return {"attribute": f"a{self.axis.number}", "weight": weight, "hierarchy": self.tree, "values": self.values}

    @property
    def offered(self) -> dict[str, str | None]:
        """As `optimal_disclosure` has it."""
        return {**self.weighed, "entry": f"e{self.axis.number}" if self.is_known else None}

    @property
    def link(self) -> dict[str, str | None]:
        """As `identification` has it."""
        a = self.axis.number
        return {"record": f"a{a}", "entry": f"e{a}", "hierarchy": self.tree}


Attributes = tuple[Attribute, ...]


def read_attributes(scan: BoxScan, policy: DisclosePolicy) -> Attributes:
    """Write all four kinds of tables; what does not fit the table or the dictionary is refused."""
    con = scan.source.con
    listed = "".join(f", CAST({quoted(x.column)} AS VARCHAR) AS a{x.number}" for x in scan.axes)
    fetch(con, f"CREATE OR REPLACE TABLE {RECORDS} AS SELECT rowid AS number{listed} FROM {FREQUENCIES}")
    known = _write_entries(scan, policy)
    weights = {folded(c.name): c.given["weight"] for c in policy.columns if "weight" in c.given}
    found = []
    for axis in scan.axes:
        _write_tree(scan, axis, axis.number in known)
        given = weights[folded(axis.column)]
        values = _write_values(scan.source, axis, given) if isinstance(given, str) else None
        found.append(Attribute(axis, 1.0 if values else float(given), values, axis.number in known))
    return tuple(found)


def asked(source: Source, attributes: Sequence[Attribute], sql: str) -> list[Row]:
    """What a macro of risk answers; of attributes, which it numbers, it speaks by their names."""
    try:
        return fetch(source.con, sql)
    except InputError as error:
        names = [repr(a.axis.column) for a in attributes]
        text = re.sub(r"\b(?:attribute|link) ([1-9])\b", lambda m: names[int(m[1]) - 1], str(error))
        raise PolicyError(text) from None


def priced(source: Source, policy: DisclosePolicy, attributes: Attributes, rows: str) -> tuple[float, float]:
    """Risk and worst loss of rows of labels a0, a1, ..., by other macros than those that chose them."""
    prices = "disclose_prices"
    weights = f"{literal(rows)}, {literal([a.weighed for a in attributes])}, {literal(policy.form)}"
    records = f"SELECT record.*, sensitivity FROM {source.need('sensitivity')}({weights})"
    asked(source, attributes, f"CREATE OR REPLACE TABLE {prices} AS {records}")
    known = [a for a in attributes if a.is_known]
    links = literal([a.link for a in known])
    given = f"{literal(prices)}, {literal(ENTRIES)}, {links}, 'sensitivity', {policy.psi!r}"
    ((risk, worst),) = asked(source, known, f"SELECT risk, worst FROM {source.need('disclosure_risk')}({given})")
    return float(risk), float(worst)


# -------------------- the dictionary


def _write_entries(scan: BoxScan, policy: DisclosePolicy) -> frozenset[int]:
    """Table disclose_entries; the numbers of the attributes that the dictionary knows."""
    source, name = scan.source, policy.dictionary
    if name is None:
        listed = ", ".join(f"CAST({quoted(x.column)} AS VARCHAR) AS e{x.number}" for x in scan.axes)
        fetch(source.con, f"CREATE OR REPLACE TABLE {ENTRIES} AS SELECT {listed} FROM {source.table}")
        return frozenset(x.number for x in scan.axes)
    columns = _described(source, name, "the dictionary")
    given = {folded(c.name): c.given.get("entry") for c in policy.columns}
    readings = {x.number: _reading(columns, x.column, given[folded(x.column)]) for x in scan.axes}
    known = {a: text for a, text in readings.items() if text is not None}
    if not known:
        raise PolicyError(
            f"the dictionary {name!r} shares no attribute with the table: it has {', '.join(columns)}; give a column "
            "an entry"
        )
    plain = [c for c in columns if quoted(c) in known.values()]
    rows = _with_texts(source, name, plain)
    for axis in scan.axes:
        if axis.number in known:
            _refuse_type(scan, policy, axis, known[axis.number], rows)
    listed = ", ".join(f"TRY_CAST({text} AS VARCHAR) AS e{a}" for a, text in known.items())
    # Where a WHERE stands DuckDB takes neither unnest nor a window nor an aggregate: an entry stays one entry.
    each = " AND ".join(f"(({text} IS NULL) IS NOT NULL)" for text in known.values())
    try:
        fetch(source.con, f"CREATE OR REPLACE TABLE {ENTRIES} AS SELECT {listed} FROM {rows} WHERE {each}")
    except SqlprivError:
        raise PolicyError(
            f"the entries of the policy do not work on the dictionary {name!r}: try them in SQL"
        ) from None
    return frozenset(known)


def _described(source: Source, name: str, what: str) -> dict[str, str]:
    """The columns of a table that the policy names, with their types."""
    try:
        return {str(c): str(kind) for c, kind, *_ in fetch(source.con, f"DESCRIBE FROM {find_named(source, name)}")}
    except PolicyError:
        raise
    except SqlprivError as error:
        why = "" if isinstance(error, InternalError) else f": {error}"
        raise PolicyError(f"{what} {name!r} cannot be read{why}") from None


def _with_texts(source: Source, name: str, columns: Sequence[str]) -> str:
    """A table that the policy names, to stand after FROM; of a CSV file these columns as they are written there."""
    if columns and _CSV.search(name) and source.reference.is_file(name.removeprefix("table:")):
        kinds = ", ".join(f"{literal(c)}: 'VARCHAR'" for c in columns)
        return find_named(source, name, f", types = {{{kinds}}}")
    return find_named(source, name)


def _reading(columns: Sequence[str] | dict[str, str], column: str, given: str | None) -> str | None:
    """What the dictionary knows of a column, as SQL; None where it knows nothing."""
    spelt = {folded(c): c for c in columns}
    wanted = folded(column if given is None else given)
    if wanted in spelt:
        return quoted(spelt[wanted])
    if given is None:
        return None
    if given.isidentifier():
        raise PolicyError(f"the entry of {column!r} is {given!r}, and the dictionary has {', '.join(columns)}")
    try:
        tree = sqlglot.parse_one(given, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        raise PolicyError(f"the entry of {column!r} is not one SQL expression") from None
    if not isinstance(tree, exp.Condition) or tree.find(exp.Query, exp.AggFunc, exp.Window, exp.Star):
        raise PolicyError(
            f"the entry of {column!r} must be an expression of one entry, without subqueries and aggregates"
        )
    foreign = [c.sql() for c in tree.find_all(exp.Column) if folded(c.name) not in spelt or c.table]
    if foreign:
        raise PolicyError(f"the entry of {column!r} uses {foreign[0]}, and the dictionary has {', '.join(columns)}")
    return f"({tree.sql(dialect='duckdb')})"


def _refuse_type(scan: BoxScan, policy: DisclosePolicy, axis: Axis, entry: str, rows: str) -> None:
    """Without a hierarchy, values of two types may never be equal as texts; a hierarchy is asked for its labels."""
    con, own = scan.source.con, scan.known.types[axis.column]
    if policy.hierarchies[policy.qis[axis.number]] != "suppression":
        return
    try:
        other = str(fetch(con, f"SELECT column_type FROM (DESCRIBE SELECT {entry} AS e FROM {rows})")[0][0])
    except SqlprivError:
        raise PolicyError(f"the entry of {axis.column!r} does not work on the dictionary: try it in SQL") from None
    alike = scan.source.calls.value(f"_alike({literal(literal(own))}, {literal(literal(other))})")
    if not fetch(con, f"SELECT {alike}")[0][0]:
        raise PolicyError(
            f"{axis.column!r} is {own}, and what the dictionary knows of it is {other}: these are never equal as "
            "texts; write an entry that casts it, or give the column a hierarchy that has both"
        )


# -------------------- hierarchies and weights


def _write_tree(scan: BoxScan, axis: Axis, is_known: bool) -> None:
    """The hierarchy of an attribute; refused where it does not cover what the dictionary knows."""
    source, a, given = scan.source, axis.number, axis.given
    assert given is not None
    con, tree, name, own = source.con, f"disclose_tree_{a}", quoted(axis.column), scan.known.types[axis.column]
    values = f"SELECT CAST({name} AS {own}) AS {name} FROM {FREQUENCIES}"
    if axis.column in scan.known.domains:
        values += f" UNION SELECT value FROM {scan.known.domains[axis.column]}"
    _write_labels(source, axis, values)
    if not is_known:
        return
    missed = (
        f"SELECT DISTINCT e{a} AS e FROM {ENTRIES} WHERE e{a} IS NOT NULL AND e{a} <> {literal(TOP)} AND e{a} NOT IN "
        f"(SELECT label FROM (SELECT unnest(list_value(*COLUMNS(*))) AS label FROM {tree}) WHERE label IS NOT NULL)"
    )
    if not comes_from_a_table(given):
        # Labels of the dictionary are there already; what is none may be a value that no row has.
        fetch(con, f"CREATE OR REPLACE TABLE disclose_missed AS {missed}")
        read = f"TRY_CAST(e AS {own})"
        more = f"SELECT {read} FROM disclose_missed WHERE CAST({read} AS VARCHAR) = e"
        _write_labels(source, axis, f"{values} UNION {more}")
    left = fetch(con, f"SELECT count(*) FROM ({missed})")[0][0]
    if left:
        raise PolicyError(
            f"the hierarchy of {axis.column!r} does not cover the dictionary: {left:,} of its values are neither "
            "values nor labels of it; add them, or write an entry that makes them so"
        )


def _write_labels(source: Source, axis: Axis, values: str) -> None:
    a, given = axis.number, axis.given
    assert given is not None
    fetch(source.con, f"CREATE OR REPLACE TABLE disclose_base_{a} AS {values}")
    try:
        rows = wide_rows(source, given, axis.column, f"disclose_base_{a}")
        fetch(source.con, f"CREATE OR REPLACE TABLE disclose_tree_{a} AS {rows}")
    except InternalError:
        raise PolicyError(f"the hierarchy of {axis.column!r} does not work on the values of the dictionary") from None


def _write_values(source: Source, axis: Axis, given: str) -> str:
    """A table of values and weights."""
    table, what = f"disclose_values_{axis.number}", f"the table of weights of {axis.column!r},"
    columns = _described(source, given, what)
    if len(columns) != 2:
        raise PolicyError(f"{what} {given!r} must have two columns, values and weights, and has {len(columns)}")
    value, weight = (quoted(c) for c in columns)
    rows = _with_texts(source, given, list(columns)[:1])
    fetch(source.con, f"CREATE OR REPLACE TABLE {table} AS SELECT {value} AS value, {weight} AS weight FROM {rows}")
    return table
