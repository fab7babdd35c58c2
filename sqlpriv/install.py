"""Put the macros into DuckDB: into a connection, or for good into a database file.

Both replace whatever version of sqlpriv the schema holds, in one transaction, so that macros of two versions never
stand side by side. A newer version than ours is left alone: an old client must not take a guarantee back. Objects of
the user in the schema are never touched; a macro is ours when its comment says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from sqlpriv.catalog import SCHEMA, macros
from sqlpriv.errors import InstallError
from sqlpriv.macros import Macro
from sqlpriv.version import __version__

# Files written with this are read by DuckDB 1.x clients (command line, Node, WebAssembly) too.
STORAGE = "v1.0.0"
_MARK = "sqlpriv: "


def load(con: duckdb.DuckDBPyConnection) -> None:
    """Create the macros in schema `priv` of the connection's current database."""
    present = _present(con)
    if present is not None and _order(present) > _order(__version__):
        raise InstallError(
            f"this database holds sqlpriv {present}, newer than this one ({__version__}); upgrade the sqlpriv package"
        )
    own = not _in_transaction(con)
    if own:
        con.execute("BEGIN").fetchall()
    try:
        for statement in _statements(con):
            con.execute(statement).fetchall()
    except Exception:
        if own:
            con.execute("ROLLBACK").fetchall()
        raise
    if own:
        con.execute("COMMIT").fetchall()


def install(path: str | Path) -> None:
    """Create the macros in a database file, made if it does not exist, for all DuckDB clients to use."""
    if not _may_hold_a_database(Path(path)):
        raise InstallError(f"cannot open {Path(path).name}: it is not a DuckDB database")
    try:
        con = duckdb.connect(str(path), config={"storage_compatibility_version": STORAGE})
    except duckdb.IOException as error:
        raise InstallError(f"cannot open {Path(path).name}: {locked_by(error)}") from None
    try:
        load(con)
    finally:
        con.close()


def _may_hold_a_database(path: Path) -> bool:
    """DuckDB 2.0 opens a CSV or Parquet file too, in memory, where nothing would stay installed."""
    if not path.exists() or path.stat().st_size == 0:
        return True
    with path.open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


def create_statement(macro: Macro) -> str:
    """The statement that creates a macro with all its overloads."""
    kind = "TABLE " if macro.is_table else ""
    overloads = ",\n".join(f"({', '.join(o.params)}) AS {kind}({o.body})" for o in macro.overloads)
    return f'CREATE OR REPLACE MACRO {SCHEMA}."{macro.name}"{overloads}'


def locked_by(error: duckdb.Error) -> str:
    """What DuckDB says about a file it cannot open, in one sentence."""
    text = str(error)
    if "onflicting lock" in text or "being used by another process" in text:
        holder = text.partition("held in ")[2].partition(". ")[0].partition("\n")[0]
        return f"another process holds it{f' ({holder})' if holder else ''}; close it there first"
    if "not a valid DuckDB database" in text:
        return "it is not a DuckDB database"
    if "newer version" in text or "storage version" in text.lower():
        return "it was written by a newer DuckDB"
    return "it cannot be read or created here"


def _statements(con: duckdb.DuckDBPyConnection) -> Iterator[str]:
    yield f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"
    for name, kind in _installed(con):
        yield f'DROP MACRO {"TABLE " if kind == "table_macro" else ""}IF EXISTS {SCHEMA}."{name}"'
    for macro in macros().values():
        yield create_statement(macro)
        kind = "TABLE " if macro.is_table else ""
        comment = (_MARK + macro.header.prose.replace("\n", " ")).replace("'", "''")
        yield f"COMMENT ON MACRO {kind}{SCHEMA}.\"{macro.name}\" IS '{comment}'"


def _installed(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = con.execute(
        "SELECT DISTINCT function_name, function_type FROM duckdb_functions() "
        "WHERE database_name = current_database() AND schema_name = ? AND starts_with(comment, ?)",
        [SCHEMA, _MARK],
    ).fetchall()
    return found


def _present(con: duckdb.DuckDBPyConnection) -> str | None:
    if ("version", "table_macro") not in _installed(con):
        return None
    return str(con.execute(f"FROM {SCHEMA}.version()").fetchall()[0][0])


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    try:
        con.execute("BEGIN").fetchall()
    except duckdb.TransactionException:
        return True
    con.execute("ROLLBACK").fetchall()
    return False
