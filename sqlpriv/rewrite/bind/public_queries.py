"""Queries over public tables alone, in FROM or in conditions. They run as they are, with names resolved.

In FROM, such a query is a relation as public as its tables, and is read like one. It is defined once, in front of the
rewritten query, and computed once. The sums over the view and over the domain must see the same rows, also where ORDER
BY leaves a tie or a sum of fractions depends on its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.rewrite.bind.catalog import SCHEMA, SCHEMAS, catalog_view
from sqlpriv.rewrite.bind.functions import PUBLIC_NODES, allowed, misread
from sqlpriv.rewrite.bind.names import Ctes, Names, Scope, by_name, with_ctes
from sqlpriv.rewrite.bind.refusals import refuse, refuse_node, refuse_other_parts, unknown
from sqlpriv.rewrite.bind.relations import (
    Answer,
    AnswerColumn,
    Read,
    SelectedRows,
    Shown,
    column,
    distinct_names,
    table,
)
from sqlpriv.rewrite.syntax import (
    SELECT_ARGS,
    UNION_ARGS,
    aggregated,
    default_name,
    has_aggregates,
    is_rank,
    is_star,
    without_parentheses,
)

OF_PARTS = "of parts"
"""Under which a sum keeps that it adds up all parts of what was divided for it."""
_INNER_JOINS = {"", "INNER", "CROSS"}
_JOINS = {*_INNER_JOINS, "LEFT", "LEFT OUTER", "SEMI", "ANTI"}
_ALL_JOINS = {*_JOINS, "RIGHT", "RIGHT OUTER", "FULL", "FULL OUTER"}


@dataclass(frozen=True)
class Resolved:
    """What a query over public tables shows, and how many rows it has at most."""

    names: list[str]
    size: int
    keys: frozenset[int] = frozenset()
    """The places of columns that are known to have no value twice."""
    estimated: Mapping[int, bool] = field(default_factory=dict)
    """The places of columns that depend on estimates, and whether they are their order."""
    answer: Answer | None = None
    """What it is, where it stands for an answer."""


def resolve_public(names: Names, node: exp.Expr, outer: Scope, ctes: Ctes | None = None) -> Resolved:
    """Resolve a query over public tables in place."""
    names.count_select()
    ctes = outer.ctes if ctes is None else ctes
    if isinstance(node, exp.Subquery):
        refuse_other_parts(names.sql, node, {"this", "alias"}, " in a subquery")
        return resolve_public(names, node.this, outer, ctes)
    if names.read_answer is not None and (answer := names.read_answer(node, ctes)) is not None:
        return _answered(names, node, answer)
    if isinstance(node, exp.SetOperation):
        return _united(names, node, outer, with_ctes(node, ctes, names.sql))
    if not isinstance(node, exp.Select):
        refuse_node(names.sql, node)
    return _select(names, node, outer, with_ctes(node, ctes, names.sql))


def _answered(names: Names, node: exp.Expr, answer: Answer) -> Resolved:
    """Put a query over the private table in the place of what it was rewritten from."""
    own = names.variable("estimates")
    columns = distinct_names(answer.names)
    listed: list[exp.Expr] = [column(own, name) for name in columns]
    node.replace(exp.Select(expressions=listed, from_=exp.From(this=table(names.define(answer.sql, columns), own))))
    exact = {c.name for c in answer.columns if c.exact}
    ranks = {c.name for c in answer.columns if c.is_rank}
    estimated = {at: name in ranks for at, name in enumerate(answer.names) if name not in exact}
    for at, is_place in estimated.items():
        names.note_estimated(own, columns[at], is_place)
    return Resolved(columns, 1, estimated=estimated, answer=answer)


def _without_bounds(found: Resolved, side: exp.Expr) -> Resolved:
    """The columns that a side of a union was written with."""
    if found.answer is None or not isinstance(side, exp.Select):
        return found
    written = {column.name for column in found.answer.columns}
    kept = [at for at, name in enumerate(found.answer.names) if name in written]
    side.set("expressions", [side.expressions[at] for at in kept])
    estimated = {place: found.estimated[at] for place, at in enumerate(kept) if at in found.estimated}
    return Resolved([found.names[at] for at in kept], found.size, estimated=estimated)


def _united(names: Names, node: exp.SetOperation, outer: Scope, ctes: Ctes) -> Resolved:
    refuse_other_parts(names.sql, node, UNION_ARGS, " in a subquery")
    node.set("with_", None)
    left = _without_bounds(resolve_public(names, node.this, outer, ctes), node.this)
    right = _without_bounds(resolve_public(names, node.expression, outer, ctes), node.expression)
    if len(left.names) != len(right.names):
        refuse(names.sql, node, f"{node.key.upper()} of queries with different columns", "give both the same columns")
    _check_chance(names, node)
    if order := node.args.get("order"):
        for ordered in order.expressions:
            if not _by_position(ordered, left.names) and not isinstance(ordered.this, exp.Literal):
                refuse(names.sql, ordered, f"ORDER BY an expression after {node.key.upper()}", "name a column of it")
    size = left.size + right.size if isinstance(node, exp.Union) else left.size
    if (left.estimated or right.estimated) and not (isinstance(node, exp.Union) and not node.args.get("distinct")):
        refuse(names.sql, node, node.key.upper(), "write UNION ALL: estimates that happen to be equal are not the same")
    estimated = {at: is_rank and right.estimated.get(at, True) for at, is_rank in left.estimated.items()}
    return Resolved(left.names, _limited(node, size), estimated={**right.estimated, **estimated})


def _select(names: Names, select: exp.Select, outer: Scope, ctes: Ctes) -> Resolved:
    refuse_other_parts(names.sql, select, SELECT_ARGS, " in a subquery")
    select.set("with_", None)
    scope = Scope(outer=outer, ctes=ctes)
    size, keys = 1, frozenset[str]()
    if first := select.args.get("from_"):
        found = _source(names, first.this, scope, outer)
        size = found.size
        if not select.args.get("joins"):
            keys = frozenset(found.names[place] for place in found.keys)
    for join in select.args.get("joins") or []:
        size = _join(names, join, scope, outer, size)
    _check_chance(names, select)
    items = [made for item in list(select.expressions) for made in _items(names, item, scope)]
    select.set("expressions", items)
    shown = [item.alias for item in items]
    for ordered in select.args["order"].expressions if select.args.get("order") else []:
        _by_position(ordered, [name if folded(name) in scope.aliases else "" for name in shown])
    for clause in ("where", "group", "having", "order", "limit", "offset"):
        if part := select.args.get(clause):
            _visit(names, part, scope)
    if aggregated(select) and not select.args.get("group"):
        size = 1
    if names.read_answer is not None:
        _refuse_biased(names, select, items, scope)
    estimated = {at: is_rank(i.this) for at, i in enumerate(items) if names.are_estimated(i)}
    return Resolved(shown, _limited(select, size), _keys(select, keys), estimated)


def _refuse_several(names: Names, node: exp.Expr) -> None:
    """A value of the private table in an expression has one row."""
    query = node.this if isinstance(node, exp.Subquery) else node
    if isinstance(node.parent, (exp.In, exp.Exists)):
        return
    limit = query.args.get("limit")
    is_one = isinstance(limit, exp.Limit) and limit.expression == exp.Literal.number(1)
    is_all = isinstance(query, exp.Select) and aggregated(query) and not query.args.get("group")
    if isinstance(node.parent, (exp.Any, exp.All)) or not (is_one or is_all):
        what, instead = "a scalar subquery that may have no row, or several", "aggregate in it, without GROUP BY"
        refuse(names.sql, node, what, instead)


def _refuse_biased(names: Names, select: exp.Select, items: list[exp.Alias], scope: Scope) -> None:
    """Sums over groups that were chosen by estimates are too large, and equal estimates are not the same."""
    if any(s.expression.text("table") in names.listed for c in scope.sources.values() for s in c.values()):
        for counted in select.find_all(exp.Count):
            if counted.parent_select is select:
                refuse(names.sql, counted, "count() over values", "it would count those of the public domain")
    group = select.args.get("group")
    by = [] if group is None else list(group.expressions)
    by = [items[int(k.this) - 1].this if isinstance(k, exp.Literal) and k.this.isdigit() else k for k in by]
    by = [without_parentheses(k) for k in by]
    if group is not None and group.args.get("all"):
        by = [item.this for item in items if not has_aggregates(item.this)]
    if select.args.get("distinct") and any(map(names.are_estimated, items)):
        refuse(names.sql, select, "DISTINCT over estimates", "estimates that happen to be equal are not the same")
    chosen = [k for k in [*by, select.args.get("where")] if k is not None and names.are_estimated(k)]
    for key in by:
        if names.are_estimated(key) and not names.are_ranks(key):
            refuse(names.sql, key, "GROUP BY an estimate", "group by columns, or by places such as rank()")
    for item in items if aggregated(select) else ():
        for found in item.this.walk(prune=lambda n: n in by or isinstance(n, (exp.AggFunc, exp.Filter, exp.Query))):
            if isinstance(found, exp.Column) and found not in by:
                refuse(names.sql, found, f"the column {found.name!r}", "put it into GROUP BY or an aggregate")
    are_places = bool(chosen) and all(map(names.are_ranks, chosen))
    for summed in select.find_all(exp.Sum):
        if summed.parent_select is not select or isinstance(summed.parent, exp.Window) or summed.meta.get(OF_PARTS):
            continue
        of = [c for c in summed.find_all(exp.Column) if c.table in names.estimates]
        kinds = {names.below.get((c.table, c.name)) for c in of}
        is_plain = isinstance(summed.this, exp.Column) and not isinstance(summed.parent, exp.Filter)
        is_plain &= len(scope.sources) == 1 and not chosen
        is_product = isinstance(summed.this, exp.Mul) and kinds == {exp.Count, exp.Avg}
        are_weighted = is_product or (is_plain and kinds == {exp.Count})
        if of and not are_places and not (are_weighted and not chosen):
            refuse(names.sql, summed, "sum() over estimates", "ask it of the table itself, in one aggregate query")


def _keys(select: exp.Select, of_source: frozenset[str]) -> frozenset[int]:
    """The columns that have no value twice: one that is grouped by alone, the only one of DISTINCT, or a key below."""
    items = list(enumerate(i.this for i in select.expressions))
    group = select.args.get("group")
    if group is not None:
        plain = [(at, i) for at, i in items if not has_aggregates(i)]
        by = [i for _, i in plain] if group.args.get("all") else list(group.expressions)
        by = [items[int(b.this) - 1][1] if isinstance(b, exp.Literal) and b.this.isdigit() else b for b in by]
        return frozenset(at for at, i in plain if len(by) == 1 and i == by[0])
    if aggregated(select):
        return frozenset()
    if select.args.get("distinct") and len(items) == 1:
        return frozenset({0})
    return frozenset(at for at, i in items if isinstance(i, exp.Column) and i.name in of_source)


def _check_chance(names: Names, query: exp.Expr) -> None:
    """Which rows a query keeps must not depend on chance."""
    instead = "its answer would depend on chance; add ORDER BY"
    for clause in ("limit", "offset"):
        if query.args.get(clause) and not query.args.get("order"):
            refuse(names.sql, query, f"{clause.upper()} without ORDER BY in a subquery", instead)
    distinct = query.args.get("distinct")
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on"):
        refuse(names.sql, distinct, "DISTINCT ON", "its answer would depend on chance; use GROUP BY with max or min")


def _by_position(ordered: exp.Expr, shown: list[str]) -> bool:
    """Write ORDER BY a name of the SELECT list as its position: there it goes before the columns of tables."""
    by = ordered.this
    places = [i for i, name in enumerate(shown, 1) if name and folded(name) == folded(by.name)]
    if not isinstance(by, exp.Column) or by.table or not places:
        return False
    by.replace(exp.Literal.number(places[0]))
    return True


def _limited(query: exp.Expr, size: int) -> int:
    limit = query.args.get("limit")
    number = limit.expression if limit is not None else None
    return min(size, int(number.this)) if isinstance(number, exp.Literal) and number.this.isdigit() else size


def _items(names: Names, item: exp.Expr, scope: Scope) -> list[exp.Alias]:
    """An item of the SELECT list, or the columns of *, each under the name that it has outside."""
    if is_star(item):
        return _starred(names, item, scope)
    name = item.alias if isinstance(item, exp.Alias) else default_name(item)
    made = exp.Alias(this=item.unalias().copy(), alias=exp.to_identifier(name, quoted=True))
    item.replace(made)
    _visit(names, made.this, scope)
    if isinstance(item, exp.Alias):
        scope.aliases[folded(name)] = made.this
    return [made]


def _starred(names: Names, item: exp.Expr, scope: Scope) -> list[exp.Alias]:
    called = item.table if isinstance(item, exp.Column) else ""
    star = item.this if isinstance(item, exp.Column) else item
    if any(star.args.values()) or (called and folded(called) not in scope.sources):
        refuse(names.sql, item, f"{called}.*" if called else "* with EXCLUDE, REPLACE or RENAME", "name the columns")
    listed = scope.star(called)
    bounds = {quoted(s.expression.table, s.expression.name) for s in listed if isinstance(s.expression, exp.Column)}
    bounds &= {str(end) for s in listed if s.estimate is not None for end in (s.estimate.low, s.estimate.high)}
    return [
        exp.Alias(this=s.expression.copy(), alias=exp.to_identifier(s.name, quoted=True))
        for s in listed
        if not isinstance(s.expression, exp.Column) or quoted(s.expression.table, s.expression.name) not in bounds
    ]


def _join(names: Names, join: exp.Join, scope: Scope, outer: Scope, size: int) -> int:
    """Read what is joined; how many rows there are then, at most."""
    refuse_other_parts(names.sql, join, {"this", "on", "side", "kind", "using"}, " in a subquery")
    kind = " ".join(filter(None, (join.side, join.kind))).upper()
    if kind not in (_JOINS if names.read_answer is None else _ALL_JOINS):
        refuse(names.sql, join.this, f"{kind} JOIN", "write an inner or a LEFT JOIN")
    before = dict(scope.sources)
    added = _source(names, join.this, scope, outer).size
    for identifier in join.args.get("using") or []:
        key = folded(identifier.name)
        left = next((c[key] for c in before.values() if key in c), None)
        right = next((c[key] for name, c in scope.sources.items() if key in c and name not in before), None)
        if left is None or right is None:
            unknown(names.sql, identifier, f"column {identifier.name!r} on both sides", "write ON a.x = b.y")
        scope.merged[key] = left
        if kind.startswith(("RIGHT", "FULL")):
            both = exp.Coalesce(this=left.expression.copy(), expressions=[right.expression.copy()])
            scope.merged[key] = Shown(left.name, both)
    if on := join.args.get("on"):
        _visit(names, on, scope)
    if kind in {"SEMI", "ANTI"}:
        scope.sources = before
        return size
    return size * (max(added, 1) if kind.startswith("LEFT") else added)


def _source(names: Names, node: exp.Expr, scope: Scope, outer: Scope) -> Resolved:
    original = node.copy()
    if isinstance(node, exp.Table):
        found, name = _table(names, node, scope)
    elif isinstance(node, exp.Subquery):
        refuse_other_parts(names.sql, node, {"this", "alias"}, " in a subquery")
        found = resolve_public(names, node.this, outer, scope.ctes)
        name = node.alias or names.variable("subquery")
    elif isinstance(node, exp.Values):
        found, name = _values(names, node, scope), node.alias or names.variable("values")
    else:
        refuse_node(names.sql, node)
    if folded(name) in scope.sources:
        refuse(names.sql, node, f"two tables called {name!r}", "give one of them another alias")
    scope.qualify(name, original)
    own = names.variable(name)
    shown = _renamed(names, found.names, node)
    unlike = distinct_names(shown)
    estimates = _estimates(names, own, unlike, found)
    scope.sources[folded(name)] = by_name(
        [Shown(s, column(own, u), estimates.get(u)) for s, u in zip(shown, unlike, strict=True)]
    )
    listed = [exp.to_identifier(u, quoted=True) for u in unlike]
    for source in (node, *_replaced(node)):
        source.set("alias", exp.TableAlias(this=exp.Identifier(this=own, quoted=True), columns=listed))
    return Resolved(unlike, found.size, found.keys, found.estimated)


def _estimates(names: Names, variable: str, columns: list[str], found: Resolved) -> dict[str, AnswerColumn]:
    """Note which columns of a source are estimates; those that have bounds, under their names there."""
    for at, is_place in found.estimated.items():
        names.note_estimated(variable, columns[at], is_place)
        names.estimates.add(variable)
    if found.answer is None:
        return {}
    below = found.answer.aggregated
    if not found.estimated and below is not None:
        names.listed.add(variable)
    if below is not None:
        names.whole.add(variable)
        for name, called_here in zip(found.answer.names, columns, strict=True):
            if name in below.columns:
                names.below[variable, called_here] = type(without_parentheses(below.columns[name]))
    called = dict(zip(found.answer.names, columns, strict=True))
    bounded = {}
    for each in found.answer.columns:
        if each.low is not None and each.high is not None:
            own = replace(each, name=called[each.name], low=called[each.low], high=called[each.high])
            if (seen := own.seen_in(variable)) is not None:
                bounded[own.name] = names.bounded[variable, own.name] = seen
    return bounded


def _values(names: Names, node: exp.Values, scope: Scope) -> Resolved:
    """Rows of constants."""
    refuse_other_parts(names.sql, node, {"expressions", "alias"}, " in a subquery")
    for row in node.expressions:
        _visit(names, row, Scope(ctes=scope.ctes))
    return Resolved([f"col{at}" for at in range(len(node.expressions[0].expressions))], len(node.expressions))


def _renamed(names: Names, shown: list[str], node: exp.Expr) -> list[str]:
    alias = node.args.get("alias")
    given = [c.name for c in alias.args.get("columns") or []] if alias is not None else []
    if len(given) > len(shown):
        refuse(names.sql, node, "an alias with more columns than the table", "leave the extra names out")
    return given + shown[len(given) :]


def _replaced(node: exp.Expr) -> list[exp.Expr]:
    """What stands in the place of a common table expression's name."""
    put = node.meta.get("replaced_by")
    return [put] if put is not None else []


