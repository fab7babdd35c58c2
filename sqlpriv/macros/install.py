"""Put the macros into DuckDB: into a connection, or for good into a database file.

Both replace whatever version of sqlpriv the schema holds, in one transaction, so that macros of two versions never
stand side by side. A newer version than ours is left alone: an old client must not take a guarantee back. Objects of
the user in the schema are never touched; a macro is ours when its comment says so, or, where IMPORT DATABASE has lost
the comments, when its text holds one of our messages or reserved names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from sqlpriv.engine import open_database
from sqlpriv.errors import InstallError
from sqlpriv.macros.catalog import SCHEMA, macros
from sqlpriv.macros.language import Macro
from sqlpriv.version import __version__

_MARK = "sqlpriv: "


def load(con: duckdb.DuckDBPyConnection) -> None:
    """Create the macros in schema `priv` of the connection's current database."""
    _refuse_conflicts(con)
    own = not _in_transaction(con)
    if own:
        con.execute("BEGIN").fetchall()
    try:
        for statement in _statements(con):
            con.execute(statement).fetchall()
    except Exception as error:
        if own:
            con.execute("ROLLBACK").fetchall()
        if "read-only" in str(error):
            raise InstallError("this database is open for reading only; open it for writing") from None
        raise
    if own:
        con.execute("COMMIT").fetchall()


def install(path: str | Path) -> None:
    """Create the macros in a database file, made if it does not exist, for all DuckDB clients to use."""
    if str(path) in {"", ":memory:"}:
        raise InstallError("a database in memory keeps nothing; use sqlpriv.load on its connection")
    made = not Path(path).exists()
    con = open_database(Path(path), write=True, error=InstallError)
    try:
        load(con)
    except Exception:
        con.close()
        if made:
            Path(path).unlink(missing_ok=True)
        raise
    con.close()


def create_statement(macro: Macro) -> str:
    """The statement that creates a macro with all its overloads."""
    kind = "TABLE " if macro.is_table else ""
    overloads = ",\n".join(f"({', '.join(o.params)}) AS {kind}({o.body})" for o in macro.overloads)
    return f'CREATE OR REPLACE MACRO {SCHEMA}."{macro.name}"{overloads}'


def _statements(con: duckdb.DuckDBPyConnection) -> Iterator[str]:
    yield f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"
    for name, kind in _installed(con):
        yield f'DROP MACRO {"TABLE " if kind == "table_macro" else ""}IF EXISTS {SCHEMA}."{name}"'
    for macro in macros().values():
        yield create_statement(macro)
        kind = "TABLE " if macro.is_table else ""
        comment = (_MARK + macro.header.prose.replace("\n", " ")).replace("'", "''")
        yield f"COMMENT ON MACRO {kind}{SCHEMA}.\"{macro.name}\" IS '{comment}'"


def _refuse_conflicts(con: duckdb.DuckDBPyConnection) -> None:
    if con.execute("FROM duckdb_databases() WHERE lower(database_name) = ?", [SCHEMA]).fetchall():
        raise InstallError(
            f"a database is called {SCHEMA}, like the schema of the macros, and DuckDB could not tell them apart; "
            "rename the file or attach it under another name"
        )
    present = _present(con)
    if present is not None and _order(present) > _order(__version__):
        raise InstallError(
            f"this database holds sqlpriv {present}, newer than this one ({__version__}); upgrade the sqlpriv package"
        )
    wanted = {(m.name, "table_macro" if m.is_table else "macro") for m in macros().values()}
    foreign = sorted(name for name, _ in wanted & set(_in_schema(con, ours=False)))
    if foreign:
        raise InstallError(
            f"schema {SCHEMA} holds macros of your own by our names: {', '.join(foreign)}; drop or rename them"
        )


def _installed(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    return _in_schema(con, ours=True)


def _in_schema(con: duckdb.DuckDBPyConnection, *, ours: bool) -> list[tuple[str, str]]:
    """Name and kind of the macros in the schema that are ours, or of those that are not."""
    found: list[tuple[str, str]] = con.execute(
        "SELECT function_name, function_type FROM duckdb_functions() "
        "WHERE database_name = current_database() AND schema_name = ? GROUP BY ALL "
        "HAVING bool_or(coalesce(starts_with(comment, ?), false) OR contains(macro_definition, ?) "
        "OR contains(macro_definition, '__priv_')) = ?",
        [SCHEMA, _MARK, _MARK, ours],
    ).fetchall()
    return found


def _present(con: duckdb.DuckDBPyConnection) -> str | None:
    if ("version", "table_macro") not in _installed(con):
        return None
    return str(con.execute(f"FROM {SCHEMA}.version()").fetchall()[0][0])


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    """Outside a transaction every statement is one of its own. A BEGIN to find out would abort the user's."""
    asked = [con.execute("SELECT txid_current()").fetchall() for _ in range(2)]
    return asked[0] == asked[1]
