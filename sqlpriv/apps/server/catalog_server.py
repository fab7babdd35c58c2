"""The catalog server: a real PostgreSQL with the names and types of the served tables, and no row at all.

It answers what tools ask the catalog, and infers the types of parameters. Its one role has the right to read the
tables, as tools list no others. But a policy on each of them fails as soon as a statement that reads it is planned:
what reads one is an error here, never an answer.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from sqlpriv.apps.server import postgres_guard
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import literal, quoted

DATABASE = "sqlpriv"
WITHOUT_BOUNDS = "?bounds=off"
_WAIT_SECONDS = 30.0
_LONGEST_FOLDER = 80  # the path of a socket has 107 bytes at most
_SETTINGS = (
    "listen_addresses=", "unix_socket_permissions=0700", "fsync=off", "full_page_writes=off", "autovacuum=off",
    "wal_level=minimal", "max_wal_senders=0", "shared_buffers=16MB", "dynamic_shared_memory_type=mmap", "jit=off",
    "max_parallel_workers=0", "temp_file_limit=100MB", "track_activities=off", "default_transaction_read_only=on",
)  # fmt: skip
# Functions by which one connection could disturb another.
_REVOKED = (
    "^(pg_(terminate|cancel)_backend|lo_.*|lo(read|write)|pg_notify|pg_sleep.*|pg_.*advisory_(xact_)?lock.*|"
    "pg_logical_emit_message|pg_export_snapshot)$"
)
# IMMUTABLE, so that PostgreSQL calls it while it plans, whether or not a row would ever be looked at; in pg_catalog,
# where no tool lists it.
_REFUSAL = """
CREATE FUNCTION pg_catalog.sqlpriv_refusal() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
    RAISE insufficient_privilege USING MESSAGE = 'the catalog has no rows of tables', HINT = 'ask for them alone';
