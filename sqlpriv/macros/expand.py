"""Macro calls into plain SQL: bind the arguments, then resolve what only DuckDB can say.

The text of a macro holds `query(...)`, whose argument is a piece of SQL put together from the macro's own arguments,
and `query_table(...)`, a table by its name. Both are constants once the arguments are, so DuckDB itself computes them
in an empty database: the expansion is what the macro would run, not a second definition of it. A view over macros is
kept as such plain SQL, so that any DuckDB reads it and views may be stacked: DuckDB 2.0 refuses a macro over a view
made with the same macro.
"""

from __future__ import annotations

from functools import cache
from pathlib import PurePath

import duckdb

from sqlpriv.core.arguments import checked
from sqlpriv.core.engine import translate
from sqlpriv.core.errors import InputError, UnsupportedSQLError, refusal
from sqlpriv.core.sqltext import literal, table_parts
from sqlpriv.macros.catalog import SCHEMA, macro
from sqlpriv.macros.language import Macro, Token, call_arguments, substitute, tokenize

_FILES = (".parquet", ".csv", ".tsv", ".json", ".ndjson", ".gz", ".zst")
_CLAUSES = {"WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "ON",
            "SELECT", "UNION", "EXCEPT", "INTERSECT", "QUALIFY", "WINDOW", "USING", "ASOF", "OFFSET"}  # fmt: skip


def expand(sql: str, con: duckdb.DuckDBPyConnection | None = None) -> str:
    """`sql` with every call of a `priv` macro replaced by plain DuckDB SQL.

    A connection is needed only where the text depends on the columns of a table (a hierarchy given by its name).
    """
    tokens = tokenize(sql)
    out: list[str] = []
    copied = position = found = 0
    while position < len(tokens):
        end = position
        if _starts_macro(tokens, position):
            found += 1
            chosen = macro(tokens[position + 2].text)
            end, args = call_arguments(sql, tokens, position + 3)
            text = _resolve(_bind(chosen, [_expanded(a) for a in args]), con)
            alias = f" AS {chosen.name}" if chosen.is_table and _needs_alias(tokens, end) else ""
            out += [sql[copied : tokens[position].start], f"({text}){alias}"]
            copied = tokens[end].end
        position = end + 1
    if not found:
        raise InputError(f"there is no call of a {SCHEMA} macro in this SQL; write {SCHEMA}.name(...)")
    return "".join([*out, sql[copied:]]).strip()


def call_text(name: str, *arguments: object) -> str:
    """The call of a macro with these values as SQL that needs no macro: in half the time where it is called once."""
    return f"({_bind(macro(name), [literal(a) for a in arguments])})"


def called(sql: str) -> list[str]:
    """The names of the macros that a query calls."""
    tokens = tokenize(sql)
    starts = [at for at in range(len(tokens)) if _starts_macro(tokens, at)]
    return list(dict.fromkeys(tokens[at + 2].text for at in starts))


@checked
def create_view(con: duckdb.DuckDBPyConnection, name: str, sql: str, replace: bool = False) -> None:
    """Create a view of `sql`, a query that may call `priv` macros, under a name as query_table reads it."""
    plain = expand(sql, con) if called(sql) else sql
    _refuse_other_than_one_query(con, plain)
    view = ".".join(f'"{part}"' for part in table_parts(name))
    try:
        con.execute(f"CREATE {'OR REPLACE ' if replace else ''}VIEW {view} AS {plain}").fetchall()
    except duckdb.CatalogException as error:
        if "of type Table" in str(error) or ("Table with name" in str(error) and "already exists" in str(error)):
            raise InputError(f"there is already a table called {name!r}; drop it or choose another name") from None
        if "already exists" in str(error):
            raise InputError(f"there is already a view called {name!r}; say that it may be replaced") from None
        raise translate(error) from None
    except duckdb.Error as error:
        raise translate(error) from None


