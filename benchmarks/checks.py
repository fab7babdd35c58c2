"""How much does `priv.report` cost? Run `python -m benchmarks.checks` (see --help).

For each number of rows, in one connection and with alternating repetitions:

- *floor*: one raw `SELECT qis, sensitive, count(*) ... GROUP BY qis, sensitive`, which no check
  can do without;
- *report*: `FROM priv.report(...)`, every model at once.

Both are materialised by CREATE OR REPLACE TEMP TABLE. Of the ways to consume the 78,840 rows of
the floor it is the cheapest (Arrow and Python rows cost more), so it flatters the report least.
The peak memory is that of a fresh process which opens the table in a file under a memory_limit of
1GB and runs the report. Last, pycanon checks five models on the same rows as a pandas DataFrame,
each once.
"""

import contextlib
import importlib
import importlib.util
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer
from rich.console import Console
from rich.table import Table

import sqlpriv
from benchmarks.timing import in_fresh_process, interleaved, peak_rss, stopwatch

QIS = {"zip": 73, "age_band": 9, "nationality": 6, "sex": 2}
SENSITIVE = "diagnosis"
VALUES = {**QIS, SENSITIVE: 10}
SKEW = 1.3  # the rarest of the 78,840 combinations is still expected 34 times in 10 million rows
MILLION = 1_000_000
GIB = 1024**3
MEMORY_LIMIT = "1GB"
RATIO_BARS = {MILLION: 3.5, 10 * MILLION: 2.0}  # report / floor, at most
MEMORY_BARS = {10 * MILLION: GIB}  # peak bytes of the whole process, less than
PEER_BARS = {MILLION: 100.0}  # pycanon / report, at least
PEER_MODELS = (
    "k_anonymity",
    "alpha_k_anonymity",
    "l_diversity",
    "entropy_l_diversity",
    "t_closeness",
)

COLUMNS = ", ".join([*QIS, SENSITIVE])
FLOOR = f"SELECT {COLUMNS}, count(*) AS n FROM t GROUP BY {COLUMNS}"
ARGUMENTS = f"'t', {list(QIS)}, '{SENSITIVE}'"
REPORT = f"FROM priv.report({ARGUMENTS})"

screen = Console()
progress = Console(stderr=True)


@dataclass(frozen=True)
class Bar:
    """A measured value beside what it has to reach; without a limit it is only information."""

    name: str
    value: float
    limit: float | None
    at_most: bool = True
    unit: str = "x"

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return "no bar"
        met = self.value <= self.limit if self.at_most else self.value >= self.limit
        return "PASS" if met else "FAIL"

    def as_dict(self) -> dict[str, object]:
        return {**asdict(self), "verdict": self.verdict}


# -------------------- the table


def column_sql(name: str, number: int, seed: int, text: bool) -> str:
    """A column of `VALUES[name]` values, drawn by a hash of the row number: always the same."""
    coin = f"hash(i * {len(VALUES)} + {number}, {seed}) / 18446744073709551616.0::DOUBLE"
    value = f"CAST(floor({VALUES[name]} * pow({coin}, {SKEW})) AS INTEGER)"
    return f"'{name} ' || lpad({value}::VARCHAR, 2, '0') AS {name}" if text else f"{value} AS {name}"


def connect(path: str = ":memory:", **config: str) -> duckdb.DuckDBPyConnection:
    """A connection without DuckDB's progress bar, which 2.0 would print into the JSON."""
    con = duckdb.connect(path, config=dict(config))
    con.execute("SET enable_progress_bar = false").fetchall()
    return con


def make_table(con: duckdb.DuckDBPyConnection, rows: int, seed: int, text: bool) -> None:
    columns = ", ".join(column_sql(name, at, seed, text) for at, name in enumerate(VALUES))
    con.execute(f"CREATE TABLE t AS SELECT {columns} FROM range({rows}) AS r(i)").fetchall()


def materialise(con: duckdb.DuckDBPyConnection, query: str) -> Callable[[], object]:
    """The work of running a query to its end inside the database."""
    return lambda: con.execute(f"CREATE OR REPLACE TEMP TABLE result AS {query}").fetchall()


# -------------------- the memory


