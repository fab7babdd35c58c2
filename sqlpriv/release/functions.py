"""Functions by their full names: a macro of the user's that is called like one of DuckDB's does not take its place."""

from __future__ import annotations

import duckdb
import sqlglot
from sqlglot import TokenType

from sqlpriv.core.engine import fetch

SYSTEM = "system.main"
"""Where DuckDB keeps its own functions."""
# After these a word with a parenthesis is a type, a list of columns, FILTER (...), or has its place already.
_NO_CALL_AFTER = frozenset(
    {TokenType.DOT, TokenType.ALIAS, TokenType.DCOLON, TokenType.R_PAREN, TokenType.VAR, TokenType.IDENTIFIER}
)
_NO_NAME = frozenset({TokenType.IDENTIFIER, TokenType.STRING})


def functions_of_duckdb(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Those that can be called by a full name: no operators, nor overlay, which has words between its arguments."""
    asked = "FROM duckdb_functions() WHERE internal AND database_name = 'system' AND schema_name = 'main'"
    listed = {str(name) for (name,) in fetch(con, f"SELECT DISTINCT function_name {asked}")}
    return frozenset(name for name in listed if name.isidentifier() and name != "overlay")


def by_full_name(sql: str, names: frozenset[str]) -> str:
    """The same SQL with `system.main.sum(x)` for `sum(x)`.

    >>> names = frozenset({"sum", "sqrt", "filter"})
    >>> by_full_name('SELECT sum("a") FILTER (WHERE sqrt("b") > 1) AS "sum" FROM t AS sum(a)', names)
    'SELECT system.main.sum("a") FILTER (WHERE system.main.sqrt("b") > 1) AS "sum" FROM t AS sum(a)'
    """
    tokens = sqlglot.tokenize(sql, dialect="duckdb")
    parts, done = [], 0
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if after.token_type is not TokenType.L_PAREN or token.token_type in _NO_NAME:
            continue
        if before is not None and before.token_type in _NO_CALL_AFTER:
            continue
        if token.text.lower() in names:
            parts += [sql[done : token.start], f"{SYSTEM}."]
            done = token.start
    return "".join([*parts, sql[done:]])
