"""Classes along a Hilbert curve: what they lose beside Mondrian, and how long it takes: `python -m benchmarks.hilbert`.

On Adult, k = 5, with four and with nine quasi-identifiers, the loss of the plan is at most that of Mondrian; the exit
code says whether it is. Then rows that are nearly all different, four numbers each, k = 10: the plan (all but the file)
against one raw sort of the four columns, in the same run. `--rows 300000` makes that quicker.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import duckdb

from benchmarks.data import ADULT_COLUMNS, adult_folder
from benchmarks.timing import stopwatch
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import plan

NUMBERS = ("a", "b", "c", "d")


def main() -> int:
    """Print losses and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    rows = parser.parse_args().rows
    adult = [_adult(qis) for qis in (4, 9)]
    with tempfile.TemporaryDirectory() as name:
        _different(Path(name), rows)
    return 0 if all(adult) else 1


def _adult(qis: int) -> bool:
    """Whether it loses no more than Mondrian."""
    hierarchies = {c: f"adult_hierarchy_{c}.csv" for c in ADULT_COLUMNS} | {"age": "ranges:5,10,20"}
    columns = [f'{c} = {{ role = "quasi-identifier", hierarchy = "{hierarchies[c]}" }}' for c in ADULT_COLUMNS[:qis]]
    columns += [f'{c} = {{ role = "drop" }}' for c in ADULT_COLUMNS[qis:]]
    table = 'source = "adult.csv"\ndelimiter = ";"'
    found = {m: _planned(m, table, columns, 5, adult_folder()) for m in ("hilbert", "mondrian")}
    for method, (seconds, loss, classes) in found.items():
        print(f"Adult, {qis} quasi-identifiers, {method}: loss {loss:.4f}, {classes:,} classes, {seconds:.2f} s")
    return found["hilbert"][1] <= found["mondrian"][1]


def _different(folder: Path, rows: int) -> None:
    listed = ", ".join(NUMBERS)
    with duckdb.connect(str(folder / "numbers.duckdb")) as con:
        drawn = ", ".join(f"CAST(hash(i * {2 * j + 3}) % 1000000 AS INTEGER) AS {c}" for j, c in enumerate(NUMBERS))
        con.execute(f"CREATE TABLE numbers AS SELECT {drawn} FROM range({rows}) AS r(i)").fetchall()
        order = f"CREATE OR REPLACE TEMP TABLE sorted AS SELECT {listed} FROM numbers ORDER BY {listed}"
        floor = min(stopwatch(lambda: con.execute(order).fetchall())[0] for _ in range(3))
    columns = [f'{c} = {{ role = "quasi-identifier" }}' for c in NUMBERS]
    table = 'database = "numbers.duckdb"\nsource = "numbers"'
    for method in ("hilbert", "mondrian"):
        seconds, loss, classes = _planned(method, table, columns, 10, folder)
        print(
            f"{rows:,} rows of four numbers, {method}: loss {loss:.4f}, {classes:,} classes, {seconds:.1f} s; one sort "
            f"{floor:.2f} s: {seconds / floor:.1f} times"
        )


def _planned(method: str, table: str, columns: list[str], k: int, folder: Path) -> tuple[float, float, int]:
    text = f'[table]\n{table}\n[columns]\n{chr(10).join(columns)}\n[require]\nk = {k}\n[release]\nmethod = "{method}"\n'
    policy = parse_policy(text, folder, METHODS)
    seconds, facts = stopwatch(lambda: plan(policy))
    return seconds, float(facts.content["loss"]), int(facts.content["classes"])


if __name__ == "__main__":
    sys.exit(main())