END $$
"""
# DuckDB's types, up to their arguments, by those of PostgreSQL that hold all their values.
_TYPES = {
    "BOOLEAN": "boolean", "TINYINT": "smallint", "UTINYINT": "smallint", "SMALLINT": "smallint",
    "USMALLINT": "integer", "INTEGER": "integer", "UINTEGER": "bigint", "BIGINT": "bigint", "UBIGINT": "numeric",
    "HUGEINT": "numeric", "UHUGEINT": "numeric", "FLOAT": "real", "DOUBLE": "double precision", "DATE": "date",
    "TIME": "time", "TIMESTAMP": "timestamp", "TIMESTAMP_S": "timestamp", "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamptz", "INTERVAL": "interval", "BLOB": "bytea",
}  # fmt: skip


def postgres_type(kind: str) -> str:
    """The type of PostgreSQL for one of DuckDB; whatever it does not have is text."""
    if re.fullmatch(r"DECIMAL\(\d+,\s*\d+\)", kind):
        return kind.lower()
    return _TYPES.get(kind, "text")


class CatalogServer:
    """The running PostgreSQL; it ends with `close`, or with this process."""

    def __init__(
        self,
        tables: Mapping[str, Mapping[str, str]],
        user: str,
        connections: int,
        seconds: float,
        comments: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.user, self._comments = user, comments or {}
        self.folder = _make_folder()
        settings = [*_SETTINGS, f"max_connections={connections + 5}", f"statement_timeout={int(seconds * 1000)}"]
        command = [sys.executable, "-I", postgres_guard.__file__, str(_programs()), str(self.folder), *settings]
        try:
            self._guard = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True, env=_environment(),
            )  # fmt: skip
        except OSError:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise InputError(_CANNOT_RUN) from None
        try:
            self._set_up(tables)
        except psycopg.Error:
            self.close()
            raise InputError(
                "PostgreSQL cannot have tables of these names. The first 63 bytes of each must differ, and no column "
                "may have the name of a column of its own, such as ctid and xmin; publish the table with other names"
            ) from None
        except BaseException:
            self.close()
            raise

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / ".s.PGSQL.5432"

    def close(self) -> None:
        """End it, and wait until nothing of it is left."""
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        try:
            self._guard.wait(_WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._guard.kill()
            self._guard.wait()
        shutil.rmtree(self.folder, ignore_errors=True)  # in case somebody had killed the guard

    def _connect(self, database: str) -> psycopg.Connection[Any]:
        end = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                return psycopg.connect(
                    host=str(self.folder), user="owner", dbname=database, autocommit=True,
                    options="-c statement_timeout=0 -c default_transaction_read_only=off",
                )  # fmt: skip
            except psycopg.Error:
                if self._guard.poll() is not None:
                    raise InputError(_CANNOT_RUN) from None
                if time.monotonic() > end:
                    raise InputError("PostgreSQL, which answers catalog queries, does not start; try again") from None
                time.sleep(0.02)

    def _set_up(self, tables: Mapping[str, Mapping[str, str]]) -> None:
        role = quoted(self.user)
        with self._connect("template1") as con:
            con.execute(f"CREATE ROLE {role} LOGIN".encode())
            con.execute(f"ALTER DATABASE postgres RENAME TO {quoted(DATABASE)}".encode())
        with self._connect(DATABASE) as con:
            con.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
            con.execute(f"GRANT USAGE ON SCHEMA public TO {role}".encode())
            revoked = "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace "
            for (function,) in con.execute((revoked + f"AND proname ~ '{_REVOKED}'").encode()).fetchall():
                con.execute(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC".encode())
            con.execute(_REFUSAL)
            con.execute("REVOKE ALL ON LANGUAGE plpgsql, sql FROM PUBLIC")
            for name, columns in tables.items():
                self._create_table(con, f"public.{quoted(name)}", columns)
                for column, text in self._comments.get(name, {}).items():
                    on = f"COLUMN public.{quoted(name, column)}" if column else f"TABLE public.{quoted(name)}"
                    con.execute(f"COMMENT ON {on} IS {literal(text)}".encode())
        with self._connect("template1") as con:
            # Some drivers compare the name of the database that they asked for with the one that the catalog says.
            both = quoted(DATABASE), quoted(DATABASE + WITHOUT_BOUNDS)
            con.execute(f"CREATE DATABASE {both[1]} TEMPLATE {both[0]} STRATEGY file_copy".encode())
            for database in both:
                con.execute(f"REVOKE ALL ON DATABASE {database} FROM PUBLIC".encode())
                con.execute(f"GRANT CONNECT ON DATABASE {database} TO {role}".encode())

    def _create_table(self, con: psycopg.Connection[Any], table: str, columns: Mapping[str, str]) -> None:
        listed = ", ".join(f"{quoted(column)} {postgres_type(kind)}" for column, kind in columns.items())
        con.execute(f"CREATE TABLE {table} ({listed})".encode())
        con.execute(f"CREATE POLICY estimates_only ON {table} USING (pg_catalog.sqlpriv_refusal())".encode())
        con.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY".encode())
        con.execute(f"GRANT SELECT ON {table} TO {quoted(self.user)}".encode())


_CANNOT_RUN = (
    "PostgreSQL, which answers catalog queries, cannot run here; as root it runs as the user nobody, who must be able "
    "to read its programs: run sqlpriv serve as another user"
)


def _environment() -> dict[str, str]:
    """The variables that it needs of ours; the password is none of them."""
    return {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}


def _programs() -> Path:
    """The programs of PostgreSQL: those of the package pgserver, or those on the path."""
    spec = find_spec("pgserver")
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).parent / "pginstall" / "bin"
    found = shutil.which("postgres")
    if found is None:
        raise InputError("there is no PostgreSQL for catalog queries: pip install 'sqlpriv[server]'")
    return Path(found).resolve().parent


def _make_folder() -> Path:
    place = tempfile.gettempdir()
    if len(place) > _LONGEST_FOLDER:
        place = "/tmp"
    try:
        folder = Path(tempfile.mkdtemp(prefix="sqlpriv-catalog-", dir=place))
        if os.geteuid() == 0:
            shutil.chown(folder, postgres_guard.NOBODY)
        return folder
    except (OSError, LookupError):
        raise InputError("there is no folder for temporary files; set TMPDIR to one that can be written") from None
