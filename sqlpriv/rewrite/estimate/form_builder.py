"""Expressions over aggregates: from a node of the query to the form of its estimate.

Arithmetic keeps the best form it can; functions that only rise, such as round(), take the bounds with them; what else
is computed from estimates has no bounds. A column must be a group key, or stand inside an aggregate.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlglot import exp

from sqlpriv.core.sqltext import quoted
from sqlpriv.rewrite.aggregates import AVERAGE, BY_VALUE, STATISTIC, Aggregate, aggregate_of
from sqlpriv.rewrite.bind.refusals import refuse, refuse_node
from sqlpriv.rewrite.bind.relations import SCALAR, Answer, AnswerColumn, mark
from sqlpriv.rewrite.estimate.bounds import Formulas
from sqlpriv.rewrite.estimate.forms import (
    Bounded,
    Exact,
    Form,
    Linear,
    Opaque,
    Ratio,
    Smooth,
    add,
    product,
    quotient,
    scale,
    total,
)
from sqlpriv.rewrite.estimate.statistics import statistic, variance_below
from sqlpriv.rewrite.estimate.summands import averaged_domain, summands
from sqlpriv.rewrite.estimate.sums import SUMS, Frame
from sqlpriv.rewrite.estimate.texts import Texts
from sqlpriv.rewrite.estimate.windows import WindowParts, window_form
from sqlpriv.rewrite.syntax import AGGREGATES, GROUPING, has_aggregates, without_parentheses

_ROUNDING = (exp.Round, exp.Ceil, exp.Floor, exp.Trunc, exp.Cast, exp.TryCast)
_RISING = (*_ROUNDING, exp.Coalesce, exp.Greatest, exp.Least, exp.Exp, exp.Sqrt, exp.Ln, exp.Cbrt, exp.Nullif)
_FILLING = (exp.Coalesce, exp.Greatest, exp.Least)
_DEFINED: dict[type[exp.Expr], str] = {exp.Sqrt: ">= 0", exp.Ln: "> 0", exp.Log: "> 0"}
_OPERATORS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_FIXED = (exp.Literal, exp.Null, exp.Boolean, exp.Var, exp.DataType, exp.Identifier, exp.Interval, exp.Query)


class FormBuilder:
    """Turns the expressions of one aggregate query, or of one query over answers, into forms."""

    def __init__(
        self,
        sql: str,
        texts: Texts,
        formulas: Formulas,
        keys: list[exp.Expr],
        answers: Mapping[tuple[str, str], AnswerColumn] | None = None,
        scalars: Sequence[Answer] = (),
    ) -> None:
        self._scalars = scalars
        self._sql = sql
        self._texts = texts
        self.formulas = formulas
        self._arithmetic = _Arithmetic(formulas)
        bare = [without_parentheses(key) for key in keys]
        self._keys = {(mark(key), key): f"g{i}" for i, key in reversed(list(enumerate(bare)))}
        self._kinds = set(map(type, bare))
        self._answers = answers
        self.by_value: Callable[[exp.Expr], Form]
        """What makes the forms of quantiles and histograms."""
        self.positive: frozenset[tuple[str, str]] = frozenset()
        """Which columns of answers are counts, or sums of what is never below 0."""
        self.all_rows: Callable[[Answer], exp.Expr | None] | None = None
        """What a scalar subquery asks of the very rows that are grouped here, if it does."""
        self.adds_groups = False
        """Whether groups are about different rows, and all of them there, so that they can be added up."""
        self.groupings: dict[tuple[str, ...], str] = {}
        """The names of columns with grouping(...), by the keys in it."""

    def form(self, node: exp.Expr) -> Form:
        """The form of an expression."""
        if (key := self._key(node)) is not None:
            return Exact(f'"{SUMS}"."{key}"')
        if isinstance(node, exp.Paren):
            return self.form(node.this)
        if isinstance(node, GROUPING):
            return Exact(self._grouping(node))
        if isinstance(node, AGGREGATES):
            return self._aggregate(node)
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Query):
            self._refuse_correlated(node)
        if _keeps_the_value(node):
            inner = self.form(node.this)
            if isinstance(inner, Linear) and _fills_gaps(node):
                inner = self._filled(node, inner)
            if isinstance(inner, (Linear, Ratio, Smooth)) and (isinstance(inner, Linear) or not _fills_gaps(node)):
                return inner
        rounds = self.formulas.deviations and isinstance(node, _ROUNDING) and _is_numeric(node)
        if rounds and not isinstance(inner := self.form(node.this), Exact):
            return inner  # The bounds of round(avg(x)) may be equal; its error is that of avg(x).
        if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div)):
            return self._calculated(node)
        if isinstance(node, exp.IntDiv):
            return self._whole_quotient(node)
        if isinstance(node, exp.Neg):
            return self._arithmetic.scaled(self.form(node.this), Exact("-1", constant=True))
        return self._other(node)

    def _filled(self, node: exp.Expr, form: Linear) -> Form:
        """A sum over groups is NULL where there are none; with coalesce(x, 0) it is 0."""
        sums = self.formulas.sums
        if not any(map(sums.may_be_empty, form.terms)):
            return form
        second = node.expressions[0] if len(node.expressions) == 1 else None
        if form.shift is not None or not (isinstance(second, exp.Literal) and second.this == "0"):
            return self._other(node)
        return Linear({sums.filled(i) if sums.may_be_empty(i) else i: c for i, c in form.terms.items()})

    def _refuse_correlated(self, query: exp.Expr) -> None:
        inside = {t.alias for t in query.find_all(exp.Table, exp.Subquery)}
        for found in query.find_all(exp.Column):
            if found.table and found.table not in inside:
                refuse(self._sql, found, f"a subquery that reads {_spoken(found)!r} from outside", "move it into WHERE")

    def is_never_below_zero(self, node: exp.Expr) -> bool:
        """Whether an expression is a count, or a sum of what is never below 0, perhaps rounded."""
        if not has_aggregates(node) and self._answers is None:
            return False
        while isinstance(node, (exp.Paren, *_ROUNDING, exp.Coalesce)):
            node = node.this
        if self._answers is not None and isinstance(node, exp.Column):
            return (node.table, node.name) in self.positive
        is_sum = isinstance(node, (*AGGREGATES, exp.Add))
        return is_sum and self.formulas.is_never_below_zero(self.form(node))

    def text(self, node: exp.Expr) -> str:
        """The value of an expression, for HAVING and ORDER BY."""
        return self.formulas.value(self.form(node))

    def _key(self, node: exp.Expr) -> str | None:
        return self._keys.get((mark(node), node)) if type(node) in self._kinds else None

    def _aggregate(self, node: exp.Expr) -> Form:
        if isinstance(node, exp.Window):
            return self._window(node)
        entry = aggregate_of(node)
        if entry is None:  # binding has refused it
            refuse_node(self._sql, node)
        form = self._estimated(node, entry)
        if self.formulas.is_conservative and not entry.bounded_by_classes:
            return Opaque(self.formulas.value(form))
        return form

    def _estimated(self, node: exp.Expr, entry: Aggregate) -> Form:
        if entry.estimated_by == BY_VALUE:
            return self.by_value(node)
        if entry.square is not None:
            return self._other(exp.Sqrt(this=variance_below(node, entry.square)))
        if entry.estimated_by == STATISTIC:
            return statistic(self.formulas, node, entry)
        sums = self.formulas.sums
        found = [Linear({sums.summands.add(s): "1"}) for s in summands(node, sums.release, self._sql)]
        if entry.estimated_by == AVERAGE:
            return Ratio(found[0], found[1], averaged_domain(node, sums.release))
        return found[0]

    def _window(self, node: exp.Window) -> Form:
        keys = frozenset(f'"{SUMS}"."{name}"' for name in self._keys.values())
        sums = self.formulas.sums if self._answers is None and self.adds_groups else None
        written = WindowParts(self.form, self.formulas.value, self._with, keys, sums)
        found = window_form(node, written, self._sql)
        if self.formulas.is_conservative and not _adds_groups_alone(node, found):
            return Opaque(self.formulas.value(found))
        return Opaque("NULL") if isinstance(found, Opaque) and self.formulas.deviations else found

    def _grouping(self, node: exp.Expr) -> str:
        arguments = node.expressions or ([node.this] if node.this else [])
        names = tuple(self._key(without_parentheses(a)) or "" for a in arguments)
        if not names or not all(names):
            refuse(self._sql, node, "grouping() of what is no group key", "name columns of GROUP BY")
        return f'"{SUMS}"."{self.groupings.setdefault(names, f"grouping{len(self.groupings)}")}"'

    def _column(self, node: exp.Column) -> Form:
        if node.table == SCALAR:
            answer = self._scalars[int(node.name)]
            question = self.all_rows(answer) if self.all_rows is not None and self.adds_groups else None
            if question is not None and (over_all := self._over_all(self.form(question))) is not None:
                return over_all
            text = f"(SELECT {quoted(answer.columns[0].name)} FROM ({answer.sql}))"
            return Opaque("NULL" if self.formulas.deviations else text)  # Without its LIMIT it may have several rows.
        if self._answers is None:
            refuse(
                self._sql, node, f"the column {_spoken(node)!r} of single rows", "put it into GROUP BY or an aggregate"
            )
        text = self._texts.plain(node)
        found = self._answers.get((node.table, node.name))
        if found is None or found.low is None or found.high is None:
            return Exact(text)
        return Bounded(text, found.low, found.high)

    def _over_all(self, form: Form) -> Form | None:
        """A form of all rows, from the sums of all groups."""
        sums = self.formulas.sums
        if isinstance(form, Ratio):
            upper, lower = self._over_all(form.upper), self._over_all(form.lower)
            return Ratio(upper, lower, form.domain) if isinstance(upper, Linear) and isinstance(lower, Linear) else None
        if not isinstance(form, Linear) or form.shift is not None or not form.terms:
            return None
        return Linear({sums.over(form.terms, Frame()): "1"})

    def _other(self, node: exp.Expr) -> Form:
        """Any other node: exact if all below is, rising with its first argument, or opaque."""
        children = list(_children(node))
        forms = [self.form(c) for c in children]
        exact = all(isinstance(f, Exact) for f in forms)
        constant = all(isinstance(f, Exact) and f.constant for f in forms)
        of_shown = isinstance(node, _RISING)
        values = [self.formulas.shown(f) if of_shown else self.formulas.value(f) for f in forms]
        if exact:
            return Exact(self._with(node, values), constant)
        text = self._where_defined(node, values)
        rises = isinstance(node, _RISING) and _is_numeric(node)
        if self.formulas.is_conservative and isinstance(node, _FILLING) and not isinstance(forms[0], Linear):
            rises = False  # What may be NULL may be what stands in for it, and that may lie beyond the bounds.
        if not rises or not all(isinstance(f, Exact) for f in forms[1:]):
            return Opaque(text)
        first = self.formulas.bounded(forms[0])
        if isinstance(first, Opaque):
            return Opaque(text)
        if isinstance(node, (exp.Nullif, exp.Coalesce)):
            return Bounded(text, first.low, first.high)
        ends = [first.low, first.high]
        if isinstance(node, exp.Sqrt):
            ends = [f"CASE WHEN ({end}) IS NOT NULL THEN greatest({end}, 0e0) END" for end in ends]
        return Bounded(text, *(self._where_defined(node, [end, *values[1:]]) for end in ends))

    def _where_defined(self, node: exp.Expr, texts: list[str]) -> str:
        """The text of a node, NULL where its estimate happens to lie where the function is not defined."""
        text = self._with(node, texts)
        test = _DEFINED.get(type(node))
        return text if test is None else f"CASE WHEN ({texts[-1]}) {test} THEN {text} END"

    def _with(self, node: exp.Expr, texts: list[str]) -> str:
        """The text of a node with its children written as given.

        The marks that hold their places cannot be guessed: one inside a text of the query would be replaced, too, and
        let whatever is written there out of its quotes.
        """
        mark = f"__priv_{secrets.token_hex(16)}_"
        copied = node.copy()
        for i, new in enumerate(list(_children(copied))):
            new.replace(exp.Var(this=f"{mark}{i}_"))
        return re.sub(rf"{mark}(\d+)_", lambda found: f"({texts[int(found.group(1))]})", self._texts.plain(copied))

    # --- arithmetic -------------------------------------------------------------------------------

    def _calculated(self, node: exp.Expr) -> Form:
        left, right = self.form(node.this), self.form(node.expression)
        if isinstance(left, Exact) and isinstance(right, Exact):
            return Exact(f"({left.text}) {_OPERATORS[type(node)]} ({right.text})", left.constant and right.constant)
        if isinstance(node, (exp.Add, exp.Sub)):
            return self._arithmetic.sum(left, right, "+" if isinstance(node, exp.Add) else "-")
        if isinstance(node, exp.Mul):
            return self._arithmetic.product(left, right)
        return self._arithmetic.quotient(left, self._without_nullif(node.expression, right))

    def _whole_quotient(self, node: exp.IntDiv) -> Form:
        """The operator // of whole numbers drops what is left over; of estimates, which are doubles, it would not."""
        if all(isinstance(self.form(side), Exact) for side in (node.this, node.expression)):
            # Among answers without bounds an estimate looks exact; trunc() leaves whole numbers as they are.
            exact = self._other(node)
            return exact if self._answers is None else Exact(f"trunc({self.formulas.value(exact)})")
        return self.form(exp.Trunc(this=exp.Div(this=node.this.copy(), expression=node.expression.copy())))

    def _without_nullif(self, node: exp.Expr, form: Form) -> Form:
        """Dividing by nullif(x, 0) is dividing by x: a division by 0 gives NULL here anyway."""
        bare = without_parentheses(node)
        if (
            isinstance(bare, exp.Nullif)
            and isinstance(bare.expression, exp.Literal)
            and not bare.expression.is_string
            and float(bare.expression.this) == 0
        ):
            return self.form(bare.this)
        return form


