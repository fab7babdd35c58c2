"""A server that many clients ask for a long time, well and badly: python -m support.soak [SECONDS] [CLIENTS]

Each client asks questions whose answers are known, asks what takes too much, cancels, hangs up in the middle of an
answer, and connects again. The server is a command of its own, with little memory. What is counted: wrong answers, and
refusals other than those that are to be expected; how much memory the process that serves has, and whether that grows;
and what is left when the server is told to end.
"""

from __future__ import annotations

import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from support.bi_corpus import exact_release
from support.serving import SECRET, started

MEMORY = 500
"""Megabytes that DuckDB may use; the process has 1 GiB more."""
GROWTH = 150e6
"""So many bytes more at the end than after the first fifth would be a leak."""
QUESTIONS = (
    "SELECT count(*) AS n FROM visits",
    "SELECT region, count(*) AS n FROM visits GROUP BY region ORDER BY region",
    "SELECT product, sum(amount) AS s, avg(amount) AS a FROM visits WHERE amount > 10 GROUP BY product ORDER BY 1",
    "SELECT region, product, count(*) AS n FROM visits WHERE paid GROUP BY ALL ORDER BY ALL",
    "SELECT count(*) AS n FROM visits JOIN regions USING (region) WHERE continent = 'Europe'",
    "SELECT sum(amount) / sum(quantity) AS r FROM visits WHERE day >= DATE '2024-01-01'",
)
BAD = (
    "SELECT count(*) FROM visits WHERE length(repeat(region, 500000000)) > amount",
    "SELECT count(*) FROM visits WHERE lpad(product, 300000000, 'y') > 'a'",
    "SELECT secret FROM visits",
    "SELECT * FROM visits",
    "COPY visits TO '/tmp/out.csv'",
    "SELECT count(*) FROM read_csv('/etc/passwd')",
    "SELEC",
    "WITH RECURSIVE t AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM t) SELECT count(*) FROM t",
)


@dataclass
class Soaked:
    """What came of it."""

    done: Counter[str] = field(default_factory=Counter)
    memory: list[int] = field(default_factory=list)
    """Of the process that serves, in bytes, every second."""
    faults: list[str] = field(default_factory=list)

    @property
    def growth(self) -> float:
        """By how much the memory is more in the last fifth than in the second."""
        fifth = len(self.memory) // 5
        if not fifth:
            return 0.0
        return statistics.median(self.memory[-fifth:]) - statistics.median(self.memory[fifth : 2 * fifth])


def soak(seconds: float, clients: int, folder: Path) -> Soaked:
    """Let clients ask for so long."""
    found, lock = Soaked(), threading.Lock()
    release = exact_release(folder / "visits-release.duckdb").path
    process, port = started(str(release), folder, "--memory", f"{MEMORY}MB", "--timeout", "10")
    about = {"host": "127.0.0.1", "port": port, "user": "analyst", "password": SECRET, "dbname": "sqlpriv"}
    with psycopg.connect(**about, autocommit=True) as con:
        expected = {question: con.execute(question.encode()).fetchall() for question in QUESTIONS}
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=_client, args=(number, about, expected, end, found, lock)) for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(1)
        if process.poll() is not None:
            found.faults.append(f"the server ended with {process.poll()}")
            break
        found.memory.append(_memory_below(process.pid))
    for thread in threads:
        thread.join()
    process.send_signal(signal.SIGTERM)
    if (code := process.wait(30)) != 0:
        found.faults.append(f"the exit code is {code}")
    assert process.stdout is not None
    process.stdout.close()
    if left := [path.name for path in folder.iterdir() if path != release]:
        found.faults.append(f"left in its folder: {left}")
    if max(found.memory, default=0) > (MEMORY + 1200) * 1e6:
        found.faults.append(f"{max(found.memory) / 1e6:.0f} MB of memory")
    if found.growth > GROWTH:
        found.faults.append(f"{found.growth / 1e6:.0f} MB more in the end")
    return found


def _client(
    number: int, about: Mapping[str, Any], expected: Mapping[str, Sequence[Any]], end: float, found: Soaked, lock: Any
) -> None:
    chance = random.Random(number)

    def count(what: str) -> None:
        with lock:
            found.done[what] += 1

    while time.monotonic() < end:
        try:
            with psycopg.connect(**about, autocommit=True, connect_timeout=30) as con:
                for _ in range(chance.randint(1, 40)):
                    if time.monotonic() > end or not _ask(con, chance, expected, count, found):
                        break
        except psycopg.OperationalError as error:
            # The process that serves was started again, or there were too many connections for a moment.
            count(f"connected again: {getattr(error, 'sqlstate', None)}")
            time.sleep(0.2)


def _ask(
    con: psycopg.Connection[Any], chance: random.Random, expected: Mapping[str, Any], count: Any, found: Soaked
) -> bool:
    """Ask something; whether to go on with this connection."""
    what = chance.random()
    if what < 0.6:
        question = chance.choice(QUESTIONS)
        prepared = chance.random() < 0.3
        if con.execute(question.encode(), prepare=prepared).fetchall() != expected[question]:
            found.faults.append(f"another answer to: {question}")
        count("answered")
    elif what < 0.9:
        asked = chance.choice(BAD)
        try:
            con.execute(asked.encode()).fetchall()
        except psycopg.OperationalError:
            raise
        except psycopg.Error:
            count("refused")
        else:
            found.faults.append(f"answered: {asked}")
    elif what < 0.95:
        timer = threading.Timer(chance.uniform(0, 0.05), con.cancel)
        timer.start()
        try:
            con.execute(QUESTIONS[3].encode()).fetchall()
        except psycopg.errors.QueryCanceled:
            count("cancelled")
        timer.join()
        # A cancel may come late, and meet the next question.
        try:
            con.execute(b"SELECT 1")
        except psycopg.errors.QueryCanceled:
            count("cancelled")
    else:
        con.pgconn.send_query(QUESTIONS[3].encode())
        con.close()
        count("hung up")
        return False
    return True


def _memory_below(process: int) -> int:
    """The memory of the processes that a process started and that serve: the largest of them."""
    sizes = [0]
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text(encoding="ascii").split():
            try:
                sizes.append(4096 * int(Path(f"/proc/{child}/statm").read_text(encoding="ascii").split()[1]))
            except OSError:
                continue
    return max(sizes)


def main(seconds: float = 600, clients: float = 8) -> int:
    """Print what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        found = soak(seconds, int(clients), Path(folder))
    done = ", ".join(f"{n:,} {what}" for what, n in found.done.most_common())
    print(f"{seconds:.0f} s, {clients:.0f} clients: {done}")
    print(f"at most {max(found.memory, default=0) / 1e6:.0f} MB; {found.growth / 1e6:+.0f} MB in the end")
    for fault in sorted(set(found.faults)):
        print(f"FAULT: {fault}")
    return int(bool(found.faults))


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:])))
