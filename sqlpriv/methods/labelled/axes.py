"""The quasi-identifiers as axes on which rows are points, and boxes have sides.

An axis is ordered, where its numbers or dates may be cut anywhere: the points are the numbers themselves. Or it is a
tree, where a hierarchy, or halving a public range again and again, says how values go together: its leaves are numbered
from left to right, so that a node is a range of numbers, and the least node over some rows is that over the first and
the last of them.

    points        each combination of the frequencies: row, v<a> on every axis, s<j>, holder, n
    tree_nodes    the nodes of all trees: axis, level, the leaves low to high, label, labels above it, width, and the
                  share of all values that it stands for
    tree_leaves   the leaves: axis, value as text, code, and of the nodes above it `lows`, one entry a level
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.labelled.box_policy import PUBLIC, BoxPolicy
from sqlpriv.methods.labelled.kinds import BINS, BOXES, DATES, OTHER, RANGES, WHOLE, has_ends
from sqlpriv.methods.labelled.labels import check_hierarchies
from sqlpriv.methods.labelled.leaves import Known, read_known
from sqlpriv.methods.labelled.scan import FREQUENCIES, Frequencies, count_combinations, published_columns
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import SCHEMA, TOP, Given, Hierarchy, make_hierarchies
from sqlpriv.table.source import Source

_NUMBERED_EXACTLY = re.compile(r"U?(TINYINT|SMALLINT|INTEGER)|FLOAT|DOUBLE|DATE")
"""Types of which every value is a double, and no two the same."""


@dataclass(frozen=True)
class Axis:
    """A quasi-identifier: its column as the table spells it, the type of its values, and what its labels are."""

    number: int
    column: str
    original: str
    labels: str
    given: Given | None = None
    """The hierarchy; None where the axis is ordered, or halves of a public range."""
    height: int | None = None
    """The level of the top; None where the axis is ordered."""
    first: float = 0.0
    last: float = 0.0
    """The ends of an ordered axis, and of one of halves."""

    @property
    def is_ordered(self) -> bool:
        """Whether it may be cut anywhere."""
        return self.height is None

    def typed(self, number: str) -> str:
        """A number of the axis as the value that it stands for, in SQL."""
        if self.original == "DATE":
            return f"(DATE '1970-01-01' + CAST({number} AS INTEGER))"
        if self.original == "TIMESTAMP":
            return f"make_timestamp(CAST({number} AS BIGINT))"
        return f"CAST({number} AS {self.original})"

    def number_of(self, value: str) -> str:
        """A value as a number, in SQL."""
        if self.original == "DATE":
            return f"CAST({value} - DATE '1970-01-01' AS DOUBLE)"
        if self.original == "TIMESTAMP":
            return f"CAST(epoch_us({value}) AS DOUBLE)"
        return f"CAST({value} AS DOUBLE)"


@dataclass(frozen=True)
class BoxScan(Frequencies):
    """The frequencies as points on axes."""

    axes: tuple[Axis, ...]
    known: Known
    """What may be known of the published columns."""

    @property
    def trees(self) -> tuple[Axis, ...]:
        """The axes with nodes."""
        return tuple(axis for axis in self.axes if not axis.is_ordered)


def scan_points(source: Source, policy: BoxPolicy) -> BoxScan:
    """Scan the table once, and write its combinations as points."""
    found = count_combinations(source, policy)
    known = read_known(found, published_columns(found))
    axes = _write_trees(found, known, [_axis(found, policy, known, a) for a in range(len(policy.qis))])
    _write_points(found, axes)
    return BoxScan(source, policy, found.combinations, found.rows, found.values, axes, known)


def _axis(found: Frequencies, policy: BoxPolicy, known: Known, number: int) -> Axis:
    """What a quasi-identifier is cut by."""
    column = next(c for c in found.source.columns if folded(c) == folded(policy.qis[number]))
    given, original = policy.hierarchies.get(policy.qis[number]), known.types[column]
    word = given.partition(":")[0] if isinstance(given, str) else ""
    is_ordered = has_ends(BOXES, original)
    if policy.cuts != PUBLIC and is_ordered and (given is None or word in (RANGES, DATES, BINS)):
        return _ordered(found, number, column, original)
    if word == BINS:
        raise PolicyError(
            f"the bins of {column!r} are read from the data, and so are no public cut points; take ranges, as in "
            'ranges:10,20, or cuts = "data"'
        )
    if given is None and is_ordered:
        return _halves(found, policy, known, number, column)
    labels = word if word in (RANGES, DATES) else OTHER
    return Axis(number, column, original, labels, given or "suppression", 0)


def _ordered(found: Frequencies, number: int, column: str, original: str) -> Axis:
    """An axis that may be cut anywhere; refused where its values have no place on a line of doubles."""
    axis, name = Axis(number, column, original, BOXES), quoted(column)
    if original in ("FLOAT", "DOUBLE", "DATE", "TIMESTAMP"):
        odd = fetch(found.source.con, f"SELECT count(*) FROM {FREQUENCIES} WHERE NOT isfinite({name})")[0][0]
        if odd:
            raise PolicyError(
                f"{column!r} holds values that are infinite or no number, and no range holds them; make them NULL, or "
                "give the column a hierarchy of its own"
            )
    if not _NUMBERED_EXACTLY.fullmatch(original):
        # The nearest number that an axis has may be none of the type.
        moved = f"TRY({axis.typed(axis.number_of(name))}) IS DISTINCT FROM {name}"
        if fetch(found.source.con, f"SELECT count(*) FROM {FREQUENCIES} WHERE {moved}")[0][0]:
            raise PolicyError(
                f"values of {column!r} have more digits than can be cut rightly; round them, or give the column a "
                "hierarchy"
            )
    value = axis.number_of(name)
    ((first, last),) = fetch(found.source.con, f"SELECT min({value}), max({value}) FROM {FREQUENCIES}")
    first, last = float(first or 0), float(last or 0)
    if last - first == float("inf"):
        raise PolicyError(f"the values of {column!r} are too far apart to be compared; make them smaller")
    return Axis(number, column, original, BOXES, first=first, last=last)


def _halves(found: Frequencies, policy: BoxPolicy, known: Known, number: int, column: str) -> Axis:
    """An axis that is a public range, to be halved."""
    given = next(c.given for c in policy.columns if c.name == policy.qis[number]).get("domain")
    is_range = isinstance(given, str) and given.startswith("range:") and column in known.domains
    original = known.types[column]
    if not is_range or not (WHOLE.fullmatch(original) or original == "DATE"):
        raise PolicyError(
            f"{column!r} has no public cut points: it needs a hierarchy, or a domain such as range:0..99 that holds "
            'its values; or take cuts = "data"'
        )
    axis = Axis(number, column, original, BOXES, None, 0)
    value = axis.number_of("value")
    ((first, last),) = fetch(found.source.con, f"SELECT min({value}), max({value}) FROM {known.domains[column]}")
    return Axis(number, column, original, BOXES, None, 0, float(first), float(last))


def _write_trees(found: Frequencies, known: Known, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Tables tree_nodes and tree_leaves; the axes with the heights of their trees."""
    con, trees = found.source.con, [axis for axis in axes if not axis.is_ordered]
    by_column: dict[str, Hierarchy] = {}
    for axis in trees:
        if axis.given is None:
            by_column[axis.column] = _write_halves(found, axis)
        else:
            by_column |= {h.column: h for h in make_hierarchies(found.source, {axis.column: axis.given}, FREQUENCIES)}
    if not trees:
        return tuple(axes)
    check_hierarchies(found.source, [by_column[axis.column] for axis in trees], FREQUENCIES)
    numbers = ", ".join(f"({i}, {axis.number})" for i, axis in enumerate(trees))
    fetch(
        con,
        "CREATE OR REPLACE TABLE tree_steps AS SELECT *, unnest(range(len(labels))) AS level FROM (SELECT t.axis, "
        "p.labels, row_number() OVER (PARTITION BY p.attribute ORDER BY list_reverse(p.labels)) AS code FROM paths "
        f"AS p JOIN (VALUES {numbers}) AS t(attribute, axis) ON p.attribute = t.attribute)",
    )
    of_all = "max(leaves) OVER (PARTITION BY axis)"
    width, share = (inlined(f"{name}(leaves, {of_all})") for name in ("_node_width", "_node_share"))
    fetch(
        con,
        f"CREATE OR REPLACE TABLE tree_nodes AS SELECT *, {width} AS width, {share} AS share FROM "
        "(SELECT axis, level, min(code) AS low, max(code) AS high, any_value(labels[level + 1]) AS label, "
        "any_value(labels[level + 2 :]) AS above, "
        "count(*) AS leaves FROM tree_steps GROUP BY axis, level, labels[level + 1 :])",
    )
    for axis in trees:
        if axis.given is None:
            wide = inlined(f"_normalised_width(e.low, e.high, {axis.first!r}, {axis.last!r})")
            fetch(
                con,
                f"UPDATE tree_nodes SET width = {wide}, share = {wide} FROM {_halves_table(axis)} AS e WHERE "
                f"tree_nodes.axis = {axis.number} AND tree_nodes.label = e.label",
            )
    fetch(
        con,
        "CREATE OR REPLACE TABLE tree_leaves AS SELECT s.axis, any_value(s.labels[1]) AS value, s.code, "
        "list(n.low ORDER BY s.level) AS lows FROM tree_steps AS s JOIN tree_nodes AS n ON s.axis = n.axis AND "
        "s.level = n.level AND s.code BETWEEN n.low AND n.high GROUP BY s.axis, s.code",
    )
    heights = {axis.number: by_column[axis.column].height for axis in trees}
    return tuple(
        Axis(x.number, x.column, x.original, x.labels, x.given, heights.get(x.number), x.first, x.last) for x in axes
    )