def _table(names: Names, node: exp.Table, scope: Scope) -> tuple[Resolved, str]:
    refuse_other_parts(names.sql, node, {"this", "alias", "db", "catalog"}, " in a subquery")
    key, name = folded(node.name), node.alias or node.name
    if folded(node.db) == SCHEMA and (view := catalog_view(names.release, key)) is not None:
        query, columns, size = view
        node.set("this", exp.to_identifier(names.define(query, columns), quoted=True))
        node.set("db", None)
        node.set("catalog", None)
        return Resolved(columns, size), name
    if not isinstance(node.this, exp.Identifier) or (node.args.get("db") and folded(node.db) not in SCHEMAS):
        refuse(names.sql, node, "a table function or a table of another schema", "read a public table of the release")
    if not node.args.get("db") and key in scope.ctes:
        cte, visible = scope.ctes[key]
        copied = exp.Subquery(this=cte.this.copy())
        found = resolve_public(names, copied.this, Scope(ctes=visible), visible)
        node.meta["replaced_by"] = copied
        node.replace(copied)
        return replace(found, names=_renamed(names, found.names, cte)), name
    public = names.release.public.get(key)
    if key == folded(names.release.table) and (public is None or folded(node.db or "main") == "main"):
        refuse(
            names.sql,
            node,
            "a subquery over the private table",
            "aggregate it in the query itself; only public tables may stand here",
        )
    if public is None:
        unknown(names.sql, node, f"table {node.name!r}", "a subquery may read the public tables of the release")
    node.set("this", exp.to_identifier(public.relation_parts[-1], quoted=True))
    for part, arg in zip(reversed(public.relation_parts[:-1]), ("db", "catalog"), strict=False):
        node.set(arg, exp.to_identifier(part, quoted=True))
    keys = frozenset(at for at, c in enumerate(public.columns) if c in public.keys)
    return Resolved(list(public.columns), public.size, keys), name


