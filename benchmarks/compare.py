"""What `sqlpriv compare` takes on Adult, and what it would take by hand: `python -m benchmarks.compare`.

By hand is: for each method publish under its policy, open the release, ask it all questions; and ask the private table
the same. The bar: comparing takes at most a tenth more, in the same run and in seconds of the processor, which do not
depend on who else uses it; every method has a row, with the same errors where no coins are thrown. The exit code says
whether it holds. Tuning, which by hand is a search of one's own, is timed apart.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import duckdb

from benchmarks.data import adult_folder
from sqlpriv import publishing
from sqlpriv.comparing.protection import stated
from sqlpriv.comparing.run import Asked, Comparison, run
from sqlpriv.comparing.turn import turned
from sqlpriv.errors import SqlprivError
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import Policy

BAR = 1.1
COLUMNS = {
    4: ("sex", "age", "race"),
    9: ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"),
}
SENSITIVE = "occupation"


def main() -> int:
    """Compare and do the same by hand, for 4 and for 9 columns."""
    held = [_holds(columns) for columns in COLUMNS]
    return 0 if all(held) else 1


def _holds(columns: int) -> bool:
    with tempfile.TemporaryDirectory() as name:
        policy = publishing.read_policy(write_policy(Path(name), columns))
        _, tuned = _timed(policy, Asked(tune=True))
        found, seconds = _timed(policy, Asked(tune=False))
        asked = [known.question.sql for known in found.truth.known]
        start = time.process_time()
        by_hand = dict(_by_hand(policy, asked, Path(name)))
        hand = time.process_time() - start
    print(f"{columns} columns, {len(asked)} questions")
    is_same = True
    for row in found.rows:
        error = None if row.measured is None else row.measured.median_error
        is_same &= METHODS[row.method].draws or error == by_hand[row.method]
        print(f"  {row.method}: {row.refused or f'median error {error:.4g}, {row.seconds:.1f} s, {row.bytes:,} bytes'}")
    rows = [row.method for row in found.rows] == list(METHODS)
    holds = seconds <= BAR * hand and is_same and rows
    print(f"  {seconds:.1f} s, by hand {hand:.1f} s: {seconds / hand:.2f}; with tuning {tuned:.1f} s")
    print(f"  {'holds' if holds else 'FAILS'}: at most {BAR:g}, the same errors, a row for every method")
    return holds


def _timed(policy: Policy, asked: Asked) -> tuple[Comparison, float]:
    start = time.process_time()
    return run(policy, (), asked), time.process_time() - start


def _by_hand(policy: Policy, asked: list[str], folder: Path) -> Iterator[tuple[str, float | None]]:
    """By method the median error, None where it refuses."""
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE adult AS FROM read_csv('{adult_folder() / 'adult.csv'}', delim = ';')").fetchall()
        truths = [con.execute(sql).fetchall()[0][0] for sql in asked]
    for name, method in METHODS.items():
        try:
            made = turned(policy, METHODS[policy.method], method, stated(policy)).policy
            target = folder / f"{name}.duckdb"
            publishing.publish(made, target, ledger_file=folder / f"{name}.db")
            with publishing.open_release(target) as release:
                found = [release.sql(sql).fetchall()[0][0] for sql in asked]
            yield name, median(abs(e - t) for e, t in zip(found, truths, strict=True))
        except SqlprivError:
            yield name, None


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
    sys.exit(main())
