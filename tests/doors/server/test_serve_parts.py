"""The parts of the server by themselves: which statement concerns whom, passwords, and what a server refuses to be."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.commands import run
from support.releases import Made
from support.serving import SECRET

from sqlpriv.doors.server.commands import Transaction
from sqlpriv.doors.server.replies import ReplyError
from sqlpriv.doors.server.scram import PASSWORD, read_password
from sqlpriv.doors.server.shadow import postgres_type
from sqlpriv.doors.server.spelling import for_duckdb
from sqlpriv.doors.server.statements import For, statements
from sqlpriv.errors import InputError

TABLES = frozenset({"visits"})
KNOWN = frozenset({"visits", "region", "count"})


@pytest.mark.parametrize(
    ("sql", "concerns"),
    [
        ("SELECT count(*) FROM visits", For.QUESTION),
        ("select relname from PG_CLASS", For.CATALOG),
        ('SELECT * FROM "information_schema"."tables"', For.CATALOG),
        ("SELECT 'pg_catalog' FROM visits", For.QUESTION),
        ("SELECT 'visits'::regclass", For.CATALOG),
        ("SELECT version() FROM visits", For.EITHER),
        ("SHOW TABLES", For.QUESTION),
        ("SHOW search_path", For.CATALOG),
        ("BEGIN READ WRITE", For.SESSION),
        ("DELETE FROM pg_class", For.QUESTION),
        ("COPY pg_class TO PROGRAM 'x'", For.QUESTION),
        ("DO $$ BEGIN END $$ -- pg_catalog", For.QUESTION),
        ("'open", For.QUESTION),
    ],
)
def test_a_statement_goes_to_whom_it_concerns(sql: str, concerns: For) -> None:
    (found,) = statements(sql, TABLES, KNOWN)
    assert found.concerns is concerns


def test_statements_keep_their_place_and_the_log_their_shape_alone() -> None:
    text = "BEGIN;\n SELECT count(*) FROM visits WHERE region = 'x;y' AND z = $2 -- ; said\n;; "
    begin, asked = statements(text, TABLES, KNOWN)
    assert begin.text == "BEGIN"
    assert asked.text == text.replace("BEGIN;", "      ").partition(" -- ")[0]
    assert asked.parameters == 2
    assert asked.shape == "SELECT count ( * ) FROM visits WHERE region = ? AND ? = ? ?"


def test_constants_of_postgres_become_those_of_duckdb_in_their_place() -> None:
    text = "SELECT x FROM visits WHERE day < to_date('2024-01-31', 'YYYY-MM-DD') AND y = 'TO_DATE(''a'', ''b'')'"
    made = for_duckdb(text)
    assert made == text.replace("to_date('2024-01-31', 'YYYY-MM-DD')", "CAST('2024-01-31' AS DATE)         ")
    for other in (
        "SELECT to_date(x, 'YYYY-MM-DD')",
        "SELECT TO_DATE('1', 'DD')",
        "SELECT 'TO_ open",
        "\"TO_DATE\"('1')",
    ):
        assert for_duckdb(other) == other


def test_a_failed_transaction_waits_for_its_end() -> None:
    transaction = Transaction()
    assert transaction.run(("BEGIN",)) == "BEGIN"
    transaction.fail()
    with pytest.raises(ReplyError, match="has failed"):
        transaction.refuse_after_failure(("SELECT",))
    assert transaction.run(("ROLLBACK", "TO", "X")) == "ROLLBACK"
    assert transaction.status == "T"
    transaction.fail()
    assert transaction.run(("COMMIT",)) == "ROLLBACK"
    assert transaction.status == "I"


def test_types_of_postgres_hold_all_values() -> None:
    assert postgres_type("UBIGINT") == "numeric"
    assert postgres_type("DECIMAL(10,2)") == "decimal(10,2)"
    assert postgres_type("ENUM('a')") == "text"


def test_a_password_is_read_where_only_its_owner_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    file.write_text("long enough\nsecond line\n", encoding="utf-8")
    with pytest.raises(InputError, match="others can read"):
        read_password(file)
    file.chmod(0o600)
    assert read_password(file) == "long enough"
    for bad, why in (("short", "too short"), ("naïve naïve", "printable ASCII")):
        file.write_text(bad, encoding="utf-8")
        with pytest.raises(InputError, match=why):
            read_password(file)
    with pytest.raises(InputError, match="name a text file"):
        read_password(tmp_path / "none")
    monkeypatch.delenv(PASSWORD, raising=False)
    with pytest.raises(InputError, match="there is no password"):
        read_password(None)


def test_what_cannot_be_served_is_refused(visits: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in one sentence, and before anything runs."""
    private = tmp_path / "private.duckdb"
    with duckdb.connect(str(private)) as con:
        con.execute("CREATE TABLE visits AS SELECT 1 AS region").fetchall()
    (tmp_path / "table.csv").write_text("a\n1\n", encoding="utf-8")
    (tmp_path / "cert.pem").write_text("no certificate", encoding="utf-8")
    made = str(visits.path)
    monkeypatch.setenv(PASSWORD, SECRET)
    for arguments, said in (
        (["private.duckdb"], "private.duckdb is no release: it has no table sqlpriv_release.about"),
        (["table.csv"], "table.csv is no DuckDB file; a release is one"),
        (["none.duckdb"], "there is no release file 'none.duckdb'"),
        ([made, made], "two releases have a table 'visits'"),
        ([made, "--host", "0.0.0.0"], "answers would cross the network in the clear; give --cert and --key"),
        ([made, "--host", "203.0.113.1", "--cert", "cert.pem"], "give --cert and --key together"),
        ([made, "--cert", "cert.pem", "--key", "cert.pem"], "are no certificate and its key"),
        ([made, "--cert", "x", "--key", "y"], "there is no certificate 'x'"),
        ([made, "--memory", "lots"], "'lots' is no amount of memory"),
        ([made, "--user", "pg_x"], "nobody can be called 'pg_x' here"),
        ([made, "--public", "regions"], "'regions' names no public table"),
    ):
        done = run(tmp_path, "serve", *arguments, "--port", "0", columns=400)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