def build_file(path: str, rows: int, seed: int, text: bool) -> None:
    with connect(path) as con:
        make_table(con, rows, seed, text)


def peak_of_child(path: str, with_report: bool) -> int:
    """Runs in a fresh process: open the file, load the macros, perhaps run the report."""
    with connect(path, memory_limit=MEMORY_LIMIT) as con:
        sqlpriv.load(con)
        if with_report:
            con.execute(REPORT).fetchall()
        return peak_rss()


def measure_memory(rows: int, seed: int, text: bool) -> tuple[int, int]:
    """Peak bytes of a process that opens the table, without and with running the report."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.duckdb")
        in_fresh_process(build_file, path, rows, seed, text)
        idle = in_fresh_process(peak_of_child, path, False)
        return idle, in_fresh_process(peak_of_child, path, True)


# -------------------- the peer


def peer_value(model: str, data: Any) -> Any:
    anonymity = importlib.import_module("pycanon.anonymity")
    sensitive = [] if model == "k_anonymity" else [[SENSITIVE]]
    return getattr(anonymity, model)(data, list(QIS), *sensitive)


def our_values(con: duckdb.DuckDBPyConnection, text: bool) -> dict[str, tuple[float, ...]]:
    """The same five models from the macros. Numbers have an ordered distance in pycanon."""
    distance = "t_closeness" if text else "t_closeness_ordered"
    alpha, k = first_row(con, f"SELECT alpha, k FROM priv.alpha_k_anonymity({ARGUMENTS})")
    distinct, entropy = first_row(con, f"SELECT distinct_l, entropy_l FROM priv.l_diversity({ARGUMENTS})")
    (t,) = first_row(con, f"SELECT t FROM priv.{distance}({ARGUMENTS})")
    # pycanon cuts the entropy l down to an integer
    return dict(zip(PEER_MODELS, [(k,), (alpha, k), (distinct,), (int(entropy),), (t,)], strict=True))


def first_row(con: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    return con.execute(query).fetchall()[0]


def agrees(ours: tuple[float, ...], theirs: Any) -> bool:
    peers = theirs if isinstance(theirs, tuple) else (theirs,)
    return all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(ours, peers, strict=True))


def measure_peer(con: duckdb.DuckDBPyConnection, text: bool) -> list[dict[str, object]]:
    """pycanon on the rows of t: the seconds each model took, and whether our value is the same."""
    data, ours = con.table("t").df(), our_values(con, text)
    measured: list[dict[str, object]] = []
    for model in PEER_MODELS:
        with progress.status(f"pycanon {model} on {len(data):,} rows"):
            seconds, value = stopwatch(partial(peer_value, model, data))
        progress.print(f"pycanon {model}: {seconds:.1f} s")
        same = agrees(ours[model], value)
        measured.append({"model": model, "seconds": seconds, "agrees": same})
    return measured


# -------------------- the results


def measure(rows: int, runs: int, seed: int, text: bool, peer: bool) -> dict[str, Any]:
    """Everything about one number of rows, ready for JSON."""
    with connect() as con:
        progress.print(f"{rows:,} rows: making the table")
        make_table(con, rows, seed, text)
        sqlpriv.load(con)
        progress.print(f"{rows:,} rows: {runs} alternating runs of floor and report")
        floor, report = interleaved(runs, materialise(con, FLOOR), materialise(con, REPORT))
        peers = measure_peer(con, text) if peer else []
    progress.print(f"{rows:,} rows: peak memory in fresh processes")
    idle, peak = measure_memory(rows, seed, text)
    bars = [
        Bar("report / floor, median", report.median / floor.median, RATIO_BARS.get(rows)),
        Bar("report / floor, fastest", report.minimum / floor.minimum, None),
        Bar("peak memory of the process", peak / GIB, memory_limit(rows), unit="GiB"),
    ]
    if peers:
        ratio = sum(float(str(each["seconds"])) for each in peers) / report.median
        bars.append(Bar("pycanon / report", ratio, PEER_BARS.get(rows), at_most=False))
    return {
        "rows": rows,
        "floor_seconds": floor.seconds,
        "report_seconds": report.seconds,
        "idle_bytes": idle,
        "peak_bytes": peak,
        "pycanon": peers,
        "bars": [bar.as_dict() for bar in bars],
    }


def memory_limit(rows: int) -> float | None:
    return MEMORY_BARS[rows] / GIB if rows in MEMORY_BARS else None


def environment(text: bool, runs: int, seed: int) -> dict[str, object]:
    with connect() as con:
        (threads,) = first_row(con, "SELECT current_setting('threads')")
    return {
        "sqlpriv": sqlpriv.__version__,
        "duckdb": duckdb.__version__,
        "threads": threads,
        "columns": "text" if text else "integer",
        "runs": runs,
        "seed": seed,
    }


def bars_table(results: list[dict[str, Any]]) -> Table:
    table = Table(title="priv.report against its floor and against pycanon")
    for heading in ("rows", "measured", "value", "bar", ""):
        table.add_column(heading, justify="right" if heading in ("rows", "value") else "left")
    for result in results:
        for bar in result["bars"]:
            limit = "" if bar["limit"] is None else f"{'<=' if bar['at_most'] else '>='} {bar['limit']:g}"
            colour = {"PASS": "green", "FAIL": "bold red"}.get(bar["verdict"], "dim")
            value = f"{bar['value']:.2f} {bar['unit']}"
            verdict = f"[{colour}]{bar['verdict']}[/]"
            table.add_row(f"{result['rows']:,}", bar["name"], value, limit, verdict)
        table.add_section()
    return table


def times_table(results: list[dict[str, Any]]) -> Table:
    table = Table(title="Seconds")
    for heading in ("rows", "what", "median", "fastest"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for result in results:
        rows = f"{result['rows']:,}"
        for name in ("floor", "report"):
            seconds = sorted(result[f"{name}_seconds"])
            table.add_row(rows, name, f"{seconds[len(seconds) // 2]:.4f}", f"{seconds[0]:.4f}")
        for each in result["pycanon"]:
            remark = "same value" if each["agrees"] else "[bold red]another value[/]"
            table.add_row(rows, f"pycanon {each['model']} ({remark})", f"{each['seconds']:.1f}", "")
        table.add_section()
    return table


def show(facts: dict[str, object], results: list[dict[str, Any]]) -> None:
    screen.print(", ".join(f"{name} {value}" for name, value in facts.items()))
    screen.print(times_table(results))
    for result in results:
        idle, peak = result["idle_bytes"] / 2**20, result["peak_bytes"] / 2**20
        screen.print(
            f"{result['rows']:,} rows: a process peaks at {idle:.0f} MiB with the macros loaded, "
            f"at {peak:.0f} MiB with the report run"
        )
    screen.print(bars_table(results))


@contextlib.contextmanager
def quiet(as_json: bool) -> Iterator[None]:
    progress.quiet = as_json
    yield
    progress.quiet = False


def failed(results: list[dict[str, Any]]) -> bool:
    bars = any(bar["verdict"] == "FAIL" for result in results for bar in result["bars"])
    return bars or not all(each["agrees"] for result in results for each in result["pycanon"])


def main(
    *,
    rows: Annotated[list[int] | None, typer.Option(min=1, help="Table size; repeat for several.")] = None,
    pycanon: Annotated[bool, typer.Option(help="Also time pycanon (minutes), on the smallest table.")] = True,
    text: Annotated[bool, typer.Option("--text", help="Text columns instead of integers.")] = False,
    runs: Annotated[int, typer.Option(min=7, help="Repetitions of floor and report.")] = 9,
    seed: Annotated[int, typer.Option(help="Another seed, another table.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only.")] = False,
) -> None:
    """Time priv.report against one raw GROUP BY and against pycanon; exit 1 if a bar is missed."""
    sizes = sorted(rows or RATIO_BARS)
    peer = pycanon and importlib.util.find_spec("pycanon") is not None
    with quiet(as_json):
        if pycanon and not peer:
            progress.print("pycanon is not installed: its part is left out (pip install --no-deps pycanon)")
        results = [measure(size, runs, seed, text, peer and size == sizes[0]) for size in sizes]
    facts = environment(text, runs, seed)
    if as_json:
        typer.echo(json.dumps({**facts, "results": results}, indent=2))
    else:
        show(facts, results)
    raise typer.Exit(1 if failed(results) else 0)


if __name__ == "__main__":
    typer.run(main)
