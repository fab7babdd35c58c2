"""A query over the private table, rewritten into one query over its release.

In this order: parse; resolve names and merge subqueries (scope); list the grouping sets; turn every expression over
aggregates into a form with an interval (outer); compute the sums that the forms need over the view and over the domain
(estimate). Whatever none of these knows is refused, and nothing runs. The query itself is never run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from sqlpriv.errors import UnsupportedSQLError
from sqlpriv.rewrite.described import Described
from sqlpriv.rewrite.estimate import SUMS, Sums
from sqlpriv.rewrite.forms import Exact, Formulas
from sqlpriv.rewrite.group_sets import Keys, Sets, group_sets
from sqlpriv.rewrite.intervals import squared_quantile
from sqlpriv.rewrite.outer import Outer
from sqlpriv.rewrite.refuse import STATEMENTS, refuse, refuse_node
from sqlpriv.rewrite.relations import Answer, AnswerColumn, Rows, Shown
from sqlpriv.rewrite.scope import AGGREGATES, Ctes, Names, Scope, aggregated, outside_subqueries, with_ctes
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
# Before sqlglot reads it: of statements that it does not know it would print a warning.
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*([A-Za-z]\w*)", re.DOTALL)
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


def _parsed(sql: str) -> exp.Expr:
    first = _FIRST_WORD.match(sql)
    if first and first.group(1).upper() not in {"SELECT", "FROM", "WITH", "TABLE", "VALUES"}:
        where = exp.Var(this="statement")
        where.meta["start"] = first.start(1)
        refuse(sql, where, f"the statement {first.group(1).upper()}", STATEMENTS)
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
        refuse(sql, statements[0], f"the statement {statements[0].key.upper()}", STATEMENTS)
    return statements[0]


@dataclass
class _Item:
    """A column of the SELECT list."""

    name: str
    node: exp.Expr
    place: exp.Expr


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
        self.zz = squared_quantile(self.options.confidence)

    def read(self, node: exp.Expr, ctes: Ctes) -> Rows | Answer:
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

    def _check_unused(self, node: exp.Expr, ctes: Ctes) -> None:
        """What nobody reads is not run, but it must be a query that could be."""
        for cte in node.args["with_"].expressions if node.args.get("with_") else []:
            if not isinstance(cte.this, exp.Query):
                refuse(self.sql, cte, f"WITH ... AS ({cte.this.key.upper()})", "write a SELECT there")

    def _only(self, node: exp.Expr, known: set[str]) -> None:
        for key, value in node.args.items():
            if value and key not in known:
                inside = value[0] if isinstance(value, list) else value
                if key in {"sample", "qualify", "into", "windows", "laterals"} or not isinstance(inside, exp.Expr):
                    refuse(
                        self.sql,
                        inside if isinstance(inside, exp.Expr) else node,
                        key.upper().strip("_"),
                        "leave it out",
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

    def _shown(self, item: exp.Expr, scope: Scope) -> list[Shown]:
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

    def _item(self, item: exp.Expr, scope: Scope, aggregates: bool) -> _Item:
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
        outer = Outer(
            self.sql, self.texts, Formulas(sums, self.zz, self.options.nonnegative), keys, None, self.names.scalars
        )
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
        layered = outer.formulas.layered(source)
        sql = f'SELECT {", ".join(listed)} FROM ({layered}) AS "{SUMS}"{tail}'
        return Answer(sql, columns, cost, tuple(plans))

    def _groups(self, select: exp.Select, items: list[_Item], scope: Scope) -> tuple[Keys, Sets]:
        plain = [i.node for i in items if not _aggregates(i.node)]

        def resolve(node: exp.Expr) -> exp.Expr:
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

    def _listed(
        self, items: list[_Item], outer: Outer, may_repeat: bool = False
    ) -> tuple[list[str], tuple[AnswerColumn, ...]]:
        """The SELECT list: every estimate is followed by its bounds, unless the query names these itself."""
        named = {folded(i.name) for i in items} if may_repeat else set()
        listed: list[str] = []
        columns: list[AnswerColumn] = []
        for item in items:
            form = outer.form(item.node)
            listed.append(f"{outer.formulas.value(form)} AS {quoted(item.name)}")
            if isinstance(form, Exact) or not self.options.intervals or folded(f"{item.name}_low") in named:
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

    def _tail(self, select: exp.Expr, scope: Scope, items: list[_Item], outer: Outer) -> str:
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

    def _ordered(self, ordered: exp.Expr, scope: Scope, items: list[_Item], outer: Outer) -> str:
        if not isinstance(ordered, exp.Ordered) or ordered.args.get("with_fill"):
            refuse_node(self.sql, ordered)
        node = ordered.this
        if isinstance(node, exp.Var) and node.name.upper() == "ALL":
            texts = [outer.text(i.node) for i in items]
        elif isinstance(node, exp.Literal) and not node.is_string:
            texts = [outer.text(self._by_ordinal(node, items).node)]
        else:
            texts = [outer.text(self.names.resolve(node, scope, aggregates=True, alias_first=True))]
        return ", ".join(f"({text}){_direction(ordered)}" for text in texts)

    def _whole(self, clause: exp.Expr) -> str:
        node = clause.expression
        if clause.args.get("limit_options") or not isinstance(node, exp.Literal) or not node.this.isdigit():
            refuse(self.sql, clause, f"{clause.key.upper()} that is no whole number", "write a number of rows")
        return str(node.this)

    # --- over answers -----------------------------------------------------------------------------

    def _over_answers(self, select: exp.Select, rows: Rows, scope: Scope) -> Answer:
        """A query over estimates may project, filter, sort and join public tables; each row is one row of an answer."""
        if rows.private:
            refuse(self.sql, select, "a join of estimates with the private table", "aggregate the private table once")
        if aggregated(select) or select.args.get("distinct"):
            refuse(
                self.sql, select, "an aggregate over estimates", "ask it of the table itself, in one aggregate query"
            )
        answers = {
            (s.expression.table, s.expression.name): s.estimate
            for columns in scope.sources.values() for s in columns.values()
            if s.estimate is not None and isinstance(s.expression, exp.Column)
        }  # fmt: skip
        outer = Outer(self.sql, self.texts, Formulas(Sums(self.release, self.texts), self.zz), [], answers)
        items = [i for item in list(select.expressions) for i in self._items_over_answers(item, scope)]
        if where := select.args.get("where"):
            rows.conditions.append(self.names.resolve(where.this, scope))
        listed, columns = self._listed(items, outer, may_repeat=True)
        sources = ", ".join(f"{r.relation} AS {quoted(n)}" for n, r in rows.reads.items())
        sql = f"SELECT {', '.join(listed)} FROM {sources}"
        if rows.conditions:
            sql += f" WHERE {' AND '.join(f'({self.texts.plain(c)})' for c in rows.conditions)}"
        answered = [r.answer for r in rows.reads.values() if r.answer is not None]
        plans = tuple(p for a in answered for p in a.plans)
        return Answer(sql + self._tail(select, scope, items, outer), columns, sum(a.cost for a in answered), plans)

    def _items_over_answers(self, item: exp.Expr, scope: Scope) -> list[_Item]:
        if not isinstance(item, exp.Star) and not (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            return [self._item(item, scope, aggregates=False)]
        shown = self._shown(item, scope)
        bounds = {b for s in shown if s.estimate for b in (s.estimate.low, s.estimate.high)}
        return [_Item(s.name, s.expression.copy(), item) for s in shown if self.texts.plain(s.expression) not in bounds]

    def _union(self, union: exp.Union, ctes: Ctes) -> Answer:
        self._only(union, _UNION_ARGS)
        if union.args.get("distinct"):
            refuse(self.sql, union, "UNION", "write UNION ALL: estimates that happen to be equal are not the same")
        left, right = (self._side(node, ctes) for node in (union.this, union.expression))
        if len(left.columns) != len(right.columns):
            refuse(self.sql, union, "UNION ALL of queries with different columns", "give both the same columns")
        columns = tuple(
            AnswerColumn(a.name, f"{a.name}_low", f"{a.name}_high") if a.low or b.low else AnswerColumn(a.name)
            for a, b in zip(left.columns, right.columns, strict=True)
        )
        sql = " UNION ALL ".join(f"({_aligned(side, columns)})" for side in (left, right))
        tail = self._union_tail(union, columns)
        return Answer(f"{sql}{tail}", columns, left.cost + right.cost, left.plans + right.plans)

    def _side(self, node: exp.Expr, ctes: Ctes) -> Answer:
        side = self.read(node, ctes)
        if isinstance(side, Rows):
            refuse(self.sql, node, "UNION ALL of single rows", _ROWS)
        return side

    def _union_tail(self, union: exp.Union, columns: tuple[AnswerColumn, ...]) -> str:
        places = {folded(n): i for i, n in enumerate(Answer("", columns).names, 1)}
        text, ordered = "", []
        for node in union.args["order"].expressions if union.args.get("order") else []:
            by = node.this
            if isinstance(by, exp.Literal) and by.this.isdigit() and 1 <= int(by.this) <= len(columns):
                place = places[folded(columns[int(by.this) - 1].name)]
            elif isinstance(by, exp.Column) and not by.table and folded(by.name) in places:
                place = places[folded(by.name)]
            else:
                refuse(self.sql, node, "ORDER BY an expression after UNION ALL", "name a column of the answer")
            ordered.append(f"{place}{_direction(node)}")
        if ordered:
            text += f" ORDER BY {', '.join(ordered)}"
        for clause in ("limit", "offset"):
            if found := union.args.get(clause):
                text += f" {clause.upper()} {self._whole(found)}"
        return text


def _aligned(side: Answer, columns: tuple[AnswerColumn, ...]) -> str:
    """A side of a union, with NULL for bounds that only the other side has."""
    if all((a.low is None) == (b.low is None) for a, b in zip(side.columns, columns, strict=True)):
        return side.sql
    listed: list[str] = []
    for own, column in zip(side.columns, columns, strict=True):
        listed.append(quoted(own.name))
        if column.low is not None:
            listed += [quoted(b) if b else "CAST(NULL AS DOUBLE)" for b in (own.low, own.high)]
    return f"SELECT {', '.join(listed)} FROM ({side.sql})"


def _direction(ordered: exp.Expr) -> str:
    direction = " DESC" if ordered.args.get("desc") else " ASC"
    return direction + (" NULLS FIRST" if ordered.args.get("nulls_first") else " NULLS LAST")


def _aggregates(node: exp.Expr) -> bool:
    return any(isinstance(n, AGGREGATES) for n in outside_subqueries(node))


def _default_name(item: exp.Expr) -> str:
    """What DuckDB would call a column without an alias."""
    if isinstance(item, exp.Column):
        return item.name
    if isinstance(item, exp.Count) and (item.this is None or isinstance(item.this, exp.Star)):
        return "count_star()"
    return item.sql(dialect="duckdb", normalize_functions="lower")