def _visit(names: Names, node: exp.Expr, scope: Scope) -> None:
    if isinstance(node, exp.Column):
        _column(names, node, scope)
    elif isinstance(node, exp.Query):
        holder = node if isinstance(node, exp.Subquery) else node.parent
        if names.read_answer is not None and names.reads_private(node, scope.ctes):
            _refuse_several(names, node)
        is_answer = resolve_public(names, node, scope).answer is not None
        if is_answer and holder is not None and isinstance(holder.this, exp.Select):
            holder.this.set("expressions", holder.this.expressions[:1])  # its bounds are no values
    elif names.read_answer is not None and isinstance(node, exp.Window):
        _window(names, node, scope)
    elif (reason := misread(node, names.sql)) is not None:
        refuse(names.sql, node, *reason)
    elif type(node) in PUBLIC_NODES or allowed(node):
        for child in list(node.iter_expressions()):
            _visit(names, child, scope)
    else:
        refuse_node(names.sql, node)


def _window(names: Names, node: exp.Window, scope: Scope) -> None:
    """A window function over the rows of estimates."""
    if not isinstance(node.this, exp.Func) or isinstance(node.this, exp.Anonymous) or node.args.get("alias"):
        refuse_node(names.sql, node)
    order = node.args.get("order")
    parts = [
        *node.this.iter_expressions(),
        *(node.args.get("partition_by") or []),
        *(order.expressions if order else []),
    ]
    for part in parts:
        if not isinstance(part, exp.Star):
            _visit(names, part.this if isinstance(part, exp.Ordered) else part, scope)


