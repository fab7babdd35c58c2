"""The attributes as the macros of risk have them: tables of texts under names of ours.

disclose_records    the combinations of the table: number, a0, a1, ...
disclose_entries    the dictionary, one row an entry: e0, e1, ... of the attributes that it knows (entries.py)
disclose_tree_<i>   the hierarchy of attribute i, for all values of the table, the dictionary and the public domain
disclose_values_<i> its values with weights of their own, where the policy names such a table

A private column never lends its name to a query of ours, so none can be taken for another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlpriv.engine import Row, fetch
from sqlpriv.errors import InputError, InternalError, PolicyError
from sqlpriv.methods.disclose.entries import ENTRIES, described, with_texts, write_entries
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.labelled.axes import Axis, BoxScan
from sqlpriv.methods.labelled.scan import FREQUENCIES
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP, comes_from_a_table, wide_rows
from sqlpriv.table.source import Source

RECORDS = "disclose_records"


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
    source = scan.source
    listed = "".join(f", CAST({quoted(x.column)} AS VARCHAR) AS a{x.number}" for x in scan.axes)
    fetch(source.con, f"CREATE OR REPLACE TABLE {RECORDS} AS SELECT rowid AS number{listed} FROM {FREQUENCIES}")
    values = []
    for axis in scan.axes:
        name = quoted(axis.column)
        own = f"SELECT CAST({name} AS {scan.known.types[axis.column]}) AS {name} FROM {FREQUENCIES}"
        domain = scan.known.domains.get(axis.column)
        values.append(own if domain is None else f"{own} UNION SELECT value FROM {domain}")
    return write_attributes(source, policy, scan.axes, scan.known.types, values)


def write_attributes(
    source: Source, policy: DisclosePolicy, axes: Sequence[Axis], types: Mapping[str, str], values: Sequence[str]
) -> Attributes:
    """All but the records. `values` are queries, one an attribute, for what is known of its values elsewhere."""
    known = write_entries(source, policy, axes, types)
    weights = {folded(c.name): c.given["weight"] for c in policy.columns if "weight" in c.given}
    found = []
    for axis, own in zip(axes, values, strict=True):
        _write_tree(source, axis, types[axis.column], own, axis.number in known)
        given = weights[folded(axis.column)]
        table = _write_values(source, axis, given) if isinstance(given, str) else None
        found.append(Attribute(axis, 1.0 if table else float(given), table, axis.number in known))
    return tuple(found)


@contextmanager
def by_their_names(attributes: Sequence[Attribute]) -> Iterator[None]:
    """What the macros of risk refuse, who number attributes, is told of these by their names."""
    try:
        yield
    except InputError as error:
        names = [repr(a.axis.column) for a in attributes]
        text = re.sub(r"\b(?:attribute|link) ([1-9])\b", lambda m: names[int(m[1]) - 1], str(error))
        raise PolicyError(text) from None


def asked(source: Source, attributes: Sequence[Attribute], sql: str) -> list[Row]:
    """What a macro of risk answers."""
    with by_their_names(attributes):
        return fetch(source.con, sql)


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


# -------------------- hierarchies and weights


def _write_tree(source: Source, axis: Axis, own: str, values: str, is_known: bool) -> None:
    """The hierarchy of an attribute of a type; refused where it does not cover what the dictionary knows."""
    a, given = axis.number, axis.given
    assert given is not None
    con, tree = source.con, f"disclose_tree_{a}"
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
    columns = described(source, given, what)
    if len(columns) != 2:
        raise PolicyError(f"{what} {given!r} must have two columns, values and weights, and has {len(columns)}")
    value, weight = (quoted(c) for c in columns)
    rows = with_texts(source, given, list(columns)[:1])
    fetch(source.con, f"CREATE OR REPLACE TABLE {table} AS SELECT {value} AS value, {weight} AS weight FROM {rows}")
    return table
