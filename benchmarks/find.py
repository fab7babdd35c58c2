"""`sqlpriv find` against one GROUP BY: python -m benchmarks.find [ROWS]

2,270,000 generated rows with 12 columns: every set of up to three columns, with its special uniques. Beside it one
GROUP BY of the 12 columns. Both in seconds of CPU, since sets are counted by all threads.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import duckdb

from benchmarks.timing import stopwatch
from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.risk.uniqueness import measure_uniqueness
from sqlpriv.table.frequencies import count_combinations
from sqlpriv.table.private_table import open_table
from sqlpriv.table.source import TableReference

_TABLE = """
SELECT 18 + floor(72 * pow(random(), 1.4))::INT AS age, CASE WHEN random() < 0.5 THEN 'F' ELSE 'M' END AS sex,
  floor(1000 * pow(random(), 2))::INT AS district, DATE '1990-01-01' + (floor(730 * random())::INT * 7) AS hired,
  'n' || floor(90 * pow(random(), 6))::INT AS nationality, 'o' || floor(500 * pow(random(), 2))::INT AS occupation,
  'd' || floor(900 * pow(random(), 3))::INT AS diagnosis, floor(30 * pow(random(), 3))::INT AS stay,
  floor(16 * random())::INT AS education, floor(5 * random())::INT AS marital_status,
  round(exp(8 + random() * 4) / 1000)::INT AS income, floor(9 * random())::INT AS household
FROM range({rows})
"""


def main(rows: int) -> None:
    """Print the ratio."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with duckdb.connect() as con:
            con.execute("SELECT setseed(0.42)").fetchall()
            con.execute(f"COPY ({_TABLE.format(rows=rows)}) TO '{folder / 'people.parquet'}'").fetchall()
        with open_table(TableReference(folder, "people.parquet", None, {}), ()) as source:
            listed = ", ".join(map(quoted, source.columns))

            def once() -> None:
                query = f"SELECT {listed}, count(*) AS n FROM {source.table} GROUP BY ALL"
                fetch(source.con, f"CREATE OR REPLACE TABLE grouped AS {query}")

            once()
            base = min(stopwatch(once, time.process_time)[0] for _ in range(3))
            fetch(source.con, "DROP TABLE grouped")
            seconds, found = stopwatch(
                lambda: measure_uniqueness(count_combinations(source, source.columns), source.columns, 3),
                time.process_time,
            )
    alone = found.together.unique_share
    print(f"{rows:,} rows, 12 columns: {len(found.sets)} sets; {alone:.1%} alone by all columns")
    print(f"one GROUP BY of all columns  {base:7.2f} s of CPU")
    print(f"all sets of up to {found.most} columns  {seconds:7.2f} s of CPU  {seconds / base:5.1f} x  (bar: 40 x)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_270_000)
