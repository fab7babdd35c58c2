"""The query over buckets: what the rows of several sides add together, at least, at most and as is to be expected.

A combination of one row of each side mentioned adds f to a sum, or 0 where it is outside the condition or the group.
Which combinations are rows of the table is not known, but each row of a side is in one of them. Take any numbers u of
the rows of one side and v of those of another, with u + v <= f for every combination. The sum of all u and v is a
lower bound; with >= it is an upper one. Taken are, for each side as the first:

    u = the least f that a row can add, or the greatest; then what is left of f, at least, for the rows of the others

and the best of these, bucket by bucket. For a condition on each side that is max(0, a + b - n) and min(a, b).

1. pairs    combinations inside the condition, in each group, with what they add; of rows that are alike, one
2. members  the rows of each side that are there, in a bucket and a group: a place
3. settled  places of which more need not be known: all combinations add the same, or one side has one row
4. all      elsewhere, every combination of members; all other rows of the bucket are one more, which adds nothing
5. steps    one side after the other takes its part, until one is left; in several orders at once
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from sqlpriv.core.sqltext import quoted
from sqlpriv.rewrite.estimate.classes import HIGH, LOW, MEAN, Classes
from sqlpriv.rewrite.estimate.hard_bounds import HardSums
from sqlpriv.rewrite.estimate.joined_tables import Joins
from sqlpriv.rewrite.estimate.summands import Summands
from sqlpriv.rewrite.estimate.sums import ESTIMATE
from sqlpriv.rewrite.estimate.texts import Texts, formula
from sqlpriv.rewrite.release import SplitRelease

_EXTREME = {LOW: "min", HIGH: "max"}
_BETTER = {LOW: "greatest", HIGH: "least"}
_BEST = {LOW: "max", HIGH: "min"}
_TIGHTER = {LOW: "_higher_low", HIGH: "_lower_high"}
_PLACE = "priv_key, priv_bucket"
_REST = "0"
"""The number of the rows of a bucket that no combination of the group has."""


@dataclass(frozen=True)
class _Bound:
    """A bound of a sum, where each side takes the least that its rows can add, or the greatest."""

    side: str
    summand: int
    choice: str

    @property
    def name(self) -> str:
        return f"{self.side}{self.summand}_{self.choice}"


class SplitSums(HardSums):
    """The sums of one answer over columns that are published apart."""

    release: SplitRelease

    def __init__(self, texts: Texts, joins: Joins, release: SplitRelease) -> None:
        super().__init__(texts, joins, release)

    def _classes(self, groups: list[exp.Expr], needed: tuple[int, ...]) -> Classes:
        """The query over classes where columns of one side are mentioned, else the one over buckets."""
        plain = super()._classes(groups, needed)
        if self.release.lists_combinations({a.name for a, _ in plain.mentioned}):
            return plain
        return BucketClasses(self.release, self.joins, self.summands, groups, needed)


class BucketClasses(Classes):
    """As Classes, over the buckets of several sides."""

    _release: SplitRelease

    def __init__(
        self, release: SplitRelease, joins: Joins, summands: Summands, groups: list[exp.Expr], needed: tuple[int, ...]
    ) -> None:
        super().__init__(release, joins, summands, groups, needed)
        self._sides = release.sides_of({a.name for a, _ in self.mentioned})
        # Names that no column of the table has.
        self._carried = (
            "priv_bucket", "priv_size", *(f"priv_{name}{s}" for s in self._numbers for name in ("id", "copies")),
        )  # fmt: skip
        self._estimated: set[int] = set()
        self._bounded: set[int] = set()
        self._extremes: dict[str, str] = {}
        """What is aggregated over pairs, for means: texts and names."""
        reads = [read.size for read in self._copies.reads.values() if read.counted]
        joined = max(reads) if self._multiply and reads else 1
        self.cost = float(release.size) * float(release.largest_bucket) ** (len(self._sides) - 1) * joined

    @property
    def _numbers(self) -> range:
        return range(len(self._sides))

    @property
    def _keys(self) -> list[str]:
        return [f"k{i}" for i in range(len(self._copies.groups))]

    @property
    def _bounds(self) -> list[_Bound]:
        found = product((LOW, HIGH), sorted(self._bounded), (LOW, HIGH))
        return [_Bound(side, summand, choice) for side, summand, choice in found]

    # --- what is asked: an aggregate over the buckets of a group ---------------------------------------

    def text(self, kind: str, numbers: tuple[int, ...]) -> str:
        """The estimate of a sum, or a bound of a sum or a mean."""
        if kind == ESTIMATE:
            self._estimated.add(numbers[0])
            return f"coalesce(sum(c.e{numbers[0]}), 0e0)"
        if kind in (LOW, HIGH):
            self._bounded.add(numbers[0])
            return f"coalesce(sum(c.{kind}{numbers[0]}), 0e0)"
        upper, lower = numbers
        return self._mean(upper, lower, kind.removeprefix(MEAN))

    def _mean(self, upper: int, lower: int, side: str) -> str:
        """Between the least and the greatest that may be in it, and what the bounds of sum and count leave."""
        ends = [self.text(end, (i,)) for i in (upper, lower) for end in (LOW, HIGH)]
        extreme = f"{_EXTREME[side]}({self._summand(upper)}){self._filtered(lower)}"
        name = self._extremes.setdefault(extreme, f"m{len(self._extremes)}")
        return f"{_BETTER[side]}({_EXTREME[side]}(c.{name}), {formula(f'_quotient_{side}', *ends)})"

    # --- the query ------------------------------------------------------------------------------------

    def sql(self, budget: float) -> str:
        """Rows to be summed up by group: estimates by bucket, and next to them bounds by bucket."""
        self.refuse_beyond(budget)
        copies = " * ".join(f"CAST(priv_copies{s} AS DOUBLE)" for s in self._numbers)
        # Divided bucket by bucket: what is certain of a bucket is then no sum of rounded fractions.
        estimates = {
            f"e{i}": formula(
                "_expected", f"sum({copies} * {self._summand(i)})", "any_value(priv_size)", str(len(self._sides))
            )
            for i in sorted(self._estimated)
        }
        estimates |= {name: text for text, name in self._extremes.items()}
        bounds = [f"{side}{i}" for i in sorted(self._bounded) for side in (LOW, HIGH)]
        ctes = {"__priv_raw": self._leaves(self._keys), "__priv_keys": self._numbered_keys()}
        same = " AND ".join(f"r.{k} IS NOT DISTINCT FROM q.{k}" for k in self._keys) or "true"
        ctes["__priv_pairs"] = f"SELECT r.*, q.priv_key FROM __priv_raw AS r JOIN __priv_keys AS q ON {same}"
        listed = ["priv_key", *(f"{text} AS {name}" for name, text in estimates.items()), *map(_nothing, bounds)]
        sql = f"SELECT {', '.join(listed)} FROM __priv_pairs GROUP BY {_PLACE}"
        if bounds:
            ctes |= self._bounding()
            columns = ["priv_key", *map(_nothing, estimates), *bounds]
            sql += f" UNION ALL SELECT {', '.join(columns)} FROM __priv_bounds"
        named = ", ".join(f"{name} AS MATERIALIZED ({text})" for name, text in ctes.items())
        return f"WITH {named} SELECT q.*, s.* FROM ({sql}) AS s JOIN __priv_keys AS q ON q.priv_key = s.priv_key"

    def _numbered_keys(self) -> str:
        """The groups with numbers: by these everything is joined and grouped from here on."""
        if not self._keys:
            return "SELECT CAST(0 AS BIGINT) AS priv_key"
        listed = ", ".join(self._keys)
        return f"SELECT *, row_number() OVER () AS priv_key FROM (SELECT DISTINCT {listed} FROM __priv_raw)"

    def _relation(self, every: bool) -> str:
        """Every row of a side with every row of the others in its bucket; those alike in what is mentioned are one."""
        bucket, named = quoted(self._release.bucket), {a.name for a, _ in self.mentioned}
        sizes = f"SELECT {bucket} AS bucket, count(*) AS size FROM {self._sides[0].relation} GROUP BY ALL"
        listed, source = ["z.bucket AS __priv_bucket", "z.size AS __priv_size"], f"({sizes}) AS z"
        for s, side in enumerate(self._sides):
            cells = [quoted(c) for c in sorted(side.columns & named)]
            rows = f"SELECT {', '.join([bucket, *cells])}, count(*) AS __priv_copies FROM {side.relation} GROUP BY ALL"
            source += f" JOIN (SELECT *, row_number() OVER () AS __priv_id FROM ({rows})) AS s{s}"
            source += f" ON s{s}.{bucket} = z.bucket"
            listed += [f"s{s}.{cell}" for cell in cells]
            listed += [f"s{s}.__priv_id AS __priv_id{s}", f"s{s}.__priv_copies AS __priv_copies{s}"]
        return f"SELECT {', '.join(listed)} FROM {source}"

    # --- bounds ---------------------------------------------------------------------------------------

    def _bounding(self) -> dict[str, str]:
        """The steps to the bounds of each place, by name."""
        made = {f"__priv_members{s}": self._members(s) for s in self._numbers}
        made["__priv_settled"] = self._settled()
        made["__priv_all"] = self._all()
        taken = []
        for first in self._numbers:
            steps, parts = self._steps([(first + s) % len(self._sides) for s in self._numbers])
            made |= steps
            summed = ", ".join(f"CASE WHEN copies > 0 THEN copies * {b.name} END AS {b.name}" for b in self._bounds)
            taken += [f"SELECT {first} AS turn, {_PLACE}, {summed} FROM {part}" for part in parts]
        sums = ", ".join(f"sum({b.name}) AS {b.name}" for b in self._bounds)
        turns = f"SELECT turn, {_PLACE}, {sums} FROM ({' UNION ALL '.join(taken)}) GROUP BY turn, {_PLACE}"
        ends = list(product((LOW, HIGH), sorted(self._bounded)))
        best = ", ".join(
            f"{_BEST[side]}({formula(_TIGHTER[side], *(_Bound(side, i, choice).name for choice in (LOW, HIGH)))}) "
            f"AS {side}{i}"
            for side, i in ends
        )
        settled = ", ".join(self._settled_bound(side, i) for side, i in ends)
        made["__priv_bounds"] = (
            f"SELECT priv_key, {settled} FROM __priv_settled WHERE is_even OR is_single "
            f"UNION ALL SELECT priv_key, {best} FROM ({turns}) GROUP BY {_PLACE}"
        )
        return made

    def _members(self, s: int) -> str:
        """The rows of a side that are there in a place."""
        listed = f"{_PLACE}, any_value(priv_size) AS size, priv_id{s} AS id, any_value(priv_copies{s}) AS copies"
        return f"SELECT {listed} FROM __priv_pairs GROUP BY {_PLACE}, priv_id{s}"

    def _settled(self) -> str:
        """Of each place how many combinations may be rows, what they add at least and most, and whether that is all.

        It is where all combinations of members are there and add the same; and of two sides, where one has one row.
        """
        added = [self._summand(i) for i in sorted(self._bounded)]
        ends = ", ".join(f"{end}({x}) AS {end}_{x}" for x in added for end in ("min", "max"))
        source = f"(SELECT {_PLACE}, count(*) AS pairs, {ends} FROM __priv_pairs GROUP BY {_PLACE}) AS p"
        for s in self._numbers:
            members = f"SELECT {_PLACE}, count(*) AS n, sum(copies) AS copies, any_value(size) AS size"
            source += f" JOIN ({members} FROM __priv_members{s} GROUP BY {_PLACE}) AS m{s} ON {_same('p', f'm{s}')}"
        copies = [f"m{s}.copies" for s in self._numbers]
        fewest = formula("_fewest_together", " + ".join(copies), "m0.size", str(len(self._sides)))
        even = [f"p.pairs = {' * '.join(f'm{s}.n' for s in self._numbers)}", *(f"min_{x} = max_{x}" for x in added)]
        single = f"least({', '.join(copies)}) = 1" if len(self._sides) == 2 else "false"
        return (
            f"SELECT p.*, {' AND '.join(even)} AS is_even, {single} AS is_single, m0.size AS size, {fewest} AS fewest, "
            f"least({', '.join(copies)}) AS most, greatest({', '.join(copies)}) AS others FROM {source}"
        )

    def _settled_bound(self, side: str, i: int) -> str:
        end = f"{_EXTREME[side]}_{self._summand(i)}"
        alike, single = (
            formula(f"_alike_{side}", end, "fewest", "most"),
            formula(f"_class_{side}", end, "others", "size"),
        )
        return f"CASE WHEN is_even THEN {alike} ELSE {single} END AS {side}{i}"

    def _all(self) -> str:
        """Every combination of members of all other places, with what it adds."""
        listed = ["m0.priv_key, m0.priv_bucket"]
        listed += [f"m{s}.id AS id{s}, m{s}.copies AS copies{s}" for s in self._numbers]
        listed += [f"coalesce(p.{self._summand(i)}, 0e0) AS {self._summand(i)}" for i in sorted(self._bounded)]
        source = ""
        for s in self._numbers:
            there = f"SELECT m.* FROM __priv_members{s} AS m JOIN __priv_settled AS e ON {_same('m', 'e')}"
            there += " WHERE NOT (e.is_even OR e.is_single)"
            left = formula("_left_over", "any_value(size)", "sum(copies)")
            rest = f"SELECT {_PLACE}, any_value(size) AS size, {_REST} AS id, {left} AS copies"
            rest += f" FROM ({there}) GROUP BY {_PLACE}"
            members = f"({there} UNION ALL SELECT * FROM ({rest}) WHERE copies > 0) AS m{s}"
            source += f" JOIN {members} ON {_same('m0', f'm{s}')}" if s else members
        same = " AND ".join([_same("m0", "p"), *(f"p.priv_id{s} = m{s}.id" for s in self._numbers)])
        return f"SELECT {', '.join(listed)} FROM {source} LEFT JOIN __priv_pairs AS p ON {same}"

    def _steps(self, order: list[int]) -> tuple[dict[str, str], list[str]]:
        """The steps in an order of the sides, by name, and the names of those in which a side takes its part."""
        steps: dict[str, str] = {}
        parts = []
        source, columns = "__priv_all", {b: self._summand(b.summand) for b in self._bounds}
        for place, s in enumerate(order):
            taken = f"__priv_taken{order[0]}_{place}"
            # The last side takes all that is left: it has one number for each of its rows.
            most = ", ".join(f"{_EXTREME[b.choice]}({columns[b]}) AS {b.name}" for b in self._bounds)
            by = f"{_PLACE}, id{s}"
            steps[taken] = f"SELECT {by}, any_value(copies{s}) AS copies, {most} FROM {source} GROUP BY {by}"
            parts.append(taken)
            if rest := order[place + 1 :]:
                steps[f"__priv_left{order[0]}_{place}"] = self._left(source, columns, taken, s, rest)
                source, columns = f"__priv_left{order[0]}_{place}", {b: b.name for b in self._bounds}
        return steps, parts

    def _left(self, source: str, columns: dict[_Bound, str], taken: str, s: int, rest: list[int]) -> str:
        """What one side leaves for the combinations of the rest, at least, or for upper bounds at most."""
        by = ", ".join(f"a.{name}" for name in ("priv_key", "priv_bucket", *(f"id{r}" for r in rest)))
        copies = [f"any_value(a.copies{r}) AS copies{r}" for r in rest]
        left = [
            f"{_EXTREME[b.side]}({formula('_left_over', f'a.{columns[b]}', f't.{b.name}')}) AS {b.name}"
            for b in self._bounds
        ]
        joined = f"{source} AS a JOIN {taken} AS t ON {_same('a', 't')} AND t.id{s} = a.id{s}"
        return f"SELECT {', '.join([by, *copies, *left])} FROM {joined} GROUP BY {by}"


def _same(one: str, other: str) -> str:
    return f"{one}.priv_key = {other}.priv_key AND {one}.priv_bucket = {other}.priv_bucket"


def _nothing(name: str) -> str:
    return f"CAST(NULL AS DOUBLE) AS {name}"
