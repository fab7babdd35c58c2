"""Which cut of a partition is tried first, and whether it is allowed.

A cut is on one axis. Numbers are cut beside the median of their rows: rows of one value stay together, so the value of
the median goes with the one side or the other, first as is more even. Where some are NULL they are parted from the
others before anything else, and a node of a tree gives way to its children. The axis that a partition is widest on
comes first, and the next where no cut of it is allowed. A cut is allowed when every part meets every requirement.

    wishes   the cuts of each partition, `place` by place in the order in which they are tried: axis, edge (what is at
             most this goes left; NULL where it is not known yet), or the level and first leaf of a node, and
             `spacing`, how many numbers its parts take
    options  those that are looked at and whose parts are large enough, with the other edge that there may be
    allowed  those that every part of meets everything
    taken    of each partition the first of these, with `base`, the number of its first part

How many rows a part has is counted for all cuts at once. Only what sizes allow is judged by the other requirements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.labelled.axes import Axis, BoxScan
from sqlpriv.methods.labelled.boxes import least_nodes, tree_sides
from sqlpriv.methods.labelled.evaluate import class_columns, judged_ctes
from sqlpriv.methods.labelled.measures import RELATION, SIZE, ClassMeasure

_CUT = "ask, part, axis, edge, level, low, spacing"
_BASE = "CAST(sum(spacing) OVER (ORDER BY ask) - spacing AS BIGINT) AS base"
_AT_ONCE = 2_000_000
"""So many points times axes are looked at in one query; of more, the widest axes first, since most cuts are allowed."""


class Cutter:
    """Tries the cuts of all partitions in table work."""

    def __init__(self, scan: BoxScan, measures: Sequence[ClassMeasure]) -> None:
        self._scan, self._con, self._measures = scan, scan.source.con, measures
        self._sizes = [m for m in measures if m.kind == SIZE]
        # Then to count rows is to judge.
        self._by_size = len(self._sizes) == len(measures) and scan.policy.person is None
        # Some formulas take the shares of the whole table from the rows that they are given: one cut at a time.
        self._by_place = any(m.kind == RELATION for m in measures)
        self._ordered = [axis for axis in scan.axes if axis.is_ordered]
        ((leaves,),) = fetch(self._con, "SELECT max(leaves) FROM tree_nodes") if scan.trees else [(0,)]
        self.most_parts = max(2, int(leaves))
        """How many numbers the parts of one cut take at most."""
        nulls = " OR ".join(["false", *(f"count(v{x.number}) < count(*)" for x in self._ordered)])
        self._repeats, self._has_nulls = fetch(self._con, f"SELECT max(n) > 1, {nulls} FROM points")[0]

    def write_wishes(self) -> int:
        """Table wishes; how many there are."""
        spans = "".join(
            f", min(v{a}) AS low{a}, max(v{a}) AS high{a}, count(v{a}) AS there{a}"
            for a in (axis.number for axis in self._scan.axes)
        )
        cuts = [_number_wishes(axis) for axis in self._ordered]
        if self._scan.trees:
            sides = f"FROM ({tree_sides('part, size', self._scan.trees)}) WHERE low < high"
            cuts.append(
                "SELECT s.part, s.size, s.axis, n.share AS width, 0 AS edge, n.level, n.low, "
                f"n.high - n.low + 1 AS spacing FROM {least_nodes(sides)}"
            )
        # Of two parts one has no more than half of the rows.
        open_parts = f"SELECT * FROM all_spans WHERE NOT ({self._fails('size // 2')})"
        written = fetch(
            self._con,
            "CREATE OR REPLACE TABLE wishes AS WITH all_spans AS (SELECT part, CAST(sum(n) AS BIGINT) AS size, "
            f"count(*) AS points{spans} FROM work GROUP BY part), spans AS MATERIALIZED ({open_parts}) SELECT *, "
            "row_number() OVER (PARTITION BY part ORDER BY width DESC, axis) AS place, "
            f"part * {len(self._scan.axes) + 1} + place AS ask FROM ({' UNION ALL '.join(cuts)})",
        )
        return int(written[0][0])

    def largest(self) -> int:
        """The rows of the largest partition that may have a cut."""
        return int(fetch(self._con, "SELECT max(size) FROM wishes")[0][0] or 0)

    def take_cuts(self, points: int) -> int:
        """Table taken, of all partitions that have an allowed cut, by the wishes over so many points; their number."""
        if self._by_size and points * len(self._scan.axes) <= _AT_ONCE:
            allowed = f"SELECT {_CUT} FROM ({self._options('FROM wishes')})"
        else:
            self._write_allowed(points)
            allowed = f"SELECT {_CUT} FROM allowed"
        first = f"{allowed} QUALIFY row_number() OVER (PARTITION BY part ORDER BY ask) = 1"
        return int(fetch(self._con, f"CREATE OR REPLACE TABLE taken AS SELECT *, {_BASE} FROM ({first})")[0][0])

    def _write_allowed(self, points: int) -> None:
        """Table allowed."""
        fetch(
            self._con,
            "CREATE OR REPLACE TABLE allowed (ask BIGINT, part BIGINT, axis INTEGER, edge DOUBLE, level BIGINT, "
            "low BIGINT, spacing BIGINT)",
        )
        for asked in self._turns(points):
            if self._by_size:
                fetch(self._con, f"INSERT INTO allowed SELECT {_CUT} FROM ({self._options(asked)})")
                continue
            fetch(self._con, f"CREATE OR REPLACE TABLE options AS {self._options(asked)}")
            self._accept("SELECT * EXCLUDE (other) FROM options")
            left = "options AS o ANTI JOIN allowed AS a ON o.ask = a.ask"
            self._accept(f"SELECT o.* EXCLUDE (other) REPLACE (o.other AS edge) FROM {left} WHERE other IS NOT NULL")

    def part_of(self, cuts: str) -> str:
        """The number of the part that a row of work goes to, over `source`."""
        return f"{cuts}.base + {self._side(cuts, self._value(cuts))}"

    def source(self, cuts: str) -> str:
        """The rows w of the partitions that a table of cuts is about."""
        return f"work AS w JOIN {cuts} ON w.part = {cuts}.part{self._leaves(cuts, self._value(cuts))}"

    def _leaves(self, cuts: str, value: str) -> str:
        """Join the leaf l of a value, where a node is cut."""
        if not self._scan.trees:
            return ""
        return f" LEFT JOIN tree_leaves AS l ON {cuts}.level > 0 AND l.axis = {cuts}.axis AND l.code = {value}"

    def _side(self, cuts: str, value: str) -> str:
        """Which part of its partition a value goes to, from 0."""
        side = f"CASE WHEN {value} <= {cuts}.edge THEN 0 ELSE 1 END"
        if not self._scan.trees:
            return side
        return f"CASE WHEN {cuts}.level > 0 THEN l.lows[{cuts}.level] - {cuts}.low ELSE {side} END"

    def _value(self, cuts: str) -> str:
        """Where a row is on the axis that is cut."""
        if len(self._scan.axes) == 1:
            return "w.v0"
        return f"CASE {cuts}.axis " + " ".join(f"WHEN {x.number} THEN w.v{x.number}" for x in self._scan.axes) + " END"

    def _fails(self, size: str) -> str:
        """Whether a part of so many rows fails by its size alone; of persons there are no more than rows."""
        each = [m.fails.replace(m.column, f"({m.sql})").replace("z.size", f"({size})") for m in self._sizes]
        return " OR ".join(["false", *each])

    def _turns(self, points: int) -> Iterator[str]:
        """Which wishes are looked at together, as queries; never those of partitions that have a cut already."""
        axes = len(self._scan.axes)
        if not self._by_place and points * axes <= _AT_ONCE:
            yield "FROM wishes"
            return
        last = axes if self._by_place else 2
        for place in range(1, last + 1):
            chosen = f"place = {place}" if self._by_place or place < last else f"place >= {place}"
            left = f"wishes AS s ANTI JOIN allowed AS a ON s.part = a.part WHERE {chosen}"
            if fetch(self._con, f"SELECT count(*) FROM {left}")[0][0]:
                yield f"SELECT s.* FROM {left}"

    def _options(self, asked: str) -> str:
        """A query for the options of wishes: what the sizes of the parts allow."""
        found = []
        if self._ordered:
            found.append(self._number_options())
        if self._scan.trees or self._has_nulls:
            # By values first, which are few: leaves are looked up for each of them, and not for every row.
            cells = (
                f"(SELECT asked.ask, {self._value('asked')} AS v, CAST(sum(w.n) AS BIGINT) AS n FROM work AS w "
                "JOIN asked ON w.part = asked.part WHERE asked.edge IS NOT NULL GROUP BY ALL)"
            )
            joined = f"{cells} AS w JOIN asked ON w.ask = asked.ask{self._leaves('asked', 'w.v')}"
            sized = (
                f"SELECT w.ask, {self._side('asked', 'w.v')} AS side, CAST(sum(w.n) AS BIGINT) AS size FROM {joined} "
                "GROUP BY ALL"
            )
            failing = f"SELECT ask FROM ({sized}) WHERE {self._fails('size')}"
            others = f"SELECT {_CUT}, CAST(NULL AS DOUBLE) AS other FROM asked WHERE edge IS NOT NULL"
            found.append(f"{others} AND ask NOT IN ({failing})")
        return f"WITH asked AS MATERIALIZED ({asked}) {' UNION ALL '.join(found)}"

    def _number_options(self) -> str:
        """A query for the two cuts beside the median, the more even one first, as far as sizes allow it."""
        joined = "work AS w JOIN asked ON w.part = asked.part WHERE asked.edge IS NULL"
        rows = f"SELECT asked.ask, {self._value('asked')} AS v, w.n FROM {joined}"
        if self._repeats:
            rows += f" UNION ALL SELECT ask, v, unnest(range(1, n)) FROM ({rows} AND w.n > 1)"
        medians = f"SELECT ask, quantile_disc(v, 0.5) AS middle FROM ({rows}) GROUP BY ask"
        sums = ", ".join(
            f"CAST(coalesce(sum(n) FILTER (v {sign} middle), 0) AS BIGINT) AS {name}"
            for sign, name in (("<", "below"), ("=", "same"), (">", "above"))
        )
        found = f"asked JOIN ({medians}) AS m ON asked.ask = m.ask"
        counted = (
            f"SELECT ask, any_value(part) AS part, any_value(axis) AS axis, any_value(middle) AS middle, "
            f"max(v) FILTER (v < middle) AS previous, {sums} FROM (SELECT m.*, w.n, {self._value('m')} AS v FROM work "
            f"AS w JOIN (SELECT asked.ask, part, axis, middle FROM {found}) AS m ON w.part = m.part) GROUP BY ask"
        )
        upper, lower = self._both_hold("below + same", "above"), self._both_hold("below", "same + above")
        judged = (
            f"SELECT *, {upper} AS upper, {lower} AS lower, least(below + same, above) >= least(below, same + above) "
            f"AS is_upper_first FROM ({counted})"
        )
        return (
            "SELECT ask, part, axis, "
            "CASE WHEN upper AND (is_upper_first OR NOT lower) THEN middle ELSE previous END AS edge, 0 AS level, "
            "0 AS low, 2 AS spacing, "
            "CASE WHEN upper AND lower THEN CASE WHEN is_upper_first THEN previous ELSE middle END END AS other "
            f"FROM ({judged}) WHERE upper OR lower"
        )

    def _both_hold(self, left: str, right: str) -> str:
        """Whether two parts of so many rows are there, and do not fail by their sizes."""
        return f"({left} > 0 AND {right} > 0 AND NOT ({self._fails(left)}) AND NOT ({self._fails(right)}))"

    def _accept(self, cuts: str) -> None:
        """Add those cuts to table allowed of which every part meets every requirement."""
        fetch(self._con, f"CREATE OR REPLACE TABLE tried AS SELECT {_CUT}, {_BASE} FROM ({cuts})")
        columns = class_columns(self._scan, self._measures)
        read = ", ".join(f"w.{name}" for name in columns)
        rows = f"SELECT {self.part_of('tried')} AS class, {read} FROM {self.source('tried')}"
        if self._by_place:
            rest = "SELECT w.row FROM work AS w JOIN tried ON w.part = tried.part"
            rows += f" UNION ALL SELECT -1, {', '.join(columns)} FROM points WHERE row NOT IN ({rest})"
        fetch(
            self._con,
            f"CREATE OR REPLACE TABLE failing AS WITH {judged_ctes(self._scan, self._measures, rows)} "
            "SELECT class FROM __priv_classes WHERE fails AND class >= 0",
        )
        failed = "SELECT DISTINCT t.base FROM failing AS f ASOF JOIN tried AS t ON f.class >= t.base"
        fetch(self._con, f"INSERT INTO allowed SELECT {_CUT} FROM tried WHERE base NOT IN ({failed})")


def _number_wishes(axis: Axis) -> str:
    """A query over the spans for the cut of an axis of numbers: where, is not yet known."""
    a = axis.number
    width = inlined(f"_normalised_width(low{a}, high{a}, {axis.first!r}, {axis.last!r})")
    # NULL is parted from all numbers, and they from it: a box of both is as wide as can be.
    is_range = f"there{a} = points"
    return (
        f"SELECT part, size, {a} AS axis, CASE WHEN {is_range} THEN {width} ELSE 1 END AS width, "
        f"CASE WHEN NOT {is_range} THEN CAST('infinity' AS DOUBLE) END AS edge, 0 AS level, 0 AS low, 2 AS spacing "
        f"FROM spans WHERE there{a} > 0 AND (low{a} < high{a} OR NOT {is_range})"
    )
