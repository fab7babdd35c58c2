"""What publishing from a program's connection costs in memory: `python -m benchmarks.memory`.

A table of a connection is published by generalize and by hilbert, each in a fresh process. Its peak is compared with
that of a fresh process that holds the same table and groups it once by all its columns, plus the size of the file that
was published. The bar is 1.5 times that, at 5,000,000 rows; the exit code says whether it is kept. `--rows 1000000`
makes it quicker, and then nothing is judged: the interpreter and its modules are most of what is measured.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import duckdb

from benchmarks.timing import in_fresh_process, peak_rss, stopwatch

ROWS = 5_000_000
MOST = 1.5
METHODS = ("generalize", "hilbert")
_COLUMNS = ("age", "zip", "sex", "disease")
_POLICY = """
table   = {{ source = "people.csv" }}
require = {{ k = 10 }}
release = {{ method = "{method}", output = "{method}.duckdb" }}

[columns]
age     = {{ role = "quasi-identifier", hierarchy = "ranges:5,10,20" }}
zip     = {{ role = "quasi-identifier", hierarchy = "mask:5" }}
sex     = {{ role = "quasi-identifier", hierarchy = "suppression" }}
disease = {{ role = "sensitive" }}
"""


def main() -> int:
    """Print peaks and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    rows = parser.parse_args().rows
    grouped = in_fresh_process(group, rows)
    print(f"{rows:,} rows: one GROUP BY of the columns {_shown(grouped)}")
    ratios = []
    for method in METHODS:
        with tempfile.TemporaryDirectory() as folder:
            seconds, peak, file = in_fresh_process(publish, method, rows, folder)
        ratios.append(peak / (grouped + file))
        print(f"{method}: {_shown(peak)}, the file {_shown(file)}, {seconds:.1f} s: {ratios[-1]:.2f} times both")
    return 0 if rows < ROWS or max(ratios) < MOST else 1


def group(rows: int) -> int:
    """The peak of a process that groups the table once."""
    with _connected(rows) as con:
        listed = ", ".join(_COLUMNS)
        con.execute(f"CREATE TEMP TABLE counted AS SELECT {listed}, count(*) AS n FROM people GROUP BY ALL").fetchall()
    return peak_rss()


def publish(method: str, rows: int, folder: str) -> tuple[float, int, int]:
    """How long publishing takes, the peak of its process, and how large the file is."""
    import sqlpriv

    policy = Path(folder) / "policy.toml"
    ledger = policy.with_name("ledger.sqlite")
    policy.write_text(_POLICY.format(method=method))
    with _connected(rows) as con:
        seconds, _ = stopwatch(lambda: sqlpriv.publish(policy, data=con.table("people"), ledger_file=ledger))
    return seconds, peak_rss(), (policy.parent / f"{method}.duckdb").stat().st_size


def _connected(rows: int) -> duckdb.DuckDBPyConnection:
    """A connection with the table: 80 ages, 200 places, 2 sexes, 20 diseases."""
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false").fetchall()
    con.execute(
        "CREATE TABLE people AS SELECT CAST(18 + hash(4 * i) % 80 AS INTEGER) AS age, "
        "CAST(13000 + hash(4 * i + 1) % 200 AS VARCHAR) AS zip, "
        "CASE WHEN hash(4 * i + 2) % 2 = 0 THEN 'f' ELSE 'm' END AS sex, "
        f"'disease ' || hash(4 * i + 3) % 20 AS disease FROM range({rows}) AS r(i)"
    ).fetchall()
    return con


def _shown(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


if __name__ == "__main__":
    sys.exit(main())
