"""What publishing a table with equal rows costs: `python -m benchmarks.noisy_counts` (see --help).

    counts   ACS (2.27 million rows, five columns, d = 0.1), by the mechanism that makes the smaller error
    kept     the same with a p that is given, so that rows are kept at random
    slots    the same for the first view of a sequence, with 20,000 slots a tuple

Each beside the floor: one raw GROUP BY of the five columns, and one sort of the rows by all of them, from the same
file. Both are taken in turn, so that a busy machine hits them alike, and the ratio is one of medians. The exit code
says whether the bar of the counts holds. With --steps: who had asked DuckDB for what took how long.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import tempfile
from pathlib import Path
from typing import Annotated

import duckdb
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.data import acs_file
from benchmarks.timing import Sample, interleaved
from sqlpriv.core.sqltext import file_literal
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import Policy, parse_policy
from sqlpriv.publishing import publish

BAR = 12.0
COLUMNS = {
    "age": '"range:17..99"',
    "marital": '"range:1..5"',
    "race": '"range:1..9"',
    "sex": '"range:1..2"',
    "salary_class": '["<=50K", ">50K"]',
}
COUNTS = 'method = "noisy_counts"\nd = 0.1\ngamma = 0.3\nn_public = 2300000\n'
PARTS = {
    "counts": COUNTS,
    "kept": COUNTS + "p = 0.5\n",
    "slots": COUNTS.replace("noisy_counts", "alpha_beta") + 'adversary = "independent"\nviews = 2\nslots = 20000\n',
}
MOST_STEPS = 12
KEY = b"a key for benchmarks, not a secret"

screen = Console()


def acs_policy(folder: Path, release: str) -> Policy:
    """A policy for ACS, which has to be in the folder; `release` is the part about the noise."""
    columns = "\n".join(f'{name} = {{ role = "published", domain = {domain} }}' for name, domain in COLUMNS.items())
    text = f'[table]\nsource = "acs.parquet"\n[columns]\n{columns}\n[release]\n{release}uncovered = "a benchmark"\n'
    return parse_policy(text, folder, METHODS)


def publish_once(folder: Path, release: str) -> int:
    """Publish under a fresh ledger, with nothing there from before; the number of rows that were written."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="run-") as run:
        (folder / "key").write_bytes(KEY)
        found = publish(
            acs_policy(folder, release), Path(run) / "acs.duckdb", folder / "key", Path(run) / "ledger", force=True
        )
    return found.written.made.rows


def floor(file: Path) -> None:
    """One raw GROUP BY of the rows and one sort."""
    with duckdb.connect() as con:
        con.execute(
            f"CREATE TABLE counted AS SELECT *, count(*) AS n FROM {file_literal(file)} GROUP BY ALL"
        ).fetchall()
        con.execute(f"CREATE TABLE sorted AS FROM {file_literal(file)} ORDER BY ALL").fetchall()


def steps(folder: Path, release: str) -> list[tuple[str, int, float]]:
    """Which function waited for DuckDB, how often and how many seconds, the longest first; at last the rest."""
    profile = cProfile.Profile()
    profile.runcall(publish_once, folder, release)
    found = pstats.Stats(profile)
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, dict[tuple[str, int, str], tuple[int, ...]]]]
    stats = found.stats  # type: ignore[attr-defined]
    waited: list[tuple[str, int, float]] = []
    for (file, _, name), (*_, callers) in stats.items():
        if Path(file).name == "engine.py" and name == "fetch":
            waited = [(f"{Path(of).stem}.{who}", calls, s) for (of, _, who), (calls, *_, s) in callers.items()]
    waited.sort(key=lambda step: -step[2])
    total = float(found.total_tt)  # type: ignore[attr-defined]
    shown = waited[:MOST_STEPS]
    rest = [("all else", sum(c for _, c, _ in waited[MOST_STEPS:]), total - sum(s for *_, s in shown))]
    return [*shown, *rest, ("in all", sum(c for _, c, _ in waited), total)]


def print_steps(part: str, found: list[tuple[str, int, float]], one_floor: float) -> None:
    """One table a part."""
    table = Table("waited for DuckDB", "queries", "seconds", "/ floor", title=f"{part}: one run, step by step")
    for who, calls, seconds in found:
        table.add_row(who, str(calls), f"{seconds:.3f}", f"{seconds / one_floor:.2f}")
    screen.print(table)


def main(
    only: Annotated[str, typer.Option(help=f"One of {', '.join(PARTS)}.")] = "",
    runs: Annotated[int, typer.Option(help="Repetitions.")] = 5,
    show_steps: Annotated[bool, typer.Option("--steps", help="Also where the time goes.")] = False,
) -> None:
    """Measure publishing tables with equal rows."""
    screen.print(f"DuckDB {duckdb.__version__}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", highlight=False)
    file = acs_file()
    found: dict[str, tuple[int, Sample, Sample]] = {}
    with tempfile.TemporaryDirectory(prefix="sqlpriv-") as name:
        folder = Path(name)
        (folder / "acs.parquet").symlink_to(file)
        for part, release in PARTS.items():
            if only in ("", part):
                rows = publish_once(folder, release)
                ours, raw = interleaved(runs, lambda r=release: publish_once(folder, r), lambda: floor(file))  # type: ignore[misc]
                found[part] = (rows, ours, raw)
                if show_steps:
                    print_steps(part, steps(folder, release), raw.median)
    table = Table("part", "rows written", "seconds", "floor", "ratio", "bar")
    for part, (rows, ours, raw) in found.items():
        bar = f"{BAR:g}" if part == "counts" else ""
        ratio = f"{ours.median / raw.median:.2f}"
        table.add_row(part, f"{rows:,}", f"{ours.median:.2f}", f"{raw.median:.2f}", ratio, bar)
    screen.print(table)
    raise typer.Exit("counts" in found and found["counts"][1].median > BAR * found["counts"][2].median)


if __name__ == "__main__":
    typer.run(main)
