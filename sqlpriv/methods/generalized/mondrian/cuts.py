"""One round of cuts, as one query: of every partition one cut is tried, and judged in the next round.

A cut is on one axis. Numbers are cut at a point of their grid, beside the median of their rows: rows at one point stay
together. So those at the point of the median go with the one side or the other, first as is more even. Where some are
NULL they are parted from the others before anything else, and a node of a tree gives way to its children. The axis that
a partition is widest on comes first, and the next where no cut of it is allowed. A cut is allowed when every part meets
every requirement.

To try a cut is to part the rows: the pieces below, at and above the median, or as many as there are children. Their
sizes say whether the cut is allowed, and their spans what to cut next; a partition whose cut is not allowed is put
together again, and its next cut tried. Of cuts by trees the children are counted before, of all at once, so that none
is tried that would leave a part too small. A round for every cut that is refused takes longer than to count. So rows
are read four times a round, however many partitions there are, and rounds are hardly more than the cuts are deep.

    work     the points of partitions: piece, round, row, and the columns of a point that are read
    pieces   each piece: its try, side, size, first row and spans
    tried    of each try the verdict by the sizes of its pieces
    judged   the same, where more is required than rows
    parts    the partitions that the verdicts leave: their pieces, the number of the cut to be tried now, their spans
    wishes   the cuts that each may have, with how eagerly it is tried
    refused  the cuts by trees that sizes do not allow, of those that may be next
    chosen   of each partition the cut that is tried now; none where there is none left
    goes     each piece: the partition it goes to, and how that is cut
    middles  the medians of partitions that are cut at one, and the points after them
    cuts     both together
    cells    of each try the cell of its partition, and the cut: lo<a> and hi<a>, the cuts of an ordered axis that it is
             between, NULL where there is none; and where the node of a cut is published level<a>, its level

The number of a piece is made of those of its partition (its first row), of the cut that is tried, and of the side: the
first two are the number of the try. A partition without a cut left is a class: then the piece is -1 - the first row.

Where points are few, to read and plan a query takes longer than to answer it: then all rounds are one query, which
repeats itself. Else there is one query a round, so that tables larger than memory are on disk in between, and progress
is reported. Rows that are near each other in memory are near each other in the cuts, once they are sorted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlpriv.checks.measures import RELATION, SIZE, TOGETHER
from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import OnProgress
from sqlpriv.core.relation import Relation
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.methods.generalized.boxes import is_empty, is_range, merged_spans, nodes_over, of_numbers, spans
from sqlpriv.methods.generalized.evaluate import class_columns, judged_ctes
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.points import BoxScan
from sqlpriv.methods.generalized.policy import PUBLIC

_BELOW, _AT, _ABOVE, _SIDE = 0, 1, 2, 3
"""The sides of a median, and the first child of a tree. Where NULL is parted from numbers, it is above them."""
_TOGETHER, _APART, _UPPER, _LOWER = 0, 1, 2, 3
"""Verdicts: no cut; every piece is a part; the rows at the median go with those below, or with those above."""
_RADIX = 64
"""Of the number of a wish: axis, bits of a field, where they start, and a level. A number has no field, and starts at
0; where NULL is parted from numbers, it starts at 1."""
_LEVELS = 1024
"""There are fewer levels: after its start, a wish has the level of the node that is cut."""
_AXIS, _FIELD = f"wish // {_RADIX**2 * _LEVELS}", f"wish // {_RADIX * _LEVELS} % {_RADIX}"
_START, _LEVEL = f"wish // {_LEVELS} % {_RADIX}", f"wish % {_LEVELS}"
WORK, COPIES = "work", "copies"
"""What the points of partitions, and the copies of rows, are called where all rounds are one query."""
_MARKED = -(2**62)
"""Where all rounds are one query: what the number of a try is added to in a row for its cell."""
_CUT = ("cut_axis", "cut", "after", "cut_level")
"""What is known of the cut of a try: on which axis, at which median and the point after it, or of which level."""
_LARGE = 400
"""A partition is large when so small a share of it is still enough rows."""
_SORTED = (6, 12)
"""After which rounds the points are sorted by their partitions."""


def _ones(field: str) -> str:
    """As many ones as a field has bits."""
    return f"(CAST(1 AS BIGINT) << ({field})) - 1"


class Cutter:
    """Writes the query of a round."""

    def __init__(self, scan: BoxScan, measures: Sequence[ClassMeasure]) -> None:
        self._scan, self._measures = scan, measures
        self._sizes = [m for m in measures if m.kind == SIZE]
        # Then to count rows is to judge.
        self._by_size = len(self._sizes) == len(measures) and scan.policy.person is None
        self._tries = 2 * (len(scan.axes) + 2)
        self._children = 2 ** max([1, *(axis.field for axis in scan.trees)])
        self._sides = _SIDE + self._children
        # Where no part can be too small there is nothing to be counted.
        self._counts = bool(self._sizes and scan.trees)
        self._repeats = scan.combinations < scan.rows
        self._integer = "INTEGER" if scan.rows < 2**31 else "BIGINT"
        self._columns = [name for name in class_columns(scan, measures) if name != "n" or self._repeats]
        self._leveled = scan.trees if scan.policy.release["cuts"] == PUBLIC else ()
        self.bounds = [f"{side}{x.number}" for x in scan.ordered for side in ("lo", "hi")]
        """The names of what cells are bounded by."""
        self.bounds += [f"level{x.number}" for x in self._leveled]

    def start(self) -> str:
        """A query for all points as one partition that nothing was tried of."""
        numbers = [f"CAST(v{x.number} AS {x.shortest}) AS v{x.number}" for x in self._scan.ordered]
        kept = [f"CAST(n AS {self._integer}) AS n" if name == "n" else name for name in self._columns]
        columns = [*numbers, *(f"b{p}" for p in self._scan.packs), *kept]
        row = f"CAST(row AS {self._integer}) AS row"
        own = f"CAST(0 AS BIGINT) AS piece, CAST(0 AS INTEGER) AS round, {row}"
        return f"SELECT {own}, {', '.join(columns)} FROM {self._scan.points.name}"

    def start_in_one_query(self) -> str:
        """The same with a row for the cell of the partition."""
        own = f"SELECT {_MARKED} AS piece, CAST(0 AS INTEGER) AS round, CAST(-1 AS {self._integer}) AS row, "
        marker = f"{own}{self._nothing()}{self._packed()} AS cell FROM ({self.start_cells()})"
        return f"SELECT *, CAST(NULL AS DOUBLE[]) AS cell FROM ({self.start()}) UNION ALL {marker}"

    def start_cells(self) -> str:
        """A query for the cell of all points."""
        nothing = ", ".join(f"CAST(NULL AS DOUBLE) AS {name}" for name in (*_CUT, *self.bounds))
        return f"SELECT CAST(0 AS BIGINT) AS try, {nothing}"

    def _nothing(self) -> str:
        return "".join(f"NULL AS {name}, " for name in (*self._axis_columns(), *self._columns))

    def _packed(self) -> str:
        """All that is known of a cell, as one list."""
        return f"CAST([{', '.join((*_CUT, *self.bounds))}] AS DOUBLE[])"

    def _unpacked(self) -> str:
        return ", ".join(f"cell[{i + 1}] AS {name}" for i, name in enumerate((*_CUT, *self.bounds)))

    def finished(self, work: str = WORK) -> str:
        """A query for the points of classes, from those of work that are done."""
        n = "" if self._repeats else ", 1 AS n"
        return (
            f"SELECT -1 - piece AS class, * EXCLUDE (piece){n} FROM {work} WHERE piece < 0 AND piece > {_MARKED} // 2"
        )

    def copies(self) -> str:
        """A query for each number of rows that a point stands for, as often as it says."""
        n = f"CAST(n AS {self._integer}) AS n"
        return f"SELECT {n} FROM (SELECT n, unnest(range(n)) FROM (SELECT DISTINCT n FROM {self._scan.points.name}))"

    def round_in_one_query(self) -> str:
        """A query for work after one more round. The cells of partitions are rows of it, too, as lists: a relation that
        repeats itself is the only one that the next round can read."""
        cells = f"SELECT piece - {_MARKED} AS try, {self._unpacked()} FROM {WORK} WHERE row = -1"
        steps = self._steps(WORK, COPIES, cells)
        listed = ", ".join(f"{name} AS MATERIALIZED ({query})" for name, query in steps.items())
        points = f"SELECT *, CAST(NULL AS DOUBLE[]) AS cell FROM ({self.moved(WORK, 'cuts')})"
        row = f"CAST(CASE WHEN base < 0 THEN -2 ELSE -1 END AS {self._integer}) AS row"
        piece = f"CASE WHEN base < 0 THEN base ELSE {_MARKED} + base // {self._sides} END AS piece"
        marker = (
            f"SELECT {piece}, 0 AS round, {row}, {self._nothing()}{self._packed()} AS cell FROM cuts WHERE is_first"
        )
        return f"WITH {listed} {points} UNION ALL {marker}"

    def cells_in_one_query(self, classed: str) -> str:
        """A query for the cells of classes, from the rows that all rounds leave."""
        return f"SELECT class, {self._unpacked()} FROM {classed} WHERE row = -2"

    def cuts(self, work: str, copies: str, cells: str) -> str:
        """A query for the cuts of a round: each piece with the partition it goes to, the cell of that, and its cut.

        `cells` is a query for the cells of tries.
        """
        steps = self._steps(work, copies, cells)
        listed = ", ".join(f"{name} AS MATERIALIZED ({query})" for name, query in steps.items())
        return f"WITH {listed} FROM cuts"

    def cells_after(self, cuts: str) -> str:
        """A query for the cells of the tries that cuts make."""
        listed = ", ".join((*_CUT, *self.bounds))
        return f"SELECT base // {self._sides} AS try, {listed} FROM {cuts} WHERE base >= 0 AND is_first"

    def cells_finished(self, cuts: str) -> str:
        """A query for the cells of the partitions that cuts leave as classes."""
        return f"SELECT {', '.join(['part AS class', *self.bounds])} FROM {cuts} WHERE base < 0 AND is_first"

    def _steps(self, work: str, copies: str, cells: str) -> dict[str, str]:
        steps = {"pieces": self._pieces(work), "tried": self._tried(), "cells": cells}
        steps |= {} if self._by_size else self._judged(work)
        steps |= {"parts": self._parts(), "wishes": self._wishes()}
        steps |= {"refused": self._refused(work)} if self._counts else {}
        steps |= {"chosen": self._chosen(), "goes": self._goes()}
        if self._scan.after is None:
            steps["cuts"] = "SELECT *, NULL AS cut, NULL AS after FROM goes"
        else:
            steps["middles"] = (
                f"SELECT m.part, CAST(m.middle AS DOUBLE) AS cut, a.after FROM ({self._middles(work, copies)}) AS m "
                f"JOIN {self._scan.after.name} AS a ON m.axis = a.axis AND m.middle = a.value"
            )
            # A number is below infinity, and so goes nowhere else where it is not cut.
            middle = "coalesce(m.cut, CAST('infinity' AS DOUBLE)) AS middle"
            steps["cuts"] = (
                f"SELECT g.*, m.cut, m.after, {middle} FROM goes AS g LEFT JOIN middles AS m ON g.part = m.part"
            )
        return steps

    def moved(self, work: str, cuts: str) -> str:
        """A query for work after the cuts of a round."""
        # The number that is cut is looked up once, and compared twice.
        number = f", c.middle, {self._value('c')} AS number" if self._scan.ordered else ""
        joined = (
            f"SELECT w.*, c.base, c.cut_axis AS axis, c.ones, c.start{number} FROM {work} AS w JOIN {cuts} AS c "
            "ON w.piece = c.piece"
        )
        kept = ", ".join(["row", *self._axis_columns(), *self._columns])
        return f"SELECT base + {self._side()} AS piece, round + 1 AS round, {kept} FROM ({joined}) AS j"

    def _axis_columns(self) -> list[str]:
        return [*(f"v{x.number}" for x in self._scan.ordered), *(f"b{p}" for p in self._scan.packs)]

    def _pieces(self, work: str) -> str:
        return (
            f"SELECT piece, piece // {self._sides} AS try, piece % {self._sides} AS side, {self._size('n')} AS size, "
            f"CAST(min(row) AS BIGINT) AS first, {spans(self._scan)} FROM {work} WHERE piece >= 0 GROUP BY piece"
        )

    def _tried(self) -> str:
        sums = ", ".join(
            f"CAST(sum(CASE WHEN side = {side} THEN size ELSE 0 END) AS BIGINT) AS {name}"
            for side, name in ((_BELOW, "below"), (_AT, "same"), (_ABOVE, "above"))
        )
        counted = (
            f"SELECT try, min(side) >= {_SIDE} AS is_apart, count(*) > 1 AND NOT bool_or({self._fails('size')}) AS "
            f"apart_holds, {sums} FROM pieces GROUP BY try"
        )
        upper, lower = self._both_hold("below + same", "above"), self._both_hold("below", "same + above")
        even = "least(below + same, above) >= least(below, same + above)"
        judged = f"SELECT *, {upper} AS upper, {lower} AS lower, {even} AS upper_first FROM ({counted})"
        # Of two that sizes allow, the second is tried where the first was not allowed by what else is required.
        first, other = "upper_first", ""
        if not self._by_size:
            first = "(upper_first = (try % 2 = 0))"
            other = ", same > 0 AND upper AND lower AND try % 2 = 0 AS has_other"
        return (
            f"SELECT try, CASE WHEN is_apart THEN CASE WHEN apart_holds THEN {_APART} ELSE {_TOGETHER} END "
            f"WHEN upper AND ({first} OR NOT lower) THEN {_UPPER} WHEN lower THEN {_LOWER} ELSE {_TOGETHER} END AS "
            f"verdict, is_apart AND NOT apart_holds AS is_too_small{other} FROM ({judged})"
        )

    def _judged(self, work: str) -> dict[str, str]:
        """The verdicts by what else is required of the parts."""
        proposed = (
            f"SELECT t.try, min(p.first) AS class, list(p.piece) AS pieces FROM pieces AS p JOIN tried AS t ON "
            f"p.try = t.try WHERE t.verdict <> {_TOGETHER} GROUP BY t.try, {_group('t', 'p')}"
        )
        listed = "SELECT class, unnest(pieces) AS piece FROM proposed"
        columns = class_columns(self._scan, self._measures)
        read = ", ".join(f"w.{name}" if name in self._columns else f"1 AS {name}" for name in columns)
        rows = f"SELECT o.class, {read} FROM {work} AS w JOIN ({listed}) AS o ON w.piece = o.piece"
        if any(m.kind == RELATION for m in self._measures):
            # Some formulas take the shares of the whole table from the rows that they are given.
            rest = f"SELECT w.row FROM {work} AS w JOIN ({listed}) AS o ON w.piece = o.piece"
            rows += (
                f" UNION ALL SELECT -1, {', '.join(columns)} FROM {self._scan.points.name} WHERE row NOT IN ({rest})"
            )
        failing = (
            f"WITH {judged_ctes(self._scan, self._measures, rows)} SELECT class FROM __priv_classes WHERE fails AND "
            "class >= 0"
        )
        failed = "SELECT o.try FROM proposed AS o JOIN failing AS f ON o.class = f.class"
        judged = (
            f"SELECT try, CASE WHEN is_failed THEN {_TOGETHER} ELSE verdict END AS verdict, is_too_small, has_other "
            f"AND is_failed AS has_other FROM (SELECT *, try IN ({failed}) AS is_failed FROM tried)"
        )
        return {"proposed": proposed, "failing": failing, "judged": judged}

    def _parts(self) -> str:
        """The number of a cut is twice its place, and one more where the other side of the median is tried.

        The first place is that of the first cut before all are counted, the second the same after it, and so on: only
        a cut that is refused for its sizes is not counted again.
        """
        number = f"t.try % {self._tries}"
        place = f"{number} // 2"
        following = f"({place} + CASE WHEN {place} = 1 AND NOT t.is_too_small THEN 2 ELSE 1 END) * 2"
        if not self._by_size:
            following = f"CASE WHEN t.has_other THEN {number} + 1 ELSE {following} END"
        verdicts = "tried" if self._by_size else "judged"
        bounded = "".join(f", any_value({name}) AS {name}" for name in self.bounds)
        return (
            "SELECT min(first) AS part, list(piece) AS pieces, any_value(number) AS number, "
            f"CAST(sum(size) AS BIGINT) AS size, {merged_spans(self._scan)}{bounded} FROM (SELECT p.*, "
            f"{_group('t', 'p')} AS side_of, CASE WHEN t.verdict = {_TOGETHER} THEN {following} ELSE 2 END AS number"
            f"{self._bounds_after()} FROM pieces AS p JOIN {verdicts} AS t ON p.try = t.try JOIN cells AS c "
            "ON p.try = c.try) GROUP BY try, side_of"
        )

    def _bounds_after(self) -> str:
        """The bounds of the cells that verdicts leave: those of before, but for the cut that was allowed.

        Where the rows at the median go below, the cut is at the point after it. NULL has no point.
        """
        group, point = _group("t", "p"), f"CASE WHEN t.verdict = {_UPPER} THEN c.after ELSE c.cut END"
        found = []
        for x in self._scan.ordered:
            is_cut = f"c.cut_axis = {x.number} AND c.cut IS NOT NULL AND t.verdict <> {_TOGETHER}"
            for name, side in ((f"lo{x.number}", 1), (f"hi{x.number}", 0)):
                found.append(f", CASE WHEN {is_cut} AND ({group}) = {side} THEN {point} ELSE c.{name} END AS {name}")
        for x in self._leveled:
            is_cut = f"c.cut_axis = {x.number} AND t.verdict = {_APART}"
            found.append(f", CASE WHEN {is_cut} THEN c.cut_level - 1 ELSE c.level{x.number} END AS level{x.number}")
        return "".join(found)

    def _wishes(self) -> str:
        wishes = [_number_wish(axis, self._opened()) for axis in self._scan.ordered]
        if self._scan.trees:
            opened = f"(SELECT *, {self._enough()} AS enough FROM {self._opened()})"
            wish = f"((s.axis * {_RADIX} + m.field) * {_RADIX} + m.start) * {_LEVELS} + m.level AS wish"
            wishes.append(
                f"SELECT s.part, s.number, m.eager, m.eager > s.enough AS is_counted, {wish} FROM "
                f"{nodes_over(self._scan, opened, 'part, number, enough')} WHERE s.all_bits <> s.any_bits"
            )
        return " UNION ALL ".join(wishes)

    def _opened(self) -> str:
        """The partitions that may be cut at all: of two parts one has no more than half of the rows."""
        return f"(SELECT * FROM parts WHERE NOT ({self._fails('size // 2')}))"

    def _enough(self) -> str:
        """How eager a cut by a tree is at most that is not counted before the first cut was tried. That is so where
        one at a median comes before it, or the partition is so large that few cuts are refused."""
        numbers = ", ".join(["0", *(_number_eagerness(axis) for axis in self._scan.ordered)])
        is_large = f"NOT ({self._fails(f'size // {_LARGE}')})" if self._counts else "true"
        return f"CASE WHEN number > 3 THEN 0 WHEN {is_large} THEN 1 ELSE greatest({numbers}) END"

    def _refused(self, work: str) -> str:
        axes = len(self._scan.axes)
        trees = f"SELECT part, {_AXIS} AS axis, {_ones(_FIELD)} AS ones, {_START} AS start FROM wishes WHERE is_counted"
        cuts = (
            f"SELECT p.piece, t.axis, t.ones, t.start, (t.part * {axes} + t.axis) * {self._children} AS base FROM "
            f"(SELECT part, unnest(pieces) AS piece FROM parts) AS p JOIN ({trees}) AS t ON p.part = t.part"
        )
        counted = (
            f"SELECT c.base + {self._child('c', 'w')} AS child, {self._size('w.n')} AS size FROM {work} AS w JOIN "
            f"({cuts}) AS c ON w.piece = c.piece GROUP BY child"
        )
        return (
            f"SELECT child // {self._children} // {axes} AS part, child // {self._children} % {axes} AS axis FROM "
            f"({counted}) WHERE {self._fails('size')}"
        )

    def _chosen(self) -> str:
        refused = f" ANTI JOIN refused AS r ON w.part = r.part AND {_AXIS} = r.axis" if self._counts else ""
        eagerest = f"arg_max(wish, eager, {len(self._scan.axes)})[greatest(any_value(number) // 2 - 1, 1)]"
        return (
            f"SELECT part, {_AXIS} AS axis, {_FIELD} AS field, {_START} AS start, {_LEVEL} AS level FROM (SELECT "
            f"w.part, {eagerest} AS wish FROM wishes AS w{refused} GROUP BY w.part) WHERE wish IS NOT NULL"
        )

    def _goes(self) -> str:
        """The children of a tree come after the sides of a median."""
        side = f"CASE WHEN c.field > 0 THEN {_SIDE} ELSE {_BELOW} END"
        base = f"(p.part * {self._tries} + p.number) * {self._sides} + {side}"
        ones = f"coalesce({_ones('c.field')}, 0) AS ones"
        bounds = "".join(f", p.{name}" for name in self.bounds)
        return (
            f"SELECT unnest(p.pieces) AS piece, unnest(range(len(p.pieces))) = 0 AS is_first, p.part, "
            f"CAST(coalesce(c.axis, -1) AS INTEGER) AS cut_axis, {ones}, "
            f"coalesce(c.start, 0) AS start, CASE WHEN c.axis IS NULL THEN -1 - p.part ELSE {base} END AS base, "
            f"c.field = 0 AND c.start = 0 AS is_median, CAST(c.level AS INTEGER) AS cut_level{bounds} FROM parts AS p "
            "LEFT JOIN chosen AS c ON p.part = c.part"
        )

    def _middles(self, work: str, copies: str) -> str:
        repeated = f" JOIN {copies} AS k ON w.n = k.n" if self._repeats else ""
        return (
            f"SELECT g.part, any_value(g.cut_axis) AS axis, quantile_disc({self._value('g')}, 0.5) AS middle FROM "
            f"{work} AS w JOIN (FROM goes WHERE is_median) AS g ON w.piece = g.piece{repeated} GROUP BY g.part"
        )

    def _value(self, cuts: str) -> str:
        """Where a row is on the axis of numbers that is cut; somewhere where none is."""
        ordered = self._scan.ordered
        if len(ordered) == 1:
            return f"w.v{ordered[0].number}"
        return (
            f"CASE {cuts}.cut_axis "
            + " ".join(f"WHEN {x.number} THEN w.v{x.number}" for x in ordered)
            + " ELSE 0::DOUBLE END"
        )

    def _side(self) -> str:
        """On which side of its cut a row is, from the base on; 0 where there is none."""
        sides = [self._child("j", "j")] if self._scan.trees else []
        has_nulls = any(x.has_nulls for x in self._scan.ordered)
        for beyond in ("number >= middle", "number > middle") if self._scan.ordered else ():
            sides.append(f"CAST({f'coalesce({beyond}, false)' if has_nulls else beyond} AS INTEGER)")
        if has_nulls:
            numbers = ", ".join(str(x.number) for x in self._scan.ordered)
            is_parted = f"number IS NULL AND start = 1 AND axis IN ({numbers})"
            sides.append(f"CASE WHEN {is_parted} THEN {_ABOVE} ELSE {_BELOW} END")
        return " + ".join(sides)

    def _size(self, n: str) -> str:
        return f"CAST(sum({n}) AS BIGINT)" if self._repeats else "count(*)"

    def _child(self, cuts: str, rows: str) -> str:
        """Which child of the node that is cut a row is below; 0 where none is."""
        bits = f"{rows}.b0"
        if len(self._scan.packs) > 1:
            packs = " ".join(f"WHEN {x.number} THEN {rows}.b{x.pack}" for x in self._scan.trees)
            bits = f"(CASE {cuts}.axis {packs} ELSE 0 END)"
        return f"(({bits} >> {cuts}.start) & {cuts}.ones)"

    def _fails(self, size: str) -> str:
        """Whether a part of so many rows fails by its size alone; of persons there are no more than rows."""
        each = [m.fails.replace(m.column, f"({m.sql})").replace("z.size", f"({size})") for m in self._sizes]
        return " OR ".join(each or ["false"])

    def _both_hold(self, left: str, right: str) -> str:
        """Whether two parts of so many rows are there, and do not fail by their sizes."""
        return f"({left} > 0 AND {right} > 0 AND NOT ({self._fails(left)}) AND NOT ({self._fails(right)}))"


def _group(verdicts: str, pieces: str) -> str:
    """Which part a piece belongs to."""
    side = f"{pieces}.side"
    return (
        f"CASE {verdicts}.verdict WHEN {_TOGETHER} THEN 0 WHEN {_APART} THEN {side} "
        f"WHEN {_UPPER} THEN CAST({side} = {_ABOVE} AS INTEGER) ELSE CAST({side} > {_BELOW} AS INTEGER) END"
    )


def _number_wish(axis: Axis, parts: str) -> str:
    """A query over partitions for the cut of an axis of numbers."""
    a = axis.number
    wish, is_wished = f"{a * _RADIX**2 * _LEVELS}", f"low{a} < high{a}"
    if axis.has_nulls:
        wish += f" + CASE WHEN {is_range(axis)} THEN 0 ELSE {_LEVELS} END"
        is_wished = f"NOT {is_empty(axis)} AND ({is_wished} OR NOT {is_range(axis)})"
    eager = _number_eagerness(axis)
    return f"SELECT part, number, {eager} AS eager, false AS is_counted, {wish} AS wish FROM {parts} WHERE {is_wished}"


def _number_eagerness(axis: Axis) -> str:
    """How eagerly a partition is cut on an axis of numbers; 0 where it cannot be."""
    width = inlined(f"_normalised_width(low{axis.number}, high{axis.number}, {axis.first!r}, {axis.last!r})")
    # NULL is parted from all numbers, and they from it: a box of both is as wide as can be.
    return inlined(f"_eagerness({of_numbers(axis, width, '0', '1')}, {axis.number})")


def cut_in_rounds(
    scan: BoxScan, measures: Sequence[ClassMeasure], on_progress: OnProgress
) -> tuple[Relation, Relation, int]:
    """The points in classes, none of which has a cut left that is allowed; the cells of these; and how many rounds it
    took."""
    cutter, scratch = Cutter(scan, measures), scan.source.scratch
    # What classes have together repeats itself, too, and DuckDB repeats nothing inside of what repeats itself.
    if scan.is_small and not any(m.kind == TOGETHER for m in measures):
        work = f"{cutter.start_in_one_query()} UNION ALL ({cutter.round_in_one_query()})"
        steps = f"{COPIES} AS MATERIALIZED ({cutter.copies()}), {WORK} AS ({work})"
        classed = scratch.table(f"WITH RECURSIVE {steps} {cutter.finished()}", "classed")
        cells = scratch.table(cutter.cells_in_one_query(classed.name), "cells")
        fetch(scan.source.con, f"DELETE FROM {classed.name} WHERE row < 0")
    else:
        classed, cells = _cut_by_steps(scan, cutter, on_progress)
    return classed, cells, int(fetch(scan.source.con, f"SELECT max(round) - 1 FROM {classed.name}")[0][0])


def _cut_by_steps(scan: BoxScan, cutter: Cutter, on_progress: OnProgress) -> tuple[Relation, Relation]:
    con, rounds, expected, own = scan.source.con, 0, math.log2(scan.rows), scan.source.scratch
    with own.nested() as scratch:
        copies = scratch.table(cutter.copies(), "copies").name
        work, cells = scratch.table(cutter.start(), "work"), cutter.start_cells()
        before: list[Relation] = []
        classed = own.table(cutter.finished(work.name), "classed")
        finished: Relation | None = None
        left = work.written or 0
        while left or finished is None:
            order = " ORDER BY piece" if rounds in _SORTED else ""
            cuts = scratch.table(cutter.cuts(work.name, copies, cells), "cuts")
            last, work = work, scratch.table(f"{cutter.moved(work.name, cuts.name)}{order}", "work")
            if finished is None:
                finished = own.table(cutter.cells_finished(cuts.name), "cells")
            else:
                fetch(con, f"INSERT INTO {finished.name} {cutter.cells_finished(cuts.name)}")
            scratch.drop(last, *before)
            cells, before = cutter.cells_after(cuts.name), [cuts]
            left = (work.written or 0) - int(
                fetch(con, f"INSERT INTO {classed.name} {cutter.finished(work.name)}")[0][0]
            )
            rounds += 1
            if on_progress:
                on_progress(min(rounds / expected, 0.99))
    return classed, finished
