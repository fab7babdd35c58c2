"""The query over the classes of a release: what each class adds in each group, at least, at most and on average.

1. `ClassRelease.rows(columns)` lists for each class of rows its leaves, of the columns mentioned alone.
2. These are joined, filtered and grouped as the query says; a class has in each group its leaves inside, and what they
   add at least, at most and on average. Where a row may meet several joined rows, each leaf is summed up first.
3. Classes are summed with their copies. A leaf outside the group adds 0 (bounds.sql, _class_low and _class_high).
4. A mean is greatest where all rows that must be in it have their largest value, and of those that may be the largest:
   sorted by it, one of the beginnings of the list. So only finitely many means matter, and a window finds them all.
5. Where a suppressed row may have values that no list has, it adds between 0 and 1 to a count, anything to a sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from sqlglot import exp

from sqlpriv.core.sqltext import quoted
from sqlpriv.rewrite.domain.sums import TooWideError
from sqlpriv.rewrite.estimate.joined_tables import Joins
from sqlpriv.rewrite.estimate.ranges import cut_points, refuse_uncut, summed_columns, with_ends
from sqlpriv.rewrite.estimate.summands import Summands
from sqlpriv.rewrite.estimate.sums import ESTIMATE
from sqlpriv.rewrite.estimate.texts import VIEW, formula
from sqlpriv.rewrite.release import ClassRelease

LOW, HIGH, MEAN = "low", "high", "mean "
_INFINITE = {LOW: "CAST('-inf' AS DOUBLE)", HIGH: "CAST('inf' AS DOUBLE)"}
_EXTREME = {LOW: "min", HIGH: "max"}
_BETTER = {LOW: "least", HIGH: "greatest"}
_LEAF = "__priv_leaf"
_OF_CLASS = ("unit", "copies", "leaves", "hidden", "total")


class Classes:
    """What one grouping set asks of the classes; its columns are named while they are asked for."""

    shows_hidden = False
    """Whether what is asked always distinguishes hidden classes from others."""
    _carried: tuple[str, ...] = (*_OF_CLASS, "weight")
    """What the rows of a leaf have besides the columns mentioned."""

    def __init__(
        self, release: ClassRelease, joins: Joins, summands: Summands, groups: list[exp.Expr], needed: tuple[int, ...]
    ) -> None:
        self._release = release
        self._sql = joins.names.sql
        self._summands = summands
        self._copies = joins.copies(groups, 1)
        self._multiply = bool(joins.multiplying(groups))
        self._needed = needed
        columns = {found.table: found for node in self._nodes() for found in node.find_all(exp.Column)}
        self.mentioned = [(a, columns[a.name]) for a in release.attributes if a.name in columns]
        """The columns of the private table that are mentioned, with a place where they are."""
        attributes = [a for a, _ in self.mentioned]
        self._cut = {a.name: a for a in attributes if a.is_cut}
        self._is_open = release.suppressed > 0 and any(a.unlisted for a in attributes)
        self._ends_open = any(a.is_open for a in attributes)
        self._of_class: dict[str, str] = {}
        """What is aggregated over the leaves of a class in a group: texts and names."""
        self._beside: dict[str, str] = {}
        """What is computed over classes of a group, besides these."""
        reads = [read.size for read in self._copies.reads.values() if read.counted]
        self.cost = float(prod(max(a.size, 1) for a in attributes)) * (max(reads) if self._multiply and reads else 1)

    @property
    def plan(self) -> str:
        """For people."""
        listed = " x ".join(a.name for a, _ in self.mentioned) or "no column"
        return f"leaves of {listed} ({self.cost:,.0f} at most)"

    def _conditions(self) -> Iterator[exp.Expr]:
        yield from [self._copies.condition] if self._copies.condition is not None else []
        yield from self._copies.groups
        for i in self._needed:
            yield from map(self._summands.node, self._summands[i].filters)

    def _factors(self) -> Iterator[exp.Expr]:
        for i in self._needed:
            yield from map(self._summands.node, self._summands[i].factors)

    def _nodes(self) -> Iterator[exp.Expr]:
        yield from self._conditions()
        yield from self._factors()

    def without_bounds(self) -> Iterator[str]:
        """Why sums have no bounds: values of suppressed rows that no list has, ranges that have no end at a side."""
        if self._is_open and any(True for _ in self._factors()):
            listed = ", ".join(repr(a.name) for a, _ in self.mentioned if a.unlisted)
            yield (
                f"sums and averages have no bounds, since {self._release.suppressed:,} suppressed rows may have any "
                f"value of {listed}: declare a domain"
            )
        summed = {c.table for node in self._factors() for c in summed_columns(node, self._cut)}
        for attribute in self._cut.values():
            if attribute.is_open and attribute.name in summed:
                yield (
                    f"sums and averages of {attribute.name!r} have no bounds, since some of its ranges are open: "
                    "declare a domain"
                )

    # --- what is asked: an aggregate over the classes of a group --------------------------------------

    def text(self, kind: str, numbers: tuple[int, ...]) -> str:
        """The estimate of a sum, or a bound of a sum or a mean."""
        if kind == ESTIMATE:
            # A leaf without weight may be without bounds, too.
            weighed = f"weight * {self._summand(numbers[0])}"
            average = self._over_leaves(
                f"sum(CASE WHEN weight > 0 THEN {weighed} END)" if self._ends_open else f"sum({weighed})"
            )
            return f"coalesce(sum({self._copied(average)} / c.total), 0e0)"
        if kind in (LOW, HIGH):
            return self._sum_bound(numbers[0], kind)
        upper, lower = numbers
        return self._mean_bound(upper, lower, kind.removeprefix(MEAN))

    def _sum_bound(self, i: int, side: str) -> str:
        inside, leaves = "c.inside", "c.leaves"
        own = formula(f"_class_{side}", self._over_leaves(f"{_EXTREME[side]}({self._summand(i)})"), inside, leaves)
        # Without copies there is nothing to add, also where a leaf has an infinite value.
        added = f"coalesce(sum({self._copied(own)}){self._listed_alone()}, 0e0)"
        if not self._is_open:
            return added
        return f"{added} + {self._open_bound(i, side)}" if self._open_bound(i, side) else added

    def _open_bound(self, i: int, side: str) -> str:
        """What suppressed rows add whose values no list has."""
        is_count = not self._summands[i].factors
        if is_count and side == LOW:
            return ""
        if is_count and not self._multiply:
            return f"{self._release.suppressed}e0"
        return _INFINITE[side]

    def _mean_bound(self, upper: int, lower: int, side: str) -> str:
        """The best mean over all beginnings of the list of classes that may be in it, sorted by their best value."""
        is_share = not self._summands[upper].factors
        if self._is_open and not is_share:
            return _INFINITE[side]
        counted = self._filtered(lower)
        inside = self._over_leaves(f"count(*){counted}")
        best = self._over_leaves(f"{_EXTREME[side]}({self._summand(upper)}){counted}")
        is_there = f"c.copies > 0 AND {best} IS NOT NULL{' AND NOT c.hidden' if self._is_open else ''}"
        must, may = (f"{is_there} AND {inside} {sign} c.leaves" for sign in ("=", "<"))
        more = [f"{self._release.suppressed if self._is_open else 0}e0"] * 2
        more[0] = "0e0" if side == LOW else more[0]
        by = ", ".join(f"c.k{i}" for i in range(len(self._copies.groups)))
        all_of = f"OVER ({f'PARTITION BY {by}' if by else ''})"
        order = f"{f'PARTITION BY {by} ' if by else ''}ORDER BY {best}{' DESC' if side == HIGH else ''}"
        first = f"OVER ({order} ROWS UNBOUNDED PRECEDING)"
        summed = [f"sum({name}) FILTER (WHERE {{}})" for name in (f"c.copies * {best}", "c.copies")]
        certain = [text.format(must) for text in summed]
        must_sums = [f"coalesce({text} {all_of}, 0) + {n}" for text, n in zip(certain, more, strict=True)]
        may_sums = [f"{text.format(may)} {first}" for text in summed]
        mean = self._once(f"CASE WHEN {may} THEN {formula('_mean_with', *must_sums, *may_sums)} END")
        without = [f"coalesce({text}, 0) + {n}" for text, n in zip(certain, more, strict=True)]
        alone = formula("_mean_with", *without, "0e0", "0e0")
        return f"{_BETTER[side]}({_EXTREME[side]}({mean}), {alone})"

    def _listed_alone(self) -> str:
        return " FILTER (WHERE NOT c.hidden)" if self._is_open else ""

    def _copied(self, text: str) -> str:
        return f"CASE WHEN c.copies > 0 THEN c.copies * ({text}) END"

    def _over_leaves(self, text: str) -> str:
        return f"c.{self._of_class.setdefault(text, f'f{len(self._of_class)}')}"

    def _once(self, text: str) -> str:
        return f"c.{self._beside.setdefault(text, f'm{len(self._beside)}')}"

    def _summand(self, i: int) -> str:
        return f"x{self._needed.index(i)}"

    def _filtered(self, i: int) -> str:
        return f" FILTER (WHERE {self._summand(i)} > 0)"

    # --- the query ------------------------------------------------------------------------------------

    def sql(self, budget: float) -> str:
        """One row for each class in each group, with all that was asked for."""
        for node in self._conditions():
            refuse_uncut(node, self._cut, self._sql)
        self.refuse_beyond(budget)
        keys = [f"k{i}" for i in range(len(self._copies.groups))]
        of_class = [
            f"any_value({name}) AS {name}"
            for name in _OF_CLASS[1:]
            if name != "hidden" or self._is_open or self.shows_hidden
        ]
        listed = [*of_class, "count(*) AS inside", *(f"{text} AS {name}" for text, name in self._of_class.items())]
        by = ", ".join(["unit", *keys])
        sql = f"SELECT {', '.join([*keys, 'unit', *listed])} FROM ({self._leaves(keys)}) GROUP BY {by}"
        if self._beside:
            more = ", ".join(f"{text} AS {name}" for text, name in self._beside.items())
            sql = f"SELECT c.*, {more} FROM ({sql}) AS c"
        return sql

    def refuse_beyond(self, budget: float) -> None:
        """Refuse what takes more combinations than are allowed."""
        if self.cost > budget:
            named = " and ".join(repr(a.name) for a, _ in self.mentioned)
            raise TooWideError(
                f"the query looks at {named} together, {self.cost:,.0f} combinations, where {budget:,.0f} are allowed: "
                "mention fewer columns, or raise the budget"
            )

    def _leaves(self, keys: list[str]) -> str:
        """The leaves of the classes in each group, with what each adds to each sum."""
        texts, view = self._summands.texts, quoted(VIEW)
        grouped = [f"{texts.over_view(g)} AS {k}" for g, k in zip(self._copies.groups, keys, strict=True)]
        own = [f'{view}."__{name}" AS {name}' for name in self._carried]
        summed = [f"{self._added(i)} AS {self._summand(i)}" for i in self._needed]
        rows = f"({self._relation(bool(keys))})"
        if self._multiply:
            rows = f"(SELECT *, row_number() OVER () AS {_LEAF} FROM {rows})"
            own = [*(f"any_value({text.partition(' AS ')[0]}) AS {text.rpartition(' AS ')[2]}" for text in own)]
            summed = [f"sum({self._added(i)}) AS {self._summand(i)}" for i in self._needed]
        sources = [f"{rows} AS {view}", *(f"{r.relation} AS {quoted(n)}" for n, r in self._copies.reads.items())]
        sql = f"SELECT {', '.join([*grouped, *own, *summed])} FROM {', '.join(sources)}"
        if self._copies.condition is not None:
            sql += f" WHERE {texts.over_view(self._copies.condition)}"
        if self._multiply:
            sql += f" GROUP BY {', '.join([f'{view}.{_LEAF}', *(str(i + 1) for i in range(len(keys)))])}"
        return sql

    def _relation(self, every: bool) -> str:
        """The leaves themselves."""
        attributes = frozenset(a.name for a, _ in self.mentioned)
        return self._release.rows(attributes, cut_points(self._nodes(), self._cut), every)

    def _added(self, i: int) -> str:
        """What a leaf adds to a sum; NULL adds nothing."""
        kept, texts = self._summands[i], self._summands.texts
        value = "1e0"
        if kept.factors:
            nodes = [with_ends(self._summands.node(f), self._cut, self._sql) for f in kept.factors]
            product = " * ".join(f"CAST({texts.over_view(node)} AS DOUBLE)" for node in nodes)
            value = f"coalesce({product}, 0e0)"
            if self._ends_open:
                value = formula("_unbounded", value)
        if not kept.filters:
            return value
        return f"CASE WHEN {' AND '.join(f'({f})' for f in kept.filters)} THEN {value} ELSE 0e0 END"
