"""What tools ask the catalog: its server answers with names and types, and has nothing else."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg import sql as composed
from support.serving import SECRET, Running

COLUMNS = [
    ("region", "text"), ("product", "text"), ("amount", "integer"), ("quantity", "integer"), ("day", "date"),
    ("paid", "boolean"),
]  # fmt: skip


def test_the_private_table_has_its_columns_with_the_types_of_their_domains(server: Running) -> None:
    with server.connect() as con:
        asked = "FROM information_schema.columns WHERE table_name = %s ORDER BY ordinal_position"
        assert con.execute(f"SELECT column_name, data_type {asked}", ["visits"]).fetchall() == COLUMNS
        listed = con.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1")
        assert listed.fetchall() == [("regions",), ("visits",)]


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT count(*) FROM visits WHERE version() IS NOT NULL",
        "SELECT count(*) FROM visits WHERE 1 = 0 AND current_user = 'x'",
        "SELECT (SELECT count(*) FROM visits), 'visits'::regclass",
        "SELECT pg_typeof(region) FROM visits",
        "WITH v AS (SELECT * FROM visits) SELECT count(*), current_database() FROM v",
        "TABLE visits -- pg_catalog",
        "SELECT relname FROM pg_class UNION ALL SELECT region FROM visits",
        "SELECT * FROM pg_class JOIN visits ON true",
        "SELECT pg_catalog.count(*) FROM public.visits",
    ],
)
def test_the_catalog_server_never_answers_for_a_served_table(server: Running, asked: str) -> None:
    """It would say that there are no rows, which is wrong; the rewriter refuses what it does not know."""
    with server.connect() as con, pytest.raises(psycopg.Error) as refused:
        con.execute(composed.SQL(asked)).fetchall()
    assert refused.value.diag.sqlstate in {"0A000", "42P01", "42703", "22023"}


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT pg_read_file('/etc/passwd')", "SELECT pg_ls_dir('/')", "SELECT pg_terminate_backend(pg_backend_pid())",
        "SELECT pg_catalog.lo_create(0)", "SELECT pg_sleep(1)", "SELECT pg_advisory_lock(1)", "SELECT * FROM pg_authid",
        "SELECT oid INTO pg_temp.x FROM pg_class", "SELECT pg_catalog.lo_import('/etc/passwd')",
        "SELECT pg_notify('a', 'b')", "SELECT pg_reload_conf()",
        "SELECT * FROM pg_catalog.pg_read_binary_file('/etc/passwd')",
    ],
)  # fmt: skip
def test_the_catalog_server_reaches_nothing_beyond_its_catalog(server: Running, asked: str) -> None:
    with server.connect() as con:
        # Even where a transaction could write, nobody may.
        con.execute("SELECT set_config('default_transaction_read_only', 'off', false)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            con.execute(composed.SQL(asked))


def test_the_catalog_server_does_not_reveal_what_others_ask(server: Running) -> None:
    with server.connect() as one, server.connect() as other:
        other.execute("SELECT 'secret', version()")
        shown = one.execute("SELECT query FROM pg_stat_activity").fetchall()
    assert not any("secret" in (text or "") for (text,) in shown)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="what processes know is read in /proc")
def test_the_catalog_server_does_not_know_the_password(server: Running) -> None:
    """Others may run as the user that it runs as."""
    known = Path(f"/proc/{server.server._catalog._guard.pid}/environ").read_bytes()
    assert b"PATH=" in known
    assert SECRET.encode() not in known


def test_the_database_is_called_as_it_was_asked_for(server: Running) -> None:
    for name in ("sqlpriv", "sqlpriv?bounds=off"):
        with server.connect(dbname=name) as con:
            assert con.execute("SELECT current_database(), current_user").fetchall() == [(name, "analyst")]
