"""A query as a tree: one SELECT, in DuckDB's SQL, or a refusal that says what else it is.

Parameters are replaced by their values, and ways of writing the same that sqlglot keeps apart are spelt alike.
"""

from __future__ import annotations

import re
from itertools import zip_longest

import sqlglot
from sqlglot import Dialect, exp

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.aggregates import UNKNOWN_NAMES
from sqlpriv.rewrite.bind.lengths import refuse_long
from sqlpriv.rewrite.bind.parameters import READ, Bound, bind_parameters, move_back, numbered
from sqlpriv.rewrite.bind.postgres.parser import READ_POSTGRES
from sqlpriv.rewrite.bind.postgres.translate import Tables, to_duckdb
from sqlpriv.rewrite.bind.refusals import INSTEAD_OF_STATEMENTS, STATEMENTS, refuse
from sqlpriv.rewrite.bind.time_of_asking import fold_now, list_series
from sqlpriv.rewrite.syntax import HISTOGRAM, without_parentheses


def spell_alike(statement: exp.Expr) -> None:
    """Change a parsed query in place."""
    for select in list(statement.find_all(exp.Select)):
        _lift_joins(select)
    for select in list(statement.find_all(exp.Select)):
        _write_windows_out(select)
    for fetch in list(statement.find_all(exp.Fetch)):
        _write_limit(fetch)
    for limit in list(statement.find_all(exp.Limit, exp.Offset)):
        _write_number(limit)
    for compared in list(statement.find_all(exp.EQ, exp.NEQ)):
        _write_in(compared)
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


def _write_number(limit: exp.Expr) -> None:
    """LIMIT CAST(5 AS INTEGER) is LIMIT 5, as drivers cast their parameters; LIMIT NULL is none."""
    number = without_parentheses(limit.expression)
    if isinstance(number, exp.Cast) and number.to.this in exp.DataType.INTEGER_TYPES:
        number = without_parentheses(number.this)
    if isinstance(number, exp.Null):
        limit.pop()
    elif isinstance(number, exp.Literal) and isinstance(limit.expression, (exp.Cast, exp.Paren)):
        limit.set("expression", number)


def _write_in(compared: exp.Expr) -> None:
    """x = ANY([1, 2]) is x IN (1, 2), and x <> ALL([1, 2]) the contrary; other lists stay, and are refused."""
    is_equal, of = isinstance(compared, exp.EQ), compared.expression
    values = of.this if is_equal and isinstance(of, exp.Any) else None
    if not is_equal and isinstance(of, exp.Anonymous) and of.name.upper() == "ALL" and len(of.expressions) == 1:
        values = of.expressions[0]  # which sqlglot takes for a function, unless it is a query
    values = None if values is None else without_parentheses(values)
    if not isinstance(values, exp.Array):
        return
    if values.expressions:
        made: exp.Expr = exp.In(this=compared.this, expressions=values.expressions)
        made = made if is_equal else exp.Not(this=made)
    else:  # not even NULL is one of no values
        made = exp.Boolean(this=not is_equal)
    made._meta = compared._meta
    compared.replace(made)


def _write_windows_out(select: exp.Select) -> None:
    """WINDOW w AS (...) gives a window a name; it is written out where it is used."""
    named = {folded(w.name): w for w in select.args.get("windows") or []}
    for node in list(select.find_all(exp.Window)) if named else []:
        alias = node.args.get("alias")
        found = named.get(folded(alias.name)) if alias is not None else None
        if found is None or (node.parent is select and node.arg_key == "windows"):
            continue
        for part in ("partition_by", "order", "spec"):
            value = found.args.get(part)
            if value and not node.args.get(part):
                node.set(part, [v.copy() for v in value] if isinstance(value, list) else value.copy())
        node.set("alias", None)
    select.set("windows", None)


TOO_DEEP = "the query is nested too deeply; write it flatter, as with IN (...) for many x = 1 OR x = 2"
# Before sqlglot reads it: of statements that it does not know it would print a warning.
_NOT_BREAKS = re.compile(r"[^\n]")
_NO_QUERY = re.compile(r"\s*(show|describe|desc)\b", re.IGNORECASE)
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*([A-Za-z]\w*)", re.DOTALL)


