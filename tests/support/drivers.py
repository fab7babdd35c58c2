"""Drivers that ask a server: how each connects, with TLS too, and one way to ask through it.

tests/apps/server/test_serve_drivers.py asks the same of all that are installed. The table in docs/serve.md is written
from here by `python tests/support/drivers.py docs/serve.md`, and the test compares.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

Rows: TypeAlias = list[tuple[Any, ...]]
Ask: TypeAlias = Callable[[dict[str, Any], str, Sequence[Any]], Rows]
"""Rows of a statement with $1, $2 ... once each in this order, and its values."""
_TABLE = re.compile(r"(<!-- drivers -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Driver:
    """A driver, what must be installed for it, and how it is used; `ask` is None where another test asks."""

    name: str
    needs: str
    connects: str
    with_tls: str
    ask: Ask | None
    takes_parameters: bool = True

    @property
    def is_installed(self) -> bool:
        """Whether its module, or its program and package of node, is there."""
        program, _, package = self.needs.partition(":")
        if not package:
            return find_spec(program) is not None
        found = shutil.which(program) is not None
        return found and (package == "program" or bool(_node_modules(package)))


def _percent(sql: str) -> str:
    return re.sub(r"\$\d+", "%s", sql.replace("%", "%%"))


def _url(about: dict[str, Any], scheme: str = "postgresql") -> str:
    return f"{scheme}://{about['user']}:{quote(about['password'])}@{about['host']}:{about['port']}/{about['dbname']}"


def _dbapi(module: str) -> Ask:
    def ask(about: dict[str, Any], sql: str, values: Sequence[Any]) -> Rows:
        given = {**about, "database": about["dbname"]}
        given = {k: v for k, v in given.items() if k not in ({"dbname"} if module == "pg8000" else {"database"})}
        con = __import__(module).connect(**given)
        try:
            cursor = con.cursor()
            cursor.execute(_percent(sql) if values else sql, values or ())
            return [tuple(row) for row in cursor.fetchall()]
        finally:
            con.close()

    return ask


def _binary(about: dict[str, Any], sql: str, values: Sequence[Any]) -> Rows:
    import psycopg

    with psycopg.connect(**about) as con:
        return con.cursor(binary=True).execute(_percent(sql).encode(), list(values)).fetchall()


def _asyncpg(about: dict[str, Any], sql: str, values: Sequence[Any]) -> Rows:
    import asyncpg

    async def ask() -> Rows:
        given = {"database" if k == "dbname" else k: v for k, v in about.items()}
        con = await asyncpg.connect(**given)
        try:
            return [tuple(row) for row in await con.fetch(sql, *values)]
        finally:
            await con.close()

    return asyncio.run(ask())


def _sqlalchemy(dialect: str) -> Ask:
    def ask(about: dict[str, Any], sql: str, values: Sequence[Any]) -> Rows:
        import sqlalchemy as sa

        engine = sa.create_engine(_url(about, f"postgresql+{dialect}"))
        try:
            with engine.connect() as con:
                named = re.sub(r"\$(\d+)", r":p\1 ", sql.replace("::", r"\:\:"))
                given = {f"p{number}": value for number, value in enumerate(values, 1)}
                return [tuple(row) for row in con.execute(sa.text(named), given)]
        finally:
            engine.dispose()

    return ask


def _polars(engine: Literal["connectorx", "adbc"]) -> Ask:
    def ask(about: dict[str, Any], sql: str, values: Sequence[Any]) -> Rows:
        import polars

        return polars.read_database_uri(sql, _url(about), engine=engine).rows()

    return ask


def _adbc(about: dict[str, Any], sql: str, values: Sequence[Any]) -> Rows:
    import adbc_driver_postgresql.dbapi as adbc

    with adbc.connect(_url(about)) as con, con.cursor() as cursor:
        cursor.execute(sql, list(values) or None)
        return [tuple(row) for row in cursor.fetchall()]


def _psql(about: dict[str, Any], sql: str, values: Sequence[Any]) -> Rows:
    environment = {"PGPASSWORD": about["password"], "PATH": os.environ["PATH"]}
    place = f"host={about['host']} port={about['port']} user={about['user']} dbname={about['dbname']}"
    command = ["psql", place, "-X", "-A", "-t", "-F", ",", "-v", "ON_ERROR_STOP=1", "-c", sql]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=60)
    return [tuple(line.split(",")) for line in done.stdout.splitlines()]


def _node_modules(package: str) -> str:
    """The folder that has a package of node, if any does."""
    folders = [Path(p) for p in os.environ.get("NODE_PATH", "").split(os.pathsep) if p]
    return next((str(folder) for folder in folders if (folder / package).is_dir()), "")


_NODE = {
    "pg": """
        const {Client} = require('pg'); const [about, sql, values] = JSON.parse(process.argv[1]);
        (async () => { const c = new Client({...about, database: about.dbname}); await c.connect();
        const r = await c.query({text: sql, values, rowMode: 'array'}); console.log(JSON.stringify(r.rows));
        await c.end(); })();
        """,
    "postgres": """
        const postgres = require('postgres'); const [about, text, values] = JSON.parse(process.argv[1]);
        (async () => { const sql = postgres({...about, username: about.user, database: about.dbname,
        onnotice: () => {}}); console.log(JSON.stringify(await sql.unsafe(text, values).values()));
        await sql.end(); })();
        """,
}


def _node(package: str) -> Ask:
    def ask(about: dict[str, Any], sql: str, values: Sequence[Any]) -> Rows:
        given = json.dumps([about, sql, list(values)], default=str)
        environment = {"PATH": os.environ["PATH"], "NODE_PATH": _node_modules(package)}
        command = ["node", "-e", _NODE[package], given]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=60)
        return [tuple(row) for row in json.loads(done.stdout)]

    return ask


_KEYWORDS = 'host="db", port=5433, user="analyst", password=..., dbname="sqlpriv"'
_OTHERS = _KEYWORDS.replace("dbname", "database")
_AT = "//analyst:PASSWORD@db:5433/sqlpriv"
_IN_URL = "`?sslmode=verify-full&sslrootcert=server.crt`"
_WORDS = '`sslmode="verify-full", sslrootcert="server.crt"`'
_CONTEXT = 'ssl.create_default_context(cafile="server.crt")'
_OF_NODE = '`ssl: {ca: fs.readFileSync("server.crt")}`'
_READ = f'polars.read_database_uri(query, "postgresql:{_AT}"'
DRIVERS = (
    Driver("psql", "psql:program", "`psql postgresql://analyst@db:5433/sqlpriv`", _IN_URL, _psql, False),
    Driver("psycopg 3", "psycopg", f"`psycopg.connect({_KEYWORDS})`", _WORDS, _dbapi("psycopg")),
    Driver("psycopg 3, binary", "psycopg", "`con.cursor(binary=True)`", "as above", _binary),
    Driver("psycopg 2", "psycopg2", f"`psycopg2.connect({_KEYWORDS})`", _WORDS, _dbapi("psycopg2")),
    Driver("asyncpg", "asyncpg", f"`asyncpg.connect({_OTHERS})`", f"`ssl={_CONTEXT}`", _asyncpg),
    Driver("pg8000", "pg8000", f"`pg8000.connect({_OTHERS})`", f"`ssl_context={_CONTEXT}`", _dbapi("pg8000")),
    Driver("SQLAlchemy", "sqlalchemy", f"`postgresql+psycopg:{_AT}`", _IN_URL, _sqlalchemy("psycopg")),
    Driver("Superset", "psycopg2", f"`postgresql+psycopg2:{_AT}%3Fbounds=off`", _IN_URL, _sqlalchemy("psycopg2")),
    Driver("ADBC", "adbc_driver_postgresql", f'`dbapi.connect("postgresql:{_AT}")`', _IN_URL, _adbc),
    Driver("polars on ADBC", "adbc_driver_postgresql", f'`{_READ}, engine="adbc")`', _IN_URL, _polars("adbc"), False),
    Driver("polars on connectorx", "connectorx", f"`{_READ})`", _IN_URL, _polars("connectorx"), False),
    Driver("node pg", "node:pg", f'`new Client("postgresql:{_AT}")`', _OF_NODE, _node("pg")),
    Driver("postgres.js", "node:postgres", f'`postgres("postgresql:{_AT}")`', _OF_NODE, _node("postgres")),
    Driver("JDBC", "java:program", "`jdbc:postgresql://db:5433/sqlpriv`", f"{_IN_URL[:-1]}&ssl=true`", None),
)
"""Each in the manner of its users."""


def table() -> str:
    """The table of drivers."""
    lines = ["| Driver | How to connect | With TLS, in addition |", "|---|---|---|"]
    for driver in DRIVERS:
        lines.append(f"| {driver.name} | {driver.connects} | {driver.with_tls} |")
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """The page with the table between its two comments."""
    return _TABLE.sub(lambda found: found[1] + table() + found[2], page)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.write_text(with_table(place.read_text(encoding="utf-8")), encoding="utf-8")