class _Arithmetic:
    """Adds and multiplies the forms of one answer, each time with the best form there is for the outcome."""

    def __init__(self, formulas: Formulas) -> None:
        self._formulas = formulas

    def sum(self, left: Form, right: Form, sign: str) -> Form:
        """left + right, or left - right."""
        factor = "1" if sign == "+" else "-1"
        if isinstance(left, Linear) and isinstance(right, Linear):
            return add(left, right, factor)
        if isinstance(left, Linear) and isinstance(right, Exact):
            return add(left, Linear({}, right.text), factor)
        if isinstance(left, Exact) and isinstance(right, Linear):
            return add(Linear({}, left.text), right, factor)
        if isinstance(right, Exact):
            return self.shifted(left, f"{sign} ({right.text})")
        if isinstance(left, Exact):
            turned = right if sign == "+" else self.scaled(right, Exact("-1", constant=True))
            return self.shifted(turned, f"+ ({left.text})")
        first, second = self._formulas.smooth(left), self._formulas.smooth(right)
        if first is None or second is None:
            return self._outwards(left, right, sign)
        return total(first, second, sign)

    def _outwards(self, left: Form, right: Form, sign: str) -> Form:
        """A sum or difference by interval arithmetic, which holds for certain where the bounds of both do."""
        one, other = self._formulas.bounded(left), self._formulas.bounded(right)
        text = f"({one.text}) {sign} ({other.text})"
        if not self._formulas.is_certain or isinstance(one, Opaque) or isinstance(other, Opaque):
            return Opaque(text)
        ends = (other.low, other.high) if sign == "+" else (other.high, other.low)
        return Bounded(text, f"({one.low}) {sign} ({ends[0]})", f"({one.high}) {sign} ({ends[1]})")

    def shifted(self, form: Form, by: str) -> Form:
        """A form plus something exact, which is written with its sign."""
        if isinstance(form, Smooth):
            return Smooth(f"({form.text}) {by}", form.slopes)
        moved = self._formulas.bounded(form)
        if isinstance(moved, Opaque):
            return Opaque(f"({moved.text}) {by}")
        return Bounded(f"({moved.text}) {by}", f"({moved.low}) {by}", f"({moved.high}) {by}")

    def product(self, left: Form, right: Form) -> Form:
        """left * right."""
        if isinstance(right, Exact):
            return self.scaled(left, right)
        if isinstance(left, Exact):
            return self.scaled(right, left)
        first, second = self._formulas.smooth(left), self._formulas.smooth(right)
        if first is None or second is None:
            return Opaque(f"({self._formulas.value(left)}) * ({self._formulas.value(right)})")
        return product(first, second)

    def quotient(self, left: Form, right: Form) -> Form:
        """left / right; NULL where that is a division by 0."""
        if isinstance(right, Exact):
            return self.scaled(left, Exact(f"1e0 / nullif({right.text}, 0)", right.constant))
        if isinstance(right, Linear) and isinstance(left, (Linear, Exact)):
            return Ratio(left if isinstance(left, Linear) else Linear({}, left.text), right)
        first, second = self._formulas.smooth(left), self._formulas.smooth(right)
        if first is None or second is None:
            return Opaque(f"({self._formulas.value(left)}) / nullif({self._formulas.value(right)}, 0)")
        return quotient(first, second)

    def scaled(self, form: Form, by: Exact) -> Form:
        """A form times something exact."""
        if isinstance(form, Exact):
            return Exact(f"({by.text}) * ({form.text})", by.constant and form.constant)
        if isinstance(form, Linear):
            return scale(form, by.text)
        if isinstance(form, Ratio):
            return Ratio(scale(form.upper, by.text), form.lower)
        if isinstance(form, Smooth):
            return product(Smooth(by.text), form)
        if isinstance(form, Opaque):
            return Opaque(f"({by.text}) * ({form.text})")
        low, high = (f"({by.text}) * ({end})" for end in (form.low, form.high))
        return Bounded(f"({by.text}) * ({form.text})", f"least({low}, {high})", f"greatest({low}, {high})")


