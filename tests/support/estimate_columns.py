"""Which columns of a query are estimates, read off its text alone: what the rewriter says of them is not asked.

An aggregate of rows of the private table is an estimate, and so is whatever is computed from one. Group keys, constants
and what is read from public tables are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

KEYS_OF_SETS = (exp.Grouping, exp.GroupingId)


@dataclass(frozen=True)
class Relation:
    """What a table, a CTE or a subquery brings."""

    private: bool
    columns: tuple[tuple[str, bool], ...] = ()
    """Each with whether it is an estimate."""


def estimate_columns(query: str, private: str, tables: Mapping[str, Iterable[str]]) -> list[bool]:
    """Of each column of the answer, whether it is an estimate; `tables` has the columns of all tables."""
    known = {table: Relation(table == private, tuple((c, False) for c in columns)) for table, columns in tables.items()}
    return [estimate for _, estimate in _query(sqlglot.parse_one(query, dialect="duckdb"), known).columns]


def _query(node: exp.Expr, known: Mapping[str, Relation]) -> Relation:
    named = dict(known)
    for cte in node.ctes if isinstance(node, exp.Query) else []:
        named[cte.alias] = _renamed(_query(cte.this, named), cte)
    if isinstance(node, exp.SetOperation):
        sides = [_query(node.this, named), _query(node.expression, named)]
        columns = tuple((a[0], a[1] or b[1]) for a, b in zip(*(s.columns for s in sides), strict=True))
        return Relation(any(s.private for s in sides), columns)
    if isinstance(node, exp.Subquery):
        return _renamed(_query(node.this, named), node)
    if isinstance(node, exp.Table):
        return _joined(node, named)
    return _select(node, named) if isinstance(node, exp.Select) else Relation(private=False)


def _select(select: exp.Select, named: Mapping[str, Relation]) -> Relation:
    source = _joined(select, named)
    listed: list[tuple[str, bool]] = []
    for item in select.expressions:
        if isinstance(item, exp.Star):
            listed += source.columns
        elif not item.is_star:
            estimate = any(_is_estimate(part, source, named) for part in _parts(item))
            listed.append((item.output_name, estimate))
    return Relation(source.private, tuple(listed))


def _joined(node: exp.Expr, named: Mapping[str, Relation]) -> Relation:
    """FROM with its joins; a table in parentheses has joins of its own."""
    first = [node.args["from_"].this] if node.args.get("from_") else []
    found = [named.get(node.name, Relation(private=False))] if isinstance(node, exp.Table) else []
    # SEMI and ANTI joins choose rows, and bring no columns.
    joins = [join.this for join in node.args.get("joins") or [] if join.kind not in ("SEMI", "ANTI")]
    found += [_query(each, named) for each in [*first, *joins]]
    return Relation(any(r.private for r in found), tuple(c for r in found for c in r.columns))


def _renamed(relation: Relation, node: exp.Expr) -> Relation:
    names = node.alias_column_names
    renamed = tuple((name, estimate) for name, (_, estimate) in zip(names, relation.columns, strict=False))
    return Relation(relation.private, renamed + relation.columns[len(names) :])


def _parts(item: exp.Expr) -> Iterator[exp.Expr]:
    """All of an expression, but a subquery as one part: its names are its own."""
    return item.walk(prune=lambda part: isinstance(part, exp.Query))


def _is_estimate(part: exp.Expr, source: Relation, named: Mapping[str, Relation]) -> bool:
    if isinstance(part, exp.Query):
        return any(estimate for _, estimate in _query(part, named).columns)
    if isinstance(part, exp.Column):
        return (part.name, True) in source.columns
    aggregate = isinstance(part, exp.AggFunc) and not isinstance(part, KEYS_OF_SETS)
    return source.private and (aggregate or (isinstance(part, exp.Anonymous) and part.name.lower() == "mean"))
