"""Quantiles and histograms: aggregates that are read off the counts of each value, group by group.

A quantile is where the count of the values up to x passes its share of all. D_x is that count minus the share, a
combination of sums with an interval of its own. The interval of the quantile is all values at which D may pass 0: D_x
may be at or above it, and at the value before at or below. That needs no curve that only rises, which estimates do not
give. The estimate is the first value at which the curve passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlpriv.rewrite.aggregates import aggregate_of
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import Answer, SelectedRows
from sqlpriv.rewrite.clauses import Clauses, Item
from sqlpriv.rewrite.estimate.forms import Bounded, Form, Opaque
from sqlpriv.rewrite.estimate.summands import present
from sqlpriv.rewrite.estimate.sums import SUMS
from sqlpriv.rewrite.estimate.texts import number
from sqlpriv.rewrite.syntax import HISTOGRAM, without_parentheses

Answered = Callable[[list[Item], list[exp.Expr], SelectedRows], Answer]
_ROUNDING = "1e-9 * greatest(abs(t), 1e0)"


@dataclass(frozen=True)
class _Question:
    """A quantile or a histogram: of what, of which rows, and at which shares."""

    value: exp.Expr
    filters: tuple[exp.Expr, ...]
    shares: tuple[float, ...] = ()
    is_list: bool = False
    is_continuous: bool = False
    kind: str = ""
    """The type of what it is of, where that is known."""


class ByValue:
    """The aggregates of one answer that are read off counts by value, each a relation next to the sums."""

    def __init__(self, clauses: Clauses, rows: SelectedRows, keys: list[exp.Expr], answered: Answered) -> None:
        self._clauses = clauses
        self._rows = rows
        self._keys = keys
        self._answered = answered
        self._made: dict[_Question, Answer] = {}
        self.is_possible = True
        self.was_used = False

    def form(self, node: exp.Expr) -> Form:
        """The form of a quantile or a histogram."""
        if not self.is_possible:
            refuse(self._clauses.sql, node, "a quantile or a histogram in grouping sets", "ask for each GROUP BY alone")
        question = self._question(node)
        self.was_used = True
        if self._clauses.options.deviations:
            return Opaque("NULL")
        if question not in self._made:
            self._made[question] = self._answer(question)
        name = f"b{list(self._made).index(question)}"
        text = f'"{SUMS}"."{name}"'
        if not self._clauses.options.intervals:
            return Opaque(text)
        return Bounded(text, f'"{SUMS}"."{name}_low"', f'"{SUMS}"."{name}_high"')

    @property
    def answers(self) -> list[Answer]:
        """The relations next to the sums."""
        return list(self._made.values())

    def joined(self, source: str) -> str:
        """The sums with these values next to them."""
        for number_, answer in enumerate(self._made.values()):
            same = " AND ".join(f"s.g{i} IS NOT DISTINCT FROM b.k{i}" for i in range(len(self._keys))) or "true"
            bounds = f", b.low AS b{number_}_low, b.high AS b{number_}_high" if self._clauses.options.intervals else ""
            source = (
                f"SELECT s.*, b.estimate AS b{number_}{bounds} FROM ({source}) AS s LEFT JOIN ({answer.sql}) AS b "
                f"ON {same}"
            )
        return source

    # --- the question -----------------------------------------------------------------------------

    def _question(self, node: exp.Expr) -> _Question:
        filters: tuple[exp.Expr, ...] = ()
        if isinstance(node, exp.Filter):
            node, filters = node.this, (node.expression.this,)
        if isinstance(node, HISTOGRAM):
            value = node.expressions[0]
            return _Question(value, (*filters, *self._present(value)))
        value, share, turned = node.this, node.args.get("quantile") or node.args.get("expression"), False
        if isinstance(node, exp.WithinGroup):
            ordered = node.expression.expressions
            share, node = node.this.this, node.this
            value, turned = ordered[0].this, bool(ordered[0].args.get("desc"))
            if len(ordered) > 1 or (turned and isinstance(node, exp.PercentileDisc)):
                refuse(self._clauses.sql, value, "WITHIN GROUP like this", "order by one column, ascending")
        listed = share.expressions if isinstance(share, exp.Array) else [share]
        shares = [0.5] if isinstance(node, exp.Median) else [self._share(s, value) for s in listed]
        shares = [1 - s for s in shares] if turned else shares
        kind = self._kind(value)
        entry = aggregate_of(node)
        continuous = entry is not None and entry.is_continuous
        if isinstance(node, exp.Median) and kind == "VARCHAR":
            continuous = False
        is_list = isinstance(share, exp.Array) and not isinstance(node, exp.Median)
        return _Question(value, (*filters, *self._present(value)), tuple(shares), is_list, continuous, kind)

    def _present(self, value: exp.Expr) -> tuple[exp.Expr, ...]:
        return present(value, self._clauses.names.release)

    def _kind(self, value: exp.Expr) -> str:
        bare = without_parentheses(value)
        found = self._clauses.names.release.attribute(bare.table) if isinstance(bare, exp.Column) else None
        return found.type.upper() if found is not None else ""

    def _share(self, node: exp.Expr | None, value: exp.Expr) -> float:
        bare = without_parentheses(node) if node is not None else None
        is_typed = isinstance(bare, exp.Cast)  # as parameters are
        number = bare.this if isinstance(bare, exp.Cast) else bare
        text = number.name if isinstance(number, exp.Literal) and (is_typed or not number.is_string) else ""
        share = float(text) if re.fullmatch(r"\d*\.?\d+", text) else 0.0
        if not 0 < share < 1:
            instead = "write a number between 0 and 1, as in 0.5; extremes of a release are those of noise or of labels"
            refuse(self._clauses.sql, node if node is not None else value, "a quantile at this share", instead)
        return share

    # --- how it is answered -----------------------------------------------------------------------

    def _answer(self, question: _Question) -> Answer:
        keys = [*self._keys, without_parentheses(question.value)]
        items = [Item(f"k{i}", key, key) for i, key in enumerate(self._keys)]
        items.append(Item("v", keys[-1], question.value))
        count = exp.Count(this=exp.Star())
        whole = exp.Window(this=exp.Sum(this=count.copy()), partition_by=[k.copy() for k in self._keys], over="OVER")
        up_to = whole.copy()
        up_to.set("order", exp.Order(expressions=[exp.Ordered(this=keys[-1].copy(), nulls_first=False)]))
        items += [Item("n", count, question.value), Item("c", up_to, question.value), Item("t", whole, question.value)]
        for i, share in enumerate(question.shares):
            by = exp.Mul(this=exp.Literal.number(number(share)), expression=whole.copy())
            items.append(Item(f"d{i}", exp.Sub(this=up_to.copy(), expression=by), question.value))
        rows = replace(self._rows, shown=[], conditions=[*self._rows.conditions, *question.filters])
        found = self._answered(items, [k.copy() for k in keys], rows)
        sql = self._quantiles(question, found.sql) if question.shares else self._histogram(found.sql)
        return replace(found, sql=sql)

    def _listed(self, values: list[tuple[str, str]], source: str) -> str:
        keys = [f"k{i}" for i in range(len(self._keys))]
        listed = ", ".join([*keys, *(f"{text} AS {name}" for name, text in values)])
        return f"SELECT {listed} FROM ({source})" + (f" GROUP BY {', '.join(keys)}" if keys else "")

    def _histogram(self, source: str) -> str:
        names = [("estimate", "n"), ("low", "n_low"), ("high", "n_high")]
        chosen = names if self._clauses.options.intervals else names[:1]
        return self._listed([(a, f"map(list(v ORDER BY v), list({b} ORDER BY v))") for a, b in chosen], source)

    def _quantiles(self, question: _Question, source: str) -> str:
        partition = ", ".join(f"k{i}" for i in range(len(self._keys)))
        over = f"OVER ({f'PARTITION BY {partition} ' if partition else ''}ORDER BY v)"
        intervals = self._clauses.options.intervals
        more = [f"lag(d{i}_low) {over} AS before{i}" for i in range(len(question.shares))] if intervals else []
        source = f"SELECT {', '.join(['*', *more])} FROM ({source})"
        found = [self._one(question, i, share) for i, share in enumerate(question.shares)]
        names = ("estimate", "low", "high") if intervals else ("estimate",)
        values = []
        for place, name in enumerate(names):
            texts = [texts[place] for texts in found]
            values.append((name, f"[{', '.join(texts)}]" if question.is_list else texts[0]))
        return self._listed(values, source)

    def _one(self, question: _Question, i: int, share: float) -> tuple[str, str, str]:
        """The estimate of a quantile, and its bounds."""
        if not question.is_continuous:
            hull = f"t > 0 AND d{i}_high >= 0 AND coalesce(before{i}, 0) <= 0"
            first = f"min(v) FILTER (WHERE t > 0 AND d{i} >= -{_ROUNDING})"
            return first, f"min(v) FILTER (WHERE {hull})", f"max(v) FILTER (WHERE {hull})"
        # Between the two values around the place share * (t - 1), counted from 0.
        at = f"({number(share)} * greatest(t - 1, 0))"
        ranks = [f"least({side}({at} {sign} {_ROUNDING}) + 1, t)" for side, sign in (("floor", "+"), ("ceil", "-"))]
        ends = [f"min(v) FILTER (WHERE t > 0 AND c >= {rank} - {_ROUNDING})" for rank in ranks]
        part = f"any_value({at} - floor({at} + {_ROUNDING}))"
        moved = [f"{number(share)} * t - {rank}" for rank in ranks]
        hulls = [f"(d{i}_high + {m} >= 0 AND coalesce(before{i} + {m}, 0) <= 0)" for m in moved]
        hull = f"t > 0 AND ({' OR '.join(hulls)})"
        low, high = (f"{end}(v) FILTER (WHERE {hull})" for end in ("min", "max"))
        kind = question.kind
        return (
            _between(ends[0], ends[1], part, kind),
            _between(low, low, "0e0", kind),
            _between(high, high, "0e0", kind),
        )


def _between(low: str, high: str, part: str, kind: str) -> str:
    """What lies between two values, as quantile_cont has it: a number, or a time."""
    if kind in {"DATE", "TIMESTAMP"}:
        ends = [f"epoch_us(CAST({end} AS TIMESTAMP))" for end in (low, high)]
        return f"make_timestamp({ends[0]} + CAST(({part}) * ({ends[1]} - {ends[0]}) AS BIGINT))"
    ends = [f"CAST({end} AS DOUBLE)" for end in (low, high)]
    return f"({ends[0]} + greatest({part}, 0e0) * ({ends[1]} - {ends[0]}))"