def _adds_groups_alone(node: exp.Window, form: Form) -> bool:
    """Whether a window adds up sums of groups and nothing else: all others change with groups that have no rows."""
    return isinstance(form, Exact) or (
        isinstance(node.this, exp.Sum) and isinstance(form, Linear) and form.shift is None
    )


def _keeps_the_value(node: exp.Expr) -> bool:
    """A cast to DOUBLE changes no estimate, and coalesce none that is never NULL."""
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return node.to.this in (exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT)
    return _fills_gaps(node)


def _fills_gaps(node: exp.Expr) -> bool:
    return isinstance(node, exp.Coalesce)


def _is_numeric(node: exp.Expr) -> bool:
    """A cast to text is no number that could have bounds."""
    return not isinstance(node, (exp.Cast, exp.TryCast)) or node.to.this in exp.DataType.NUMERIC_TYPES


def _children(node: exp.Expr) -> Iterator[exp.Expr]:
    """The expressions right below a node; constants stay where they are, and so do queries over public tables."""
    for child in node.iter_expressions():
        if isinstance(child, exp.If) and isinstance(node, exp.Case):
            yield from _children(child)
        elif not isinstance(child, (*_FIXED, exp.Star)):
            yield child


def _spoken(node: exp.Column) -> str:
    return node.table if node.name == "value" else node.name
