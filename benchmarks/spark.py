"""What a table of Spark costs against Spark's own GROUP BY: `python -m benchmarks.spark`.

On two cores of this machine, in CPU time of Spark and of this process together. `check` counts two columns and judges
them; publishing by generalize counts four and writes the release, without the ledger; the digest and the sketches of
the ledger read all seven columns. Each is set against Spark's own GROUP BY of the same columns in the same run: 1.5, 3
and 5 times that are the bars, at 10,000,000 rows. `--rows 1000000,3000000` shows how it grows, and judges nothing.
`--combinations 50000000` brings so many combinations here and prints the peak of both processes: below 8 GB. What a
GROUP BY shuffles is read off the metrics of its plan; what that is for 10^9 and 10^11 rows is printed, and the hours of
a core. The exit code says whether the bars hold. It runs in the environment of `make test-spark`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.checks import requirements
from sqlpriv.checks.run import Job, check
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import Request
from sqlpriv.publishing import open_private, read_policy
from sqlpriv.publishing.draft import first_edition
from sqlpriv.table.engines.spark import SparkRows
from sqlpriv.table.folded import FoldedTable
from sqlpriv.table.source import open_source

BARS = {"check": 1.5, "generalize": 3.0, "digest and sketches": 5.0}
ALL = ("id", "age", "zip", "sex", "ill", "day", "dose")
QIS, READ = ("age", "zip"), ("age", "zip", "sex", "ill")
ROWS = (
    "CAST(id AS BIGINT) AS id",
    "CAST(18 + pmod(hash(id), 80) AS INT) AS age",
    "CAST(13000 + pmod(hash(id, 1), 200) AS STRING) AS zip",
    "IF(pmod(hash(id, 2), 2) = 0, 'f', 'm') AS sex",
    "concat('ill ', pmod(hash(id, 3), 28)) AS ill",
    "date_add(DATE '2020-01-01', pmod(hash(id, 4), 900)) AS day",
    "CAST(pmod(hash(id, 5), 1000) / 8 AS DOUBLE) AS dose",
)
POLICY = """
[table]
source = "people"
[columns]
id = { role = "drop" }
day = { role = "drop" }
dose = { role = "drop" }
age = { role = "quasi-identifier", hierarchy = "ranges:5,10,20" }
zip = { role = "quasi-identifier", hierarchy = "mask:5" }
sex = { role = "quasi-identifier", hierarchy = "suppression" }
ill = { role = "sensitive" }
[require]
k = 10
[release]
method = "generalize"
output = "release.duckdb"
"""
_MANY = (1e9, 1e11)
_TICKS = os.sysconf("SC_CLK_TCK")
_MOST_MEMORY = 8e9


def main() -> int:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(prog="benchmarks.spark")
    parser.add_argument("--rows", default="10000000", help="numbers of rows, with commas between them")
    parser.add_argument("--combinations", type=int, default=0, help="how many to bring here, as in 50000000")
    given = parser.parse_args()
    spark, held = _session(), []
    with tempfile.TemporaryDirectory() as name:
        for rows in map(int, given.rows.split(",")):
            folder = Path(name) / str(rows)
            spark.range(rows).selectExpr(*ROWS).write.parquet(f"file://{folder}")
            held += _measured(spark.read.parquet(f"file://{folder}"), rows, Path(name))
        if given.combinations:
            held.append(_fits(spark, given.combinations, Path(name) / "wide"))
    return 0 if all(held) else 1


def _measured(frame: Any, rows: int, folder: Path) -> list[bool]:
    """The three works, each beside Spark's own GROUP BY of the same columns."""
    works: dict[str, tuple[Sequence[str], Callable[[], object]]] = {
        "check": (QIS, lambda: _check(frame)),
        "generalize": (READ, lambda: _generalize(frame, folder)),
        "digest and sketches": (ALL, lambda: _fold(frame)),
    }
    for columns, work in works.values():  # the first time Java compiles
        _grouped(frame, columns)
        work()
    held = []
    for name, (columns, work) in works.items():
        floor, ours = _least(lambda columns=columns: _grouped(frame, columns)), _least(work)  # type: ignore[misc]
        ratio = ours / floor
        held.append(ratio <= BARS[name] or rows < 10_000_000)
        times = f"{ours:.1f} s of the processors, GROUP BY {floor:.1f} s"
        print(f"{rows:,} rows, {name}: {times}: {ratio:.2f} (at most {BARS[name]})")
        hours = [ours / rows * many / 3600 for many in _MANY]
        print(f"    in proportion: {hours[0]:,.1f} hours of a core for 10^9 rows, {hours[1]:,.0f} for 10^11")
    _shuffles(frame, rows)
    return held


