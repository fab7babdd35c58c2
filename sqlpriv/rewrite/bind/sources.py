"""FROM: the tables of a query, joined, with common table expressions and subqueries merged into them.

A subquery that only projects and filters is replaced by what it stands for, so that one aggregate over rows is left.
Everything that is read is known here: the private table once, public tables, and answers to aggregate queries.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.bind.catalog import SCHEMAS
from sqlpriv.rewrite.bind.expressions import Expressions
from sqlpriv.rewrite.bind.joins import PublicSide, join_answers, left_join, public_side, semi_join
from sqlpriv.rewrite.bind.names import Columns, Ctes, Names, Reader, Scope, by_name
from sqlpriv.rewrite.bind.public_queries import is_public_relation, public_relation
from sqlpriv.rewrite.bind.refusals import refuse, refuse_node, refuse_other_parts, refuse_self_join, unknown
from sqlpriv.rewrite.bind.relations import VALUE, Answer, Read, Relation, SelectedRows, Shown, column, marked

_SOURCE_ARGS: dict[type[exp.Expr], set[str]] = {
    exp.Table: {"this", "alias", "db", "catalog"},
    exp.Subquery: {"this", "alias"},
    exp.Values: {"expressions", "alias"},
}
_JOIN_ARGS = {"this", "on", "side", "kind", "using", "method"}


class Sources:
    """Reads FROM. Given the names of the rewriting, what resolves its expressions, and what reads queries in it."""

    def __init__(self, names: Names, expressions: Expressions, read: Reader) -> None:
        self._names = names
        self._sql = names.sql
        self._release = names.release
        self._expressions = expressions
        self._read = read

    def read_from(self, select: exp.Select, ctes: Ctes) -> tuple[SelectedRows, Scope]:
        """The sources of a SELECT, joined, with the names they bring."""
        rows, scope = SelectedRows(), Scope(ctes=ctes)
        first = select.args.get("from_")
        if first is None:
            return rows, scope
        joins = list(select.args.get("joins") or [])
        if joins and _kind(joins[0]) in {"RIGHT", "RIGHT OUTER"}:
            self._right_join(first.this, joins.pop(0), ctes, rows, scope)
        else:
            self._source(first.this, ctes, rows, scope)
        for join in joins:
            self._join(join, ctes, rows, scope)
        return rows, scope

    def _right_join(self, left: exp.Expr, join: exp.Join, ctes: Ctes, rows: SelectedRows, scope: Scope) -> None:
        """`a RIGHT JOIN b` is `b LEFT JOIN a`, with the columns of a first."""
        refuse_other_parts(self._sql, join, _JOIN_ARGS, " in FROM")
        self._source(join.this, ctes, rows, scope)
        turned = exp.Join(this=left, side="LEFT", on=join.args.get("on"), using=join.args.get("using"))
        self._outer_join(turned, ctes, rows, scope)
        scope.sources = dict(reversed(scope.sources.items()))

    def _join(self, join: exp.Join, ctes: Ctes, rows: SelectedRows, scope: Scope) -> None:
        refuse_other_parts(self._sql, join, _JOIN_ARGS, " in FROM")
        kind = _kind(join)
        full = kind in {"FULL", "FULL OUTER"} and rows.over_answers and not rows.private
        if full or kind in {"LEFT", "LEFT OUTER", "SEMI", "ANTI"}:
            self._outer_join(join, ctes, rows, scope)
            return
        if kind not in {"", "INNER", "CROSS"}:
            refuse(self._sql, join.this, f"{kind} JOIN", "write an inner join, or a LEFT JOIN from the private table")
        before = dict(scope.sources)
        self._source(join.this, ctes, rows, scope)
        if using := join.args.get("using"):
            added = next(columns for alias, columns in scope.sources.items() if alias not in before)
            rows.conditions += self._using(using, added, replace(scope, sources=before))
        if on := join.args.get("on"):
            rows.conditions.append(self._expressions.resolve(on, scope))

    def _outer_join(self, join: exp.Join, ctes: Ctes, rows: SelectedRows, scope: Scope) -> None:
        """LEFT, SEMI and ANTI JOIN: what is joined is read by itself, since all of it must be public."""
        joined, inside = SelectedRows(), Scope(ctes=ctes)
        self._source(join.this, ctes, joined, inside)
        of_answers = [r.over_answers and not r.private for r in (rows, joined)]
        if all(of_answers) and join.side and join.kind.upper() not in {"SEMI", "ANTI"}:
            self._join_answers(join, rows, scope, joined, inside)
            return
        if join.side.upper() == "FULL":
            refuse(self._sql, join.this, "FULL JOIN of estimates with other rows", "join it with estimates alone")
        right = public_side(self._names, join, joined, inside, rows)
        on = self._condition(join, scope, right)
        if join.kind.upper() in {"SEMI", "ANTI"}:
            semi_join(self._names, join, on, rows, right)
        else:
            scope.sources[right.called] = by_name(left_join(self._names, join, on, rows, right))
            scope.qualified |= right.qualified

    def _join_answers(
        self, join: exp.Join, rows: SelectedRows, scope: Scope, joined: SelectedRows, inside: Scope
    ) -> None:
        """LEFT and FULL JOIN of answers: what is visible on both sides is visible in one answer then."""
        ((called, added),) = inside.sources.items()
        if called in scope.sources:
            refuse(self._sql, join.this, f"two tables called {called!r}", "give one of them another alias")
        on: exp.Expr
        if using := join.args.get("using"):
            on = exp.and_(*self._using(using, added, scope), copy=False)
            for key in (folded(name.name) for name in using if join.side.upper() == "FULL"):
                either = exp.Coalesce(this=_use(scope.merged[key]), expressions=[_use(added[key])])
                scope.merged[key] = Shown(scope.merged[key].name, either)
        elif join.args.get("on") is not None:
            both = Scope({**scope.sources, called: added}, scope.merged, ctes=scope.ctes)
            on = self._expressions.resolve(join.args["on"], both)
        else:
            refuse(self._sql, join.this, f"{join.side} JOIN without ON", "write ON or USING")
        scope.sources[called] = added
        join_answers(self._names, join, on, rows, joined, [*scope.sources.values(), scope.merged])

    def _condition(self, join: exp.Join, scope: Scope, right: PublicSide) -> exp.Expr:
        """ON, or what USING stands for, with names resolved."""
        if right.called in scope.sources:
            refuse(self._sql, join.this, f"two tables called {right.called!r}", "give one of them another alias")
        added = by_name(right.shown())
        if using := join.args.get("using"):
            return exp.and_(*self._using(using, added, scope), copy=False)
        if (on := join.args.get("on")) is None:
            refuse(self._sql, join.this, f"{join.side or join.kind} JOIN without ON", "write ON or USING")
        inside = Scope({**scope.sources, right.called: added}, scope.merged, ctes=scope.ctes)
        inside.qualified = {**scope.qualified, **right.qualified}
        return self._expressions.resolve(on, inside)

    def _using(self, names: list[exp.Expr], added: Columns, scope: Scope) -> list[exp.Expr]:
        """The conditions that USING stands for, between what was read before and what is added; the names merge."""
        found: list[exp.Expr] = []
        for identifier in names:
            key = folded(identifier.name)
            left = scope.find(identifier.name)
            if len(left) != 1 or key not in added:
                unknown(self._sql, identifier, f"column {identifier.name!r} on both sides", "write ON a.x = b.y")
            scope.merged[key] = left[0]
            found.append(exp.EQ(this=_use(left[0]), expression=_use(added[key])))
        return found

    def _source(self, node: exp.Expr, ctes: Ctes, rows: SelectedRows, scope: Scope) -> None:
        if type(node) not in _SOURCE_ARGS:
            refuse_node(self._sql, node)
        refuse_other_parts(self._sql, node, _SOURCE_ARGS[type(node)], " in FROM")
        alias = node.args.get("alias")
        if isinstance(node, exp.Table):
            shown, name = self._table(node, ctes, rows)
        elif isinstance(node, exp.Values):
            listed = exp.Select(expressions=[exp.Star()], from_=exp.From(this=node.copy()))
            name = node.alias or self._names.variable("values")
            shown = self._merge(public_relation(self._names, listed, ctes, name), rows, node)
        else:
            shown = self._merge(self._relation(node.this, ctes, node.alias), rows, node)
            name = node.alias or self._names.variable("subquery")
        if alias is not None:
            name = alias.name or name
            shown = self._renamed(shown, alias.args.get("columns") or [], node)
        if folded(name) in scope.sources:
            refuse(self._sql, node, f"two tables called {name!r}", "give one of them another alias")
        scope.sources[folded(name)] = by_name([marked(s) for s in shown])
        scope.qualify(name, node)

    def _renamed(self, shown: list[Shown], names: list[exp.Expr], node: exp.Expr) -> list[Shown]:
        if len(names) > len(shown):
            refuse(self._sql, node, "an alias with more columns than the table", "leave the extra names out")
        new = [n.name for n in names] + [s.name for s in shown[len(names) :]]
        return [Shown(name, s.expression, s.estimate) for name, s in zip(new, shown, strict=True)]

    def _table(self, node: exp.Table, ctes: Ctes, rows: SelectedRows) -> tuple[list[Shown], str]:
        if not isinstance(node.this, exp.Identifier):
            refuse(
                self._sql, node, "a table function", f"only {self._release.table!r} and its public tables can be read"
            )
        name, key = node.name, folded(node.name)
        if node.args.get("db") and folded(node.db) not in SCHEMAS:
            unknown(self._sql, node, f"table {node.sql(dialect='duckdb')}", self._tables())
        if not node.args.get("db") and key in ctes:
            cte, visible = ctes[key]
            return self._merge(self._read_cte(cte, visible), rows, node), name
        public = self._release.public.get(key)
        if key == folded(self._release.table) and (public is None or folded(node.db or "main") == "main"):
            if rows.private:
                refuse_self_join(self._sql, node)
            rows.private = True
            return [Shown(a.name, column(a.name, VALUE)) for a in self._release.attributes], name
        if public is None:
            unknown(self._sql, node, f"table {name!r}", self._tables())
        variable = self._names.variable(name)
        rows.reads[variable] = Read(public.relation, dict(public.columns), public.size, keys=public.keys)
        return [Shown(c, column(variable, c)) for c in public.columns], name

    def _read_cte(self, cte: exp.CTE, visible: Ctes) -> Relation:
        relation = self._relation(cte.this.copy(), visible, cte.alias)
        names = [c.name for c in cte.args["alias"].args.get("columns") or []]
        if names and isinstance(relation, SelectedRows):
            relation.shown = self._renamed(relation.shown, cte.args["alias"].args["columns"], cte)
        elif names and isinstance(relation, Answer):
            refuse(
                self._sql, cte.args["alias"], "a column list on a query of estimates", "name the columns in it, with AS"
            )
        return relation

    def _relation(self, query: exp.Expr, ctes: Ctes, called: str) -> Relation:
        """What a query in FROM stands for."""
        if is_public_relation(self._names, query, ctes):
            return public_relation(self._names, query, ctes, called or "subquery")
        return self._read(query, ctes)

    def _merge(self, relation: Relation, rows: SelectedRows, node: exp.Expr) -> list[Shown]:
        """Take what a relation reads and asks into `rows`; what it shows."""
        if isinstance(relation, Answer):
            variable = self._names.variable("estimates")
            rows.reads[variable] = Read(f"({relation.sql})", answer=relation)
            estimates = {c.name: c.seen_in(variable) for c in relation.columns}
            return [Shown(n, column(variable, n), estimates.get(n)) for n in relation.names]
        if rows.private and relation.private:
            refuse_self_join(self._sql, node)
        rows.private |= relation.private
        rows.conditions += relation.conditions
        rows.reads.update(relation.reads)
        return relation.shown

    def _tables(self) -> str:
        others = ", ".join(repr(t.name) for t in self._release.public.values())
        return f"the release answers for {self._release.table!r}" + (
            f", with the public tables {others}" if others else ""
        )


def _kind(join: exp.Join) -> str:
    return " ".join(filter(None, (join.args.get("method"), join.side, join.kind))).upper()


def _use(shown: Shown) -> exp.Expr:
    new = shown.expression.copy()
    return new if isinstance(new, exp.Column) else exp.Paren(this=new)
