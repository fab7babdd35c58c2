"""Which cut of a partition is tried first, and whether it is allowed.

A cut is on one axis. Numbers are cut beside the median of their rows: rows of one value stay together, so the value of
the median goes with the one side or the other, first as is more even. Where some are NULL they are parted from the
others before anything else, and a node of a tree gives way to its children. The axis that a partition is widest on
comes first, and the next where no cut of it is allowed. A cut is allowed when every part meets every requirement.

    wishes   each partition, its rows, and its cuts in the order in which they are tried
    tried    the cuts that are looked at: part, axis, edge (what is at most this goes left), or the level and first leaf
             of a node; `base`, the number of its first part, and `spacing`, how many numbers its parts take
    taken    those that are allowed
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.labelled.axes import Axis, BoxScan
from sqlpriv.methods.labelled.boxes import join_node
from sqlpriv.methods.labelled.evaluate import class_columns, judged_ctes
from sqlpriv.methods.labelled.measures import RELATION, SIZE, ClassMeasure

_FIELDS = "axis INTEGER, edge DOUBLE, level INTEGER, low BIGINT, spacing BIGINT"
_CUT = f"STRUCT(w DOUBLE, {_FIELDS})"
_COLUMNS = "part, axis, edge, level, low, spacing"
_TAKEN = f"{_COLUMNS}, CAST(sum(spacing) OVER (ORDER BY part) - spacing AS BIGINT) AS base"


class Cutter:
    """Tries the cuts of all partitions in table work."""

    def __init__(self, scan: BoxScan, measures: Sequence[ClassMeasure]) -> None:
        self._scan, self._con, self._measures = scan, scan.source.con, measures
        self._sizes = [m for m in measures if m.kind == SIZE]
        # Then to count rows is to judge.
        self._by_size = len(self._sizes) == len(measures) and scan.policy.person is None
        self._repeats = bool(fetch(self._con, "SELECT max(n) > 1 FROM points")[0][0])

    def write_wishes(self) -> tuple[int, int]:
        """Table wishes; the rows of the largest partition, and how many have a cut that could be allowed."""
        spans = "".join(
            f", min(v{a}) AS low{a}, max(v{a}) AS high{a}, count(v{a}) AS there{a}"
            for a in (axis.number for axis in self._scan.axes)
        )
        fetch(
            self._con,
            "CREATE OR REPLACE TABLE part_spans AS SELECT part, CAST(sum(n) AS BIGINT) AS size, count(*) AS points"
            f"{spans} FROM work GROUP BY part",
        )
        cuts = ", ".join(_wish(x) for x in self._scan.axes)
        joins = "".join(join_node(x.number, "s") for x in self._scan.trees)
        # Of two parts one has no more than half of the rows.
        listed = f"list_sort(list_filter(CAST([{cuts}] AS {_CUT}[]), lambda cut: cut IS NOT NULL))"
        fetch(
            self._con,
            f"CREATE OR REPLACE TABLE wishes AS SELECT part, size, {listed} AS cuts FROM part_spans AS s{joins} WHERE "
            f"NOT ({self._fails('size // 2')})",
        )
        ((parts,),) = fetch(self._con, "SELECT count(*) FROM wishes WHERE len(cuts) > 0")
        ((largest,),) = fetch(self._con, "SELECT max(size) FROM part_spans")
        return int(largest or 0), int(parts)

    def take_cuts(self) -> int:
        """Table taken, of all partitions that have an allowed cut; how many they are."""
        fetch(
            self._con,
            f"CREATE OR REPLACE TABLE allowed (part BIGINT, {_FIELDS})",
        )
        place = 1
        while fetch(self._con, f"SELECT count(*) FROM wishes WHERE len(cuts) >= {place}")[0][0]:
            self._try(place)
            place += 1
            fetch(
                self._con,
                "CREATE OR REPLACE TABLE wishes AS SELECT s.* FROM wishes AS s ANTI JOIN allowed AS a "
                f"ON s.part = a.part WHERE len(cuts) >= {place}",
            )
        fetch(self._con, f"CREATE OR REPLACE TABLE taken AS SELECT {_TAKEN} FROM allowed")
        return int(fetch(self._con, "SELECT count(*) FROM taken")[0][0])

    def part_of(self, cuts: str) -> str:
        """The number of the part that a row of work goes to, over `source`."""
        side = f"CASE WHEN {self._value(cuts)} <= {cuts}.edge THEN 0 ELSE 1 END"
        if self._scan.trees:
            side = f"CASE WHEN {cuts}.level > 0 THEN l.lows[{cuts}.level] - {cuts}.low ELSE {side} END"
        return f"{cuts}.base + {side}"

    def source(self, cuts: str) -> str:
        """The rows w of the partitions that a table of cuts is about."""
        joined = f"work AS w JOIN {cuts} ON w.part = {cuts}.part"
        if not self._scan.trees:
            return joined
        leaf = f"l.axis = {cuts}.axis AND l.code = {self._value(cuts)}"
        return f"{joined} LEFT JOIN tree_leaves AS l ON {cuts}.level > 0 AND {leaf}"

    def _value(self, cuts: str) -> str:
        """Where a row is on the axis that is cut."""
        if len(self._scan.axes) == 1:
            return "w.v0"
        return f"CASE {cuts}.axis " + " ".join(f"WHEN {x.number} THEN w.v{x.number}" for x in self._scan.axes) + " END"

    def _fails(self, size: str) -> str:
        """Whether a part of so many rows fails by its size alone; of persons there are no more than rows."""
        each = [m.fails.replace(m.column, f"({m.sql})").replace("z.size", f"({size})") for m in self._sizes]
        return " OR ".join(["false", *each])

    def _try(self, place: int) -> None:
        """Try the cuts at a place of the wishes; those that are allowed are added to table allowed."""
        fetch(
            self._con,
            "CREATE OR REPLACE TABLE asked AS SELECT part, cut.* EXCLUDE (w) FROM "
            f"(SELECT part, cuts[{place}] AS cut FROM wishes WHERE len(cuts) >= {place})",
        )
        ((numbers, others),) = fetch(self._con, "SELECT count(*) FILTER (edge IS NULL), count(edge) FROM asked")
        if others:
            self._accept(f"SELECT {_COLUMNS} FROM asked WHERE edge IS NOT NULL")
        if not numbers:
            return
        self._write_options()
        first = f"SELECT {_COLUMNS} FROM options WHERE edge IS NOT NULL"
        if self._by_size:
            fetch(self._con, f"INSERT INTO allowed {first}")
            return
        self._accept(first)
        second = _COLUMNS.replace("edge", "other AS edge", 1).replace("part", "o.part", 1)
        self._accept(
            f"SELECT {second} FROM options AS o ANTI JOIN allowed AS a ON o.part = a.part WHERE other IS NOT NULL"
        )

    def _write_options(self) -> None:
        """Table options: of numbers the two cuts beside the median, the more even one first, as far as sizes allow."""
        numbers = "work AS w JOIN asked ON w.part = asked.part WHERE asked.edge IS NULL"
        rows = f"SELECT asked.part, asked.axis, {self._value('asked')} AS v, w.n FROM {numbers}"
        if self._repeats:
            rows += f" UNION ALL SELECT part, axis, v, unnest(range(1, n)) FROM ({rows} AND w.n > 1)"
        fetch(
            self._con,
            "CREATE OR REPLACE TABLE medians AS SELECT part, any_value(axis) AS axis, quantile_disc(v, 0.5) AS middle "
            f"FROM ({rows}) GROUP BY part",
        )
        sums = ", ".join(
            f"CAST(coalesce(sum(n) FILTER (v {sign} middle), 0) AS BIGINT) AS {name}"
            for sign, name in (("<", "below"), ("=", "same"), (">", "above"))
        )
        counted = (
            "SELECT part, any_value(axis) AS axis, any_value(middle) AS middle, max(v) FILTER (v < middle) AS previous"
            f", {sums} FROM (SELECT m.part, m.axis, m.middle, w.n, {self._value('m')} AS v FROM work AS w "
            "JOIN medians AS m ON w.part = m.part) GROUP BY part"
        )
        upper, lower = self._both_hold("below + same", "above"), self._both_hold("below", "same + above")
        judged = (
            f"SELECT *, {upper} AS upper, {lower} AS lower, least(below + same, above) >= least(below, same + above) "
            f"AS is_upper_first FROM ({counted})"
        )
        fetch(
            self._con,
            "CREATE OR REPLACE TABLE options AS SELECT part, axis, "
            "CASE WHEN upper AND (is_upper_first OR NOT lower) THEN middle WHEN lower THEN previous END AS edge, "
            "CASE WHEN upper AND lower THEN CASE WHEN is_upper_first THEN previous ELSE middle END END AS other, "
            f"0 AS level, 0 AS low, 2 AS spacing FROM ({judged})",
        )

    def _both_hold(self, left: str, right: str) -> str:
        """Whether two parts of so many rows are there, and do not fail by their sizes."""
        return f"({left} > 0 AND {right} > 0 AND NOT ({self._fails(left)}) AND NOT ({self._fails(right)}))"

    def _accept(self, cuts: str) -> None:
        """Add those cuts to table allowed of which every part meets every requirement."""
        fetch(self._con, f"CREATE OR REPLACE TABLE tried AS SELECT {_TAKEN} FROM ({cuts})")
        columns = class_columns(self._scan, self._measures)
        read = ", ".join(f"w.{name}" for name in columns)
        rows = f"SELECT {self.part_of('tried')} AS class, {read} FROM {self.source('tried')}"
        if any(m.kind == RELATION for m in self._measures):
            # Some formulas take the shares of the whole table from the rows that they are given.
            rest = "SELECT w.row FROM work AS w JOIN tried ON w.part = tried.part"
            rows += f" UNION ALL SELECT -1, {', '.join(columns)} FROM points WHERE row NOT IN ({rest})"
        fetch(
            self._con,
            f"CREATE OR REPLACE TABLE failing AS WITH {judged_ctes(self._scan, self._measures, rows)} "
            "SELECT class FROM __priv_classes WHERE fails AND class >= 0",
        )
        failed = "SELECT t.part FROM failing AS f ASOF JOIN tried AS t ON f.class >= t.base"
        fetch(self._con, f"INSERT INTO allowed SELECT {_COLUMNS} FROM tried WHERE part NOT IN ({failed})")


def _wish(axis: Axis) -> str:
    """The cut of an axis as SQL over the spans; of numbers it is not yet known where. NULL where there is none."""
    a = axis.number
    if not axis.is_ordered:
        cut = f"(-n{a}.width, {a}, 0, n{a}.level, n{a}.low, n{a}.high - n{a}.low + 1)"
        return f"CASE WHEN s.low{a} < s.high{a} THEN CAST(ROW{cut} AS {_CUT}) END"
    width = inlined(f"_normalised_width(s.low{a}, s.high{a}, {axis.first!r}, {axis.last!r})")
    numbers = f"CAST(ROW(-({width}), {a}, NULL, 0, 0, 2) AS {_CUT})"
    # NULL is parted from all numbers, and they from it: a box of both is as wide as can be.
    nulls = f"CAST(ROW(-1, {a}, CAST('infinity' AS DOUBLE), 0, 0, 2) AS {_CUT})"
    return (
        f"CASE WHEN s.there{a} = s.points AND s.low{a} < s.high{a} THEN {numbers} "
        f"WHEN s.there{a} BETWEEN 1 AND s.points - 1 THEN {nulls} END"
    )
