"""What aggregates sum: count(*) sums 1, count(x) sums 1 where x is not NULL, a condition sums 1 where it holds.

A summand that is 0 or 1 is kept as a filter alone, so that its square and its cube are itself and need no sums. Each
summand of an answer is kept once. Products of summands are kept as moments: which expressions are multiplied and which
filters hold. Moments that come out the same, as for counts, are summed once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from sqlpriv.core.sqltext import NUMERIC_TYPE
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.estimate.joined_tables import Copies
from sqlpriv.rewrite.estimate.texts import Texts
from sqlpriv.rewrite.release import Attribute, Release
from sqlpriv.rewrite.syntax import without_parentheses

_TRUTHS = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between,
    exp.Like, exp.ILike, exp.SimilarTo, exp.Glob, exp.RegexpLike, exp.RegexpFullMatch, exp.And, exp.Or, exp.Not,
    exp.Boolean, exp.Exists, exp.StartsWith, exp.EndsWith, exp.Contains, exp.ArrayContains, exp.Escape,
)  # fmt: skip
_KEEPS_THE_SIGN = (exp.Add, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)

Moment: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The expressions that are multiplied, and the filters that hold, as texts over the view."""


@dataclass(frozen=True)
class Summand:
    """What is summed: an expression, or 1, where the filters hold. NULL counts as 0."""

    expression: exp.Expr | None
    filters: tuple[exp.Expr, ...] = ()


def summands(node: exp.Expr, release: Release, sql: str) -> tuple[Summand, ...]:
    """The sum that an aggregate is, or the two whose ratio it is (avg)."""
    outside: tuple[exp.Expr, ...] = ()
    if isinstance(node, exp.Filter):
        node, outside = node.this, (node.expression.this,)
    if isinstance(node, exp.Count):
        if node.expressions:
            refuse(sql, node, "count() of several columns", "write count(*), or count of one expression")
        if node.this is None or isinstance(node.this, exp.Star):
            return (Summand(None, outside),)
        return (Summand(None, (*outside, *present(node.this, release))),)
    if isinstance(node, exp.CountIf):
        return (Summand(None, (*outside, node.this)),)
    total = _summed(node.this, outside, release)
    if isinstance(node, exp.Sum):
        return (total,)
    there = (*outside, *present(node.this, release))
    # Where both sums have the same filters, so have their moments.
    total = Summand(total.expression, there if total.expression is not None else (*total.filters, *there))
    return (total, Summand(None, there))


def averaged_domain(node: exp.Expr, release: Release) -> str | None:
    """The domain of the numbers that are averaged, where these are a column of the private table as it is."""
    average = node.this if isinstance(node, exp.Filter) else node
    averaged = without_parentheses(average.this)
    found = _attribute(averaged, release) if isinstance(averaged, exp.Column) else None
    return found.domain if found is not None and NUMERIC_TYPE.fullmatch(found.type) else None


def _summed(node: exp.Expr, outside: tuple[exp.Expr, ...], release: Release) -> Summand:
    bare = without_parentheses(node)
    if isinstance(bare, exp.Cast) and bare.to.this in exp.DataType.NUMERIC_TYPES:
        cast = without_parentheses(bare.this)
        bare = cast if _is_truth(cast, release) else bare
    if _is_truth(bare, release):
        return Summand(None, (*outside, bare))
    if isinstance(bare, exp.Literal) and not bare.is_string and bare.this == "1":
        return Summand(None, outside)
    if isinstance(bare, exp.Case) and bare.this is None and len(bare.args["ifs"]) == 1:
        branch, default = bare.args["ifs"][0], bare.args.get("default")
        if _is_number(branch.args["true"], 1) and (default is None or _is_number(default, 0)):
            return Summand(None, (*outside, branch.this))
    return Summand(bare, outside)


def _is_number(node: exp.Expr, number: float) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and float(node.this) == number


def _is_truth(node: exp.Expr, release: Release) -> bool:
    if isinstance(node, exp.Column):
        found = _attribute(node, release)
        return found is not None and found.type.upper() == "BOOLEAN"
    return isinstance(node, _TRUTHS)


