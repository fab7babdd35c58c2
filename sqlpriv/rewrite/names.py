"""FROM: the tables of a query, joined, with common table expressions and subqueries merged into them.

A subquery that only projects and filters is replaced by what it stands for, so that one aggregate over rows is left.
Everything that is read is known here: the private table once, public tables, and answers to aggregate queries.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.rewrite.public_relations import PublicRelations
from sqlpriv.rewrite.refuse import refuse, refuse_node, unknown
from sqlpriv.rewrite.relations import VALUE, Answer, AnswerColumn, Read, Rows, Shown, column
from sqlpriv.rewrite.scope import Columns, Ctes, Scope, by_name
from sqlpriv.sqltext import folded, quoted

_SOURCE_ARGS: dict[type[exp.Expr], set[str]] = {
    exp.Table: {"this", "alias", "db", "catalog"},
    exp.Subquery: {"this", "alias"},
}
_JOIN_ARGS = {"this", "on", "side", "kind", "using", "method"}


class Names(PublicRelations):
    """Resolves all names of one query: those of tables, and those of columns."""

    def read_from(self, select: exp.Select, ctes: Ctes) -> tuple[Rows, Scope]:
        """The sources of a SELECT, joined, with the names they bring."""
        rows, scope = Rows(), Scope(ctes=ctes)
        first = select.args.get("from_")
        if first is None:
            return rows, scope
        self._source(first.this, ctes, rows, scope)
        for join in select.args.get("joins") or []:
            self._join(join, ctes, rows, scope)
        return rows, scope

    def _join(self, join: exp.Join, ctes: Ctes, rows: Rows, scope: Scope) -> None:
        self._only(join, _JOIN_ARGS)
        kind = " ".join(filter(None, (join.args.get("method"), join.side, join.kind))).upper()
        if kind not in {"", "INNER", "CROSS"}:
            refuse(self.sql, join.this, f"{kind} JOIN", "write an inner join, or a subquery over the public table")
        before = dict(scope.sources)
        self._source(join.this, ctes, rows, scope)
        if using := join.args.get("using"):
            self._using(using, before, rows, scope)
        if on := join.args.get("on"):
            rows.conditions.append(self.resolve(on, scope))

    def _using(self, names: list[exp.Expr], before: dict[str, Columns], rows: Rows, scope: Scope) -> None:
        added = next(columns for alias, columns in scope.sources.items() if alias not in before)
        for identifier in names:
            key = folded(identifier.name)
            left = [scope.merged[key]] if key in scope.merged else [c[key] for c in before.values() if key in c]
            if len(left) != 1 or key not in added:
                unknown(self.sql, identifier, f"column {identifier.name!r} on both sides", "write ON a.x = b.y")
            scope.merged[key] = left[0]
            rows.conditions.append(exp.EQ(this=_use(left[0]), expression=_use(added[key])))

    def _source(self, node: exp.Expr, ctes: Ctes, rows: Rows, scope: Scope) -> None:
        if type(node) not in _SOURCE_ARGS:
            refuse_node(self.sql, node)
        self._only(node, _SOURCE_ARGS[type(node)])
        alias = node.args.get("alias")
        if isinstance(node, exp.Table):
            shown, name = self._table(node, ctes, rows)
        else:
            shown, name = self._merge(self._relation(node.this, ctes, node.alias), rows, node), "subquery"
        if alias is not None:
            name = alias.name or name
            shown = self._renamed(shown, alias.args.get("columns") or [], node)
        if folded(name) in scope.sources:
            refuse(self.sql, node, f"two tables called {name!r}", "give one of them another alias")
        scope.sources[folded(name)] = by_name(shown)

    def _renamed(self, shown: list[Shown], names: list[exp.Expr], node: exp.Expr) -> list[Shown]:
        if len(names) > len(shown):
            refuse(self.sql, node, "an alias with more columns than the table", "leave the extra names out")
        new = [n.name for n in names] + [s.name for s in shown[len(names) :]]
        return [Shown(name, s.expression, s.estimate) for name, s in zip(new, shown, strict=True)]

    def _table(self, node: exp.Table, ctes: Ctes, rows: Rows) -> tuple[list[Shown], str]:
        if not isinstance(node.this, exp.Identifier):
            refuse(self.sql, node, "a table function", f"only {self.release.table!r} and its public tables can be read")
        name, key = node.name, folded(node.name)
        if node.args.get("catalog") or (node.args.get("db") and folded(node.db) not in {"main", "public"}):
            unknown(self.sql, node, f"table {node.sql(dialect='duckdb')}", self._tables())
        if not node.args.get("db") and key in ctes:
            cte, seen = ctes[key]
            return self._merge(self._read_cte(cte, seen), rows, node), name
        public = self.release.public.get(key)
        if key == folded(self.release.table) and folded(node.db or "main") == "main":
            if rows.private:
                self._self_join(node)
            rows.private = True
            return [Shown(a.name, column(a.name, VALUE)) for a in self.release.attributes], name
        if public is None:
            unknown(self.sql, node, f"table {name!r}", self._tables())
        variable = self.variable(name)
        rows.reads[variable] = Read(public.relation, dict(public.columns), public.size)
        return [Shown(c, column(variable, c)) for c in public.columns], name

    def _read_cte(self, cte: exp.CTE, seen: Ctes) -> Rows | Answer:
        relation = self._relation(cte.this.copy(), seen, cte.alias)
        names = [c.name for c in cte.args["alias"].args.get("columns") or []]
        if names and isinstance(relation, Rows):
            relation.shown = self._renamed(relation.shown, cte.args["alias"].args["columns"], cte)
        elif names and isinstance(relation, Answer):
            refuse(
                self.sql, cte.args["alias"], "a column list on a query of estimates", "name the columns in it, with AS"
            )
        return relation

    def _relation(self, query: exp.Expr, ctes: Ctes, called: str) -> Rows | Answer:
        """What a query in FROM stands for."""
        if self.is_public_relation(query, ctes):
            return self.public_relation(query, ctes, called or "subquery")
        return self._read(query, ctes)

    def _merge(self, relation: Rows | Answer, rows: Rows, node: exp.Expr) -> list[Shown]:
        """Take what a relation reads and asks into `rows`; what it shows."""
        if isinstance(relation, Answer):
            variable = self.variable("estimates")
            rows.reads[variable] = Read(f"({relation.sql})", answer=relation)
            estimates = {c.name: c for c in relation.columns}
            return [Shown(n, column(variable, n), _in(variable, estimates.get(n))) for n in relation.names]
        if rows.private and relation.private:
            self._self_join(node)
        rows.private |= relation.private
        rows.conditions += relation.conditions
        rows.reads.update(relation.reads)
        return relation.shown

    def _self_join(self, node: exp.Expr) -> None:
        refuse(
            self.sql, node, "the private table a second time", "pairs of rows cannot be estimated; aggregate it once"
        )

    def _tables(self) -> str:
        others = ", ".join(repr(t.name) for t in self.release.public.values())
        return f"the release answers for {self.release.table!r}" + (
            f", with the public tables {others}" if others else ""
        )

    def _only(self, node: exp.Expr, known: set[str]) -> None:
        for key, value in node.args.items():
            if value and key not in known:
                inside = value[0] if isinstance(value, list) else value
                if isinstance(inside, exp.Expr) and type(inside) is not exp.Paren:
                    refuse_node(self.sql, inside)
                refuse(self.sql, node, f"{key} in FROM", "leave it out")


def _use(shown: Shown) -> exp.Expr:
    new = shown.expression.copy()
    return new if isinstance(new, exp.Column) else exp.Paren(this=new)


def _in(variable: str, found: AnswerColumn | None) -> AnswerColumn | None:
    if found is None or found.low is None or found.high is None:
        return None
    return AnswerColumn(quoted(variable, found.name), quoted(variable, found.low), quoted(variable, found.high))
