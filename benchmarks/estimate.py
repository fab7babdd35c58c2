"""What asking and publishing cost, against what cannot be done without: `python -m benchmarks.estimate` (see --help).

    rewriting    a query, against sqlglot's own parse + qualify + generate of the same query; CPU time, since both are
                 Python in one thread
    n_D          of a predicate over three attributes of Adult, against the raw count of their three domain tables
    answer       open_release(...).sql(query).fetchall(), against the same query directly on the rows of the view
    small        the same on a view of 30,000 rows, where most of it is planning
    view         reading a question that the release keeps as a view, against its rewritten SQL run by hand
    ask          priv.ask in a connection of one's own, against release.sql, for a question that was asked before
    publishing   1,000,000 rows of a domain of 10^9 tuples, against one SELECT DISTINCT of the coin over as many rows as
                 are written (39 million)

Each is a ratio of two measurements in the same run, taken in turn. The exit code says whether every bar holds.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import duckdb
import sqlglot
import typer
from rich.console import Console
from rich.table import Table
from sqlglot.errors import OptimizeError
from sqlglot.optimizer.qualify import qualify

from benchmarks import estimate_inside
from benchmarks.adult_releases import EXCLUSIVE, SLOTS, Variant, make_release
from benchmarks.domain_sums import adult_domain, measure_predicates
from benchmarks.estimate_queries import COLUMNS, OF_ADULT, REGIONS, TYPICAL, described, fixture_queries
from benchmarks.timing import Result, interleaved
from sqlpriv.core.engine import STORAGE
from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.core.sqltext import file_literal, literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import open_release, publish
from sqlpriv.rewrite.query import rewrite

BARS = {"rewriting": 5.0, "n_D": 3.0, "answer": 4.0, "small": 6.0, "view": 1.5, "ask": 1.3, "publishing": 2.0}
WHAT = {
    "rewriting": "rewriting / sqlglot's parse + qualify + generate, median",
    "n_D": "n_D of three attributes / raw join-count, worst",
    "answer": "whole answer / raw query on the view, median",
    "small": "whole answer / raw query on a view of 30,000 rows, median",
    "view": "stored view / its rewritten query by hand, median",
    "ask": "priv.ask / release.sql, asked before, median",
    "publishing": "publishing / SELECT DISTINCT of as many coins",
}
SCHEMA: dict[str, object] = {"people": COLUMNS, "regions": REGIONS}
MILLION = 1_000_000
ATTRIBUTES = 9  # of 10 values each; four of them are texts

screen = Console()


@dataclass(frozen=True)
class Ratios:
    """The ratios of one part; the bar is about one of them."""

    judged: float
    lowest: float
    highest: float


def measure_rewriting(runs: int) -> Ratios:
    """Over the fixtures of the tests and typical queries; what either side refuses is left out, and counted."""
    release = described()
    found: list[float] = []
    ours_ms: list[float] = []
    peer_ms: list[float] = []
    dearest, refused = (0.0, ""), 0
    for query in [*fixture_queries(), *TYPICAL]:
        try:
            rewrite(query, release)
            _by_sqlglot(query)
        except (UnsupportedSQLError, OptimizeError):
            refused += 1
            continue
        ours, peer = interleaved(
            runs,
            lambda query=query: rewrite(query, release),  # type: ignore[misc]
            lambda query=query: _by_sqlglot(query),  # type: ignore[misc]
            clock=time.process_time,
        )
        found.append(ours.median / peer.median)
        ours_ms.append(1e3 * ours.median)
        peer_ms.append(1e3 * peer.median)
        dearest = max(dearest, (found[-1], query))
    screen.print(
        f"rewriting {len(found)} queries ({refused} refused): {statistics.median(ours_ms):.2f} ms, sqlglot "
        f"{statistics.median(peer_ms):.2f} ms; dearest: {dearest[0]:.2f}x, {dearest[1]}",
        highlight=False,
    )
    return _ratios(found, statistics.median)


def _by_sqlglot(query: str) -> str:
    tree = sqlglot.parse_one(query, dialect="duckdb")
    return qualify(tree, schema=SCHEMA, dialect="duckdb").sql(dialect="duckdb")


def measure_domain_sums() -> Ratios:
    """As benchmarks.domain_sums measures them, by itself with more figures."""
    with duckdb.connect(config={"threads": 2}) as con:
        ratios = measure_predicates(con, adult_domain(con))
    return _ratios(ratios, max)


def measure_answers(runs: int) -> Ratios:
    """Over a release of Adult as sqlpriv publishes it by default, with intervals."""
    found = []
    table = Table("query", "raw ms", "answer ms", "ratio", title="Adult, the exclusive default, 45 slots")
    with tempfile.TemporaryDirectory(prefix="sqlpriv-") as folder:
        path = make_release(Variant(SLOTS, EXCLUSIVE), Path(folder), 1)
        with duckdb.connect() as con, open_release(path) as release:
            con.execute(f"ATTACH {file_literal(path)} AS file (READ_ONLY)").fetchall()
            con.execute("CREATE VIEW adult AS FROM file.sqlpriv_release.published").fetchall()
            rows = con.execute("SELECT count(*) FROM adult").fetchall()[0][0]
            for query in OF_ADULT:
                ours, raw = interleaved(
                    runs,
                    lambda query=query: release.sql(query).fetchall(),  # type: ignore[misc]
                    lambda query=query: con.execute(query).fetchall(),  # type: ignore[misc]
                )
                found.append(ours.median / raw.median)
                table.add_row(query, f"{1e3 * raw.median:.1f}", f"{1e3 * ours.median:.1f}", f"{found[-1]:.2f}")
    screen.print(table)
    screen.print(f"a view of {rows:,} rows")
    return _ratios(found, statistics.median)


@cache
def _inside(runs: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory(prefix="sqlpriv-") as folder:
        return estimate_inside.measure(Path(folder), runs, screen)


def measure_inside(part: str, runs: int) -> Ratios:
    """Of a view of 30,000 rows; all three parts are measured in the same run."""
    return _ratios(_inside(runs)[part], statistics.median)


def measure_publishing(rows: int) -> Ratios:
    """Publish and draw the coins in turn, twice; CPU times are shown too, since one run takes a minute or more."""
    with tempfile.TemporaryDirectory(prefix="sqlpriv-") as folder:
        _make_people(rows, Path(folder))
        published, ours = _timed(lambda: _publish(rows, Path(folder)))
        written = int(published["rows"])
        _, before = _timed(lambda: _distinct_coins(written))
        (Path(folder) / "people-release.duckdb").unlink()
        _, again = _timed(lambda: _publish(rows, Path(folder)))
        _, after = _timed(lambda: _distinct_coins(written))
    walls = [ours[0] / before[0], again[0] / after[0]]
    cpu = (ours[1] + again[1]) / (before[1] + after[1])
    screen.print(
        f"publishing {rows:,} rows of {published['m']:,} tuples, {written:,} rows written: "
        f"{ours[0]:.1f} and {again[0]:.1f} s, {written / ours[0] / 1e6:.2f} million rows/s; distinct coins "
        f"{before[0]:.1f} and {after[0]:.1f} s; ratio of the CPU times {cpu:.2f}",
        highlight=False,
    )
    return _ratios(walls, statistics.mean)


def _attributes(rows: int) -> range:
    """As many as make about 1000 tuples for each row, so that the prior bound stays the same."""
    return range(min(ATTRIBUTES, max(len(str(rows)) + 2, 3)))


def _make_people(rows: int, folder: Path) -> None:
    """The private table: random rows, every other column a text."""
    digit = "CAST(hash(i, {}) % 10 AS INTEGER)"
    listed = ", ".join(
        f"{f'chr(97 + {digit.format(a)})' if a % 2 else digit.format(a)} AS a{a}" for a in _attributes(rows)
    )
    with duckdb.connect(str(folder / "people.duckdb"), config={"storage_compatibility_version": STORAGE}) as con:
        con.execute(f"CREATE TABLE people AS SELECT {listed} FROM range({rows}) AS r(i)").fetchall()


def _publish(rows: int, folder: Path) -> dict[str, float]:
    domains = ('"range:0..9"', "[{}]".format(", ".join(f'"{letter}"' for letter in "abcdefghij")))
    columns = "\n".join(f'a{a} = {{ role = "published", domain = {domains[a % 2]} }}' for a in _attributes(rows))
    policy = parse_policy(
        f'[table]\nsource = "people"\ndatabase = "people.duckdb"\n[columns]\n{columns}\n[release]\n'
        f'method = "alpha_beta"\nk = 10\ngamma = 0.2\nn_public = {rows}\nduplicates = "distinct"\n'
        'uncovered = "a benchmark: nobody is in this table"\n',
        folder,
        METHODS,
    )
    ledger = folder / "ledger"
    for file in (ledger, folder / "people-release.duckdb"):
        file.unlink(missing_ok=True)
    found: dict[str, float] = publish(policy, folder / "people-release.duckdb", None, ledger).facts.content
    return found


def _distinct_coins(rows: int) -> None:
    share = inlined(f"_coin_share(_coin_bits({literal('0' * 64)}, CAST(i AS VARCHAR)))")
    with duckdb.connect() as con:
        con.execute(f"SELECT count(*) FROM (SELECT DISTINCT {share} FROM range({rows}) AS r(i))").fetchall()


def _timed(work: Callable[[], Result]) -> tuple[Result, tuple[float, float]]:
    """The result, and the seconds it took by the wall and of the processors."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


