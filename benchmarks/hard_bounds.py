"""What an answer with hard bounds costs on a generalized release of Adult: `python -m benchmarks.hard_bounds`.

Each query is asked as open_release(...).sql(query).fetchall(), against one raw GROUP BY of the published rows by all
their columns, which is the least that looking at every class takes; in turn, in the same run. The first line is the
bar: a count by a condition on two columns takes at most 4 times as long. The exit code says whether it holds.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import duckdb

from benchmarks.data import adult_folder
from benchmarks.timing import interleaved
from sqlpriv.publishing import open_release, publish
from sqlpriv.release.open import OpenRelease

COLUMNS = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
BAR = 4.0
QUERIES = {
    "count by two columns": "SELECT count(*) FROM adult WHERE age < 33 AND education = 'Bachelors'",
    "count by a third, too": "SELECT count(*) FROM adult WHERE age < 33 AND education = 'Bachelors' AND sex = 'Female'",
    "groups": "SELECT education, count(*), avg(age) FROM adult WHERE sex = 'Female' GROUP BY education",
    "share": "SELECT count(*) FILTER (WHERE education = 'Bachelors') / count(*) FROM adult WHERE age BETWEEN 30 AND 44",
    "pairs of groups": "SELECT occupation, education, count(*) FROM adult GROUP BY ALL",
}


def main() -> int:
    """Publish Adult, ask, and print the ratios."""
    with tempfile.TemporaryDirectory() as name:
        file = _release(Path(name))
        with open_release(file) as release, duckdb.connect(str(file), read_only=True) as raw:
            listed = ", ".join(f'"{c}"' for c in COLUMNS)
            classes = f"SELECT {listed}, count(*) FROM sqlpriv_release.published GROUP BY ALL"
            found = len(raw.execute(classes).fetchall())
            print(f"{found:,} classes of 30,162 rows")
            worst = [_asked(release, raw, classes, *query) for query in QUERIES.items()]
    print(f"{'holds' if worst[0] <= BAR else 'FAILS'}: {worst[0]:.2f} of at most {BAR:g}")
    return 0 if worst[0] <= BAR else 1


def _asked(release: OpenRelease, raw: duckdb.DuckDBPyConnection, classes: str, what: str, query: str) -> float:
    ours, floor = interleaved(15, lambda: release.sql(query).fetchall(), lambda: raw.execute(classes).fetchall())
    ratio = ours.median / floor.median
    print(f"{what}: {ours.median * 1e3:.1f} ms, one GROUP BY of the classes {floor.median * 1e3:.1f} ms: {ratio:.2f}")
    return float(ratio)


def _release(folder: Path) -> Path:
    columns = "".join(
        f'"{c}" = {{ role = "quasi-identifier", hierarchy = "{_hierarchy(c)}", domain = "level:{_hierarchy(c)}:0" }}\n'
        for c in COLUMNS
    )
    table = f'source = "{adult_folder() / "adult.csv"}"\ndelimiter = ";"'
    rest = 'output = "adult.duckdb"\nsuppression = 0.02\n[ledger]\npath = "ledger.duckdb"'
    text = f'[table]\n{table}\n[columns]\n{columns}[require]\nk = 5\n[release]\nmethod = "generalize"\n{rest}\n'
    policy = folder / "policy.toml"
    policy.write_text(text, encoding="utf-8")
    publish(policy)
    return folder / "adult.duckdb"


def _hierarchy(column: str) -> Path:
    return adult_folder() / f"adult_hierarchy_{column}.csv"


if __name__ == "__main__":
    sys.exit(main())