def _refuse_other_than_one_query(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    """What follows CREATE VIEW ... AS may not go on with another statement."""
    try:
        statements = con.extract_statements(sql)
    except duckdb.Error:
        raise InputError("this is no SQL that DuckDB can read") from None
    if [s.type for s in statements] != [duckdb.StatementType.SELECT]:
        raise InputError("a view is made of one SELECT")


def _expanded(text: str) -> str:
    """Arguments may hold scalar macros of their own."""
    return expand(text) if called(text) else text


def _starts_macro(tokens: list[Token], at: int) -> bool:
    texts = [t.text for t in tokens[at : at + 4]]
    return len(texts) == 4 and texts[0].strip('"').lower() == SCHEMA and texts[1] == "." and texts[3] == "("


def _needs_alias(tokens: list[Token], end: int) -> bool:
    follower = tokens[end + 1] if end + 1 < len(tokens) else None
    if follower is None:
        return True
    names = follower.is_name or follower.text.startswith('"')
    return not names or follower.text.upper() in _CLAUSES


def _bind(chosen: Macro, args: list[str]) -> str:
    overload = chosen.overload(len(args))
    if overload is None:
        raise InputError(f"{SCHEMA}.{chosen.signature} does not take {len(args)} arguments")
    if any([t.text for t in tokenize(arg)][1:3] == [":", "="] for arg in args):
        raise UnsupportedSQLError(f"give the arguments of {SCHEMA}.{chosen.name} in order, without names")
    bindings = {p: a if len(tokenize(a)) == 1 else f"({a})" for p, a in zip(overload.params, args, strict=True)}
    return substitute(overload.body, bindings)


def _resolve(text: str, con: duckdb.DuckDBPyConnection | None) -> str:
    """Replace query() by its text, COLUMNS(*) by a table's columns and query_table() by the table."""
    text = substitute(text, {}, lambda name: name == "query", lambda _, args: f"({_resolve(_constant(args[0]), con)})")
    # In a macro that makes SQL as text it stands in a literal, and is left there.
    while "*COLUMNS(*)" in text and any(token.text == "COLUMNS" for token in tokenize(text)):
        text = _with_columns(text, con)
    return substitute(text, {}, lambda name: name == "query_table", lambda _, args: _table(_constant(args[0])))


def _with_columns(text: str, con: duckdb.DuckDBPyConnection | None) -> str:
    """The first list_value(*COLUMNS(*)) of a text, over the table that is read next, with its columns spelt out."""
    before, _, after = text.partition("*COLUMNS(*)")
    tokens = tokenize(after)
    at = next(i for i, t in enumerate(tokens) if t.text == "query_table")
    table = _table(_constant(call_arguments(after, tokens, at + 1)[1][0]))
    if con is None:
        raise UnsupportedSQLError(f"the columns of {table} must be known: name the database that holds it (--database)")
    try:
        rows = con.execute(f"SELECT column_name FROM (DESCRIBE FROM {table})").fetchall()
    except duckdb.Error:
        raise InputError(f"there is no table {table} whose columns could be read") from None
    columns = ['"' + str(c).replace('"', '""') + '"' for (c,) in rows]
    texts = ", ".join(f"CAST({c} AS VARCHAR) AS {c}" for c in columns)
    return before + ", ".join(columns) + after.replace("CAST(COLUMNS(*) AS VARCHAR)", texts, 1)


def _constant(expression: str) -> str:
    return str(constant_value(expression))


@cache
def constant_value(expression: str) -> object:
    """What an expression of constants comes to: computed by DuckDB, in a database that holds nothing."""
    try:
        return _blank().cursor().execute(f"SELECT {expression}").fetchall()[0][0]
    except duckdb.Error as error:
        ours = refusal(error)
        raise (
            InputError(ours) if ours else UnsupportedSQLError("the arguments of a macro must be constants")
        ) from None


@cache
def _blank() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"temp_directory": ""})  # nothing of it is ever written anywhere


def _table(name: str) -> str:
    """A table as SQL, from its name as query_table reads it."""
    if PurePath(name).suffix.lower() in _FILES and '"' not in name:
        return "'" + name.replace("'", "''") + "'"
    return ".".join(f'"{part}"' for part in table_parts(name))
