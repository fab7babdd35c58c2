"""What cutting rows into boxes takes: `python -m benchmarks.recode`.

Three bars. On 30,000 rows of Adult with k = 5 an average class is at most as large as anonypy's, and comes at least 200
times as fast. Both are timed from the rows to what would be published of every class; anonypy's partition() alone,
which ends with lists of rows, is printed beside. It is in the environment of `make bench`, and without it only our own
time is printed. Rows that are
nearly all different, four numbers each, with k = 10, take at most 35 times as long as one raw GROUP BY of the four
columns. And ten times as many under a memory_limit of 2GB are cut at all (`--large`: many minutes, and some gigabytes
of disk). Times are of the plan: the scan, all cuts, the boxes and their judgement;
nothing is written. The exit code says whether the bars hold.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.data import adult_folder
from benchmarks.timing import interleaved, peak_rss, stopwatch
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import Request
from sqlpriv.policy.file import Policy, parse_policy
from sqlpriv.publishing import open_private

ADULT_ROWS, ADULT_K, ADULT_BAR = 30_000, 5, 200.0
NUMBERS = ("a", "b", "c", "d")
NUMBERS_K, NUMBERS_BAR = 10, 35.0


def main(arguments: list[str]) -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(prog="benchmarks.recode")
    parser.add_argument("--rows", type=int, default=3_000_000, help="rows of four numbers")
    parser.add_argument("--adult-rows", type=int, default=ADULT_ROWS, help="rows of Adult; 0 leaves it out")
    parser.add_argument("--large", type=int, default=0, help="rows under the memory limit, as in 30000000; 0: none")
    parser.add_argument("--memory", default="2GB", help="the limit")
    given = parser.parse_args(arguments)
    held = [_adult(given.adult_rows)] if given.adult_rows else []
    held += [_numbers(given.rows)] if given.rows else []
    held += [_large(given.large, given.memory)] if given.large else []
    return 0 if all(held) else 1


def _adult(rows: int) -> bool:
    """Adult as anonypy cuts it, and as we do."""
    table = adult_rows(rows)
    policy = adult_policy(table)
    runs = [_clocked(lambda: planned(policy)) for _ in range(12)]
    content, ours, cpu = runs[0][2], min(r[0] for r in runs[1:]), min(r[1] for r in runs[1:])
    average = table.num_rows / content["classes"]
    print(
        f"Adult: {content['classes']:,} classes of {average:.3f} rows in {content['rounds']} rounds, {ours:.3f} s, "
        f"{cpu:.3f} s of the processors"
    )
    peer = _anonypy(table)
    if peer is None:
        print("  anonypy is not installed: make bench has it")
        return True
    (parted, parted_cpu, parts), (seconds, their_cpu, _) = peer
    theirs = table.num_rows / len(parts)
    print(
        f"  anonypy: {len(parts):,} classes of {theirs:.3f} rows, {seconds:.1f} s: {seconds / ours:.0f} times as long; "
        f"of the processors {their_cpu:.1f} s: {their_cpu / cpu:.0f} times\n"
        f"  its partition() alone: {parted:.1f} s, {parted / ours:.0f} times; {parted_cpu:.1f} s, "
        f"{parted_cpu / cpu:.0f} times"
    )
    return _judged("average class", average, theirs) & _judged("times as fast", -seconds / ours, -ADULT_BAR)


def adult_rows(rows: int = ADULT_ROWS) -> pa.Table:
    """The first rows of Adult."""
    with duckdb.connect() as con:
        return con.sql(f"FROM read_csv('{adult_folder() / 'adult.csv'}', delim = ';') LIMIT {rows}").to_arrow_table()


def adult_policy(table: pa.Table) -> Policy:
    """Cut age by its numbers, and all else by its hierarchy."""
    files = {c: adult_folder() / f"adult_hierarchy_{c}.csv" for c in table.column_names if c != "age"}
    given = {c: f', hierarchy = "{files[c]}"' if c in files else "" for c in table.column_names}
    return _policy(table, given, ADULT_K)


def _anonypy(table: pa.Table) -> tuple[Clocked, Clocked] | None:
    """Its partitions alone, and all of it: the partitions, and what is shown of each."""
    try:
        from anonypy import Preserver
        from anonypy.mondrian import Mondrian
    except ImportError:
        return None
    frame = anonypy_frame(table)
    names = list(frame.columns)
    parted = _clocked(lambda: Mondrian(frame, names).partition(ADULT_K))
    return parted, _clocked(lambda: Preserver(frame, names, names[-1]).anonymize_k_anonymity(ADULT_K))


def anonypy_frame(table: pa.Table) -> Any:
    """Adult as anonypy wants it: age is a number, all else names."""
    frame = table.to_pandas()
    return frame.astype({name: "category" for name in frame.columns if name != "age"})


Clocked = tuple[float, float, Any]


def _clocked(work: Callable[[], Any]) -> Clocked:
    """The seconds of the clock on the wall, and of the processors, which other work on a machine changes less."""
    start = time.process_time()
    seconds, result = stopwatch(work)
    return seconds, time.process_time() - start, result


def _numbers(rows: int) -> bool:
    """Rows that are nearly all different against one raw GROUP BY, in turn."""
    with tempfile.TemporaryDirectory() as name:
        file = _written(Path(name), rows)
        policy = _policy(file, dict.fromkeys(NUMBERS, ""), NUMBERS_K)
        with duckdb.connect(str(file), read_only=True) as con:
            listed = ", ".join(NUMBERS)
            raw = f"SELECT count(*) FROM (SELECT {listed}, count(*) AS n FROM numbers GROUP BY ALL)"
            ours, floor = interleaved(2, lambda: planned(policy), lambda: con.execute(raw).fetchall())
    ratio = ours.minimum / floor.minimum
    print(f"{rows:,} rows of four numbers: {ours.minimum:.1f} s, one GROUP BY {floor.minimum:.2f} s: {ratio:.1f}")
    return _judged("times one GROUP BY", ratio, NUMBERS_BAR)


def _large(rows: int, memory: str) -> bool:
    """More rows than fit into memory: that they are cut is all that is asked."""
    with tempfile.TemporaryDirectory() as name:
        policy = _policy(_written(Path(name), rows), dict.fromkeys(NUMBERS, ""), NUMBERS_K)
        seconds, content = stopwatch(lambda: planned(policy, memory))
    print(f"{rows:,} rows under {memory}: {content['classes']:,} classes, {seconds:.0f} s, {peak_rss() / 1e9:.1f} GB")
    return True


def _written(folder: Path, rows: int) -> Path:
    """A database with a table of numbers, the same every time."""
    file = folder / "numbers.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute("SELECT setseed(0.3)").fetchall()
        wide, narrow = "CAST(random() * 1e6 AS INTEGER)", "random() * 100"
        columns = f"{wide} AS a, {wide} AS b, {narrow} AS c, random() AS d"
        con.execute(f"CREATE TABLE numbers AS SELECT {columns} FROM range({rows})").fetchall()
    return file


def _policy(table: Any, qis: dict[str, str], k: int) -> Policy:
    """A policy by Mondrian for a database file, or for rows at hand."""
    in_file = isinstance(table, Path)
    source = f'database = "{table}"\nsource = "numbers"' if in_file else 'source = "rows.csv"'
    columns = "\n".join(f'"{name}" = {{ role = "quasi-identifier"{more} }}' for name, more in qis.items())
    text = f'[table]\n{source}\n[columns]\n{columns}\n[require]\nk = {k}\n[release]\nmethod = "mondrian"\n'
    policy = parse_policy(text, Path(), METHODS, "policy.toml")
    return policy if in_file else policy.holding(table)


def planned(policy: Policy, memory: str | None = None) -> Any:
    """The content of a plan: everything is cut, and nothing written."""
    with open_private(policy) as (source, spelt):
        if memory is not None:
            source.con.execute(f"SET memory_limit = '{memory}'").fetchall()
        return METHODS["mondrian"].plan(source, spelt, Request()).facts().content


def _judged(what: str, found: float, bar: float) -> bool:
    print(f"  {'holds' if found <= bar else 'FAILS'}: {what} {abs(found):.4g}, bar {abs(bar):.4g}")
    return found <= bar


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
