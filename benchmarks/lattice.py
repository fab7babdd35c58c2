"""The lattice search against one raw GROUP BY of the same columns, measured side by side.

    python -m benchmarks.lattice

(a) ACS: all 72 nodes with six adversaries, from the loaded table with its hierarchies beside it, at most 4x the
    GROUP BY of its five columns. Timed: the scan, the hierarchies read, checked and numbered, the beliefs, and every
    node judged by all six; no objective, since nothing is searched.
(b) Adult, nine quasi-identifiers, 12,960 nodes, k = 5, 5% suppressed, the optimum by loss: at most 250x.
(c) The same with every row 100 times and k = 500, from the CSV file: at most (b) + 2x (reading it + one GROUP BY).
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from benchmarks.data import ADULT_COLUMNS, acs_file, adult_folder
from benchmarks.policies import generalizing
from sqlpriv.macros.install import load
from sqlpriv.methods.generalized.evaluate import evaluate
from sqlpriv.methods.generalized.generalize.plan import prepare
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.methods.generalized.generalize.search import search
from sqlpriv.methods.generalized.measures import write_measures
from sqlpriv.methods.generalized.scan import scan_table
from sqlpriv.publishing import open_private

RUNS = 5
ADVERSARIES = """epsilon = [
  { column = "salary_class", adversary = "class1", sigma = 1e6, shape = "uniform", at_most = 2.5 },
  { column = "salary_class", adversary = "class1", sigma = 1e6, shape = "table", at_most = 2.5 },
  { column = "salary_class", adversary = "class2", sigma = 1e3, at_most = 2.5 },
  { column = "salary_class", adversary = "class2", sigma = 1e6, at_most = 2.5 },
  { column = "salary_class", adversary = "class3", shape = "uniform", at_most = 2.5 },
  { column = "salary_class", adversary = "class3", shape = "table", at_most = 2.5 },
]"""


def main() -> int:
    """Measure all three; the exit code says whether every bar holds."""
    with tempfile.TemporaryDirectory() as folder:
        bars = [_adversaries(Path(folder)), *_adult(Path(folder))]
    return 0 if all(bars) else 1


def _adversaries(folder: Path) -> bool:
    database = folder / "acs.duckdb"
    columns = "age, marital, race, sex, salary_class"
    with duckdb.connect(str(database)) as con:
        con.execute(f"CREATE TABLE acs AS SELECT {columns} FROM '{acs_file()}'").fetchall()
        load(con)
        con.execute(
            "CREATE TABLE ages AS FROM priv.hierarchy_ranges('acs', 'age', [5, 10, 20, 40], 17);"
            "CREATE TABLE races AS FROM priv.hierarchy_suppression('acs', 'race');"
            "CREATE TABLE sexes AS FROM priv.hierarchy_suppression('acs', 'sex');"
            "CREATE TABLE maritals AS FROM (VALUES ('1', 'married', '*'), ('5', 'never', '*'), ('2', 'other', '*'), "
            "('3', 'other', '*'), ('4', 'other', '*'))"
        ).fetchall()
    policy = generalizing(
        f"""[table]
