"""Put the macros into DuckDB: into a connection, or for good into a database file.

Both replace whatever version of sqlpriv the schema holds, in one transaction, so that macros of two versions never
stand side by side. A newer version than ours is left alone: an old client must not take a guarantee back. Objects of
the user in the schema are never touched. A macro is ours when its comment says so, or, where IMPORT DATABASE has lost
the comments, when its text holds one of our messages or reserved names.

To create the macros DuckDB reads a million characters of SQL, most of a second; to copy them from a database file that
holds them takes a tenth of that. Such a file is made once and kept in the user's cache folder. What is in it runs in
the user's connections, so it is used only when nobody but the user can have written it. The file, its folder and every
folder above belong to the user (those above maybe to root), and nobody else may write them. Its name holds the digest
of all that it is made from and the digest of its own content. Where any of that is in doubt, or files have no owners,
the macros are created anew.
"""

from __future__ import annotations

import math
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

import duckdb

from sqlpriv.core.arguments import checked
from sqlpriv.core.engine import open_database, run, scratch_folder
from sqlpriv.core.errors import InstallError
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros import catalog
from sqlpriv.macros.catalog import MARK, SCHEMA, creations, macros, texts
from sqlpriv.macros.language import Macro
from sqlpriv.udfs.rewrite import REWRITE
from sqlpriv.version import __version__

_KEPT = 4
"""Files with the macros: one for each version in use on this machine, and no folder that grows for ever."""
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


def _order(version: str) -> tuple[list[int], float]:
    """By this versions are compared: a release candidate comes before the version it is of."""
    numbers, _, candidate = version.partition("rc")
    found = [int(part) for part in numbers.split(".") if part.isdigit()]
    while found and not found[-1]:
        del found[-1]  # 1.0 and 1.0.0 are one
    return found, int(candidate) if candidate.isdigit() else math.inf


def in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    """Outside a transaction every statement is one of its own. A BEGIN to find out would abort the user's."""
    first, second = (run(con, "SELECT txid_current()") for _ in range(2))
    return first == second


@contextmanager
def prepared_macros(con: duckdb.DuckDBPyConnection) -> Iterator[str | None]:
    """The name under which a database with the macros is attached meanwhile; None where there is none to trust.

    Or where it cannot be attached, such as on a connection that may open no files.
    """
    name = f"__priv_{token_hex(8)}"
    file = prepared_file()
    try:
        if file:
            run(con, f"ATTACH {literal(str(file))} AS {name} (READ_ONLY)")
    except duckdb.Error:
        file = None
    try:
        yield name if file else None
    finally:
        if file:
            run(con, f"DETACH {name}")


def prepared_file() -> Path | None:
    """The file with the macros in the user's cache folder, made if need be; None where it could not be trusted."""
    try:
        folder = _folder()
        if folder is None:
            return None
        found = (path for path in folder.glob(f"macros-{_key()}-*.duckdb") if _is_trusted(path))
        return next(found, None) or _kept(folder, _made())
    except (OSError, duckdb.Error):  # no home, no right to write, a full disk: all this is a convenience
        return None


def _made() -> bytes:
    """A database file with the macros, made from nothing but the texts of `sql/`.

    In DuckDB's latest format: what an older one has no word for, such as MATERIALIZED, would be lost in every copy.
    """
    with scratch_folder() as folder:
        path = folder / "macros.duckdb"
        with duckdb.connect(
            str(path), config={"storage_compatibility_version": "latest", "temp_directory": str(folder)}
        ) as con:
            for statement in ["BEGIN", *creations(macros().values()), "COMMIT"]:
                run(con, statement)
        return path.read_bytes()


@cache
def _key() -> str:
    """The digest of all that decides what is in the file: versions, the texts of the macros, and what makes them."""
    code = {file.name: file.read_text(encoding="utf-8") for file in sorted(Path(__file__).parent.glob("*.py"))}
    parts = [__version__, duckdb.__version__, *texts().items(), *code.items()]
    return sha256(repr(parts).encode()).hexdigest()[:32]


def _name(content: bytes) -> str:
    return f"macros-{_key()}-{sha256(content).hexdigest()}.duckdb"


def _is_trusted(path: Path) -> bool:
    """Nobody but the user can have written the file, and it is what its name says."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            status = os.fstat(file.fileno())
            private = stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600
            return private and status.st_uid == os.geteuid() and path.name == _name(file.read())
    except OSError:
        return False


def _kept(folder: Path, content: bytes) -> Path:
    """The content as a file of the folder: written under another name and renamed, so that nobody reads half of it."""
    path = folder / _name(content)
    handle, written = tempfile.mkstemp(dir=folder, prefix=".new-")  # which gives it the mode 0600
    try:
        with open(handle, "wb") as file:
            file.write(content)
        os.replace(written, path)
    finally:
        Path(written).unlink(missing_ok=True)
    _forget(folder, path)
    return path


def _forget(folder: Path, newest: Path) -> None:
    others = [path for path in folder.glob("macros-*.duckdb") if path != newest]
    for path in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT - 1 :]:
        path.unlink(missing_ok=True)


def _folder() -> Path | None:
    """Our folder in the user's cache folder, if nobody else can write there."""
    if not hasattr(os, "geteuid"):
        return None
    base = Path(os.environ.get("XDG_CACHE_HOME") or "")
    if not base.is_absolute():  # as the standard says
        base = Path(os.path.expanduser("~/.cache"))
    folder = base / "sqlpriv"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder if _only_ours(folder) else None


def _only_ours(folder: Path) -> bool:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        return False
    return all(_nobody_else_may_change(above) for above in _folders_above(folder))


def _folders_above(folder: Path) -> Iterator[Path]:
    """Every folder on the way, as it is spelt and as it is after links: who may change either chooses the file."""
    yield from folder.absolute().parents
    yield from folder.resolve().parents


def _nobody_else_may_change(folder: Path) -> bool:
    """In a folder with the sticky bit, such as /tmp, others may add files but not replace ours."""
    status = folder.stat()
    shared = stat.S_IMODE(status.st_mode) & 0o022 and not status.st_mode & stat.S_ISVTX
    return status.st_uid in {0, os.geteuid()} and not shared
