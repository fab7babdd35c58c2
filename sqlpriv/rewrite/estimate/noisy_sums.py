"""Sums over a noisy release: over the view, over the domain, and joined.

A sum of f is estimated by sum(weight f) over the view plus the same over the domain. Likewise its variance comes from
variance f f', and its third moment from skew f f' f''. Here f is all that a row adds, summed over the public rows it
is joined with. Where rows of the private table meet several rows of a joined table, the view is summed row by row
first, so that each row has one number for each sum, and these are multiplied. The domain has too many elements for
that: its products are sums over copies of the joined table, one aggregate for each degree.

Groups are about different rows, so the moments of a sum over groups are sums of theirs, over the groups that all of its
factors have in common. Where the variance has products of sums in it (release.cross_estimate), these products are of
the sums over all groups. Frames that cannot be compared have no such moments, and what needs them no bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from sqlpriv.core.sqltext import quoted
from sqlpriv.rewrite.bind.relations import VALUE
from sqlpriv.rewrite.domain.sums import DomainSums, TooWideError, Value, Variable, domain_sums
from sqlpriv.rewrite.estimate.forms import times
from sqlpriv.rewrite.estimate.joined_tables import Copies, Joins
from sqlpriv.rewrite.estimate.summands import Moment, Summands, SummandText
from sqlpriv.rewrite.estimate.sums import ESTIMATE, SUMS, Computed, Frame, Sums
from sqlpriv.rewrite.estimate.texts import VIEW, Texts, number
from sqlpriv.rewrite.release import NoisyRelease, Weights

_WEIGHT, _VARIANCE, _SKEW = "weight", "variance", "skew"
# The kinds of columns: over view and domain, then over the view alone.
_OF_BOTH = {ESTIMATE: _WEIGHT, "v": _VARIANCE, "t": _SKEW}
_OF_VIEW = {"w": _VARIANCE, "u": _SKEW}
_WITH_CROSS_TERMS, _DOMAIN_TOTAL = "c", "f"
_NO_WEIGHT = ""
_ROW = "__priv_row"
_FOR_INTERVALS = (
    ". That is for its intervals, since a row may meet several rows of a public table: leave them out, or join by "
    "columns that are unique there"
)


class NoisySums(Sums):
    """The sums of one answer, with their moments."""

    release: NoisyRelease

    def __init__(self, texts: Texts, joins: Joins, release: NoisyRelease) -> None:
        super().__init__(texts, joins, release)

    def _column(self, kind: str, *numbers: int) -> str:
        numbers = tuple(sorted(numbers))
        # Where nothing multiplies, equal products are equal sums, whatever the number of their factors.
        by_number = self.joins.multiply or kind == _WITH_CROSS_TERMS
        what: object = numbers if by_number else self.summands.product(numbers)
        name, _ = self._columns.setdefault((kind, what), (f"{kind}{len(self._columns)}", numbers))
        return f'"{SUMS}"."{name}"'

    # --- what the formulas ask for: names of columns of the sums -------------------------------------

    def variance(self, i: int, j: int) -> str:
        """The variance of an estimate, or the covariance of two."""
        if not self.release.has_cross_terms:
            return self.raw_variance(i, j)
        if self.windowed(i) is None and self.windowed(j) is None:
            return self._column(_WITH_CROSS_TERMS, i, j)
        variance = self.raw_variance(i, j)
        totals, estimates = ([of(i), of(j)] for of in (self.domain_total, self.estimate))
        return f"({self._cross_terms(variance, totals, estimates)})"

    def _cross_terms(self, variance: str, totals: list[str], estimates: list[str]) -> str:
        """A variance with the products of sums that belong to it."""
        (f1, f2), (e1, e2) = totals, estimates
        half, square = number(self.release.cross_estimate / 2), number(self.release.cross_square)
        return f"{variance} + {half} * ({f1} * ({e2}) + {f2} * ({e1})) + {square} * {f1} * {f2}"

    def raw_variance(self, i: int, j: int) -> str:
        """The part of the variance that is a sum over rows."""
        return self._moment("v", i, j)

    def third(self, i: int, j: int, k: int) -> str:
        """The third moment; divided by kappa, where that is the same for all rows: a sum like those of variances."""
        return self._moment("t" if self.release.kappa is None else "v", i, j, k)

    def view_variance(self, i: int, j: int) -> str:
        """The part of the variance that the rows of the view make."""
        return self._moment("w", i, j)

    def view_third(self, i: int, j: int, k: int) -> str:
        """The part of the third moment that the rows of the view make, as above."""
        return self._moment("u" if self.release.kappa is None else "w", i, j, k)

    def domain_total(self, i: int) -> str:
        """The plain sum over the domain."""
        return self._added(_DOMAIN_TOTAL, i)

    def counted(self, i: int) -> int:
        """The number of the summand that counts the rows of the private table behind another one."""
        if (own := self.windowed(i)) is not None:
            return self.over({self.counted(own.terms[0][0]): "1"}, own.frame, own.filled)
        return self.summands.number(SummandText((), self.summands[i].filters, self.joins.multiply))

    def _moment(self, kind: str, *numbers: int) -> str:
        """A moment of sums, each of the current group or over a frame."""
        windowed = [self.windowed(i) for i in numbers]
        frames = [own.frame for own in windowed if own is not None]
        if not frames:
            return self._column(kind, *numbers)
        alone = len(frames) < len(numbers)
        common: Frame | None = frames[0]
        if alone:
            common = common if all(frame.has_current for frame in frames) else None
        else:
            for frame in frames[1:]:
                common = common.common(frame) if common is not None else None
        if common is None:
            return "0e0"
        products: list[tuple[tuple[int, ...], str]] = [((), "1")]
        for i, own in zip(numbers, windowed, strict=True):
            terms = own.terms if own is not None else ((i, "1"),)
            products = [
                ((*before, j), c if coefficient == "1" else times(coefficient, c))
                for before, coefficient in products
                for j, c in terms
            ]
        inner = " + ".join(times(c, self._column(kind, *chosen)) for chosen, c in products)
        if alone:
            return f"({inner})"
        return f"coalesce({self.window_column(f'sum({inner}) {common.sql()}')}, 0e0)"

    # --- the query --------------------------------------------------------------------------------

    def query(
        self, groups: list[exp.Expr | None], budget: float, grouping: Mapping[str, int] | None = None
    ) -> Computed:
        """One row per group of the domain."""
        present = [g for g in groups if g is not None]
        parts = _Parts(self, present, max((len(numbers) for _, numbers in self._columns.values()), default=1))
        columns = [
            f"{self._text(parts, kind, numbers)} AS {name}" for (kind, _), (name, numbers) in self._columns.items()
        ]
        place = iter(range(len(present)))
        keys = [f"NULL AS g{i}" if g is None else f"__priv_d.g{next(place)} AS g{i}" for i, g in enumerate(groups)]
        marks = [f"{value} AS {name}" for name, value in (grouping or {}).items()]
        return parts.computed(", ".join([*keys, *columns, *marks]) or "1 AS nothing", budget)

    def _text(self, parts: _Parts, kind: str, numbers: tuple[int, ...]) -> str:
        if self.summands[numbers[0]].once:
            return self._effective_rows(parts, numbers[0])
        if kind == _WITH_CROSS_TERMS:
            totals = [parts.domain((i,), 0) for i in numbers]
            estimates = [parts.both((i,), _WEIGHT) for i in numbers]
            return self._cross_terms(parts.both(numbers, _VARIANCE), totals, estimates)
        if kind == _DOMAIN_TOTAL:
            return parts.domain(numbers, 0)
        if kind in _OF_VIEW:
            return parts.weighted_view(numbers, _OF_VIEW[kind])
        return parts.both(numbers, _OF_BOTH[kind])

    def _effective_rows(self, parts: _Parts, once: int) -> str:
        """The variance of the number of rows that count once: (sum v N)^2 / sum v N^2 for N joined rows each.

        That is the sum of v where all have the same N, and less where they have not, as if the rows with few joined
        rows were fewer. Whether a row has any cannot be summed over the domain.
        """
        joined = self.summands.number(replace(self.summands[once], once=False))
        first, second = parts.both((joined,), _VARIANCE), parts.both((joined, joined), _VARIANCE)
        return f"CASE WHEN {second} > 0 THEN ({first}) * ({first}) / ({second}) ELSE 0e0 END"


class _Parts:
    """Which sums are computed over the view and over the domain in these groups, each once."""

    def __init__(self, sums: NoisySums, groups: list[exp.Expr], degree: int) -> None:
        self._release = sums.release
        self._groups = groups
        copies = [sums.joins.copies(groups, d) for d in range(1, degree + 1)]
        alike = len(copies[-1].reads) == len(copies[0].reads)
        if alike:
            copies = copies[-1:]
        given = sums.release, sums.summands
        self._view = ViewPart(*given, copies[0]) if alike else ViewPartByRow(*given, copies[0])
        self._domains = [DomainPart(*given, c, d) for d, c in enumerate(copies, 1)]

    def both(self, numbers: tuple[int, ...], weight: str) -> str:
        """A weighted sum over view and domain."""
        parts = [self.weighted_view(numbers, weight)]
        for power, weights in self._release.domain_weights.items():
            if factor := _of(weights, weight):
                parts.append(f"{number(factor)} * {self.domain(numbers, power)}")
        return " + ".join(parts)

    def weighted_view(self, numbers: tuple[int, ...], weight: str) -> str:
        """A weighted sum over the view."""
        constant = self._release.constant
        if constant is None:
            return f"coalesce({self._view.column(numbers, weight)}, 0e0)"
        return f"{number(_of(constant, weight))} * coalesce({self._view.column(numbers, _NO_WEIGHT)}, 0)"

    def domain(self, numbers: tuple[int, ...], power: int) -> str:
        """A sum over the domain, times a power of the shares."""
        part = self._domains[min(len(numbers), len(self._domains)) - 1]
        return f"coalesce({part.column(numbers, power)}, 0)"

    def computed(self, listed: str, budget: float) -> Computed:
        """The query that lists this: the groups of the domain, and whatever else belongs to each."""
        first, *others = [part for part in self._domains if part.is_needed]
        sums = {part.name: part.computed(budget) for part in (first, *others)}
        texts = {self._view.name: self._view.sql(), **{name: d.sql for name, d in sums.items()}}
        source = first.name
        for part in (self._view, *others):
            keys = [f"{first.name}.g{i} IS NOT DISTINCT FROM {part.name}.g{i}" for i in range(len(self._groups))]
            source += f" LEFT JOIN {part.name} ON {' AND '.join(keys)}" if keys else f" CROSS JOIN {part.name}"
        ctes = ", ".join(f"{name} AS ({text})" for name, text in texts.items())
        plans = "\n".join(f"{part.about}{sums[part.name].plan}" for part in (first, *others))
        return Computed(f"WITH {ctes} SELECT {listed} FROM {source}", sum(d.cost for d in sums.values()), plans)


def _of(weights: Weights, weight: str) -> float:
    return float(getattr(weights, weight))


class ViewPart:
    """The aggregate over the rows of the view, each of which meets at most one joined row in a group."""

    name = "__priv_p"

    def __init__(self, release: NoisyRelease, summands: Summands, copies: Copies) -> None:
        self._release = release
        self._summands = summands
        self._copies = copies
        self._columns: dict[tuple[Moment, str], str] = {}

    def column(self, numbers: tuple[int, ...], weight: str) -> str:
        """The sum of a product of summands times a weight."""
        moment = self._summands.moment(numbers, self._copies)
        return f"{self.name}.{self._columns.setdefault((moment, weight), f'p{len(self._columns)}')}"

    def sql(self) -> str:
        """The query, with the group keys as g0, g1, ..."""
        values = []
        for (moment, weight), name in self._columns.items():
            values.append(f"{_summed(moment, weight and quoted(VIEW, f'__{weight}'))} AS {name}")
        return _over_view(self._summands, self._copies, values, self._release.published, [])


class ViewPartByRow:
    """As ViewPart, where a row of the view may meet several joined rows: each row is summed before it is multiplied."""

    name = "__priv_p"

    def __init__(self, release: NoisyRelease, summands: Summands, copies: Copies) -> None:
        self._release = release
        self._summands = summands
        self._copies = copies
        self._columns: dict[tuple[tuple[int, ...], str], str] = {}

    def column(self, numbers: tuple[int, ...], weight: str) -> str:
        """The sum of a product of summands times a weight."""
        return f"{self.name}.{self._columns.setdefault((numbers, weight), f'p{len(self._columns)}')}"

    def sql(self) -> str:
        """The query, with the group keys as g0, g1, ..."""
        keys = [f"g{i}" for i in range(len(self._copies.groups))]
        values = []
        for (numbers, weight), name in self._columns.items():
            factors = [*([quoted(f"__{weight}")] if weight else []), *(f"f{i}" for i in numbers)]
            values.append(f"sum({' * '.join(factors)}) AS {name}")
        sql = f"SELECT {', '.join([*keys, *values])} FROM ({self._rows()})"
        return f"{sql} GROUP BY {', '.join(keys)}" if keys else sql

    def _rows(self) -> str:
        summands = dict.fromkeys(i for numbers, _ in self._columns for i in numbers)
        weights = dict.fromkeys(weight for _, weight in self._columns if weight)
        values = [f"any_value({quoted(VIEW, f'__{w}')}) AS {quoted(f'__{w}')}" for w in weights]
        for i in summands:
            # The squares and cubes of whole numbers pass the limits of their types.
            values.append(f"CAST({_summed(self._summands.moment((i,), self._copies), '')} AS DOUBLE) AS f{i}")
        numbered = f"(SELECT *, row_number() OVER () AS {quoted(_ROW)} FROM {self._release.published})"
        return _over_view(self._summands, self._copies, values, numbered, [quoted(VIEW, _ROW)])


class DomainPart:
    """An aggregate over the domain."""

    def __init__(self, release: NoisyRelease, summands: Summands, copies: Copies, degree: int) -> None:
        self.name = f"__priv_d{degree}" if degree > 1 else "__priv_d"
        self.about = ("", "of pairs of joined rows:\n", "of three joined rows each:\n")[degree - 1]
        self._release = release
        self._summands = summands
        self._copies = copies
        self._columns: dict[tuple[Moment, int], str] = {}
        self._is_first = degree == 1

    @property
    def is_needed(self) -> bool:
        """The first says which groups there are."""
        return self._is_first or bool(self._columns)

    def column(self, numbers: tuple[int, ...], power: int) -> str:
        """The sum of a product of summands, times a power of the shares."""
        moment = self._summands.moment(numbers, self._copies)
        return f"{self.name}.{self._columns.setdefault((moment, power), f's{len(self._columns)}')}"

    def computed(self, budget: float) -> DomainSums:
        """The query, with the group keys as g0, g1, ..., and what it costs."""
        values = [self._value(moment, power) for moment, power in self._columns]
        try:
            return domain_sums(self._copies.condition, self._copies.groups, values, self._variables(), budget)
        except TooWideError as error:
            raise TooWideError(f"{error}{'' if self._is_first else _FOR_INTERVALS}") from None

    def _variables(self) -> list[Variable]:
        release = self._release
        weighted = any(power > 0 for power in release.domain_weights)
        attributes = [
            Variable(a.name, a.domain, {VALUE: a.type}, a.size, a.share if weighted else None)
            for a in release.attributes
        ]
        public = [
            Variable(n, r.relation, r.columns, r.size, counted=r.counted, keys=r.keys)
            for n, r in self._copies.reads.items()
        ]
        return [*attributes, *public]

    def _value(self, moment: Moment, power: int) -> Value:
        factors, filters = moment
        nodes = [self._summands.node(f).copy() for f in factors]
        product: exp.Expr = exp.Literal.number(1)
        if len(nodes) == 1:
            product = nodes[0]
        elif nodes:
            product = _double(nodes[0])
            for node in nodes[1:]:
                product = exp.Mul(this=product, expression=_double(node))
        held = exp.and_(*(self._summands.node(f) for f in filters)) if filters else None
        return Value(product, held, power)


def _over_view(summands: Summands, copies: Copies, values: list[str], published: str, also_by: list[str]) -> str:
    """An aggregate over the joined rows of the view, in groups."""
    keys = [f"{summands.texts.over_view(g)} AS g{i}" for i, g in enumerate(copies.groups)]
    sources = [f'{published} AS "{VIEW}"', *(f"{r.relation} AS {quoted(n)}" for n, r in copies.reads.items())]
    sql = f"SELECT {', '.join([*keys, *values]) or '1'} FROM {', '.join(sources)}"
    if copies.condition is not None:
        sql += f" WHERE {summands.texts.over_view(copies.condition)}"
    by = [*also_by, *(str(i + 1) for i in range(len(copies.groups)))]
    return f"{sql} GROUP BY {', '.join(by)}" if by else sql


def _summed(moment: Moment, column: str) -> str:
    """The sum of a moment over joined rows, times a column."""
    factors, filters = moment
    if not factors:
        text = f"sum({column})" if column else "count(*)"
    elif len(factors) == 1 and not column:
        text = f"sum({factors[0]})"
    else:
        cast = [f"CAST({f} AS DOUBLE)" for f in factors] if not column or len(factors) > 1 else [f"({factors[0]})"]
        text = f"sum({' * '.join(filter(None, [column, *cast]))})"
    return f"{text} FILTER (WHERE {' AND '.join(f'({f})' for f in filters)})" if filters else text


def _double(node: exp.Expr) -> exp.Expr:
    """The squares and cubes of whole numbers pass the limits of their types."""
    return exp.Cast(this=node, to=exp.DataType.build("double"))