def present(node: exp.Expr, release: Release) -> tuple[exp.Expr, ...]:
    """That an expression is not NULL: nothing to ask of a constant, or of a column whose domain has no NULL."""
    bare = without_parentheses(node)
    found = _attribute(bare, release) if isinstance(bare, exp.Column) else None
    if isinstance(bare, exp.Literal) or (found is not None and not found.has_null):
        return ()
    if isinstance(bare, exp.Cast) and bare.to.this in exp.DataType.NUMERIC_TYPES:
        return present(bare.this, release)
    if isinstance(bare, exp.Case) and isinstance(bare.args.get("default"), exp.Literal):
        results = [branch.args["true"] for branch in bare.args["ifs"]]
        if all(isinstance(result, exp.Literal) for result in results):
            return ()
    return (exp.Not(this=exp.Paren(this=exp.Is(this=exp.Paren(this=bare.copy()), expression=exp.Null()))),)


def _attribute(node: exp.Column, release: Release) -> Attribute | None:
    """The attribute that a resolved column is; a public table never has the name of an attribute."""
    return release.attribute(node.table)


def is_never_below_zero(node: exp.Expr, release: Release) -> bool:
    """Whether an expression over attributes is at least 0, or NULL, for every tuple of the domain.

    It is read off the expression. The interval of a sum bounds values above and below 0 apart, which takes twice
    the moments: not needed for ages.
    """
    node = without_parentheses(node)
    if isinstance(node, exp.Literal):
        return not node.is_string
    if isinstance(node, (exp.Null, exp.Boolean, exp.Abs, exp.Length, exp.Sqrt, exp.Exp)):
        return True
    if isinstance(node, exp.Column):
        found = release.attribute(node.table)
        return found is not None and found.never_below_zero
    if isinstance(node, _KEEPS_THE_SIGN):
        return all(is_never_below_zero(side, release) for side in (node.this, node.expression))
    if isinstance(node, exp.Case):
        results = [branch.args["true"] for branch in node.args["ifs"]]
        return all(is_never_below_zero(r, release) for r in (*results, node.args.get("default") or exp.Null()))
    if isinstance(node, exp.Coalesce):
        return all(is_never_below_zero(n, release) for n in (node.this, *node.expressions))
    if isinstance(node, (exp.Cast, exp.TryCast)):
        return node.to.this in exp.DataType.NUMERIC_TYPES and is_never_below_zero(node.this, release)
    return False


@dataclass(frozen=True)
class SummandText:
    """A summand as texts over the view."""

    factors: tuple[str, ...]
    filters: tuple[str, ...]
    once: bool = False
    """Whether a row of the private table counts once, however many joined rows it has: asked for its variance only."""


@dataclass
class Summands:
    """Numbers the summands of one answer, and knows the expression behind each text."""

    texts: Texts
    _texts: list[SummandText] = field(default_factory=list)
    _nodes: dict[str, exp.Expr] = field(default_factory=dict)

    def __getitem__(self, i: int) -> SummandText:
        return self._texts[i]

    def add(self, summand: Summand) -> int:
        """The number of a summand; equal ones have the same."""
        factors = (self._text(summand.expression),) if summand.expression is not None else ()
        return self.number(SummandText(factors, tuple(sorted({self._text(f) for f in summand.filters}))))

    def number(self, kept: SummandText) -> int:
        """As `add`, of a summand as texts."""
        if kept not in self._texts:
            self._texts.append(kept)
        return self._texts.index(kept)

    def _text(self, node: exp.Expr) -> str:
        text = self.texts.over_view(node)
        self._nodes.setdefault(text, node)
        return text

    def node(self, text: str) -> exp.Expr:
        """The expression of a kept text."""
        return self._nodes[text]

    def product(self, numbers: tuple[int, ...]) -> Moment:
        """The product of summands that are all about the same joined rows."""
        kept = [self._texts[i] for i in numbers]
        factors = sorted(f for k in kept for f in k.factors)
        return tuple(factors), tuple(sorted({f for k in kept for f in k.filters}))

    def moment(self, numbers: tuple[int, ...], copies: Copies) -> Moment:
        """The product of summands, each about its own copies."""
        placed = list(enumerate(self._texts[i] for i in numbers))
        factors = [self._about(text, copies, place) for place, kept in placed for text in kept.factors]
        filters = {self._about(text, copies, place) for place, kept in placed for text in kept.filters}
        return tuple(sorted(factors)), tuple(sorted(filters))

    def _about(self, text: str, copies: Copies, place: int) -> str:
        node = copies.renamed(self._nodes[text], place)
        return text if node is self._nodes[text] else self._text(node)
