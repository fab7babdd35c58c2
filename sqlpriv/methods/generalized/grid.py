"""The points at which ranges may end: those of a public domain, or else of a grid that no data decides.

An end that is read off the data is somebody's value, and the greatest value of all may be known of one person (Li,
Qardaji and Su 2011, section 3.2). So a range ends at points of a grid. Where the policy declares a domain its values
are the points, and its ends those of the axis. Without one, they are the numbers with at most two significant digits,
or the first days of months, and the axis has no ends: a range beyond the last cut is open.

A cell is a range between two points, of which it has the first. What is published is the last value before the
second: the day before, the number of the type before, or the value of the domain before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.axes import CONSECUTIVE, LISTED, Axis
from sqlpriv.methods.generalized.layout import BINS, CLOSED, DATES, WHOLE, has_ends
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.table.domains import range_ends

_TIMES = ("DATE", "TIMESTAMP")
_FLOATING = ("FLOAT", "DOUBLE")
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_MOST_DECIMALS = 10
"""Of a point of the grid, as of hierarchies by ranges."""


def finest_digit(original: str) -> int:
    """The power of ten of the last digit that points of the grid have in a type."""
    if WHOLE.fullmatch(original):
        return 0
    decimal = _DECIMAL.fullmatch(original)
    return -min(int(decimal[2]), _MOST_DECIMALS) if decimal else -_MOST_DECIMALS


def has_digits(axis: Axis) -> bool:
    """Whether its points are the numbers with few digits."""
    return not axis.has_points and axis.original not in _TIMES


def on_grid(query: str, axes: Sequence[Axis]) -> str:
    """A query with the point of the grid at or below each number v<a>, in its place."""
    axes = [axis for axis in axes if has_digits(axis)]
    # Every step reads columns of the one before: in one expression, DuckDB would compute it many times over.
    steps = (
        ("near", "_grid_near(v{a})"),
        ("exponent", "_grid_exponent(v{a}, near{a}, {finest})"),
        ("nearest", "_grid_nearest(v{a}, exponent{a})"),
        ("steps", "_grid_steps(v{a}, exponent{a}, nearest{a})"),
    )
    for name, formula in steps if axes else ():
        listed = (formula.format(a=x.number, finest=finest_digit(x.original)) for x in axes)
        added = ", ".join(f"{inlined(f)} AS {name}{x.number}" for f, x in zip(listed, axes, strict=True))
        query = f"SELECT *, {added} FROM ({query})"
    if not axes:
        return query
    points = ", ".join(f"{inlined(f'_grid_number(steps{x.number}, exponent{x.number})')} AS v{x.number}" for x in axes)
    left_out = ", ".join(f"{name}{x.number}" for x in axes for name, _ in steps)
    return f"SELECT * EXCLUDE ({left_out}) REPLACE ({points}) FROM ({query})"


def point_of(axis: Axis, cell: str) -> str:
    """A value as a number, in SQL: of a time without a domain, that of the first day of its month."""
    if axis.has_points or axis.original not in _TIMES:
        return axis.number_of(cell)
    return axis.number_of(f"CAST(date_trunc('month', {cell}) AS {axis.original})")


def points_after(axis: Axis, values: str, domain: str | None) -> str:
    """A query for points and those after them: axis, value, after.

    `values` is a query for the points that rows have, v<a>; `domain` names the domain, where that is the grid.
    """
    a, own = axis.number, f"CAST({axis.number} AS INTEGER) AS axis"
    if axis.grid == LISTED:
        listed = f"SELECT {axis.number_of('value')} AS value FROM {domain} WHERE value IS NOT NULL"
        return f"SELECT {own}, value, lead(value) OVER (ORDER BY value) AS after FROM ({listed})"
    if axis.grid == CONSECUTIVE:
        return f"SELECT {own}, v{a} AS value, v{a} + 1 AS after FROM ({values})"
    if axis.original in _TIMES:
        after = axis.number_of(f"CAST({axis.typed(f'v{a}')} + INTERVAL 1 MONTH AS {axis.original})")
        return f"SELECT {own}, v{a} AS value, {after} AS after FROM ({values})"
    near, finest = inlined(f"_grid_near(v{a})"), finest_digit(axis.original)
    exponents = f"SELECT v{a}, {inlined(f'_grid_exponent(v{a}, near, {finest})')} AS exponent FROM "
    exponents += f"(SELECT v{a}, {near} AS near FROM ({values}))"
    after = inlined(f"_grid_number({inlined(f'_grid_nearest(v{a}, exponent)')} + 1, exponent)")
    return f"SELECT {own}, v{a} AS value, {after} AS after FROM ({exponents})"


def before_cut(original: str, cut: str) -> str:
    """The last value of a type before a cut, in SQL."""
    if WHOLE.fullmatch(original) or original == "DATE":
        return f"CAST({cut} - 1 AS {original})"
    if original == "TIMESTAMP":
        return f"({cut} - INTERVAL 1 MICROSECOND)"
    if original in _FLOATING:
        return f"nextafter({cut}, CAST('-inf' AS {original}))"
    return f"CAST({cut} - {_least_step(original)} AS {original})"


def after_end(original: str, high: str) -> str:
    """The cut after the last value of a range, in SQL; as text it is what labels say."""
    if WHOLE.fullmatch(original):
        return f"(CAST({high} AS HUGEINT) + 1)"
    if original == "DATE":
        return f"({high} + 1)"
    if original == "TIMESTAMP":
        return f"({high} + INTERVAL 1 MICROSECOND)"
    if original in _FLOATING:
        # Before 0 comes -5e-324, and after that -0.0, which would read as another cut: adding 0 makes it 0.0.
        return f"(nextafter({high}, CAST('inf' AS {original})) + CAST(0 AS {original}))"
    return f"TRY_CAST({high} + {_least_step(original)} AS {original})"


def named_ends(labels: str, original: str) -> tuple[str, str]:
    """The ends that labels of a typed hierarchy name, as SQL over label, level and above.

    A value is both of its own ends, and * has none. Bins have both ends among their values, or are open.
    """
    if labels == BINS:
        return _ends_of_bins(original)
    is_whole = WHOLE.fullmatch(original) is not None
    if labels == DATES:
        ends = ["_date_from(label)", "_date_to(label) - 1" if original == "DATE" else "_date_to(label)"]
    elif is_whole:
        ends = [f"_whole_{side}(_range_{side}(label), {literal(original)})" for side in ("from", "to")]
    else:
        ends = ["_range_from(label)", "_range_to(label)"]
    typed = []
    for end in map(inlined, ends):
        cast = f"TRY_CAST({end} AS {original})"
        if not (labels == DATES or is_whole or original == "FLOAT"):
            # NULL where rounding would move an end, past a value of the range perhaps.
            cast = f"CASE WHEN TRY_CAST({cast} AS DECIMAL(38, 10)) = {end} THEN {cast} END"
        typed.append(f"CASE WHEN level = 0 THEN TRY_CAST(label AS {original}) WHEN len(above) > 0 THEN {cast} END")
    return typed[0], typed[1]


def _ends_of_bins(original: str) -> tuple[str, str]:
    low, last, cut = (f"TRY_CAST({inlined(f'_bin_{end}(label)')} AS {original})" for end in ("from", "to", "before"))
    return low, f"coalesce({last}, {before_cut(original, cut)})"


def _least_step(original: str) -> str:
    decimal = _DECIMAL.fullmatch(original)
    scale = int(decimal[2]) if decimal else 0
    return f"CAST('{'0.' + '0' * (scale - 1) if scale else ''}1' AS {original})"


def cell_label(original: str, low: str, high: str, cut: str, is_closed: bool) -> str:
    """The label of a cell, in SQL. Without a domain, a range of floating numbers names the cut that it stops before."""
    more, less = (" or later", "before ") if original in _TIMES else (" or more", "less than ")
    closed = "true" if is_closed or original not in _FLOATING else "false"
    return inlined(f"_cell_label({low}, {high}, {cut}, {closed}, '{more}', '{less}')")


def closed_ends(file: ReleaseFile, policy: Policy | None) -> dict[str, str]:
    """By column, a query for its closed ends; for those in ranges that rows made, not a hierarchy of the policy."""
    given = {} if policy is None else {folded(c.name): range_ends(c.given.get("domain")) for c in policy.columns}
    found = {}
    for row in file.attributes:
        name, original, labels = str(row["name"]), str(row["original"]), str(row["labels"])
        if labels in CLOSED and has_ends(labels, original):
            found[name] = _RangeColumn(file, name, original, bool(row["has_domain"]), given.get(folded(name))).ends()
    return found


@dataclass(frozen=True)
class _RangeColumn:
    """A column that is published in ranges that a method made."""

    file: ReleaseFile
    name: str
    original: str
    has_domain: bool
    ends_given: tuple[str, str] | None = None
    """The ends of a range that the policy declares as the domain, where the policy is at hand."""

    @property
    def outer(self) -> str:
        """A query for the ends of its domain: first, last. NULL where none is known."""
        if self.has_domain:
            return f"SELECT min(value) AS first, max(value) AS last FROM {self._domain}"
        first, last = (f"'{end}'" for end in self.ends_given) if self.ends_given else ("NULL", "NULL")
        return f"SELECT TRY_CAST({first} AS {self.original}) AS first, TRY_CAST({last} AS {self.original}) AS last"

    @property
    def _domain(self) -> str:
        return quoted(self.file.catalog, "domain", self.name)

    @property
    def _is_public(self) -> str:
        """Whether an end is a point of its domain, as SQL. Every whole number is one of a range too long to list."""
        if self.has_domain:
            return f"edge IN (SELECT value FROM {self._domain})"
        part = self.file.policy
        columns = part.get("columns", {}) if isinstance(part, dict) else {}
        is_whole = WHOLE.fullmatch(self.original) is not None or self.original == "DATE"
        is_range = columns.get(self.name, {}).get("domain") == "range" and is_whole
        return "edge BETWEEN coalesce(first, edge) AND coalesce(last, edge)" if is_range else "false"

    def ends(self) -> str:
        """A query for closed ends: edge, is_low, whether it is a point of the grid or the domain, and an outer one."""
        labels = self.file.table(f"labels_{self.name}")
        listed = f"SELECT low AS edge, true AS is_low FROM {labels} UNION SELECT high, false FROM {labels}"
        axis = Axis(0, self.name, self.original, "")
        after = after_end(self.original, "edge")
        # What is a point is where a cell starts, or the next one does.
        cut = f"CASE WHEN is_low THEN edge ELSE TRY_CAST({after} AS {self.original}) END"
        placed = f"SELECT edge, is_low, {cut} AS cut FROM ({listed}) WHERE edge IS NOT NULL"
        numbered = f"SELECT *, {axis.number_of('cut')} AS own, {point_of(axis, 'cut')} AS v0 FROM ({placed})"
        return (
            f"SELECT edge, is_low, v0 = own OR {self._is_public} AS is_point, "
            "coalesce(CASE WHEN is_low THEN edge = first ELSE edge = last END, false) AS is_outer "
            f"FROM ({on_grid(numbered, [axis])}), ({self.outer})"
        )
