"""A query as a tree: one SELECT, in DuckDB's SQL, or a refusal that says what else it is."""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp

from sqlpriv.errors import UnsupportedSQLError
from sqlpriv.rewrite.bind.refusals import STATEMENTS, refuse
from sqlpriv.rewrite.bind.spelling import spell_alike

TOO_DEEP = "the query is nested too deeply; write it flatter, as with IN (...) for many x = 1 OR x = 2"
# Before sqlglot reads it: of statements that it does not know it would print a warning.
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*([A-Za-z]\w*)", re.DOTALL)


def parsed(sql: str) -> exp.Expr:
    """The tree of the one query that a text must be."""
    first = _FIRST_WORD.match(sql)
    if first and first.group(1).upper() not in {"SELECT", "FROM", "WITH", "TABLE", "VALUES"}:
        where = exp.Var(this="statement")
        where.meta["start"] = first.start(1)
        refuse(sql, where, f"the statement {first.group(1).upper()}", STATEMENTS)
    _refuse_exclamation(sql)
    try:
        statements = [s for s in sqlglot.parse(sql, dialect="duckdb") if s is not None]
    except sqlglot.errors.SqlglotError as error:
        found = getattr(error, "errors", None) or [{}]
        place = f" near line {found[0]['line']}, column {found[0]['col']}" if found[0].get("line") else ""
        raise UnsupportedSQLError(f"this is no SQL that can be read{place}; check it against DuckDB's SELECT") from None
    except IndexError:  # by sqlglot, of some functions with too few arguments
        raise UnsupportedSQLError("a function of the query has too few arguments; check it against DuckDB's") from None
    except RecursionError:
        raise UnsupportedSQLError(TOO_DEEP) from None
    if len(statements) != 1:
        raise UnsupportedSQLError("one query at a time: write a single SELECT" if statements else "the query is empty")
    if not isinstance(statements[0], exp.Query):
        refuse(sql, statements[0], f"the statement {statements[0].key.upper()}", STATEMENTS)
    spell_alike(statements[0])
    return statements[0]


def statements(text: str) -> list[str]:
    """The statements of a text, as they are written, without what stands between them: semicolons and comments."""
    try:
        tokens = sqlglot.tokenize(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        raise UnsupportedSQLError("this is no SQL that can be read; is a quote or a comment left open?") from None
    found: list[str] = []
    start = None
    for token in tokens:
        if token.token_type is sqlglot.TokenType.SEMICOLON:
            start = None
        elif start is None:
            start = token.start
            found.append(text[start : token.end + 1])
        else:
            found[-1] = text[start : token.end + 1]
    return found


def _refuse_exclamation(sql: str) -> None:
    """sqlglot reads !x as NOT x, which DuckDB does not; in the tree they are the same."""
    try:
        tokens = sqlglot.tokenize(sql, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return  # the parser says why
    for token in tokens:
        if token.token_type.name == "NOT" and token.text == "!":
            where = exp.Var(this="!")
            where.meta["start"] = token.start
            refuse(sql, where, "the operator !", "DuckDB does not know it; write NOT")
