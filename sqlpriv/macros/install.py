"""Put the macros into DuckDB: into a connection, or for good into a database file.

Both replace whatever version of sqlpriv the schema holds, in one transaction, so that macros of two versions never
stand side by side. A newer version than ours is left alone: an old client must not take a guarantee back. Objects of
the user in the schema are never touched; a macro is ours when its comment says so, or, where IMPORT DATABASE has lost
the comments, when its text holds one of our messages or reserved names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from sqlpriv.core.arguments import checked
from sqlpriv.core.engine import open_database, run
from sqlpriv.core.errors import InstallError
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros import catalog
from sqlpriv.macros.catalog import SCHEMA, macros
from sqlpriv.macros.language import Macro
from sqlpriv.macros.prepared import prepared_macros
from sqlpriv.macros.statements import MARK, creations
from sqlpriv.udfs.rewrite import REWRITE
from sqlpriv.version import __version__

_Found = tuple[str, str]
"""A macro that is there: its name and its kind, as DuckDB calls it."""


@checked
def load(con: duckdb.DuckDBPyConnection) -> None:
    """Create the macros in schema `priv` of the connection's current database."""
    old = _refuse_conflicts(con)
    try:
        if in_transaction(con):
            _replace(con, old)
        elif not _copied(con, old):
            with _transaction(con):
                _replace(con, old)
    except Exception as error:
        if "read-only" in str(error):
            raise InstallError("this database is open for reading only; open it for writing") from None
        raise


@checked
def install(path: str | Path) -> None:
    """Create the macros in a database file, made if it does not exist, for all DuckDB clients to use."""
    if str(path) in {"", ":memory:"}:
        raise InstallError("a database in memory keeps nothing; use sqlpriv.load on its connection")
    made = not Path(path).exists()
    try:
        with open_database(Path(path), write=True, error=InstallError) as con:
            load(con)
    except BaseException:
        if made:
            Path(path).unlink(missing_ok=True)
        raise


@contextmanager
def _transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    run(con, "BEGIN")
    try:
        yield
    except BaseException:
        run(con, "ROLLBACK")
        raise
    run(con, "COMMIT")


def _replace(con: duckdb.DuckDBPyConnection, old: Sequence[_Found]) -> None:
    for statement in [*_drops(old), *creations(macros().values())]:
        run(con, statement)


def _copied(con: duckdb.DuckDBPyConnection, old: Sequence[_Found]) -> bool:
    """Copy the macros ready-made, in a tenth of the time it takes to create them; False where that cannot be done."""
    if macros() is not catalog.macros():  # other macros than those of sql/ are nowhere ready-made
        return False
    try:
        with prepared_macros(con) as prepared:
            if prepared is None:
                return False
            [(here,)] = run(con, "SELECT current_database()")
            with _transaction(con):
                for statement in _drops(old):
                    run(con, statement)
                run(con, f"COPY FROM DATABASE {prepared} TO {quoted(here)} (SCHEMA)")
    except duckdb.Error:  # the statements that create them one by one say better what is wrong
        return False
    return True


def _drops(old: Sequence[_Found]) -> Iterator[str]:
    for name, kind in old:
        yield f'DROP MACRO {"TABLE " if kind == "table_macro" else ""}IF EXISTS {SCHEMA}."{name}"'


def _refuse_conflicts(con: duckdb.DuckDBPyConnection) -> list[_Found]:
    """Refuse what must not be touched; return the macros of ours that are there, of whatever version."""
    if run(con, "FROM duckdb_databases() WHERE lower(database_name) = ?", [SCHEMA]):
        raise InstallError(
            f"a database is called {SCHEMA}, like the schema of the macros, and DuckDB could not tell them apart; "
            "rename the file or attach it under another name"
        )
    ours, others = _in_schema(con)
    present = str(run(con, f"FROM {SCHEMA}.version()")[0][0]) if ("version", "table_macro") in ours else None
    if present is not None and _order(present) > _order(__version__):
        raise InstallError(
            f"this database holds sqlpriv {present}, newer than this one ({__version__}); upgrade the sqlpriv package"
        )
    foreign = sorted(name for name, kind in others if name in macros() and kind == _kind(macros()[name]))
    if foreign:
        raise InstallError(
            f"schema {SCHEMA} holds macros of your own by our names: {', '.join(foreign)}; drop or rename them"
        )
    return ours


def _in_schema(con: duckdb.DuckDBPyConnection) -> tuple[list[_Found], list[_Found]]:
    """The macros in the schema: those that are ours, and the others."""
    # Asked first, and cheaply: to list the functions of a database takes DuckDB longer than to copy the macros.
    if not run(con, "FROM duckdb_schemas() WHERE database_name = current_database() AND schema_name = ?", [SCHEMA]):
        return [], []
    found = run(
        con,
        "SELECT function_name, function_type, bool_or(coalesce(starts_with(comment, ?), false) "
        "OR contains(macro_definition, ?) OR contains(macro_definition, '__priv_')) FROM duckdb_functions() "
        "WHERE database_name = current_database() AND schema_name = ? "
        "AND NOT coalesce(contains(macro_definition, ?), false) GROUP BY ALL",
        [MARK, MARK, SCHEMA, REWRITE],  # priv.ask is none of sql/: it stays with the releases that are attached
    )
    ours = [(name, kind) for name, kind, is_ours in found if is_ours]
    return ours, [(name, kind) for name, kind, is_ours in found if not is_ours]


def _kind(macro: Macro) -> str:
    return "table_macro" if macro.is_table else "macro"


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    """Outside a transaction every statement is one of its own. A BEGIN to find out would abort the user's."""
    asked = [run(con, "SELECT txid_current()") for _ in range(2)]
    return asked[0] == asked[1]
