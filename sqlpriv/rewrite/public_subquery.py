"""Subqueries in conditions: over public tables alone, correlated or not. They run as they are, with names resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sqlpriv.rewrite.functions import PUBLIC_NODES, allowed, ambiguous_operator
from sqlpriv.rewrite.refuse import refuse, refuse_node, unknown
from sqlpriv.rewrite.relations import Shown, column
from sqlpriv.rewrite.scope import Ctes, Scope, with_ctes
from sqlpriv.sqltext import folded

if TYPE_CHECKING:
    from sqlpriv.rewrite.expressions import Expressions

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
_JOINS = {"", "INNER", "CROSS", "LEFT", "LEFT OUTER", "SEMI", "ANTI"}


def resolve_public(names: Expressions, node: exp.Expr, outer: Scope, ctes: Ctes | None = None) -> list[str]:
    """Resolve a query over public tables in place; the names of its columns."""
    ctes = outer.ctes if ctes is None else ctes
    if isinstance(node, exp.Subquery):
        _only(names, node, {"this", "alias"})
        return resolve_public(names, node.this, outer, ctes)
    if isinstance(node, exp.SetOperation):
        _only(names, node, {"this", "expression", "distinct"})
        resolve_public(names, node.expression, outer, ctes)
        return resolve_public(names, node.this, outer, ctes)
    if not isinstance(node, exp.Select):
        refuse_node(names.sql, node)
    return _select(names, node, outer, with_ctes(node, ctes, names.sql))


def _select(names: Expressions, select: exp.Select, outer: Scope, ctes: Ctes) -> list[str]:
    _only(names, select, _SELECT_ARGS)
    select.set("with_", None)
    scope = Scope(outer=outer, ctes=ctes)
    if first := select.args.get("from_"):
        _source(names, first.this, scope, outer)
    for join in select.args.get("joins") or []:
        _join(names, join, scope, outer)
    if select.args.get("limit") and not select.args.get("order"):
        refuse(
            names.sql, select, "LIMIT without ORDER BY in a subquery", "its answer would depend on chance; add ORDER BY"
        )
    shown: list[str] = []
    for item in list(select.expressions):
        shown += _item(names, item, scope)
    for clause in ("where", "group", "having", "order", "limit", "offset"):
        if found := select.args.get(clause):
            _visit(names, found, scope)
    return shown


def _item(names: Expressions, item: exp.Expr, scope: Scope) -> list[str]:
    if isinstance(item, exp.Star) and not any(item.args.values()):
        return [s.name for columns in scope.sources.values() for s in columns.values()]
    made = item.alias_or_name or item.sql(dialect="duckdb")
    holder = item.this if isinstance(item, exp.Alias) else item
    key = folded(made)
    _visit(names, holder, scope)
    if isinstance(item, exp.Alias):
        scope.aliases[key] = item.this
    return [made]


def _join(names: Expressions, join: exp.Join, scope: Scope, outer: Scope) -> None:
    _only(names, join, {"this", "on", "side", "kind", "using"})
    kind = " ".join(filter(None, (join.side, join.kind))).upper()
    if kind not in _JOINS:
        refuse(names.sql, join.this, f"{kind} JOIN", "write an inner or a LEFT JOIN")
    before = list(scope.sources.values())
    _source(names, join.this, scope, outer)
    for identifier in join.args.get("using") or []:
        key = folded(identifier.name)
        left = next((c[key] for c in before if key in c), None)
        if left is None:
            unknown(names.sql, identifier, f"column {identifier.name!r} on both sides", "write ON a.x = b.y")
        scope.merged[key] = left
    if on := join.args.get("on"):
        _visit(names, on, scope)


def _source(names: Expressions, node: exp.Expr, scope: Scope, outer: Scope) -> None:
    if isinstance(node, exp.Table):
        shown, name = _table(names, node, scope, outer)
    elif isinstance(node, exp.Subquery):
        _only(names, node, {"this", "alias"})
        shown, name = resolve_public(names, node.this, outer, scope.ctes), node.alias or "subquery"
    else:
        refuse_node(names.sql, node)
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        refuse(names.sql, node, "a column list after an alias", "name the columns in the subquery, with AS")
    if folded(name) in scope.sources:
        refuse(names.sql, node, f"two tables called {name!r}", "give one of them another alias")
    own = names.variable(name)
    scope.sources[folded(name)] = {folded(s): Shown(s, column(own, s)) for s in shown}
    for source in (node, *_replaced(node)):
        source.set("alias", exp.TableAlias(this=exp.Identifier(this=own, quoted=True)))


def _replaced(node: exp.Expr) -> list[exp.Expr]:
    """What stands in the place of a common table expression's name."""
    put = node.meta.get("replaced_by")
    return [put] if put is not None else []


def _table(names: Expressions, node: exp.Table, scope: Scope, outer: Scope) -> tuple[list[str], str]:
    _only(names, node, {"this", "alias", "db"})
    if not isinstance(node.this, exp.Identifier) or (node.args.get("db") and folded(node.db) not in {"main", "public"}):
        refuse(names.sql, node, "a table function or a table of another schema", "read a public table of the release")
    key, name = folded(node.name), node.alias or node.name
    if not node.args.get("db") and key in scope.ctes:
        cte, seen = scope.ctes[key]
        copied = exp.Subquery(this=cte.this.copy())
        shown = resolve_public(names, copied.this, Scope(ctes=seen), seen)
        node.meta["replaced_by"] = copied
        node.replace(copied)
        return shown, name
    if key == folded(names.release.table) and folded(node.db or "main") == "main":
        refuse(
            names.sql,
            node,
            "a subquery over the private table",
            "aggregate it in the query itself; only public tables may stand here",
        )
    public = names.release.public.get(key)
    if public is None:
        unknown(names.sql, node, f"table {node.name!r}", "a subquery may read the public tables of the release")
    node.set("this", exp.to_identifier(public.relation_parts[-1], quoted=True))
    for part, arg in zip(reversed(public.relation_parts[:-1]), ("db", "catalog"), strict=False):
        node.set(arg, exp.to_identifier(part, quoted=True))
    return list(public.columns), name


def _visit(names: Expressions, node: exp.Expr, scope: Scope) -> None:
    if isinstance(node, exp.Column):
        _column(names, node, scope)
    elif isinstance(node, exp.Query):
        resolve_public(names, node, scope)
    elif (reason := ambiguous_operator(node)) is not None:
        refuse(names.sql, node, *reason)
    elif type(node) in PUBLIC_NODES or allowed(node):
        for child in list(node.iter_expressions()):
            _visit(names, child, scope)
    else:
        refuse_node(names.sql, node)


def _column(names: Expressions, node: exp.Column, scope: Scope) -> None:
    if isinstance(node.this, exp.Star) or node.args.get("db"):
        refuse(names.sql, node, "such a column", "write table.column")
    found = names.look_up(node, scope)
    if found is None:
        unknown(names.sql, node, f"column {node.name!r}", "check its name and its table")
    new = found.copy()
    if isinstance(new, exp.Column):
        new._meta = node.this._meta
    node.replace(new if isinstance(new, exp.Column) else exp.Paren(this=new))


def _only(names: Expressions, node: exp.Expr, known: set[str]) -> None:
    for key, value in node.args.items():
        if value and key not in known:
            inside = value[0] if isinstance(value, list) else value
            if isinstance(inside, exp.Expr):
                refuse_node(names.sql, inside)
            refuse(names.sql, node, f"{key} in a subquery", "leave it out")
