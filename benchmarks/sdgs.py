"""What sampled k-anonymity costs: `python -m benchmarks.sdgs` (see --help).

Adult, all nine columns quasi-identifiers, epsilon 2 and delta 1e-6, levels fixed: the policy read, the table scanned,
the numbers worked out, all coins thrown and rare classes suppressed, without writing the file. Beside it one raw GROUP
BY of the nine columns from the same file. Both are taken in turn, so that a busy machine hits them alike, and the ratio
is one of medians. The exit code says whether the bar holds. With --steps: who asked DuckDB for what took how long.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import duckdb
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.data import ADULT_COLUMNS, adult_folder
from benchmarks.timing import interleaved
from sqlpriv.core.sqltext import file_literal
from sqlpriv.methods import METHODS
from sqlpriv.methods.sdgs.classes import SampleCounts
from sqlpriv.methods.sdgs.plan import SdgsPlan
from sqlpriv.methods.sdgs.write import draw
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import planned

BAR = 15.0
LEVELS = (0, 3, 0, 1, 2, 1, 1, 1, 0)
BETA = 0.1
MOST_STEPS = 14
screen = Console()


def policy_text(source: str) -> str:
    """A policy for Adult by the hierarchies beside it."""
    columns = "\n".join(
        f'{c} = {{ role = "quasi-identifier", hierarchy = "{adult_folder() / f"adult_hierarchy_{c}.csv"}" }}'
        for c in ADULT_COLUMNS
    )
    node = ", ".join(f"{c} = {level}" for c, level in zip(ADULT_COLUMNS, LEVELS, strict=True))
    return (
        f"[table]\n{source}\n[columns]\n{columns}\n"
        f'[release]\nmethod = "sdgs"\nepsilon = 2.0\ndelta = 1e-6\nbeta = {BETA}\nnode = {{ {node} }}\n'
    )


def sample_once(folder: Path, source: str) -> SampleCounts:
    """From the text of the policy to what would be written."""
    with planned(parse_policy(policy_text(source), folder, METHODS)) as plan:
        assert isinstance(plan, SdgsPlan)
        return draw(plan, "a prefix for benchmarks")[1][0]


def floor(relation: str, database: Path | None) -> None:
    """One raw GROUP BY of the nine columns."""
    listed = ", ".join(f'"{c}"' for c in ADULT_COLUMNS)
    with duckdb.connect(str(database) if database else ":memory:", read_only=database is not None) as con:
        counted = f"SELECT {listed}, count(*) AS n FROM {relation} GROUP BY ALL"
        con.execute(f"CREATE TEMP TABLE counted AS {counted}").fetchall()


def print_steps(folder: Path, source: str) -> None:
    """Which function waited for DuckDB, and how long."""
    profile = cProfile.Profile()
    profile.runcall(sample_once, folder, source)
    found = pstats.Stats(profile)
    table = Table("function", "calls", "seconds", title="one run, step by step")
    for (file, _, name), (calls, _, _, seconds, callers) in sorted(
        found.stats.items(),  # type: ignore[attr-defined]
        key=lambda item: -item[1][3],
    ):
        if Path(file).name == "engine.py" and name == "fetch":
            for (of, _, who), (times, *_, spent) in sorted(callers.items(), key=lambda c: -c[1][-1])[:MOST_STEPS]:
                table.add_row(f"{Path(of).stem}.{who}", str(times), f"{spent:.4f}")
            table.add_row("all of DuckDB", str(calls), f"{seconds:.4f}")
    table.add_row("in all", "", f"{found.total_tt:.4f}")  # type: ignore[attr-defined]
    screen.print(table)


def main(
    runs: Annotated[int, typer.Option(help="Repetitions.")] = 9,
    show_steps: Annotated[bool, typer.Option("--steps", help="Also where the time goes.")] = False,
) -> None:
    """Measure sampling, generalizing and suppressing."""
    screen.print(f"DuckDB {duckdb.__version__}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", highlight=False)
    file = adult_folder() / "adult.csv"
    holds = True
    with tempfile.TemporaryDirectory(prefix="sqlpriv-") as name:
        folder = Path(name)
        with duckdb.connect(str(folder / "adult.duckdb")) as con:
            con.execute(f"CREATE TABLE adult AS FROM read_csv({file_literal(file)}, delim = ';')").fetchall()
        table = Table("source", "sampled", "published", "seconds", "one GROUP BY", "ratio", "bar")
        for label, source, relation, database in (
            ("database", 'database = "adult.duckdb"\nsource = "adult"', "adult", folder / "adult.duckdb"),
            ("csv", f'source = "{file}"\ndelimiter = ";"', f"read_csv({file_literal(file)}, delim = ';')", None),
        ):
            sampled = sample_once(folder, source)
            ours, raw = interleaved(
                runs,
                lambda s=source: sample_once(folder, s),  # type: ignore[misc]
                lambda r=relation, d=database: floor(r, d),  # type: ignore[misc]
            )
            ratio = ours.median / raw.median
            holds = holds and ratio <= BAR
            table.add_row(
                label, f"{sampled.seen:,}", f"{sampled.shown:,}", f"{ours.median:.3f}", f"{raw.median:.3f}",
                f"{ratio:.1f}", f"{BAR:g}",
            )  # fmt: skip
            if show_steps:
                print_steps(folder, source)
    screen.print(table)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    typer.run(main)
