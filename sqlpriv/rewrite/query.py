"""A query over the private table, rewritten into one query over its release.

In this order: parse; resolve names and merge subqueries (scope); list the grouping sets; turn every expression over
aggregates into a form with an interval (outer); compute the sums that the forms need over the view and over the domain
(estimate). Whatever none of these knows is refused, and nothing runs. The query itself is never run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from sqlpriv.errors import UnsupportedSQLError
from sqlpriv.rewrite.described import Described
from sqlpriv.rewrite.estimate import SUMS, Sums
from sqlpriv.rewrite.forms import Exact, Formulas
from sqlpriv.rewrite.group_sets import group_sets
from sqlpriv.rewrite.intervals import quantile
from sqlpriv.rewrite.outer import Outer
from sqlpriv.rewrite.refuse import STATEMENTS, refuse, refuse_node
from sqlpriv.rewrite.relations import Answer, AnswerColumn, Rows, Shown
from sqlpriv.rewrite.scope import Ctes, Names, Scope, aggregated, with_ctes
from sqlpriv.rewrite.texts import Texts
from sqlpriv.sqltext import folded, quoted

BUDGET = 2e8
_SELECT_ARGS = {
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "distinct",
    "with_",
}
_UNION_ARGS = {"this", "expression", "distinct", "order", "limit", "offset", "with_"}
_ROWS = "write an aggregate, as in SELECT count(*) ... GROUP BY; rows of the private table are in no release"


@dataclass(frozen=True)
class Options:
    """How an answer is to look, and what the sums over the domain may cost."""

    confidence: float = 0.95
    intervals: bool = True
    nonnegative: bool = False
    budget: float = BUDGET


def rewrite(sql: str, release: Described, options: Options | None = None) -> Answer:
    """The query that estimates the answer of `sql` from the release."""
    statement = _parsed(sql)
    answer = _Rewriting(sql, release, options or Options()).read(statement, {})
    if isinstance(answer, Rows):
        if not answer.private:
            raise UnsupportedSQLError(
                f"the query does not read {release.table!r}; ask for counts, sums or averages of it"
            )
        refuse(sql, statement, "a SELECT of single rows", _ROWS)
    return answer


def _parsed(sql: str) -> exp.Expression:
    try:
        statements = [s for s in sqlglot.parse(sql, dialect="duckdb") if s is not None]
    except sqlglot.errors.SqlglotError as error:
        found = getattr(error, "errors", None) or [{}]
        place = f" near line {found[0]['line']}, column {found[0]['col']}" if found[0].get("line") else ""
        raise UnsupportedSQLError(f"this is no SQL that can be read{place}; check it against DuckDB's SELECT") from None
    except RecursionError:
        raise UnsupportedSQLError("the query is nested too deeply; write it flatter") from None
    if len(statements) != 1:
        raise UnsupportedSQLError("one query at a time: write a single SELECT" if statements else "the query is empty")
    if not isinstance(statements[0], exp.Query):
        refuse(sql, statements[0], f"a {statements[0].key.upper()} statement", STATEMENTS)
    return statements[0]


@dataclass
class _Item:
    """A column of the SELECT list."""

    name: str
    node: exp.Expression
    place: exp.Expression


@dataclass
class _Rewriting:
    sql: str
    release: Described
    options: Options
    names: Names = field(init=False)
    texts: Texts = field(init=False)

    def __post_init__(self) -> None:
        self.names = Names(self.sql, self.release, self.read)
        self.texts = Texts(frozenset(a.name for a in self.release.attributes))
        self.z = quantile(self.options.confidence)

    def read(self, node: exp.Expression, ctes: Ctes) -> Rows | Answer:
        """What a query stands for: rows, if it does not aggregate, or an answer."""
        if isinstance(node, exp.Subquery):
            self._only(node, {"this"})
            return self.read(node.this, ctes)
        seen = with_ctes(node, ctes, self.sql)
        self._check_unused(node, seen)
        if isinstance(node, exp.Union):
            return self._union(node, seen)
        if isinstance(node, exp.Select):
            return self._select(node, seen)
        refuse_node(self.sql, node)

    def _check_unused(self, node: exp.Expression, ctes: Ctes) -> None:
        """What nobody reads is not run, but it must be a query that could be."""
        for cte in node.args["with_"].expressions if node.args.get("with_") else []:
            if not isinstance(cte.this, exp.Query):
                refuse(self.sql, cte, f"WITH ... AS ({cte.this.key.upper()})", "write a SELECT there")

    def _only(self, node: exp.Expression, known: set[str]) -> None:
        for key, value in node.args.items():
            if value and key not in known:
                inside = value[0] if isinstance(value, list) else value
                if key in {"sample", "qualify", "into", "windows", "laterals"} or not isinstance(
                    inside, exp.Expression
                ):
                    refuse(
                        self.sql, inside if isinstance(inside, exp.Expression) else node, key.upper(), "leave it out"
                    )
                refuse_node(self.sql, inside)

    # --- rows -------------------------------------------------------------------------------------

    def _select(self, select: exp.Select, ctes: Ctes) -> Rows | Answer:
        self._only(select, _SELECT_ARGS)
        rows, scope = self.names.read_from(select, ctes)
        if rows.over_answers:
            return self._over_answers(select, rows, scope)
        if not aggregated(select):
            return self._projected(select, rows, scope)
        if not rows.private:
            refuse(self.sql, select, "a query that does not read the private table", f"read {self.release.table!r}")
        return self._aggregate(select, rows, scope)

    def _projected(self, select: exp.Select, rows: Rows, scope: Scope) -> Rows:
        for clause in ("distinct", "limit", "offset"):
            if select.args.get(clause):
                refuse(self.sql, select.args[clause], f"{clause.upper()} over single rows", _ROWS)
        for item in list(select.expressions):
            rows.shown += self._shown(item, scope)
        if where := select.args.get("where"):
            rows.conditions.append(self.names.resolve(where.this, scope))
        return rows

    def _shown(self, item: exp.Expression, scope: Scope) -> list[Shown]:
        is_star = isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))
        if not is_star:
            made = self._item(item, scope, aggregates=False)
            return [Shown(made.name, made.node)]
        star = item if isinstance(item, exp.Star) else item.this
        if any(star.args.values()):
            refuse(self.sql, item, "* with EXCLUDE, REPLACE or RENAME", "name the columns")
        if isinstance(item, exp.Column) and folded(item.table) not in scope.sources:
            refuse(self.sql, item, f"{item.table}.*", "there is no such table in FROM")
        sources = [scope.sources[folded(item.table)]] if isinstance(item, exp.Column) else scope.sources.values()
        merged = [] if isinstance(item, exp.Column) else list(scope.merged)
        shown = [scope.merged[key] for key in merged]
        return shown + [s for columns in sources for key, s in columns.items() if key not in merged]

    def _item(self, item: exp.Expression, scope: Scope, aggregates: bool) -> _Item:
        """Resolve an item of the SELECT list; later items and clauses may use its alias."""
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            refuse(self.sql, item, "SELECT *", _ROWS)
        name = item.alias if isinstance(item, exp.Alias) else _default_name(item)
        node = self.names.resolve(item.this if isinstance(item, exp.Alias) else item, scope, aggregates)
        if isinstance(item, exp.Alias):
            scope.aliases[folded(name)] = node
        return _Item(name, node, item)

    # --- aggregates -------------------------------------------------------------------------------

    def _aggregate(self, select: exp.Select, rows: Rows, scope: Scope) -> Answer:
        if select.args.get("distinct"):
            refuse(self.sql, select.args["distinct"], "SELECT DISTINCT", "use GROUP BY; each group comes back once")
        items = [self._item(item, scope, aggregates=True) for item in list(select.expressions)]
        if where := select.args.get("where"):
            rows.conditions.append(self.names.resolve(where.this, scope))
        keys, sets = self._groups(select, items, scope)
        sums = Sums(self.release, self.texts)
        outer = Outer(self.sql, self.texts, Formulas(sums, self.z, self.options.nonnegative), keys)
        listed, columns = self._listed(items, outer)
        tail = self._tail(select, scope, items, outer)
        condition = exp.and_(*rows.conditions, copy=False) if rows.conditions else None
        parts, cost, plans = [], 0.0, []
        for chosen in sets:
            groups = [key if i in chosen else None for i, key in enumerate(keys)]
            computed = sums.query(rows.reads, condition, groups, self.options.budget, self._grouping(outer, chosen))
            parts.append(computed.sql)
            plans.append(computed.plan)
            cost += computed.cost
        source = parts[0] if len(parts) == 1 else " UNION ALL ".join(f"({p})" for p in parts)
        sql = f'SELECT {", ".join(listed)} FROM ({source}) AS "{SUMS}"{tail}'
        return Answer(sql, columns, cost, tuple(plans))

    def _groups(self, select: exp.Select, items: list[_Item], scope: Scope):  # type: ignore[no-untyped-def]
        plain = [i.node for i in items if not _aggregates(i.node)]

        def resolve(node: exp.Expression) -> exp.Expression:
            if isinstance(node, exp.Literal) and not node.is_string:
                item = self._by_ordinal(node, items)
                if _aggregates(item.node):
                    refuse(self.sql, node, "GROUP BY an aggregate", "group by columns or expressions of them")
                return item.node.unnest()
            return self.names.resolve(node, scope).unnest()

        return group_sets(select.args.get("group"), plain, resolve, self.sql)

    def _by_ordinal(self, node: exp.Literal, items: list[_Item]) -> _Item:
        if not node.this.isdigit() or not 1 <= int(node.this) <= len(items):
            refuse(self.sql, node, f"the position {node.this}", f"the SELECT list has {len(items)} columns")
        return items[int(node.this) - 1]

    def _grouping(self, outer: Outer, chosen: tuple[int, ...]) -> dict[str, int]:
        """grouping(a, b) in this grouping set: a bit for each key that is not in it."""
        present = {f"g{i}" for i in chosen}
        return {
            name: sum(2 ** (len(asked) - 1 - i) for i, key in enumerate(asked) if key not in present)
            for asked, name in outer.groupings.items()
        }

    def _listed(self, items: list[_Item], outer: Outer) -> tuple[list[str], tuple[AnswerColumn, ...]]:
        """The SELECT list: every estimate is followed by its bounds."""
        listed: list[str] = []
        columns: list[AnswerColumn] = []
        for item in items:
            form = outer.form(item.node)
            listed.append(f"{outer.formulas.value(form)} AS {quoted(item.name)}")
            if isinstance(form, Exact) or not self.options.intervals:
                columns.append(AnswerColumn(item.name))
                continue
            column = AnswerColumn(item.name, f"{item.name}_low", f"{item.name}_high")
            low, high = outer.formulas.bounds(form) or ("CAST(NULL AS DOUBLE)", "CAST(NULL AS DOUBLE)")
            listed += [f"{low} AS {quoted(str(column.low))}", f"{high} AS {quoted(str(column.high))}"]
            columns.append(column)
        self._refuse_clashes(items, columns)
        return listed, tuple(columns)

    def _refuse_clashes(self, items: list[_Item], columns: list[AnswerColumn]) -> None:
        taken = {folded(i.name): i for i in items}
        for column in columns:
            for bound in (column.low, column.high):
                if bound is not None and folded(bound) in taken:
                    where = taken[folded(bound)].place
                    refuse(
                        self.sql,
                        where,
                        f"a column called {bound!r} beside {column.name!r}",
                        "its bound has that name; rename it",
                    )

    def _tail(self, select: exp.Expression, scope: Scope, items: list[_Item], outer: Outer) -> str:
        """HAVING, ORDER BY and LIMIT, over estimates."""
        text = ""
        if having := select.args.get("having"):
            resolved = self.names.resolve(having.this, scope, aggregates=True, alias_first=True)
            text += f" WHERE {outer.text(resolved)}"
        if order := select.args.get("order"):
            text += f" ORDER BY {', '.join(self._ordered(o, scope, items, outer) for o in list(order.expressions))}"
        for clause in ("limit", "offset"):
            if found := select.args.get(clause):
                text += f" {clause.upper()} {self._whole(found)}"
        return text

    def _ordered(self, ordered: exp.Expression, scope: Scope, items: list[_Item], outer: Outer) -> str:
        if not isinstance(ordered, exp.Ordered) or ordered.args.get("with_fill"):
            refuse_node(self.sql, ordered)
        node = ordered.this
        if isinstance(node, exp.Var) and node.name.upper() == "ALL":
            texts = [outer.text(i.node) for i in items]
        elif isinstance(node, exp.Literal) and not node.is_string:
            texts = [outer.text(self._by_ordinal(node, items).node)]
        else:
            texts = [outer.text(self.names.resolve(node, scope, aggregates=True, alias_first=True))]
        direction = " DESC" if ordered.args.get("desc") else " ASC"
        nulls = " NULLS FIRST" if ordered.args.get("nulls_first") else " NULLS LAST"
        return ", ".join(f"({text}){direction}{nulls}" for text in texts)

    def _whole(self, clause: exp.Expression) -> str:
        node = clause.expression
        if clause.args.get("limit_options") or not isinstance(node, exp.Literal) or not node.this.isdigit():
            refuse(self.sql, clause, f"{clause.key.upper()} that is no whole number", "write a number of rows")
        return str(node.this)

    # --- over answers -----------------------------------------------------------------------------

    def _over_answers(self, select: exp.Select, rows: Rows, scope: Scope) -> Answer:
        raise NotImplementedError

    def _union(self, union: exp.Union, ctes: Ctes) -> Answer:
        raise NotImplementedError


def _aggregates(node: exp.Expression) -> bool:
    from sqlpriv.rewrite.scope import AGGREGATES, outside_subqueries

    return any(isinstance(n, AGGREGATES) for n in outside_subqueries(node))


def _default_name(item: exp.Expression) -> str:
    """What DuckDB would call a column without an alias."""
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Count) and (item.this is None or isinstance(item.this, exp.Star)):
        return "count_star()"
    return item.sql(dialect="duckdb", normalize_functions="lower")
