"""Scan a table for methods that publish boxes: its quasi-identifiers as axes, and its combinations as points."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InternalError, PolicyError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.methods.generalized.axes import CONSECUTIVE, DIGITS, LISTED, Axis, Trees, write_trees
from sqlpriv.methods.generalized.columns import PublicColumns, read_public_columns
from sqlpriv.methods.generalized.grid import on_grid, point_of, points_after
from sqlpriv.methods.generalized.layout import BINS, BOXES, DATES, OTHER, RANGES, WHOLE, has_ends
from sqlpriv.methods.generalized.policy import PUBLIC, BoxPolicy
from sqlpriv.methods.generalized.scan import ScannedTable, check_hierarchies, published_columns
from sqlpriv.table.domains import range_ends
from sqlpriv.table.engines.rows import COUNT

_NUMBERED_EXACTLY = re.compile(r"U?(TINYINT|SMALLINT|INTEGER)|FLOAT|DOUBLE|DATE")
"""Types of which every value is a double, and no two the same."""


@dataclass(frozen=True)
class BoxScan(ScannedTable):
    """The frequencies as points on axes."""

    points: Relation
    """Each combination: row, v<a> on every ordered axis, its last point that is not above the value, b<p> in every
    pack, s<j>, holder, n."""
    axes: tuple[Axis, ...]
    tree_tables: Trees | None
    """None where all axes are ordered."""
    after: Relation | None
    """The points of ordered axes that may become ends, each with the next: axis, value, after. None without such."""
    known: PublicColumns
    """What may be known of the published columns."""

    @property
    def forest(self) -> Trees:
        """The trees; only steps for axes that are trees read them."""
        assert self.tree_tables is not None
        return self.tree_tables

    @cached_property
    def ordered(self) -> tuple[Axis, ...]:
        """The axes that may be cut at points of a grid."""
        return tuple(axis for axis in self.axes if axis.is_ordered)

    @cached_property
    def trees(self) -> tuple[Axis, ...]:
        """The axes with nodes."""
        return tuple(axis for axis in self.axes if not axis.is_ordered)

    @cached_property
    def packs(self) -> range:
        """The packs, by number."""
        return packs_of(self.axes)


def packs_of(axes: Sequence[Axis]) -> range:
    """The packs of trees, by number."""
    return range(max((axis.pack + 1 for axis in axes if not axis.is_ordered), default=0))


def scan_points(found: ScannedTable, policy: BoxPolicy) -> BoxScan:
    """The combinations of a table as points."""
    if numbers := [c for c in found.frequencies.relation.columns if folded(c) == "rowid"]:
        raise PolicyError(f"the column {numbers[0]!r}: DuckDB numbers rows by this name; rename it in a view")
    known = read_public_columns(found.source, policy, published_columns(found))
    axes, forest, hierarchies = write_trees(found, [_axis(found, policy, known, a) for a in range(len(policy.qis))])
    points = _points(found, axes, forest)
    if hierarchies:
        # A value that the hierarchies lack has no way to a leaf.
        nowhere = " OR ".join(f"b{p} IS NULL" for p in packs_of(axes))
        if fetch(found.source.con, f"SELECT count(*) FROM {points.name} WHERE {nowhere}")[0][0]:
            check_hierarchies(found.frequencies, hierarchies)
            raise InternalError("a value of the table has no leaf in its hierarchy")
    after = _after(found, known, points, [axis for axis in axes if axis.is_ordered])
    return BoxScan(found.frequencies, policy, found.values, points, axes, forest, after, known)


def _after(found: ScannedTable, known: PublicColumns, points: Relation, ordered: Sequence[Axis]) -> Relation | None:
    """The points of ordered axes, each with the next."""
    if not ordered:
        return None
    listed = []
    for axis in ordered:
        values = f"SELECT DISTINCT v{axis.number} FROM {points.name} WHERE v{axis.number} IS NOT NULL"
        listed.append(points_after(axis, values, known.domains.get(axis.column)))
    return found.source.scratch.table(" UNION ALL ".join(listed), "points_after")


def _axis(found: ScannedTable, policy: BoxPolicy, known: PublicColumns, number: int) -> Axis:
    """What a quasi-identifier is cut by."""
    column = policy.qis[number]
    given, original = policy.hierarchies.get(policy.qis[number]), known.types[column]
    word = given.partition(":")[0] if isinstance(given, str) else ""
    is_ordered = has_ends(BOXES, original)
    if policy.cuts != PUBLIC and is_ordered and (given is None or word in (RANGES, DATES, BINS)):
        declared = next(c.given for c in policy.columns if c.name == policy.qis[number]).get("domain")
        return _with_domain(found, known, _ordered(found, number, column, original), declared)
    if word == BINS:
        raise PolicyError(
            f"the bins of {column!r} are read from the data, and so are no public cut points; take ranges, as in "
            'ranges:10,20, or cuts = "data"'
        )
    if given is None and is_ordered:
        return _halves(found, policy, known, number, column)
    labels = word if word in (RANGES, DATES) else OTHER
    return Axis(number, column, original, labels, given or "suppression", 0)


def _ordered(found: ScannedTable, number: int, column: str, original: str) -> Axis:
    """An axis that may be cut anywhere; refused where its values have no place on a line of doubles."""
    axis, name = Axis(number, column, original, BOXES), quoted(column)
    value = axis.number_of(name)
    is_odd = f"NOT isfinite({name})" if original in ("FLOAT", "DOUBLE", "DATE", "TIMESTAMP") else "false"
    # The nearest number that an axis has may be none of the type.
    moved = f"TRY({axis.typed(value)}) IS DISTINCT FROM {name}"
    is_moved = "false" if _NUMBERED_EXACTLY.fullmatch(original) else moved
    ((odd, moves, first, last),) = fetch(
        found.source.con,
        f"SELECT bool_or({is_odd}), bool_or({is_moved}), min(TRY({value})), max(TRY({value})) "
        f"FROM {found.frequencies.relation.name}",
    )
    if odd:
        raise PolicyError(
            f"{column!r} holds values that are infinite or no number, and no range holds them; make them NULL, or give "
            "the column a hierarchy of its own"
        )
    if moves:
        raise PolicyError(
            f"values of {column!r} have more digits than can be cut rightly; round them, or give the column a hierarchy"
        )
    first, last = float(first or 0), float(last or 0)
    if last - first == float("inf"):
        raise PolicyError(f"the values of {column!r} are too far apart to be compared; make them smaller")
    return replace(axis, first=first, last=last, has_nulls=column in found.frequencies.with_null)


def _with_domain(found: ScannedTable, known: PublicColumns, axis: Axis, declared: Any) -> Axis:
    """An ordered axis with the points and the ends that its public domain gives it."""
    ends, outer = range_ends(declared), None
    if axis.column in known.domains:
        number = axis.number_of("value")
        ((low, high),) = fetch(
            found.source.con, f"SELECT min({number}), max({number}) FROM {known.domains[axis.column]}"
        )
        outer = None if low is None else (float(low), float(high))
    elif ends is not None and (WHOLE.fullmatch(axis.original) or axis.original == "DATE"):
        outer = _too_long_to_list(found, axis, ends)
    if outer is None:
        own = f"SELECT * FROM (VALUES ({axis.first!r}::DOUBLE), ({axis.last!r}::DOUBLE)) AS t(v{axis.number})"
        if axis.original in ("DATE", "TIMESTAMP"):
            own = f"SELECT {point_of(axis, axis.typed(f'v{axis.number}'))} AS v{axis.number} FROM ({own})"
        (first,), (last,) = sorted(fetch(found.source.con, on_grid(own, [axis])))
        return replace(axis, grid=DIGITS, first=float(first), last=float(last))
    return replace(axis, grid=LISTED if ends is None else CONSECUTIVE, outer=outer)


def _too_long_to_list(found: ScannedTable, axis: Axis, ends: tuple[str, str]) -> tuple[float, float]:
    """The ends of a public range with too many values to list. A table with a value outside the range is refused."""
    low, high = (axis.number_of(f"CAST('{end}' AS {axis.original})") for end in ends)
    ((first, last),) = fetch(found.source.con, f"SELECT {low}, {high}")
    if axis.first < first or axis.last > last:
        raise PolicyError(
            f"domain of {axis.column!r}: the table has values outside it, so answers from the release could be wrong; "
            "widen it, or leave it out"
        )
    return float(first), float(last)


def _halves(found: ScannedTable, policy: BoxPolicy, known: PublicColumns, number: int, column: str) -> Axis:
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


def _points(found: ScannedTable, axes: Sequence[Axis], forest: Trees | None) -> Relation:
    """The combinations as points."""
    policy, columns, joins = found.policy, ["t.rowid AS row"], []
    for axis in axes:
        cell = f"t.{quoted(axis.column)}"
        if axis.is_ordered:
            columns.append(f"{point_of(axis, cell)} AS v{axis.number}")
            continue
        assert forest is not None
        # An inner join would say the same, but after many DuckDB thinks that no row is left, and then looks the leaves
        # up in the table, not the values of the table among the leaves.
        joins.append(
            f" LEFT JOIN {forest.leaves.name} AS l{axis.number} ON l{axis.number}.axis = {axis.number} AND "
            f"CAST({cell} AS VARCHAR) IS NOT DISTINCT FROM l{axis.number}.value"
        )
    for p in packs_of(axes):
        ways = [f"((l{x.number}.way >> {x.zeros}) << {x.offset})" for x in axes if not x.is_ordered and x.pack == p]
        columns.append(f"{' | '.join(ways)} AS b{p}")
    for j, (column, values) in enumerate(zip(policy.sensitive, found.values, strict=True)):
        columns.append(f"v{j}.id AS s{j}")
        joins.append(f" JOIN {values.relation.name} AS v{j} ON t.{quoted(column)} IS NOT DISTINCT FROM v{j}.value")
    columns += [f"t.{quoted(policy.person)} AS holder"] if policy.person else []
    listed = ", ".join([*columns, f"t.{COUNT} AS n"])
    rows = f"SELECT {listed} FROM {found.frequencies.relation.name} AS t{''.join(joins)}"
    return found.source.scratch.table(on_grid(rows, [axis for axis in axes if axis.is_ordered]), "points")
