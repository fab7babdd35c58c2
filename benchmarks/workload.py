"""What the search for the best node of Adult costs by a workload of 20 queries: `python -m benchmarks.workload`.

Four quasi-identifiers with public domains, k = 5, 2% of the rows may be suppressed; against the same search by loss, in
the same run. Every valid node is asked all queries, as its release would answer them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import ADULT_COLUMNS, adult_folder
from sqlpriv.publishing import plan

QIS = ("age", "education", "marital-status", "sex")
OTHERS = ("salary-class", "occupation")
CONDITIONS = (
    "age < 30",
    "age BETWEEN 30 AND 44 AND sex = 'Female'",
    "age >= 60",
    "education = 'Bachelors'",
    "education IN ('Masters', 'Doctorate') AND sex = 'Male'",
    "education = 'HS-grad' AND age < 25",
    "\"marital-status\" = 'Divorced'",
    "\"marital-status\" = 'Never-married' AND age > 40",
    "\"marital-status\" = 'Married-civ-spouse' AND sex = 'Female'",
    "sex = 'Female'",
    "sex = 'Male' AND \"salary-class\" = '>50K'",
    "age < 30 AND \"salary-class\" = '>50K'",
    "education = 'Bachelors' AND \"salary-class\" = '>50K'",
    "\"marital-status\" = 'Divorced' AND \"salary-class\" = '>50K'",
    "occupation = 'Sales' AND age < 30",
    "occupation = 'Tech-support' AND sex = 'Female'",
    "occupation = 'Craft-repair' AND education = 'HS-grad'",
    "age < 30 OR age > 60",
    "age < 30 AND education = 'Bachelors' AND sex = 'Female'",
    "age BETWEEN 40 AND 49 AND \"marital-status\" = 'Widowed'",
)


def main() -> int:
    """Plan by loss and by the workload, and print the times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        queries = ";\n".join(f"SELECT count(*) FROM adult WHERE {c}" for c in CONDITIONS)
        (folder / "queries.sql").write_text(queries, encoding="utf-8")
        times = {objective: _timed(folder, objective) for objective in ("loss", "workload:queries.sql")}
    loss, workload = times.values()
    print(f"the workload takes {workload / loss:.1f} times as long as the loss")
    return 0


def _timed(folder: Path, objective: str) -> float:
    policy = _policy(folder, objective)
    start = time.perf_counter()
    found = plan(policy).content
    took = time.perf_counter() - start
    print(
        f"{objective}: {took:.2f} s; node {list(found['node'].values())}, value {found['value']:.4f}, "
        f"{found['nodes_evaluated']} of {found['nodes_total']} nodes looked at, {found['suppressed_rows']} suppressed"
    )
    return took


def _policy(folder: Path, objective: str) -> Path:
    columns = "".join(_column(c) for c in ADULT_COLUMNS)
    table = f'source = "{adult_folder() / "adult.csv"}"\ndelimiter = ";"'
    rest = f'suppression = 0.02\nobjective = "{objective}"\n[ledger]\npath = "ledger.duckdb"'
    text = f'[table]\n{table}\n[columns]\n{columns}[require]\nk = 5\n[release]\nmethod = "generalize"\n{rest}\n'
    policy = folder / "policy.toml"
    policy.write_text(text, encoding="utf-8")
    return policy


def _column(column: str) -> str:
    file = adult_folder() / f"adult_hierarchy_{column}.csv"
    if column in QIS:
        return f'"{column}" = {{ role = "quasi-identifier", hierarchy = "{file}", domain = "level:{file}:0" }}\n'
    return f'"{column}" = {{ role = "{"other" if column in OTHERS else "drop"}" }}\n'


if __name__ == "__main__":
    sys.exit(main())
