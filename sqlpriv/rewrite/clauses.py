"""The clauses that aggregate queries and queries over answers share: the SELECT list, HAVING, ORDER BY and LIMIT."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.core.errors import InternalError
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.rewrite.bind.expressions import Expressions
from sqlpriv.rewrite.bind.names import Names, Scope
from sqlpriv.rewrite.bind.refusals import refuse, refuse_node
from sqlpriv.rewrite.bind.relations import AnswerColumn, Shown
from sqlpriv.rewrite.estimate.bounds import Formulas
from sqlpriv.rewrite.estimate.buckets import SplitSums
from sqlpriv.rewrite.estimate.form_builder import FormBuilder
from sqlpriv.rewrite.estimate.forms import Exact
from sqlpriv.rewrite.estimate.hard_bounds import HardFormulas, HardSums
from sqlpriv.rewrite.estimate.joined_tables import Joins
from sqlpriv.rewrite.estimate.noisy_bounds import NoisyFormulas
from sqlpriv.rewrite.estimate.noisy_sums import NoisySums
from sqlpriv.rewrite.estimate.sampled_bounds import SampledFormulas, SampledSums
from sqlpriv.rewrite.estimate.texts import ONE_DEVIATION, Texts, squared_quantile
from sqlpriv.rewrite.release import GeneralizedRelease, NoisyRelease, SampledRelease, SplitRelease
from sqlpriv.rewrite.syntax import conjuncts, default_name, direction, is_rank, is_star

BUDGET = 2e8
ROWS = (
    "write an aggregate, as in SELECT count(*) ... GROUP BY; no single row can be distinguished from noise, and rows "
    "without noise are read with plain SQL"
)


@dataclass(frozen=True)
class Options:
    """How an answer is to look, and what the sums over the domain may cost."""

    confidence: float = 0.95
    intervals: bool = True
    nonnegative: bool = False
    budget: float = BUDGET
    apart: bool = True
    """Whether values above and below 0 are bounded apart, which may take wider joins than bounding their sum."""
    domain_extremes: bool = False
    """Whether min() and max() are answered from the public domain, where nothing else is asked."""
    deviations: bool = False
    """Whether bounds reach one standard deviation to each side, and nothing is chosen or sorted by estimates.

    For a plan, whose rows are the true ones: its answers must not show in which groups there are, and in what order.
    """
    postgres: bool = False
    """Whether the query means what PostgreSQL means by it."""
    now: str = ""
    """When the query began, in UTC as ISO 8601: now() stands for it."""


@dataclass
class Item:
    """A column of the SELECT list."""

    name: str
    node: exp.Expr
    place: exp.Expr


class Clauses:
    """Rewrites the clauses of one query, and owns what they are written with: the options, and the writer of texts.

    Text, release and names belong to `names`, which all that resolves names shares.
    """

    def __init__(self, names: Names, expressions: Expressions, options: Options) -> None:
        self.names = names
        self.sql = names.sql
        self.options = options
        self.texts = Texts(frozenset(a.name for a in names.release.attributes))
        self.zz = ONE_DEVIATION if options.deviations else squared_quantile(options.confidence)
        self.resolve = expressions.resolve

    def formulas(self, joins: Joins, final: bool = True) -> Formulas:
        """What gives the sums over these joins their values and bounds, of the kind that the release has.

        `final`: whether the options say how the values are to look, or they are worked with further.
        """
        release, options = self.names.release, self.options
        nonnegative = final and options.nonnegative
        if isinstance(release, NoisyRelease):
            sums = NoisySums(self.texts, joins, release)
            return NoisyFormulas(sums, self.zz, nonnegative, options.apart, final and options.deviations)
        if isinstance(release, GeneralizedRelease):
            return HardFormulas(HardSums(self.texts, joins, release), nonnegative)
        if isinstance(release, SplitRelease):
            return HardFormulas(SplitSums(self.texts, joins, release), nonnegative)
        if isinstance(release, SampledRelease):
            return SampledFormulas(SampledSums(self.texts, joins, release), options.confidence, nonnegative)
        raise InternalError(f"rewriting knows no bounds of a {type(release).__name__}")

    def refuse_limit_of_rows(self, query: exp.Expr) -> None:
        """Which rows a query keeps must not depend on other rows."""
        for clause in ("distinct", "limit", "offset", "qualify"):
            if query.args.get(clause) and not (clause == "limit" and is_limit_zero(query)):
                refuse(self.sql, query.args[clause], f"{clause.upper()} over single rows", ROWS)

    def shown(self, item: exp.Expr, scope: Scope) -> list[Shown]:
        """What an item of the SELECT list shows, which may be * where nothing is aggregated."""
        if not is_star(item):
            made = self.item(item, scope, aggregates=False)
            return [Shown(made.name, made.node)]
        star = item if isinstance(item, exp.Star) else item.this
        if any(star.args.values()):
            refuse(self.sql, item, "* with EXCLUDE, REPLACE or RENAME", "name the columns")
        table = item.table if isinstance(item, exp.Column) else ""
        if table and folded(table) not in scope.sources:
            refuse(self.sql, item, f"{table}.*", "there is no such table in FROM")
        return scope.star(table)

    def item(self, item: exp.Expr, scope: Scope, aggregates: bool) -> Item:
        """Resolve an item of the SELECT list; later items and clauses may use its alias."""
        if is_star(item):
            refuse(self.sql, item, "SELECT *", ROWS)
        name = item.alias if isinstance(item, exp.Alias) else default_name(item)
        node = self.resolve(item.this if isinstance(item, exp.Alias) else item, scope, aggregates)
        if isinstance(item, exp.Alias):
            scope.aliases[folded(name)] = node
        return Item(name, node, item)

    def by_ordinal(self, node: exp.Literal, items: list[Item]) -> Item:
        """The item at a position of the SELECT list, counted from 1."""
        if not node.this.isdigit() or not 1 <= int(node.this) <= len(items):
            refuse(self.sql, node, f"the position {node.this}", f"the SELECT list has {len(items)} columns")
        return items[int(node.this) - 1]

    def listed(
        self, items: list[Item], forms: FormBuilder, answers: frozenset[tuple[str, str]] | None = None
    ) -> tuple[list[str], tuple[AnswerColumn, ...]]:
        """The SELECT list: every estimate is followed by its bounds, unless the query names these itself.

        `answers` are the columns of the answers below, if there are some, that are estimates or their bounds.
        """
        named = {folded(i.name) for i in items} if answers is not None else set()
        listed: list[str] = []
        columns: list[AnswerColumn] = []
        for item in items:
            form = forms.form(item.node)
            listed.append(f"{forms.formulas.shown(form)} AS {quoted(item.name)}")
            own = {folded(f"{item.name}_low"), folded(f"{item.name}_high")}
            is_positive = forms.is_never_below_zero(item.node)
            if isinstance(form, Exact) or not self.options.intervals or own & named:
                exact = isinstance(form, Exact) and not mentions(item.node, answers or frozenset())
                columns.append(
                    AnswerColumn(item.name, exact=exact, never_below_zero=is_positive, is_rank=is_rank(item.node))
                )
                continue
            ends = (f"{item.name}_low", f"{item.name}_high")
            column = AnswerColumn(item.name, *ends, never_below_zero=is_positive, is_rank=is_rank(item.node))
            low, high = forms.formulas.bounds(form) or ("CAST(NULL AS DOUBLE)", "CAST(NULL AS DOUBLE)")
            listed += [f"{low} AS {quoted(str(column.low))}", f"{high} AS {quoted(str(column.high))}"]
            columns.append(column)
        self._refuse_clashes(items, columns)
        return listed, tuple(columns)

    def _refuse_clashes(self, items: list[Item], columns: list[AnswerColumn]) -> None:
        taken = {folded(i.name): i for i in items}
        for column in columns:
            for bound in (column.low, column.high):
                if bound is not None and folded(bound) in taken:
                    where = taken[folded(bound)].place
                    refuse(
                        self.sql,
                        where,
                        f"a column called {bound!r} next to {column.name!r}",
                        "its bound has that name; rename it",
                    )

    def tail(
        self,
        select: exp.Expr,
        scope: Scope,
        items: list[Item],
        forms: FormBuilder,
        answers: frozenset[tuple[str, str]] = frozenset(),
        having: exp.Expr | None = None,
    ) -> str:
        """HAVING, which is resolved already, QUALIFY, ORDER BY and LIMIT, over estimates; `answers` as in `listed`."""
        text = by_keys = ""
        if having is not None:
            text = f" WHERE {forms.text(having)}"
            if self.options.deviations:
                exact = [c for c in conjuncts(having) if isinstance(forms.form(c), Exact) and not mentions(c, answers)]
                by_keys = f" WHERE {' AND '.join(f'({forms.text(c)})' for c in exact)}" if exact else ""
        if qualify := select.args.get("qualify"):
            kept = forms.text(self.resolve(qualify.this, scope, aggregates=True, alias_first=True))
            # DuckDB wants a window function there, and some are computed below.
            text += f" QUALIFY ({kept}) AND row_number() OVER () > 0"
        if order := select.args.get("order"):
            text += f" ORDER BY {', '.join(self._ordered(o, scope, items, forms) for o in list(order.expressions))}"
        text += self.limits(select)
        return by_keys if self.options.deviations else text

    def having(self, select: exp.Expr, scope: Scope) -> exp.Expr | None:
        """HAVING, resolved."""
        clause = select.args.get("having")
        return None if clause is None else self.resolve(clause.this, scope, aggregates=True, alias_first=True)

    def _ordered(self, ordered: exp.Expr, scope: Scope, items: list[Item], forms: FormBuilder) -> str:
        if not isinstance(ordered, exp.Ordered) or ordered.args.get("with_fill"):
            refuse_node(self.sql, ordered)
        node = ordered.this
        if isinstance(node, exp.Var) and node.name.upper() == "ALL":
            texts = [forms.text(i.node) for i in items]
        elif isinstance(node, exp.Literal) and not node.is_string:
            texts = [forms.text(self.by_ordinal(node, items).node)]
        else:
            texts = [forms.text(self.resolve(node, scope, aggregates=True, alias_first=True))]
        return ", ".join(f"({text}){direction(ordered)}" for text in texts)

    def limits(self, query: exp.Expr) -> str:
        """LIMIT and OFFSET."""
        found = {name: query.args[name] for name in ("limit", "offset") if query.args.get(name)}
        return "".join(f" {name.upper()} {self._whole(clause)}" for name, clause in found.items())

    def _whole(self, clause: exp.Expr) -> str:
        node = clause.expression
        if clause.args.get("limit_options") or not isinstance(node, exp.Literal) or not node.this.isdigit():
            refuse(self.sql, clause, f"{clause.key.upper()} that is no whole number", "write a number of rows")
        return str(node.this)


def is_limit_zero(query: exp.Expr) -> bool:
    """Whether a query asks for no row."""
    limit = query.args.get("limit")
    number = limit.expression if isinstance(limit, exp.Limit) else None
    return isinstance(number, exp.Literal) and not number.is_string and number.this == "0"


def mentions(node: exp.Expr, columns: frozenset[tuple[str, str]]) -> bool:
    """Whether an expression names one of these resolved columns."""
    return any((found.table, found.name) in columns for found in node.find_all(exp.Column))
