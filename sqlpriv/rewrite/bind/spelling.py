"""Ways to write the same that sqlglot keeps apart, spelt alike before anything is read."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.rewrite.aggregates import UNKNOWN_NAMES
from sqlpriv.rewrite.syntax import HISTOGRAM


def spell_alike(statement: exp.Expr) -> None:
    """Change a parsed query in place."""
    for select in list(statement.find_all(exp.Select)):
        _lift_joins(select)
    for select in list(statement.find_all(exp.Select)):
        _write_windows_out(select)
    for fetch in list(statement.find_all(exp.Fetch)):
        _write_limit(fetch)
    for node in list(statement.find_all(exp.Anonymous)):
        _name_aggregate(node)


def _lift_joins(select: exp.Select) -> None:
    """FROM a JOIN b ON ... SELECT ..., and FROM (a JOIN b ON ...), keep their joins inside the first table."""
    first = select.args.get("from_")
    if first is None:
        return
    source = first.this
    if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Table) and not source.alias:
        source.replace(source.this)
        source = first.this
    if joins := source.args.get("joins"):
        source.set("joins", None)
        select.set("joins", [*joins, *(select.args.get("joins") or [])])


def _name_aggregate(node: exp.Anonymous) -> None:
    """DuckDB's mean() is avg(); sqlglot takes it, and histogram(), for any function."""
    entry = UNKNOWN_NAMES.get(node.name.lower())
    if entry is None or len(node.expressions) != 1:
        return
    given = node.expressions
    is_histogram = entry.node is HISTOGRAM
    same = HISTOGRAM(this=entry.name, expressions=given) if is_histogram else entry.node(this=given[0])
    same._meta = node._meta
    node.replace(same)


def _write_limit(fetch: exp.Fetch) -> None:
    """FETCH FIRST 5 ROWS ONLY is LIMIT 5; PERCENT and WITH TIES stay, and are refused."""
    options = fetch.args.get("limit_options")
    if options is None or not (options.args.get("percent") or options.args.get("with_ties")):
        fetch.replace(exp.Limit(expression=fetch.args.get("count") or exp.Literal.number(1)))


def _write_windows_out(select: exp.Select) -> None:
    """WINDOW w AS (...) gives a window a name; it is written out where it is used."""
    named = {w.name.lower(): w for w in select.args.get("windows") or []}
    for node in list(select.find_all(exp.Window)) if named else []:
        alias = node.args.get("alias")
        found = named.get(alias.name.lower()) if alias is not None else None
        if found is None or (node.parent is select and node.arg_key == "windows"):
            continue
        for part in ("partition_by", "order", "spec"):
            value = found.args.get(part)
            if value and not node.args.get(part):
                node.set(part, [v.copy() for v in value] if isinstance(value, list) else value.copy())
        node.set("alias", None)
    select.set("windows", None)
