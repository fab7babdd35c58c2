"""How long one waits before sqlpriv does anything, against what one waits for anyway.

    python -m benchmarks.startup [--base PYTHON]

Each line is a ratio of processor seconds in fresh processes that take turns, the median of 7, and has a bar:

(a) `sqlpriv --help` against the --help of a Typer app with two commands;
(b) `import sqlpriv` against `import duckdb`;
(c) `sqlpriv check` of two rows against a process that imports DuckDB and rich and runs one query;
(d) `sqlpriv.load` of all macros against what it took before they were copied from a prepared file. With --base
    that is measured: PYTHON is the interpreter of an installation from then. Without, it is BEFORE times the time
    DuckDB takes to read a fixed text, which is what most of it was spent on;
(e) a process that publishes the demo's table of 24,000 rows with noise against the same publish once more in a process
    in which all is loaded and prepared already.

Processor seconds and not those of the clock: other programs on the machine change them less.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

RUNS = 7
# How often DuckDB 2.0.0 could have read the text of REFERENCE while load() of commit 8aa72f6 created the macros, with
# the helpers inlined beforehand: measured by this module with --base, which prints it.
BEFORE = 4.6

TYPER_APP = """
import typer

app = typer.Typer()


@app.command()
def one(name: str) -> None:
    "The first command."


@app.command()
def two(name: str) -> None:
    "The second command."


app()
"""
IMPORTED = "import duckdb, rich.console; duckdb.sql('select 1').fetchall()"
# `macros` is where the helpers are inlined, today or before; load is timed alone.
LOADED = """
import importlib, time, duckdb, sqlpriv
load = sqlpriv.load
for name in ("sqlpriv.catalog", "sqlpriv.macros.catalog"):
    try:
        list(importlib.import_module(name).macros().values())
    except ImportError:
        pass
con = duckdb.connect()
con.execute("SELECT 1").fetchall()
start = time.process_time()
load(con)
print(time.process_time() - start)
"""
# Prints the processor seconds of a publish: of the whole process, or of the second one in it.
PUBLISHED = """
import sys, time
from pathlib import Path
import sqlpriv

def publish(number):
    output, ledger = Path(f"out{number}.duckdb"), Path(f"ledger{number}")
    for file in (output, ledger):
        file.unlink(missing_ok=True)
    sqlpriv.publish("noise.toml", output=output, ledger_file=ledger)

start = 0.0
publish(1)
if sys.argv[1] == "again":
    start = time.process_time()
    publish(2)
print(time.process_time() - start)
"""
REFERENCE = """
import time, duckdb
con = duckdb.connect()
con.execute("SELECT 1").fetchall()
text = "SELECT " + ", ".join(["concat(CASE WHEN a = 1 THEN b ELSE c END, 'x')"] * 2000)
start = time.process_time()
con.extract_statements(text)
print(time.process_time() - start)
"""


def main(arguments: list[str] | None = None) -> int:
    """Measure all five; the exit code says whether every bar holds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup")
    parser.add_argument("--base", metavar="PYTHON", help="the interpreter of an older installation of sqlpriv")
    parser.add_argument("--runs", type=int, default=RUNS)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        return 0 if all(_lines(Path(folder), chosen.base, chosen.runs)) else 1


def _lines(folder: Path, base: str | None, runs: int) -> list[bool]:
    (folder / "app.py").write_text(TYPER_APP)
    (folder / "tiny.csv").write_text("a,b\n1,x\n1,y\n")
    held = [
        _compared("sqlpriv --help / a Typer app's", 1.3, runs,
                  _process(folder, "-m", "sqlpriv", "--help"),
                  _process(folder, "app.py", "--help")),
        _compared("import sqlpriv / import duckdb", 1.3, runs,
                  _process(folder, "-c", "import sqlpriv"),
                  _process(folder, "-c", "import duckdb")),
        _compared("sqlpriv check / one query", 2.5, runs,
                  _process(folder, "-m", "sqlpriv", "check", "tiny.csv", "--qi", "a"),
                  _process(folder, "-c", IMPORTED)),
        _loading(folder, base, runs),
        _compared("publish / publish once more", 3.0, runs,
                  _printed(_demo(folder), sys.executable, PUBLISHED, arguments=["first"]),
                  _printed(folder, sys.executable, PUBLISHED, arguments=["again"])),
    ]  # fmt: skip
    first = _printed(folder, sys.executable, LOADED, {"XDG_CACHE_HOME": str(folder / "cache")})()
    print(f"  load with nothing prepared yet, once: {first:.3f} s")
    return held


def _demo(folder: Path) -> Path:
    """The folder, with the demo's table and its policy."""
    from sqlpriv.demo import hospital
    from sqlpriv.demo.story import NOISE

    hospital.write(folder)
    (folder / "noise.toml").write_text(NOISE, encoding="utf-8")
    return folder


def _loading(folder: Path, base: str | None, runs: int) -> bool:
    ours, reading = _printed(folder, sys.executable, LOADED), _printed(folder, sys.executable, REFERENCE)
    if base is None:
        return _compared(f"load / load before, {BEFORE} readings", 0.5, runs, ours, lambda: BEFORE * reading())
    seconds = _in_turn(runs, ours, _printed(folder, base, LOADED), reading)
    print(f"  load before was {seconds[1] / seconds[2]:.1f} readings of the reference, {seconds[2]:.4f} s each")
    return _said("load / load before, as measured", 0.5, seconds[0], seconds[1])


def _compared(name: str, bar: float, runs: int, ours: Callable[[], float], other: Callable[[], float]) -> bool:
    return _said(name, bar, *_in_turn(runs, ours, other))


def _said(name: str, bar: float, ours: float, other: float) -> bool:
    holds = ours <= bar * other
    verdict = "holds" if holds else "DOES NOT HOLD"
    print(f"{name}: {ours:.3f} s / {other:.3f} s = {ours / other:.2f} (bar {bar}): {verdict}", flush=True)
    return holds


def _in_turn(runs: int, *measures: Callable[[], float]) -> list[float]:
    """The median of what each measure says; they take turns, after a first one each that does not count."""
    rounds = [[measure() for measure in measures] for _ in range(runs + 1)]
    return [statistics.median(column) for column in zip(*rounds[1:], strict=True)]


def _process(folder: Path, *arguments: str) -> Callable[[], float]:
    """Processor seconds of a whole process, in a folder from which nothing is imported by accident."""

    def measure() -> float:
        before = _children()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=folder, env=_usual())
        return _children() - before

    return measure


def _printed(
    folder: Path,
    python: str,
    program: str,
    changed: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
) -> Callable[[], float]:
    """The seconds that a program prints, with some variables of its environment changed."""

    def measure() -> float:
        environment = {**_usual(), **(changed or {})}
        asked = [python, "-c", program, *arguments]
        run = subprocess.run(asked, check=True, capture_output=True, text=True, cwd=folder, env=environment)
        return float(run.stdout.split()[-1])  # DuckDB takes -c for a person, and shows them its progress

    return measure


def _usual() -> dict[str, str]:
    """The environment of this process, but with bytecode kept, as it is where people work."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
