"""sum() over estimates: one aggregate of the rows below them.

The sum of a count over groups is the count of all their rows, and that of k * count(*), where k is exact in each group,
is the sum of k over the rows. So a sum over an aggregate query becomes a sum over what that query aggregates, and gets
the interval of one. No other aggregate can: the largest of several estimates, say, is biased by their noise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import SCALAR
from sqlpriv.rewrite.syntax import AGGREGATES, outside_subqueries, without_parentheses

_INSTEAD = "ask it of the table itself, in one aggregate query"
ONLY_SUMS = (
    f"only sum() over one aggregate query, without HAVING, LIMIT, grouping sets and UNION in it, can be; {_INSTEAD}"
)
_WHY: dict[type[exp.Expr], str] = {
    exp.Count: "every group of the domain comes back, so it would count these; count rows, by sum() of a count",
    exp.Avg: "every group of the domain comes back, so it would average over these; divide one sum() by another",
    exp.Max: "the largest of several estimates is biased by their noise; sort the answer, and read its bounds",
    exp.Min: "the smallest of several estimates is biased by their noise; sort the answer, and read its bounds",
}


@dataclass(frozen=True)
class _Term:
    """An aggregate of rows, times a factor that is exact in each group, where the conditions hold there."""

    aggregate: exp.Expr
    factor: exp.Expr | None = None
    conditions: tuple[exp.Expr, ...] = ()
    decisive: tuple[exp.Expr, ...] = ()
    """The factors that make the term NULL where they are; not those below a coalesce()."""
    may_be_null: bool = False
    """Whether it is a sum that may be over nothing in a group that has rows: it is NULL there, as no estimate is."""

    def times(self, factor: exp.Expr) -> _Term:
        made = factor.copy() if self.factor is None else _times(self.factor, factor)
        decisive = self.decisive if isinstance(factor, exp.Literal) else (*self.decisive, factor)
        return replace(self, factor=made, decisive=decisive)

    def where_present(self, others: list[_Term]) -> _Term:
        """The term where no other is NULL."""
        factors = [factor for term in others for factor in term.decisive]
        return replace(self, conditions=(*self.conditions, *map(_is_present, factors)))


@dataclass(frozen=True)
class Flattening:
    """A query over one answer, as one over the rows that the answer aggregates."""

    sql: str
    variable: str
    columns: dict[str, exp.Expr]
    never_null: frozenset[str] = frozenset()
    """The attributes that are not NULL in any row."""

    def exact(self, node: exp.Expr) -> exp.Expr:
        """An expression with the group keys of the answer as what they stand for; estimates stay as they are."""

        def put(each: exp.Expr) -> exp.Expr:
            found = self._found(each)
            return each if found is None or not _is_exact(found) else _put(found)

        return node.transform(put)

    def below(self, node: exp.Expr) -> exp.Expr:
        """An expression with all columns of the answer as what they stand for."""
        return node.transform(lambda each: each if (found := self._found(each)) is None else _put(found))

    def mentions_estimates(self, node: exp.Expr) -> bool:
        """Whether columns of the answer are left that are no group keys."""
        return any(c.table == self.variable for c in node.find_all(exp.Column))

    def _found(self, node: exp.Expr) -> exp.Expr | None:
        """What a column of the answer stands for."""
        return self.columns.get(node.name) if isinstance(node, exp.Column) and node.table == self.variable else None

    def refuse_estimates(self, nodes: list[exp.Expr]) -> None:
        """Estimates decide nothing about which rows are summed."""
        for node in nodes:
            for found in node.find_all(exp.Column):
                if found.table == self.variable:
                    what = f"the estimate {found.name!r} in WHERE, ON, FILTER or GROUP BY below an aggregate"
                    refuse(self.sql, found, what, "choosing by an estimate biases what is summed; use group keys there")

    def aggregate(self, node: exp.Expr) -> exp.Expr:
        """An aggregate over the answer, as aggregates over its rows."""
        outside: tuple[exp.Expr, ...] = ()
        inner = node
        if isinstance(node, exp.Filter):
            inner, outside = node.this, (node.expression.this,)
            self.refuse_estimates([node.expression])
        if isinstance(inner, (exp.Grouping, exp.GroupingId)):
            return node
        if not isinstance(inner, exp.Sum):
            refuse(self.sql, node, f"{inner.key}() over estimates", _WHY.get(type(inner), ONLY_SUMS))
        found: exp.Expr | None = None
        for term in self._linear(inner.this):
            made = _flat(replace(term, conditions=(*outside, *term.conditions)))
            found = made if found is None else exp.Add(this=found, expression=made)
        if found is None:
            self._refuse(node)
        return exp.Paren(this=found)

    def _linear(self, node: exp.Expr) -> list[_Term]:
        """An expression over the answer as a sum of terms."""
        if (column := self._found(node)) is not None:
            return self._linear(column)
        if isinstance(node, exp.Paren) or _is_double(node):
            return self._linear(node.this)
        if _fills_with_zero(node):
            return [replace(t, decisive=(), may_be_null=False) for t in self._linear(node.this)]
        aggregate = node.this if isinstance(node, exp.Filter) else node
        if isinstance(aggregate, exp.Sum):
            return [_Term(node, may_be_null=self._may_be_null(node), decisive=self._keys_of(aggregate))]
        if isinstance(aggregate, (exp.Count, exp.CountIf)):
            return [_Term(node)]
        if isinstance(node, exp.Neg):
            return [t.times(exp.Literal.number(-1)) for t in self._linear(node.this)]
        if isinstance(node, exp.Add):
            return self._added(node, node.this, node.expression)
        if isinstance(node, exp.Sub):
            return self._added(node, node.this, exp.Neg(this=node.expression.copy()))
        if isinstance(node, exp.Mul):
            one, other = node.this, node.expression
            one, other = (other, one) if self._is_exact(one) else (one, other)
            if self._is_exact(other):
                return [t.times(self.exact(other)) for t in self._linear(one)]
            if (summed := self._counted_mean(one, other) or self._counted_mean(other, one)) is not None:
                return self._linear(summed)
        if isinstance(node, exp.Div) and self._is_exact(node.expression):
            by = exp.Nullif(this=self.exact(node.expression), expression=exp.Literal.number(0))
            share = exp.Div(this=exp.Literal.number("1e0"), expression=by)
            return [t.times(share) for t in self._linear(node.this)]
        if isinstance(node, exp.Case):
            return self._branches(node)
        self._refuse(node)

    def _counted_mean(self, count: exp.Expr, mean: exp.Expr) -> exp.Expr | None:
        """count(x) * avg(x), of the same rows, as the sum that it is."""
        counted, averaged = (without_parentheses(self._found(each) or each) for each in (count, mean))
        if not isinstance(counted, exp.Count) or not isinstance(averaged, exp.Avg):
            return None
        is_star = counted.this is None or isinstance(counted.this, (exp.Star, exp.Literal))
        is_same = self._is_never_null(averaged.this) if is_star else counted.this == averaged.this
        return exp.Sum(this=averaged.this.copy()) if is_same else None

    def _keys_of(self, aggregate: exp.Expr) -> tuple[exp.Expr, ...]:
        """What is summed, if that is the same for all rows of a group: where it is NULL, so is the sum."""
        keys = [c for c in map(without_parentheses, self.columns.values()) if _is_exact(c)]
        names = list(aggregate.this.find_all(exp.Column))
        is_key = without_parentheses(aggregate.this) in keys or (names and all(n in keys for n in names))
        return (aggregate.this,) if is_key else ()

    def _may_be_null(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Filter):
            return True
        return not self._keys_of(node) and not self._is_never_null(node.this)

    def _is_never_null(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Column):
            return node.table in self.never_null
        if isinstance(node, exp.Coalesce):
            return any(map(self._is_never_null, (node.this, *node.expressions)))
        if isinstance(node, (exp.Paren, exp.Neg, exp.Cast)):
            return self._is_never_null(node.this)
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul)):
            return self._is_never_null(node.this) and self._is_never_null(node.expression)
        return isinstance(node, (exp.Literal, exp.Boolean))

    def _added(self, node: exp.Expr, one: exp.Expr, other: exp.Expr) -> list[_Term]:
        """Where one side is NULL, so is the sum, and the group does not count."""
        left, right = self._linear(one), self._linear(other)
        # A side without terms is a CASE of 0 and NULL.
        if not left or not right or any(t.conditions for t in (*left, *right)):
            self._refuse(node)
        if unsure := next((t for t in (*left, *right) if t.may_be_null), None):
            what = "sum() of a combination with a sum that is NULL in groups where all it sums is NULL"
            refuse(self.sql, unsure.aggregate, what, "write coalesce(that, 0) there, or add up the sums of both parts")
        return [t.where_present(right) for t in left] + [t.where_present(left) for t in right]

    def _branches(self, case: exp.Case) -> list[_Term]:
        """CASE WHEN key = 1 THEN n ELSE 0 END, of any number of branches: each counts where it is the one taken."""
        found: list[_Term] = []
        passed: tuple[exp.Expr, ...] = ()
        for branch in case.args["ifs"]:
            test = branch.this if case.this is None else exp.EQ(this=case.this.copy(), expression=branch.this.copy())
            if not self._is_exact(test):
                self._refuse(branch.this)
            test = self.exact(test)
            found += self._taken(branch.args["true"], (*passed, test))
            passed += (exp.Is(this=exp.Paren(this=test.copy()), expression=exp.Boolean(this=True)).not_(),)
        default = case.args.get("default")
        return found if default is None else found + self._taken(default, passed)

    def _taken(self, node: exp.Expr, conditions: tuple[exp.Expr, ...]) -> list[_Term]:
        if isinstance(node, exp.Null) or (isinstance(node, exp.Literal) and node.this == "0"):
            return []
        return [replace(t, conditions=(*conditions, *t.conditions)) for t in self._linear(node)]

    def _is_exact(self, node: exp.Expr) -> bool:
        return _is_exact(node) and all(
            (found := self._found(c)) is not None and _is_exact(found)
            for c in node.find_all(exp.Column)
            if c.table == self.variable
        )

    def _refuse(self, node: exp.Expr) -> NoReturn:
        what = "sum() of what is no combination of counts and sums with exact factors"
        refuse(self.sql, node, what, _INSTEAD)


def _put(node: exp.Expr) -> exp.Expr:
    new = node.copy()
    return new if isinstance(new, exp.Column) else exp.Paren(this=new)


def _is_exact(node: exp.Expr) -> bool:
    return not any(
        isinstance(n, AGGREGATES) or (isinstance(n, exp.Column) and n.table == SCALAR) for n in outside_subqueries(node)
    )


def _is_double(node: exp.Expr) -> bool:
    """A cast to DOUBLE changes no estimate."""
    return isinstance(node, (exp.Cast, exp.TryCast)) and node.to.this in (
        exp.DataType.Type.DOUBLE,
        exp.DataType.Type.FLOAT,
    )


def _fills_with_zero(node: exp.Expr) -> bool:
    """0 in place of NULL changes no sum."""
    return isinstance(node, exp.Coalesce) and all(
        isinstance(e, exp.Literal) and e.this == "0" for e in node.expressions
    )


def _flat(term: _Term) -> exp.Expr:
    """A term as an aggregate over rows."""
    aggregate, conditions = term.aggregate.copy(), list(term.conditions)
    if isinstance(aggregate, exp.Filter):
        conditions.append(aggregate.expression.this)
        aggregate = aggregate.this
    if term.factor is not None:
        aggregate, more = _weighted(aggregate, term.factor)
        conditions += more
    if not conditions:
        return aggregate
    return exp.Filter(this=aggregate, expression=exp.Where(this=exp.and_(*conditions)))


def _weighted(aggregate: exp.Expr, factor: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]]:
    """The sum of a factor over the rows that an aggregate counts or sums, and which rows these are."""
    summed = aggregate.this
    if isinstance(aggregate, exp.Sum):
        # A condition can be summed, but not multiplied.
        number = exp.Cast(this=summed, to=exp.DataType.build("double"))
        return exp.Sum(this=_times(factor, number)), []
    if isinstance(aggregate, exp.CountIf):
        return exp.Sum(this=factor), [summed]
    if summed is None or isinstance(summed, exp.Star):
        return exp.Sum(this=factor), []
    return exp.Sum(this=factor), [_is_present(summed)]


def _is_present(node: exp.Expr) -> exp.Expr:
    return exp.Is(this=exp.Paren(this=node.copy()), expression=exp.Null()).not_()


def _times(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Mul(this=exp.Paren(this=one.copy()), expression=exp.Paren(this=other.copy()))