def _ratios(found: Sequence[float], judge: Callable[[Sequence[float]], float]) -> Ratios:
    return Ratios(judge(found), min(found), max(found))


def main(
    rows: Annotated[int, typer.Option(help="Rows to publish: the bar is about 1000000.")] = MILLION,
    runs: Annotated[int, typer.Option(help="Repetitions of what takes milliseconds.")] = 30,
    only: Annotated[str, typer.Option(help=f"One of {', '.join(BARS)}.")] = "",
) -> None:
    """Measure everything, or one part."""
    parts: dict[str, Callable[[], Ratios]] = {
        "rewriting": lambda: measure_rewriting(runs),
        "n_D": measure_domain_sums,
        "answer": lambda: measure_answers(runs),
        "small": lambda: measure_inside("small", runs),
        "view": lambda: measure_inside("view", runs),
        "ask": lambda: measure_inside("ask", runs),
        "publishing": lambda: measure_publishing(rows),
    }
    screen.print(f"DuckDB {duckdb.__version__}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", highlight=False)
    found = {name: part() for name, part in parts.items() if only in ("", name)}
    table = Table("ratio", "measured", "range", "bar")
    for name, ratios in found.items():
        table.add_row(
            WHAT[name], f"{ratios.judged:.2f}", f"{ratios.lowest:.2f} to {ratios.highest:.2f}", f"{BARS[name]:g}"
        )
    screen.print(table)
    if rows < MILLION and "publishing" in found:
        del found["publishing"]
        screen.print(f"publishing is judged from {MILLION:,} rows on: installing the macros takes seconds in any case")
    raise typer.Exit(any(ratios.judged > BARS[name] for name, ratios in found.items()))


if __name__ == "__main__":
    typer.run(main)