def _halves_table(axis: Axis) -> str:
    return f"halves_{axis.number}"


def _write_halves(found: Frequencies, axis: Axis) -> Hierarchy:
    """The hierarchy of a public range by halves, for the values of the table; and the ends of all its nodes."""
    con, name, table = found.source.con, quoted(axis.column), quoted(SCHEMA, axis.column)
    depth = int(axis.last - axis.first).bit_length()
    steps = (
        f"SELECT DISTINCT {name} AS cell, CAST({axis.number_of(name)} AS BIGINT) AS v, CAST({int(axis.first)} AS "
        f"BIGINT) AS first0, CAST({int(axis.last)} AS BIGINT) AS last0 FROM {FREQUENCIES} WHERE {name} IS NOT NULL"
    )
    for i in range(depth):
        middle = inlined(f"_middle(first{i}, last{i})")
        steps = (
            f"SELECT *, CASE WHEN v <= {middle} THEN first{i} ELSE {middle} + 1 END AS first{i + 1}, "
            f"CASE WHEN v <= {middle} THEN {middle} ELSE last{i} END AS last{i + 1} FROM ({steps})"
        )
    fetch(con, f"CREATE OR REPLACE TABLE __halving AS {steps}")

    def label(i: int) -> str:
        return inlined(f"_closed_label({axis.typed(f'first{i}')}, {axis.typed(f'last{i}')})")

    # The last step is the value itself.
    levels = "".join(f", {label(i)} AS level{depth - i}" for i in reversed(range(depth)))
    fetch(con, f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    fetch(
        con,
        f"CREATE OR REPLACE TABLE {table} AS SELECT CAST(cell AS VARCHAR) AS value{levels}, {literal(TOP)} AS "
        f"level{depth + 1} FROM __halving",
    )
    ends = " UNION ".join(
        f"SELECT {label(i)} AS label, first{i} AS low, last{i} AS high FROM __halving" for i in range(depth + 1)
    )
    fetch(con, f"CREATE OR REPLACE TABLE {_halves_table(axis)} AS {ends}")
    return Hierarchy(axis.column, table, depth + 1)


def _write_points(found: Frequencies, axes: Sequence[Axis]) -> None:
    """Table points."""
    policy, columns, joins = found.policy, ["t.rowid AS row"], []
    for axis in axes:
        cell = f"t.{quoted(axis.column)}"
        if axis.is_ordered:
            columns.append(f"{axis.number_of(cell)} AS v{axis.number}")
            continue
        columns.append(f"CAST(l{axis.number}.code AS DOUBLE) AS v{axis.number}")
        joins.append(
            f" JOIN tree_leaves AS l{axis.number} ON l{axis.number}.axis = {axis.number} AND "
            f"CAST({cell} AS VARCHAR) IS NOT DISTINCT FROM l{axis.number}.value"
        )
    for j, column in enumerate(policy.sensitive):
        columns.append(f"v{j}.id AS s{j}")
        joins.append(f" JOIN values_{j} AS v{j} ON t.{quoted(column)} IS NOT DISTINCT FROM v{j}.value")
    columns += [f"t.{quoted(policy.person)} AS holder"] if policy.person else []
    listed = ", ".join([*columns, "t.__priv_n AS n"])
    fetch(
        found.source.con, f"CREATE OR REPLACE TABLE points AS SELECT {listed} FROM {FREQUENCIES} AS t{''.join(joins)}"
    )


def spelt(policy: BoxPolicy) -> Mapping[str, int]:
    """The quasi-identifiers by their folded names, with the numbers of their axes."""
    return {folded(q): a for a, q in enumerate(policy.qis)}
