"""What the server costs beside the same query without it.

    python -m benchmarks.serve [--rows 1000000] [--clients 16]

(a) 16 clients at once, each with 20 questions: the median time of an answer, against the median time of the same
    rewritten queries in a process that as many threads ask, each by a cursor of its own; and both with one client;
(b) a million rows, once of a public table and once of estimates: psycopg's execute and fetchall in text and in binary,
    against the same rows fetched as Arrow in process plus psycopg's own decoding, which is its fetchall alone.

Server and clients are processes of their own, as they would be.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb
import psycopg

from benchmarks.timing import stopwatch
from sqlpriv.publishing import open_release, publish
from sqlpriv.release.open import OpenRelease

SECRET = "only for this benchmark"
QUESTIONS = 20
POLICY = """
[table]
source = "people.parquet"
[columns]
{columns}
[release]
method = "noisy_counts"
gamma = 0.3
n_public = {rows}
output = "people-release.duckdb"
"""
ASKED = (
    "SELECT a, count(*) AS n FROM people GROUP BY a",
    "SELECT b, count(*) AS n, avg(c) AS mean FROM people WHERE a < 50 GROUP BY b ORDER BY n DESC LIMIT 10",
    "SELECT count(*) AS n, sum(c) AS total FROM people WHERE a BETWEEN 10 AND 30 AND b <> 7",
    "SELECT a - a % 10 AS ten, count(*) AS n FROM people WHERE c > 20 GROUP BY ALL",
)
MANY = {
    "of a public table": "SELECT number, share, word FROM items",
    "of estimates": "SELECT a, b, c, count(*) AS n FROM people GROUP BY a, b, c",
}


def make(folder: Path, rows: int) -> tuple[Path, Path]:
    """A release whose domain has 100 values in each of three columns, and a public table of so many rows."""
    items = folder / "items.parquet"
    with duckdb.connect() as con:
        drawn = ", ".join(f"(hash(i, {seed}) % 100)::INTEGER AS {name}" for seed, name in enumerate("abc"))
        con.execute(f"COPY (SELECT {drawn} FROM range(20000) AS t(i)) TO '{folder / 'people.parquet'}'").fetchall()
        made = f"SELECT i AS number, i * 0.37 AS share, 'word ' || i % 1000 AS word FROM range({rows}) AS t(i)"
        con.execute(f"COPY ({made}) TO '{items}'").fetchall()
    columns = "\n".join(f'{name} = {{ role = "sensitive", domain = "range:0..99" }}' for name in "abc")
    policy = folder / "policy.toml"
    policy.write_text(POLICY.format(columns=columns, rows=20000), encoding="utf-8")
    publish(policy, ledger_file=folder / "ledger.duckdb")
    return folder / "people-release.duckdb", items


@contextmanager
def served(release: Path, items: Path) -> Iterator[str]:
    """A server in a process of its own; how to connect to it."""
    command = [sys.executable, "-m", "sqlpriv", "serve", str(release), "--port", "0", "--public", f"items={items}"]
    environment = {**os.environ, "SQLPRIV_SERVE_PASSWORD": SECRET, "COLUMNS": "200"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    assert process.stdout is not None
    try:
        port = process.stdout.readline().partition("port ")[2].partition(".")[0]
        yield f"host=127.0.0.1 port={port} user=analyst dbname=sqlpriv password='{SECRET}'"
    finally:
        process.terminate()
        process.wait(30)


def at_once(clients: int, client: Callable[[int], list[float]]) -> list[float]:
    """The seconds of all answers of clients that ask at the same time."""
    with ThreadPoolExecutor(clients) as pool:
        return [seconds for each in pool.map(client, range(clients)) for seconds in each]


def asking(about: str) -> Callable[[int], list[float]]:
    """A client of the server."""

    def client(number: int) -> list[float]:
        with psycopg.connect(about, autocommit=True) as con:
            asked = [ASKED[(number + turn) % len(ASKED)].encode() for turn in range(QUESTIONS)]
            return [stopwatch(lambda q=q: con.execute(q).fetchall())[0] for q in asked]  # type: ignore[misc]

    return client


def rewritten(release: OpenRelease) -> Callable[[int], list[float]]:
    """A thread that runs the same queries, rewritten already, in this process."""
    texts = [release.explain(question).sql for question in ASKED]

    def client(number: int) -> list[float]:
        with release.con.cursor() as con:
            asked = [texts[(number + turn) % len(texts)] for turn in range(QUESTIONS)]
            return [stopwatch(lambda q=q: con.execute(q).fetchall())[0] for q in asked]  # type: ignore[misc]

    return client


def fetched(about: str, question: str, binary: bool) -> tuple[float, float, int]:
    """The seconds until all rows are here and decoded, those of decoding alone, and how many they are."""
    with psycopg.connect(about, autocommit=True) as con, con.cursor(binary=binary) as cursor:
        waited, _ = stopwatch(lambda: cursor.execute(question.encode()))
        decoded, rows = stopwatch(cursor.fetchall)
        return waited + decoded, decoded, len(rows)


def main(rows: int, clients: int) -> None:
    """Print both."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        release, items = make(Path(folder), rows)
        with served(release, items) as about, open_release(release, public={"items": items}) as opened:
            _answers(about, opened, clients)
            _rows(about, opened)


def _answers(about: str, opened: OpenRelease, clients: int) -> None:
    for number in (1, clients):
        asking(about)(0)
        rewritten(opened)(0)
        ours, plain = at_once(number, asking(about)), at_once(number, rewritten(opened))
        found, bare = statistics.median(ours), statistics.median(plain)
        print(
            f"{number:2} clients x {QUESTIONS} questions: median {found * 1000:7.1f} ms by the server, "
            f"{bare * 1000:7.1f} ms in process: {found / bare:.2f} times (at most 3)"
        )


def _rows(about: str, opened: OpenRelease) -> None:
    for what, question in MANY.items():
        sql = opened.explain(question).sql
        for binary in (False, True):
            tries = [(*fetched(about, question, binary), _arrow(opened, sql)) for _ in range(3)]
            total, decoded, number, arrow = sorted(tries, key=lambda t: t[0] / (t[1] + t[3]))[1]
            print(
                f"{number:,} rows {what}, {'binary' if binary else 'text'}: {total:.2f} s by the server; as Arrow "
                f"{arrow:.2f} s and decoded {decoded:.2f} s: {total / (arrow + decoded):.2f} times (at most 4)"
            )


def _arrow(opened: OpenRelease, sql: str) -> float:
    return stopwatch(lambda: opened.con.sql(sql).to_arrow_table())[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What the server costs beside the same query without it.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=16)
    given = parser.parse_args()
    started = time.perf_counter()
    main(given.rows, given.clients)
    print(f"in {time.perf_counter() - started:.0f} s")