def _column(names: Names, node: exp.Column, scope: Scope) -> None:
    if isinstance(node.this, exp.Star):
        refuse(names.sql, node, "such a column", "write table.column")
    found = scope.look_up(node, names.sql)
    if found is None:
        unknown(names.sql, node, f"column {node.name!r}", "check its name and its table")
    new = found.copy()
    if isinstance(new, exp.Column):
        new._meta = node.this._meta
    node.replace(new if isinstance(new, exp.Column) else exp.Paren(this=new))


def is_public_relation(names: Names, query: exp.Expr, ctes: Ctes) -> bool:
    """Whether a query reads public tables alone, and does more than to project and filter their rows.

    Where it reads the private table after all, resolving its names refuses it.
    """
    return not _is_of_rows(query) and not names.reads_private(query, ctes)


def public_relation(names: Names, query: exp.Expr, ctes: Ctes, called: str) -> SelectedRows:
    """A query over public tables as a relation to read."""
    own = query.copy()
    found = resolve_public(names, own, Scope(ctes=ctes), ctes)
    columns = distinct_names(found.names)
    relation = quoted(names.define(own.sql(dialect="duckdb", comments=False), columns))
    variable = names.variable(called)
    shown = [Shown(s, column(variable, n)) for s, n in zip(found.names, columns, strict=True)]
    keys = frozenset(columns[place] for place in found.keys)
    read = Read(relation, dict.fromkeys(columns, ""), found.size, counted=False, keys=keys)
    return SelectedRows(shown, reads={variable: read})


def _is_of_rows(query: exp.Expr) -> bool:
    """Whether a query projects and filters rows, so that it can be merged into the one around it."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select) or aggregated(query):
        return False
    joins = [" ".join(filter(None, (j.side, j.kind))).upper() for j in query.args.get("joins") or []]
    return set(joins) <= _INNER_JOINS and not any(query.args.get(c) for c in ("distinct", "limit", "offset"))