def _check(frame: Any) -> None:
    job = Job((QIS,), (), requirements=(requirements.parse("k>=2"),))
    with open_source(frame, columns=job.read) as source:
        check(source, job)


def _generalize(frame: Any, folder: Path) -> None:
    """Planned and written, as far as the ledger is not concerned."""
    path = folder / "policy.toml"
    path.write_text(POLICY)
    with open_private(read_policy(path).holding(frame)) as (source, policy):
        method, request = METHODS[policy.method], Request()
        plan = method.plan(source, policy, request)
        plan.__dict__["digest"] = "0"  # that of the whole table is measured by itself
        (folder / "release.duckdb").unlink(missing_ok=True)
        method.write(plan, first_edition(method, plan, b""), folder / "release.duckdb", request)


def _fold(frame: Any) -> None:
    with duckdb.connect() as con:
        table = FoldedTable(con, SparkRows(frame), None)
        assert table.digest
        table.fingerprint("a secret", None)


def _grouped(frame: Any, columns: Sequence[str]) -> None:
    frame.groupBy(*columns).count().write.format("noop").mode("overwrite").save()


def _shuffles(frame: Any, rows: int) -> None:
    """What a GROUP BY shuffles, by the metrics of its plan, and what that is for many rows."""
    counted = frame.groupBy(*READ).count()
    counted.toArrow()
    records, size, tasks = _exchanged(counted)
    groups = counted.count()
    print(
        f"  shuffle of the GROUP BY: {records:,} records, {size:,} bytes, {tasks} tasks, {groups:,} combinations: "
        f"{records / tasks:,.0f} records a task, {size / records:.1f} bytes each"
    )
    per_task = rows / tasks
    for many in _MANY:
        wanted = many / max(per_task, 5e6)  # a task reads some 128 MB
        sent = wanted * groups
        gigabytes = sent * size / records / 1e9
        print(f"    {many:.0e} rows in {wanted:,.0f} tasks: at most {sent:.1e} records, {gigabytes:.1f} GB")


def _exchanged(counted: Any) -> tuple[int, int, int]:
    """Records and bytes that were shuffled, and by how many tasks, from the plan that was run."""
    plan = counted._jdf.queryExecution().executedPlan()
    found = {"shuffleRecordsWritten": 0, "dataSize": 0, "numPartitions": 0}
    nodes = [plan.finalPhysicalPlan() if hasattr(plan, "finalPhysicalPlan") else plan]
    while nodes:
        node = nodes.pop()
        metrics = node.metrics()
        for name in ("shuffleRecordsWritten", "dataSize"):
            if metrics.contains(name):
                found[name] += int(metrics.apply(name).value())
        if "ShuffleQueryStage" in node.nodeName():
            nodes.append(node.plan())
        children = node.children()
        nodes += [children.apply(i) for i in range(children.size())]
    return found["shuffleRecordsWritten"], found["dataSize"], counted.sparkSession.sparkContext.defaultParallelism


def _fits(spark: Any, combinations: int, folder: Path) -> bool:
    """Whether so many combinations come here in less than 8 GB, of this process and of Spark's together."""
    spark.range(combinations).selectExpr(*ROWS).write.parquet(f"file://{folder}")
    with duckdb.connect(config={"temp_directory": str(folder)}) as con:
        made = SparkRows(spark.read.parquet(f"file://{folder}")).histogram(con, ["id", "age", "zip"], "counted")
    peak = sum(_peak(number) for number in _ours())
    print(f"{made.written or 0:,} combinations: a peak of {peak / 1e9:.1f} GB in both processes")
    return peak < _MOST_MEMORY


def _least(work: Callable[[], object], times: int = 2) -> float:
    found = []
    for _ in range(times):
        start = _spent()
        work()
        found.append(_spent() - start)
    return min(found)


def _ours() -> list[int]:
    """This process and all below it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = [os.getpid()]
    for number in found:
        found += [child for child, parent in parents.items() if parent == number]
    return found


_seen: dict[int, int] = {}
"""What each process had spent when it was last looked at: one that has ended has spent it, too."""


def _spent() -> float:
    """Seconds of the processors, of this process and all that it has started."""
    for number in _ours():
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        _seen[number] = int(fields[11]) + int(fields[12])
    return sum(_seen.values()) / _TICKS


def _peak(number: int) -> int:
    try:
        status = Path(f"/proc/{number}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")), 0)


def _session() -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.sql.shuffle.partitions": "4",
                "spark.ui.showConsoleProgress": "false", "spark.driver.maxResultSize": "0",
                "spark.driver.memory": "3g"}  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    sys.exit(main())
