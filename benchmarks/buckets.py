"""Anatomy against one raw sort: python -m benchmarks.buckets [ROWS]

The demo's hospital with 1,000,000 rows, in a database in memory. Measured is what makes the groups, in the database and
without the file: from the private table to rows with the numbers of their groups, with coins. Beside it one raw sort
of the same table by its sensitive column, and publishing as a whole, with the file written, verified and compared.
Then a question of both sides, with its bounds, against the same of the private table.
"""

from __future__ import annotations

import secrets
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.timing import interleaved, stopwatch
from sqlpriv.core.engine import fetch
from sqlpriv.demo import hospital
from sqlpriv.methods.split.arrange import arrange, sort_for
from sqlpriv.methods.split.plan import BucketPlan
from sqlpriv.publishing import open_release, planned, publish, read_policy

_L = 4
_POLICY = f"""
[table]
source = "hospital.parquet"
[columns]
patient_id = {{ role = "identifier" }}
zip = {{ role = "quasi-identifier" }}
birth_date = {{ role = "quasi-identifier" }}
sex = {{ role = "quasi-identifier" }}
nationality = {{ role = "quasi-identifier" }}
admission_date = {{ role = "quasi-identifier" }}
diagnosis = {{ role = "sensitive" }}
length_of_stay = {{ role = "other" }}
[require]
distinct_l = {{ diagnosis = {_L} }}
[ledger]
path = "ledger"
[release]
method = "anatomy"
output = "out.duckdb"
accept = "generated people, to measure the time"
"""
_QUESTION = "SELECT count(*) FROM hospital WHERE sex = 'F' AND diagnosis = 'Asthma'"


def main(rows: int) -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hospital.write(folder, rows=rows)
        policy = folder / "policy.toml"
        policy.write_text(_POLICY, encoding="utf-8")
        with planned(read_policy(policy)) as plan:
            assert isinstance(plan, BucketPlan)
            con, scratch = plan.source.con, plan.source.scratch
            # Both read a table of the database; the file is read by publishing alone.
            fetch(con, f"CREATE TABLE held AS FROM {plan.source.table}")
            fetch(con, "CREATE OR REPLACE VIEW __private AS FROM held")

            def groups() -> None:
                with scratch.nested() as inner:
                    ordered = sort_for(replace(plan.source, scope=inner), plan.layout)
                    arrange(ordered, plan.layout, plan.buckets, secrets.token_hex(32), inner)

            def raw_sort() -> None:
                fetch(con, "CREATE OR REPLACE TABLE sorted AS FROM held ORDER BY diagnosis")

            made, sort = interleaved(7, groups, raw_sort)
            arranged = arrange(plan.ordered, plan.layout, plan.buckets, secrets.token_hex(32), scratch)
            alike = fetch(
                con,
                f"SELECT count(*) FROM (SELECT 1 FROM {arranged.name} GROUP BY __bucket HAVING count(DISTINCT "
                "coalesce('v' || diagnosis, '')) < "
                f"count(*) OR count(*) < {_L})",
            )[0][0]
        print(f"{rows:,} rows, l = {_L}: {plan.buckets:,} groups, {alike} with two equal values")
        print(f"one raw sort              {sort.median:7.3f} s")
        print(f"groups, coins included    {made.median:7.3f} s  {made.median / sort.median:5.1f} x  (bar: 5 x)")
        seconds, _ = stopwatch(lambda: publish(policy, ledger_file=folder / "ledger.db"))
        print(f"publish, from file to file{seconds:7.2f} s  {seconds / sort.median:5.1f} x")
        with open_release(folder / "out.duckdb") as release:
            seconds, found = stopwatch(lambda: release.sql(_QUESTION).fetchall())
            print(f"a question of both sides  {seconds:7.2f} s  estimate {found[0][0]:,.1f}, bounds {found[0][1:]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
