"""The attributes as tables of texts, for the macros of risk.

disclose_records    the combinations of the table: number, a0, a1, ..., and the person where weights are personal
disclose_entries    the dictionary, one row an entry: e0, e1, ... for the attributes that it knows (entries.py)
disclose_tree_<i>   the hierarchy of attribute i, for all values of the table, the dictionary and the public domain
disclose_values_<i> the weights of its values, where the policy names such a table

Columns are numbered: no name of a private column can be mistaken for another one in a query.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlpriv.core.engine import Row, fetch
from sqlpriv.core.errors import InputError, InternalError, PolicyError
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.methods.disclose.entries import described, write_entries
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.methods.generalized.points import BoxScan
from sqlpriv.risk.dictionaries import from_with_texts
from sqlpriv.table.hierarchies import TOP, comes_from_a_table, wide_rows
from sqlpriv.table.source import Source

RECORDS, PERSON = "disclose_records", "person"
Item = dict[str, str | None]
"""An attribute or a pair in a list of weights."""


@dataclass(frozen=True)
class WeightedAttribute:
    """A column that has a weight, as the macros need it."""

    axis: Axis
    weight: float
    psi: float | None
    """Its weight where the person is not found; None where no cell has such a weight."""
    values: str | None
    """The table of weights by value, if there is one."""
    is_known: bool
    """Whether the dictionary knows it."""

    @property
    def tree(self) -> str:
        """The table of its hierarchy."""
        return f"disclose_tree_{self.axis.number}"

    @property
    def as_weight(self) -> Item:
        """As `sensitivity` needs it."""
        names = {"attribute": f"a{self.axis.number}", "also": None, "weight": shown_weight(self.weight)}
        return {**names, "hierarchy": self.tree, "values": self.values}

    @property
    def as_missed_weight(self) -> Item:
        """As `sensitivity` needs it for a person who is not found."""
        return {**self.as_weight, "weight": repr(self.psi or 0.0)}

    @property
    def as_candidate(self) -> Item:
        """As `disclosure_offers` needs it."""
        entry = f"e{self.axis.number}" if self.is_known else None
        return {**self.as_weight, "psi": None if self.psi is None else repr(self.psi), "entry": entry}

    @property
    def link(self) -> Item:
        """As `identification` needs it."""
        a = self.axis.number
        return {"record": f"a{a}", "entry": f"e{a}", "hierarchy": self.tree}


Attributes = tuple[WeightedAttribute, ...]


def shown_weight(weight: float) -> str:
    """A weight as the macros read it."""
    return "Infinity" if weight == math.inf else repr(weight)


def paired(policy: DisclosePolicy) -> list[Item]:
    """The pairs of the policy as `sensitivity` and `disclosure_offers` need them."""
    place = {folded(name): f"a{a}" for a, name in enumerate(policy.qis)}
    return [
        {"attribute": place[folded(pair.columns[0])], "also": place[folded(pair.columns[1])],
         "weight": shown_weight(pair.weight), "hierarchy": None, "values": None}
        for pair in policy.pairs
    ]  # fmt: skip


def candidate_weights(policy: DisclosePolicy, attributes: Attributes) -> list[Item]:
    """Attributes and pairs as `disclosure_offers` needs them."""
    return [a.as_candidate for a in attributes] + [{**pair, "psi": None, "entry": None} for pair in paired(policy)]


def read_attributes(scan: BoxScan, policy: DisclosePolicy) -> Attributes:
    """Write all four kinds of tables; refuse what does not fit the table or the dictionary."""
    source = scan.source
    listed = "".join(f", CAST({quoted(x.column)} AS VARCHAR) AS a{x.number}" for x in scan.axes)
    listed += f", CAST({quoted(policy.person)} AS VARCHAR) AS {PERSON}" if policy.person else ""
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {RECORDS} AS SELECT rowid AS number{listed} FROM {scan.frequencies}",
    )
    values = []
    for axis in scan.axes:
        name = quoted(axis.column)
        own = f"SELECT CAST({name} AS {scan.known.types[axis.column]}) AS {name} FROM {scan.frequencies}"
        domain = scan.known.domains.get(axis.column)
        values.append(own if domain is None else f"{own} UNION SELECT value FROM {domain}")
    return write_attributes(source, policy, scan.axes, scan.known.types, values)


def write_attributes(
    source: Source, policy: DisclosePolicy, axes: Sequence[Axis], types: Mapping[str, str], values: Sequence[str]
) -> Attributes:
    """Write all tables but the records. `values` are queries, one for each attribute, of its values."""
    written = write_entries(source, policy, axes, types)
    weights = {folded(c.name): c.given["weight"] for c in policy.columns if "weight" in c.given}
    missed = {folded(name): psi for name, psi in policy.psi_of_cells.items()}
    found = []
    for axis, own in zip(axes, values, strict=True):
        entries = " UNION ALL ".join(f"SELECT e{axis.number} AS e FROM {table}" for table in written.tables)
        is_known = axis.number in written.known
        _write_tree(source, axis, types[axis.column], own, entries if is_known else None)
        given = weights[folded(axis.column)]
        table = _write_values(source, axis, given) if isinstance(given, str) else None
        weight, psi = 1.0 if table else float(given), missed.get(folded(axis.column))
        found.append(WeightedAttribute(axis, weight, psi, table, is_known))
    return tuple(found)


@contextmanager
def naming_attributes(attributes: Sequence[WeightedAttribute]) -> Iterator[None]:
    """Errors of the macros of risk, which number attributes, become errors with the names of the columns."""
    try:
        yield
    except InputError as error:
        names = [repr(a.axis.column) for a in attributes]
        text = re.sub(r"\b(?:attribute|link) ([1-9])\b", lambda m: names[int(m[1]) - 1], str(error))
        raise PolicyError(text) from None


def fetch_risk(source: Source, attributes: Sequence[WeightedAttribute], sql: str) -> list[Row]:
    """The rows of a query with a macro of risk; errors name the columns."""
    with naming_attributes(attributes):
        return fetch(source.con, sql)


# -------------------- hierarchies and weights


def _write_tree(source: Source, axis: Axis, own: str, values: str, entries: str | None) -> None:
    """Write the hierarchy of an attribute; refuse one that does not cover the entries of a dictionary."""
    a, given = axis.number, axis.given
    assert given is not None
    con, tree = source.con, f"disclose_tree_{a}"
    _write_labels(source, axis, values)
    if entries is None:
        return
    missed = (
        f"SELECT DISTINCT e FROM ({entries}) WHERE e IS NOT NULL AND e <> {literal(TOP)} AND e NOT IN "
        f"(SELECT label FROM (SELECT unnest(list_value(*COLUMNS(*))) AS label FROM {tree}) WHERE label IS NOT NULL)"
    )
    if not comes_from_a_table(given):
        # Labels in the dictionary are covered already. What is left may be values that no row has.
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
    """Write the table of values and weights; returns its name."""
    table, what = f"disclose_values_{axis.number}", f"the table of weights of {axis.column!r},"
    columns = described(source, given, what)
    if len(columns) != 2:
        raise PolicyError(f"{what} {given!r} must have two columns, values and weights, and has {len(columns)}")
    value, weight = (quoted(c) for c in columns)
    rows = from_with_texts(source, given, list(columns)[:1])
    fetch(source.con, f"CREATE OR REPLACE TABLE {table} AS SELECT {value} AS value, {weight} AS weight FROM {rows}")
    return table
