"""A query as a tree: one SELECT, in DuckDB's SQL, or a refusal that says what else it is."""

from __future__ import annotations

import re
from itertools import zip_longest

import sqlglot
from sqlglot import exp

from sqlpriv.errors import UnsupportedSQLError
from sqlpriv.rewrite.bind.parameters import Bound, bind_parameters, move_back, numbered
from sqlpriv.rewrite.bind.refusals import INSTEAD_OF_STATEMENTS, STATEMENTS, refuse
from sqlpriv.rewrite.bind.spelling import spell_alike

TOO_DEEP = "the query is nested too deeply; write it flatter, as with IN (...) for many x = 1 OR x = 2"
# Before sqlglot reads it: of statements that it does not know it would print a warning.
_NOT_BREAKS = re.compile(r"[^\n]")
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*([A-Za-z]\w*)", re.DOTALL)


def parsed(sql: str, parameters: Bound = ()) -> exp.Expr:
    """The tree of the one query that a text must be, with the values of its parameters in it."""
    _refuse_statements(sql)
    _refuse_words(sql)
    text, places = numbered(sql)
    try:
        statements = [s for s in sqlglot.parse(text, dialect="duckdb") if s is not None]
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
    statement = statements[0]
    if not isinstance(statement, (exp.Query, exp.Describe, exp.Show)):
        refuse(sql, statement, f"the statement {statement.key.upper()}", STATEMENTS)
    move_back(statement, places)
    bind_parameters(statement, parameters, sql, places)
    spell_alike(statement)
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
    """The statements of a text, each in its own place and with spaces for all else: what is refused tells that."""
    return [_NOT_BREAKS.sub(" ", text[:start]) + text[start:end] for start, end in _spans(text)]


def _spans(text: str) -> list[tuple[int, int]]:
    try:
        tokens = sqlglot.tokenize(text, dialect="duckdb")
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


def _refuse_words(sql: str) -> None:
    """sqlglot reads !x as NOT x, which DuckDB does not; in the tree they are the same. SELECT TOP it does not read."""
    try:
        tokens = sqlglot.tokenize(sql, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return  # the parser says why
    for token, after, last in zip_longest(tokens, tokens[1:], tokens[2:]):
        where = exp.Var(this=token.text)
        if token.token_type.name == "NOT" and token.text == "!":
            where.meta["start"] = token.start
            refuse(sql, where, "the operator !", "DuckDB does not know it; write NOT")
        is_top = token.token_type.name == "SELECT" and after is not None and after.text.upper() == "TOP"
        if is_top and last is not None and last.token_type.name == "NUMBER":
            where.meta["start"] = after.start
            refuse(sql, where, "TOP", f"DuckDB does not know it; write LIMIT {last.text} at the end of the query")
