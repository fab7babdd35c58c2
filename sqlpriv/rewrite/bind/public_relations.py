"""Relations made of public tables alone: they are as public as the tables, and are read like one.

Each is defined once, in front of the rewritten query, and computed once: the sums over the view and over the domain
must see the same rows, also where ORDER BY leaves a tie or a sum of fractions depends on its order.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.rewrite.bind.names import Names
from sqlpriv.rewrite.bind.public_subquery import resolve_public
from sqlpriv.rewrite.bind.relations import Read, Rows, Shown, column, distinct_names
from sqlpriv.rewrite.bind.scope import Ctes, Scope
from sqlpriv.rewrite.syntax import aggregated
from sqlpriv.sqltext import quoted

_INNER_JOINS = {"", "INNER", "CROSS"}


def is_public_relation(names: Names, query: exp.Expr, ctes: Ctes) -> bool:
    """Whether a query reads public tables alone, and does more than to project and filter their rows.

    Where it reads the private table after all, resolving its names refuses it.
    """
    return not _is_of_rows(query) and not names.reads_private(query, ctes)


def public_relation(names: Names, query: exp.Expr, ctes: Ctes, called: str) -> Rows:
    """A query over public tables as a relation to read."""
    own = query.copy()
    found = resolve_public(names, own, Scope(ctes=ctes), ctes)
    columns = distinct_names(found.names)
    relation = quoted(names.define(own.sql(dialect="duckdb", comments=False), columns))
    variable = names.variable(called)
    shown = [Shown(s, column(variable, n)) for s, n in zip(found.names, columns, strict=True)]
    keys = frozenset(columns[place] for place in found.keys)
    read = Read(relation, dict.fromkeys(columns, ""), found.size, counted=False, keys=keys)
    return Rows(shown, reads={variable: read})


def _is_of_rows(query: exp.Expr) -> bool:
    """Whether a query projects and filters rows, so that it can be merged into the one around it."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select) or aggregated(query):
        return False
    joins = [" ".join(filter(None, (j.side, j.kind))).upper() for j in query.args.get("joins") or []]
    return set(joins) <= _INNER_JOINS and not any(query.args.get(c) for c in ("distinct", "limit", "offset"))