source = "acs"
database = "acs.duckdb"
[columns]
age = {{ role = "quasi-identifier", hierarchy = "table:ages" }}
marital = {{ role = "quasi-identifier", hierarchy = "table:maritals" }}
race = {{ role = "quasi-identifier", hierarchy = "table:races" }}
sex = {{ role = "quasi-identifier", hierarchy = "table:sexes" }}
salary_class = {{ role = "sensitive" }}
[require]
{ADVERSARIES}
[release]
method = "generalize"
""",
        folder,
    )
    ours, raw = [], []
    with open_private(policy) as (source, policy):
        for _ in range(RUNS + 1):
            raw.append(_timed(lambda: source.con.execute(
                f"CREATE OR REPLACE TABLE raw AS SELECT {columns}, count(*) AS n FROM {source.table} GROUP BY ALL"
            ).fetchall()))  # fmt: skip

            def every_node() -> None:
                domain = scan_table(source, policy)
                measures = write_measures(domain)
                nodes = list(itertools.product(*(range(h + 1) for h in domain.heights)))
                assert len(evaluate(domain, measures, nodes)) == 72

            ours.append(_timed(every_node))
    return _report("(a) ACS, 72 nodes x 6 adversaries", ours[1:], raw[1:], 4)


def _adult(folder: Path) -> list[bool]:
    database, large = folder / "adult.duckdb", folder / "adult100.csv"
    with duckdb.connect(str(database)) as con:
        con.execute(f"CREATE TABLE adult AS FROM read_csv('{adult_folder() / 'adult.csv'}', delim = ';')").fetchall()
        con.execute(f"COPY (SELECT a.* FROM adult AS a, range(100)) TO '{large}' (DELIMITER ';')").fetchall()
    small = _adult_policy(folder, 'source = "adult"\ndatabase = "adult.duckdb"', 5)
    many = _adult_policy(folder, f'source = "{large.name}"\ndelimiter = ";"', 500)
    listed = ", ".join(f'"{c}"' for c in ADULT_COLUMNS)
    ours, raw = [], []
    with open_private(small) as (source, small):
        for _ in range(RUNS + 1):
            raw.append(_timed(lambda: source.con.execute(
                f"CREATE OR REPLACE TABLE raw AS SELECT {listed}, count(*) AS n FROM {source.table} GROUP BY ALL"
            ).fetchall()))  # fmt: skip
            ours.append(_timed(lambda: _optimum(small)))
    first = _report("(b) Adult, 9 quasi-identifiers, 12,960 nodes", ours[1:], raw[1:], 250)
    floor, replicated = [], []
    for _ in range(3):
        replicated.append(_timed(lambda: _optimum(many)))
        floor.append(_timed(lambda: _read_and_group(large, listed)))
    limit = statistics.median(ours[1:]) + 2 * statistics.median(floor)
    taken = statistics.median(replicated)
    print(f"(c) Adult x 100 from CSV: {taken:.2f} s; (b) + 2 x (CSV + GROUP BY) = {limit:.2f} s; "
          f"{taken / limit:.2f} of the bar")  # fmt: skip
    return [first, taken <= limit]


def _adult_policy(folder: Path, table: str, k: int) -> GeneralizePolicy:
    columns = "\n".join(
        f'{c} = {{ role = "quasi-identifier", hierarchy = "{adult_folder() / f"adult_hierarchy_{c}.csv"}" }}'
        for c in ADULT_COLUMNS
    )
    rest = '[release]\nmethod = "generalize"\nobjective = "loss"\nsuppression = 0.05\n'
    return generalizing(f"[table]\n{table}\n[columns]\n{columns}\n[require]\nk = {k}\n{rest}", folder)


def _optimum(policy: GeneralizePolicy) -> None:
    with open_private(policy) as (source, spelt):
        domain, measures, objective, _ = prepare(source, spelt)
        answer = search(domain, measures, objective)
    assert answer.optimal
    assert answer.best is not None
    assert answer.best.node == (0, 3, 0, 0, 2, 1, 1, 2, 0)


def _read_and_group(file: Path, listed: str) -> None:
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS FROM read_csv('{file}', delim = ';')").fetchall()
        con.execute(f"CREATE TABLE raw AS SELECT {listed}, count(*) AS n FROM t GROUP BY ALL").fetchall()


def _timed(job: Callable[[], object]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def _report(name: str, ours: list[float], raw: list[float], bar: float) -> bool:
    ratio = statistics.median(ours) / statistics.median(raw)
    print(
        f"{name}: {statistics.median(ours):.3f} s; one raw GROUP BY {statistics.median(raw):.4f} s; "
        f"ratio {ratio:.1f} (bar {bar}), fastest against fastest {min(ours) / min(raw):.1f}"
    )
    return ratio <= bar


if __name__ == "__main__":
    sys.exit(main())