def parsed(sql: str, parameters: Bound = (), postgres: Tables | None = None, now: str = "") -> exp.Expr:
    """The tree of the one query that a text must be, with the values of its parameters in it.

    With `postgres`, the tables that there are, it is read as PostgreSQL reads it. `now` is when it began.
    """
    if _NO_QUERY.match(sql):
        postgres = None
    dialect = READ if postgres is None else READ_POSTGRES
    _refuse_statements(sql)
    _refuse_words(sql, dialect)
    text, places = numbered(sql) if postgres is None else (sql, [])
    try:
        statements = [s for s in sqlglot.parse(text, dialect=dialect) if s is not None]
    except sqlglot.errors.SqlglotError as error:
        found = getattr(error, "errors", None) or [{}]
        place = f" near line {found[0]['line']}, column {found[0]['col']}" if found[0].get("line") else ""
        engine = "DuckDB" if postgres is None else "PostgreSQL"
        raise UnsupportedSQLError(
            f"this is no SQL that can be read{place}; check it against {engine}'s SELECT"
        ) from None
    except IndexError:  # by sqlglot, of some functions with too few arguments
        raise UnsupportedSQLError("a function of the query has too few arguments; check it against DuckDB's") from None
    except RecursionError:
        raise UnsupportedSQLError(TOO_DEEP) from None
    if len(statements) != 1:
        raise UnsupportedSQLError("one query at a time: write a single SELECT" if statements else "the query is empty")
    statement = statements[0]
    if not isinstance(statement, (exp.Query, exp.Describe, exp.Show)):
        refuse(sql, statement, f"the statement {statement.key.upper()}", STATEMENTS)
    move_back(statement, places)
    try:
        bind_parameters(statement, parameters, sql, places)
        list_series(statement, sql, now, is_postgres=postgres is not None)
        if postgres is not None:
            to_duckdb(statement, postgres, sql)
        fold_now(statement, now)
        spell_alike(statement)
        refuse_long(statement, sql)
    except RecursionError:
        raise UnsupportedSQLError(TOO_DEEP) from None
    return statement


def _refuse_statements(sql: str) -> None:
    """What is no SELECT, and does not ask which tables and columns there are."""
    first = _FIRST_WORD.match(sql)
    word = first.group(1).upper() if first else ""
    if first is None or word in {"SELECT", "FROM", "WITH", "TABLE", "VALUES", "DESCRIBE", "DESC"}:
        return
    if word == "SHOW" and re.fullmatch(r"\s+TABLES\s*;?\s*", sql[first.end() :], re.IGNORECASE):
        return
    where = exp.Var(this="statement")
    where.meta["start"] = first.start(1)
    if word in INSTEAD_OF_STATEMENTS:
        refuse(sql, where, word, INSTEAD_OF_STATEMENTS[word])
    refuse(sql, where, f"the statement {word}", STATEMENTS)


def statements(text: str) -> list[str]:
    """The statements of a text, as they are written, without what stands between them: semicolons and comments."""
    return [text[start:end] for start, end in _spans(text)]


def statements_in_place(text: str) -> list[str]:
    """The statements of a text, each in its own place and with spaces for all else: refusals name places."""
    return [_NOT_BREAKS.sub(" ", text[:start]) + text[start:end] for start, end in _spans(text)]


def _spans(text: str) -> list[tuple[int, int]]:
    try:
        tokens = sqlglot.tokenize(text, dialect=READ)
    except sqlglot.errors.SqlglotError:
        raise UnsupportedSQLError("this is no SQL that can be read; is a quote or a comment left open?") from None
    found: list[tuple[int, int]] = []
    start = None
    for token in tokens:
        if token.token_type is sqlglot.TokenType.SEMICOLON:
            start = None
        elif start is None:
            start = token.start
            found.append((start, token.end + 1))
        else:
            found[-1] = (start, token.end + 1)
    return found


def _refuse_words(sql: str, dialect: type[Dialect]) -> None:
    """sqlglot reads !x as NOT x, which DuckDB does not; in the tree they are the same. SELECT TOP it does not read."""
    try:
        tokens = sqlglot.tokenize(sql, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        return  # the parser says why
    for token, after, last in zip_longest(tokens, tokens[1:], tokens[2:]):
        where = exp.Var(this=token.text)
        is_of_pattern = dialect is READ_POSTGRES and after is not None and after.text[:1] == "~"  # the operator !~
        if token.token_type.name == "NOT" and token.text == "!" and not is_of_pattern:
            where.meta["start"] = token.start
            refuse(sql, where, "the operator !", "DuckDB does not know it; write NOT")
        is_top = token.token_type.name == "SELECT" and after is not None and after.text.upper() == "TOP"
        if is_top and last is not None and last.token_type.name == "NUMBER":
            where.meta["start"] = after.start
            refuse(sql, where, "TOP", f"DuckDB does not know it; write LIMIT {last.text} at the end of the query")
