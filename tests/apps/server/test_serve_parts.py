"""The parts of the server by themselves: the kinds of statements, passwords, and what a server refuses to be."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import duckdb
import psycopg
import pytest
from support.bi_corpus import EXACT, PUBLIC, private_database
from support.commands import run
from support.releases import Made, Weighted, write_release
from support.serving import SECRET, psql, running

from sqlpriv.apps.server.catalog_server import postgres_type
from sqlpriv.apps.server.channel import Channel
from sqlpriv.apps.server.errors import ReplyError
from sqlpriv.apps.server.messages import PROTOCOL, Startup
from sqlpriv.apps.server.pre_login import log_in
from sqlpriv.apps.server.queries import open_releases
from sqlpriv.apps.server.scram import PASSWORD_VARIABLE, make_verifier, read_password
from sqlpriv.apps.server.session_state import Transaction
from sqlpriv.apps.server.settings import Settings
from sqlpriv.apps.server.statements import Kind, split_statements
from sqlpriv.core.errors import InputError
from sqlpriv.rewrite.clauses import Options

TABLES = frozenset({"visits"})
KNOWN = frozenset({"visits", "region", "count"})


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT count(*) FROM visits", Kind.QUERY),
        ("select relname from PG_CLASS", Kind.CATALOG),
        ('SELECT * FROM "information_schema"."tables"', Kind.CATALOG),
        ("SELECT 'pg_catalog' FROM visits", Kind.QUERY),
        ("SELECT 'visits'::regclass", Kind.CATALOG),
        ("SELECT version() FROM visits", Kind.EITHER),
        ("SHOW TABLES", Kind.QUERY),
        ("SHOW search_path", Kind.CATALOG),
        ("BEGIN READ WRITE", Kind.SESSION),
        ("DELETE FROM pg_class", Kind.QUERY),
        ("COPY pg_class TO PROGRAM 'x'", Kind.COMMAND),
        ("DO $$ BEGIN END $$ -- pg_catalog", Kind.QUERY),
        ("'open", Kind.QUERY),
    ],
)
def test_the_kind_of_a_statement(sql: str, kind: Kind) -> None:
    (found,) = split_statements(sql, TABLES, KNOWN)
    assert found.kind is kind


def test_statements_keep_their_place_and_the_log_their_shape_alone() -> None:
    text = "BEGIN;\n SELECT count(*) FROM visits WHERE region = 'x;y' AND z = $2 -- ; said\n;; "
    begin, asked = split_statements(text, TABLES, KNOWN)
    assert begin.text == "BEGIN"
    assert asked.text == text.replace("BEGIN;", "      ").partition(" -- ")[0]
    assert asked.parameters == 2
    assert asked.log_text == "SELECT count ( * ) FROM visits WHERE region = ? AND ? = ? ?"


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
    monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)
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
    monkeypatch.setenv(PASSWORD_VARIABLE, SECRET)
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


def test_from_another_machine_only_tls_will_do() -> None:
    ours, other = socket.socketpair()
    with ours, other:
        settings = Settings(make_verifier("analyst", SECRET), "0.0.0.0")
        start = Startup(PROTOCOL, {"user": "analyst", "database": "sqlpriv"})
        channel = Channel(ours, 1000)
        with pytest.raises(ReplyError, match="accepts TLS connections only"):
            log_in(channel, start, settings, b"secret", is_local=False)
        channel.flush()
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.recv(1)  # nothing was sent, not even how to authenticate


def test_duckdb_has_its_limit_and_reads_the_release_alone(visits: Made, tmp_path: Path) -> None:
    copy = Path(shutil.copy(visits.path, tmp_path))
    served = open_releases([copy], {}, "512MiB", 1)
    try:
        release, _ = served.release_of(frozenset({"visits"}))
        asked = "SELECT current_setting('memory_limit'), current_setting('threads')"
        assert release.con.execute(asked).fetchall() == [("512.0 MiB", 1)]
        for forbidden in (
            "SET memory_limit = '9GB'",
            "CREATE TABLE release_file.main.mine (a INTEGER)",
            f"ATTACH '{tmp_path / 'other.duckdb'}' AS other",
            "FROM read_csv('/etc/passwd')",
            f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
        ):
            with pytest.raises(duckdb.Error):
                release.con.cursor().execute(forbidden).fetchall()
        assert sorted(path.name for path in tmp_path.iterdir()) == [copy.name]
    finally:
        served.close()


AGES: dict[str, tuple[str, list[int]]] = {"age": ("INTEGER", [1, 2, 3])}


@pytest.mark.slow
def test_two_releases_are_two_tables_and_asked_one_by_one(visits: Made, tmp_path: Path) -> None:
    """Also where they share a public table; extremes are those of the domain, if wanted."""
    people = write_release(tmp_path / "people.duckdb", AGES, [(1,), (2,)], EXACT, table="people", public=PUBLIC)
    joined = "SELECT continent, count(*) AS n FROM visits JOIN regions USING (region) GROUP BY 1 ORDER BY 1"
    with running(visits.path, people.path, options=Options(domain_extremes=True)) as server:
        with server.connect(dbname="sqlpriv?bounds=off") as con:
            assert con.execute("SELECT count(*) FROM people").fetchall() == [(5.0,)]
            assert con.execute("SELECT count(*) FROM visits").fetchall() == [(2330.0,)]
            assert con.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchall() == [(3,)]
            with pytest.raises(psycopg.Error, match="of two releases"):
                con.execute("SELECT count(*) FROM people, visits")
        asked = psql(
            server, r"\dt", "SELECT age, count(*) AS n FROM people GROUP BY age ORDER BY age",
            "SELECT count(*) FROM regions",
            "SELECT max(age) FROM people", "SELECT min(day), max(amount) FROM visits WHERE paid",
            joined,
        )  # fmt: skip
    with private_database(visits) as con:
        by_continent = [f"{name}|{n}|{n}|{n}" for name, n in con.sql(joined).fetchall()]
    assert len(by_continent) == 3
    assert asked.stdout.splitlines() == [
        "public|people|table|owner", "public|regions|table|owner", "public|visits|table|owner",
        "1|2|2|2", "2|2|2|2", "3|1|1|1", "4", "3", "2023-11-30|50",
        *by_continent,
    ]  # fmt: skip
    assert asked.stderr == ""


def test_a_public_table_of_two_releases_has_the_same_rows_or_is_refused(visits: Made, tmp_path: Path) -> None:
    """Else the one who asks for it alone would be told of the first that came."""
    columns, rows = PUBLIC["regions"]
    other = {"regions": (columns, [*rows[:-1], ("west", "Asia")])}
    people = write_release(tmp_path / "people.duckdb", AGES, [(1,)], EXACT, table="people", public=other)
    with pytest.raises(InputError, match="two releases have a table 'regions'"):
        open_releases([visits.path, people.path], {}, "1GB", 1)


def test_estimates_that_cannot_be_true_are_told(tmp_path: Path) -> None:
    """They stay as they are, as sums of them are right; where 0 is wanted instead, it is shown."""
    noisy = (Weighted(1.5, 0.1, 0.0), {0: Weighted(-0.5, 0.1, 0.0)})
    people = write_release(tmp_path / "people.duckdb", AGES, [(1,), (2,)], noisy, table="people", public={})
    asked = "SELECT age, count(*) AS n, sum(age) AS s, avg(age) AS a FROM people GROUP BY age ORDER BY age"
    copied = "COPY (SELECT age, count(*) AS n FROM people GROUP BY age) TO STDOUT (FORMAT csv)"
    told: list[str] = []
    with running(people.path) as server, server.connect(dbname="sqlpriv?bounds=off") as con:
        con.add_notice_handler(lambda notice: told.append(str(notice.message_primary)))
        rows = con.execute(asked.encode()).fetchall()
        assert rows[2] == (3, -0.5, -1.5, 3.0)
        assert [text.partition(" is below 0 in 1 row, ")[0] for text in told] == ["'n'", "'s'"]
        assert con.execute("SELECT avg(age) FROM people WHERE age = 3").fetchall() == [(3.0,)]
        with con.cursor() as cursor, cursor.copy(copied.encode()) as copying:
            assert b"3,-0.5" in b"".join(map(bytes, copying))
        assert len(told) == 3
    with running(people.path, options=Options(nonnegative=True)) as server, server.connect() as con:
        assert con.execute(asked.encode()).fetchall()[2][:2] == (3, 0.0)
