"""The sums that estimates need, and the one query that computes them: over the view, over the domain, and joined.

A sum of f is estimated by sum(weight f) over the view plus the same over the domain; its variance likewise from
variance f f', its third moment from skew f f' f''. Products are kept as moments: which expressions are multiplied and
which filters hold. Moments that come out the same, as for counts, are summed once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from sqlpriv.rewrite.aggregates import Summand
from sqlpriv.rewrite.described import Described, Weights
from sqlpriv.rewrite.domain_sums import Value, Variable, domain_sums
from sqlpriv.rewrite.relations import VALUE, Read
from sqlpriv.rewrite.texts import VIEW, Texts, number
from sqlpriv.sqltext import quoted

Moment: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
SUMS = "__priv_s"
_WEIGHT, _VARIANCE, _SKEW, _PLAIN = "weight", "variance", "skew", ""


@dataclass
class Sums:
    """Collects summands and moments while an answer is put together."""

    release: Described
    texts: Texts
    summands: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)
    _nodes: dict[str, exp.Expr] = field(default_factory=dict)
    _columns: dict[tuple[str, tuple[int, ...]], None] = field(default_factory=dict)

    def add(self, summand: Summand) -> int:
        """The number of a summand; equal ones have the same."""
        factors = (self._keep(summand.expression),) if summand.expression is not None else ()
        key = (factors, tuple(sorted({self._keep(f) for f in summand.filters})))
        if key not in self.summands:
            self.summands.append(key)
        return self.summands.index(key)

    def _keep(self, node: exp.Expr) -> str:
        text = self.texts.over_view(node)
        self._nodes.setdefault(text, node)
        return text

    # --- what the formulas ask for: names of columns of the sums -------------------------------------

    def estimate(self, i: int) -> str:
        """The estimate of a sum."""
        return self._column("e", (i,))

    def variance(self, i: int, j: int) -> str:
        """The variance of an estimate, or the covariance of two."""
        return self._column("v", _sorted(i, j))

    def raw_variance(self, i: int, j: int) -> str:
        """The part of the variance that is a sum over rows."""
        return self._column("r" if self.release.has_cross_terms else "v", _sorted(i, j))

    def third(self, i: int, j: int, k: int) -> str:
        """The third moment."""
        return self._column("t", _sorted(i, j, k))

    def view_variance(self, i: int, j: int) -> str:
        """The part of the variance that the rows of the view make."""
        return self._column("w", _sorted(i, j))

    def view_third(self, i: int, j: int, k: int) -> str:
        """The part of the third moment that the rows of the view make."""
        return self._column("u", _sorted(i, j, k))

    def counted(self, i: int) -> int:
        """The number of the summand that counts the rows behind another one."""
        key: Moment = ((), self.summands[i][1])
        if key not in self.summands:
            self.summands.append(key)
        return self.summands.index(key)

    def domain_total(self, i: int) -> str:
        """The plain sum over the domain."""
        return self._column("f", (i,))

    def is_count(self, i: int) -> bool:
        """Whether a summand is 0 or 1."""
        return not self.summands[i][0]

    def _column(self, kind: str, numbers: tuple[int, ...]) -> str:
        self._columns[kind, numbers] = None
        return f'"{SUMS}"."{_named(kind, numbers)}"'

    # --- the query --------------------------------------------------------------------------------

    def query(
        self,
        reads: dict[str, Read],
        condition: exp.Expr | None,
        groups: list[exp.Expr | None],
        budget: float,
        grouping: Mapping[str, int] | None = None,
    ) -> Computed:
        """One row per group of the domain, with all columns asked for; a group that is None is NULL here."""
        present = [g for g in groups if g is not None]
        plan = _Plan(self)
        columns = [f"{self._text(plan, kind, numbers)} AS {_named(kind, numbers)}" for kind, numbers in self._columns]
        view = plan.view_part(reads, condition, present)
        domain = domain_sums(condition, present, plan.domain_values(), self._variables(reads), budget)
        place = iter(range(len(present)))
        keys = [f"NULL AS g{i}" if g is None else f"__priv_d.g{next(place)} AS g{i}" for i, g in enumerate(groups)]
        matches = " AND ".join(f"__priv_d.g{i} IS NOT DISTINCT FROM __priv_p.g{i}" for i in range(len(present)))
        join = f"LEFT JOIN __priv_p ON {matches}" if matches else "CROSS JOIN __priv_p"
        marks = [f"{value} AS {name}" for name, value in (grouping or {}).items()]
        listed = ", ".join([*keys, *columns, *marks]) or "1 AS nothing"
        sql = f"WITH __priv_p AS ({view}), __priv_d AS ({domain.sql}) SELECT {listed} FROM __priv_d {join}"
        return Computed(sql, domain.cost, str(domain.plan))

    def _variables(self, reads: dict[str, Read]) -> list[Variable]:
        weighted = any(power > 0 for power in self.release.domain_weights)
        attributes = [
            Variable(a.name, a.domain, {VALUE: a.type}, a.size, "share" if weighted and a.has_shares else None)
            for a in self.release.attributes
        ]
        return [*attributes, *(_public(name, read) for name, read in reads.items())]

    def _text(self, plan: _Plan, kind: str, numbers: tuple[int, ...]) -> str:
        moment = self._moment(numbers)
        if kind == "e":
            return plan.both(moment, _WEIGHT)
        if kind == "r":
            return plan.both(moment, _VARIANCE)
        if kind == "t":
            return plan.both(moment, _SKEW)
        if kind in ("w", "u"):
            return plan.weighted_view(moment, _VARIANCE if kind == "w" else _SKEW)
        if kind == "f":
            return plan.domain(moment, 0)
        text = plan.both(moment, _VARIANCE)
        if not self.release.has_cross_terms:
            return text
        i, j = numbers
        first, second = self._moment((i,)), self._moment((j,))
        f1, f2 = plan.domain(first, 0), plan.domain(second, 0)
        e1, e2 = plan.both(first, _WEIGHT), plan.both(second, _WEIGHT)
        half, square = number(self.release.cross_estimate / 2), number(self.release.cross_square)
        return f"{text} + {half} * ({f1} * ({e2}) + {f2} * ({e1})) + {square} * {f1} * {f2}"

    def _moment(self, numbers: tuple[int, ...]) -> Moment:
        factors = tuple(sorted(f for i in numbers for f in self.summands[i][0]))
        filters = {f for i in numbers for f in self.summands[i][1]}
        return factors, tuple(sorted(filters))

    def node(self, text: str) -> exp.Expr:
        """The expression of a kept text."""
        return self._nodes[text]


@dataclass(frozen=True)
class Computed:
    """The SQL of the sums, and what the sums over the domain cost."""

    sql: str
    cost: float
    plan: str


class _Plan:
    """Which sums are computed over the view and over the domain, each once."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums
        self._release = sums.release
        self._view: dict[tuple[Moment, str], str] = {}
        self._domain: dict[tuple[Moment, int], str] = {}

    def both(self, moment: Moment, weight: str) -> str:
        """A weighted sum over view and domain."""
        parts = [self.weighted_view(moment, weight)]
        for power, weights in self._release.domain_weights.items():
            if factor := _of(weights, weight):
                parts.append(f"{number(factor)} * {self.domain(moment, power)}")
        return " + ".join(parts)

    def weighted_view(self, moment: Moment, weight: str) -> str:
        """A weighted sum over the view."""
        constant = self._release.constant
        if constant is None:
            return f"coalesce(__priv_p.{self._view_name(moment, weight)}, 0e0)"
        return f"{number(_of(constant, weight))} * coalesce(__priv_p.{self._view_name(moment, _PLAIN)}, 0)"

    def _view_name(self, moment: Moment, weight: str) -> str:
        return self._view.setdefault((moment, weight), f"p{len(self._view)}")

    def domain(self, moment: Moment, power: int) -> str:
        """A sum over the domain, times a power of the shares."""
        name = self._domain.setdefault((moment, power), f"s{len(self._domain)}")
        return f"coalesce(__priv_d.{name}, 0)"

    def view_part(self, reads: dict[str, Read], condition: exp.Expr | None, groups: list[exp.Expr]) -> str:
        """The aggregate over the rows of the view."""
        texts = self._sums.texts
        keys = [f"{texts.over_view(g)} AS g{i}" for i, g in enumerate(groups)]
        values = [f"{self._view_sum(moment, weight)} AS {name}" for (moment, weight), name in self._view.items()]
        sources = [
            f'{self._release.published} AS "{VIEW}"',
            *(f"{r.relation} AS {quoted(n)}" for n, r in reads.items()),
        ]
        sql = f"SELECT {', '.join([*keys, *values]) or '1'} FROM {', '.join(sources)}"
        if condition is not None:
            sql += f" WHERE {texts.over_view(condition)}"
        if groups:
            sql += f" GROUP BY {', '.join(str(i + 1) for i in range(len(groups)))}"
        return sql

    def _view_sum(self, moment: Moment, weight: str) -> str:
        factors, filters = moment
        column = f'"{VIEW}"."__{weight}"' if weight else ""
        if not factors:
            text = f"sum({column})" if column else "count(*)"
        elif len(factors) == 1 and not column:
            text = f"sum({factors[0]})"
        else:
            cast = [f"CAST({f} AS DOUBLE)" for f in factors] if not column or len(factors) > 1 else [f"({factors[0]})"]
            text = f"sum({' * '.join(filter(None, [column, *cast]))})"
        return f"{text} FILTER (WHERE {' AND '.join(f'({f})' for f in filters)})" if filters else text

    def domain_values(self) -> list[Value]:
        """What is to be summed over the domain, in the order of its columns."""
        return [self._value(moment, power) for moment, power in self._domain]

    def _value(self, moment: Moment, power: int) -> Value:
        factors, filters = moment
        nodes = [self._sums.node(f).copy() for f in factors]
        product: exp.Expr = exp.Literal.number(1)
        if len(nodes) == 1:
            product = nodes[0]
        elif nodes:
            product = _double(nodes[0])
            for node in nodes[1:]:
                product = exp.Mul(this=product, expression=_double(node))
        held = exp.and_(*(self._sums.node(f) for f in filters)) if filters else None
        return Value(product, held, power)


def _public(name: str, read: Read) -> Variable:
    return Variable(name, read.relation, read.columns, read.size, counted=read.counted, keys=read.keys)


def _double(node: exp.Expr) -> exp.Expr:
    """The squares and cubes of whole numbers pass the limits of their types."""
    return exp.Cast(this=node, to=exp.DataType.build("double"))


def _of(weights: Weights, weight: str) -> float:
    return float(getattr(weights, weight))


def _sorted(*numbers: int) -> tuple[int, ...]:
    return tuple(sorted(numbers))


def _named(kind: str, numbers: tuple[int, ...]) -> str:
    return f"{kind}{'_'.join(map(str, numbers))}"
