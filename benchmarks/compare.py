"""What `sqlpriv compare` takes on Adult, and what it would take by hand: `python -m benchmarks.compare [columns]`.

By hand is: for each method publish under its policy, open the release, ask it all questions, and the same with the
options that are best for the workload, where compare found some; and ask the private table the same. The bar:
comparing, with the search for these options, takes at most a tenth more, in the same run and in seconds of the
processor, which do not depend on who else uses it; every method has a row, with the same errors where no coins are
thrown. The exit code says whether it holds.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.data import adult_folder
from sqlpriv import publishing
from sqlpriv.comparison.conversion import convert, declared_protection
from sqlpriv.comparison.run import CompareOptions, Comparison, compare_methods
from sqlpriv.core.errors import SqlprivError
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import Policy

BAR = 1.1
COLUMNS = {
    4: ("sex", "age", "race"),
    9: ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"),
}
SENSITIVE = "occupation"


def main(*columns: int) -> int:
    """Compare and do the same by hand, for 4 and for 9 columns."""
    held = [_holds(number) for number in columns or COLUMNS]
    return 0 if all(held) else 1


def _holds(columns: int) -> bool:
    with tempfile.TemporaryDirectory() as name:
        policy = publishing.read_policy(write_policy(Path(name), columns))
        start = time.process_time()
        found = compare_methods(policy, (), CompareOptions())
        seconds = time.process_time() - start
        start = time.process_time()
        by_hand = dict(_by_hand(found, Path(name)))
        hand = time.process_time() - start
    print(f"{columns} columns, {len(found.truth.known)} questions")
    is_same = True
    for row in found.rows:
        error = None if row.measured is None else row.measured.median_error
        is_same &= METHODS[row.method].draws or _equal(error, by_hand[row.method, row.chosen is not None])
        tuned = "" if row.chosen is None else f" with {dict(row.chosen)}"
        told = row.refused or f"median error {error:.4g}, {row.seconds:.1f} s, {row.bytes:,} bytes"
        print(f"  {row.method}{tuned}: {told}")
    rows = [row.method for row in found.rows if row.chosen is None] == list(METHODS)
    holds = seconds <= BAR * hand and is_same and rows
    print(f"  {seconds:.1f} s, by hand {hand:.1f} s: {seconds / hand:.2f}")
    print(f"  {'holds' if holds else 'FAILS'}: at most {BAR:g}, the same errors, a row for every method")
    return holds


def _equal(one: float | None, other: float | None) -> bool:
    """Two medians, but for the last digits: threads add up doubles in an order of their own.

    That is all: with one thread (`threads = 1` for every connection, here and there) they are equal to the last digit.
    """
    return one == other if one is None or other is None else math.isclose(one, other, rel_tol=1e-9)


def _by_hand(found: Comparison, folder: Path) -> Iterator[tuple[tuple[str, bool], float | None]]:
    """By method, and whether it is tuned, the median error; None where it refuses."""
    policy, asked = found.policy, [known.question.sql for known in found.truth.known]
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE adult AS FROM read_csv('{adult_folder() / 'adult.csv'}', delim = ';')").fetchall()
        truths = [con.execute(sql).fetchall()[0][0] for sql in asked]
    best = {row.method: row.best for row in found.rows if row.best}
    for name, method in METHODS.items():
        try:
            made = convert(policy, METHODS[policy.method], method, declared_protection(policy)).policy
            yield (name, False), _published(made, folder / f"{name}.duckdb", asked, truths)
        except SqlprivError:
            yield (name, False), None
            continue
        if name in best:
            tuned = replace(made, release={**made.release, **best[name]}, written=made.written | set(best[name]))
            yield (name, True), _published(tuned, folder / f"{name}-tuned.duckdb", asked, truths)


def _published(policy: Policy, target: Path, asked: list[str], truths: list[float]) -> float:
    """The median error of a release that is published and asked."""
    publishing.publish(policy, target, ledger_file=target.with_suffix(".db"))
    with publishing.open_release(target) as release:
        found = [release.sql(sql).fetchall()[0][0] for sql in asked]
    return float(median(abs(e - t) for e, t in zip(found, truths, strict=True)))


def write_policy(folder: Path, columns: int) -> Path:
    """A policy of generalization for these columns of Adult, with domains for methods that make noise."""
    data = adult_folder()
    with duckdb.connect() as con:
        names = con.execute(f"DESCRIBE FROM read_csv('{data / 'adult.csv'}', delim = ';')").fetchall()
    listed = []
    for name, *_ in names:
        file = data / f"adult_hierarchy_{name}.csv"
        values = [line.partition(";")[0] for line in file.read_text(encoding="utf-8").splitlines()]
        domain = '"range:17..90"' if name == "age" else json.dumps(values)
        if name in COLUMNS[columns]:
            listed.append(f'"{name}" = {{ role = "quasi-identifier", hierarchy = "{file}", domain = {domain} }}')
        else:
            role = f'"sensitive", domain = {domain}' if name == SENSITIVE else '"drop"'
            listed.append(f'"{name}" = {{ role = {role} }}')
    path = folder / "policy.toml"
    path.write_text(
        f'[table]\nsource = "{data / "adult.csv"}"\ndelimiter = ";"\n[columns]\n' + "\n".join(listed) + "\n"
        '[require]\nk = 5\nalpha_k = 0.5\n[release]\nmethod = "generalize"\nsuppression = 0.02\n',
        encoding="utf-8",
    )
    return path


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
