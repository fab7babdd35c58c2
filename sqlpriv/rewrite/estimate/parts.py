"""The aggregates that sums are made of: one over the rows of the view, and those over the domain.

Where rows of the private table meet several rows of a joined table, the view is summed row by row first, so that each
row has one number for each sum, and these are multiplied. The domain has too many elements for that: its products are
sums over copies of the joined table, one aggregate for each degree.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.rewrite.bind.relations import VALUE
from sqlpriv.rewrite.domain.sums import DomainSums, TooWideError, Value, Variable, domain_sums
from sqlpriv.rewrite.estimate.multiplying import Copies
from sqlpriv.rewrite.estimate.summands import Moment, Summands
from sqlpriv.rewrite.estimate.texts import VIEW
from sqlpriv.rewrite.release import Release
from sqlpriv.sqltext import quoted

PLAIN = ""
_FOR_INTERVALS = (
    ". That is for its intervals, since a row may meet several rows of a public table: leave them out, or join by "
    "columns that are unique there"
)
_ROW = "__priv_row"


class ViewPart:
    """The aggregate over the rows of the view, each of which meets at most one joined row in a group."""

    name = "__priv_p"

    def __init__(self, release: Release, summands: Summands, copies: Copies) -> None:
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

    def __init__(self, release: Release, summands: Summands, copies: Copies) -> None:
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

    def __init__(self, release: Release, summands: Summands, copies: Copies, degree: int) -> None:
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
