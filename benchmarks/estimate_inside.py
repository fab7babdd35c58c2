"""Answers where planning is most of the cost: by release.sql, by a stored view and by priv.ask, of 30,000 rows.

In CPU time: each takes milliseconds of one thread, and a machine is seldom idle that long.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.adult_releases import EXCLUSIVE, SLOTS, Variant, make_release
from benchmarks.estimate_queries import OF_ADULT
from benchmarks.timing import interleaved
from sqlpriv import attach
from sqlpriv.core.sqltext import file_literal, literal
from sqlpriv.methods import METHODS
from sqlpriv.publishing import open_release
from sqlpriv.release.file import open_file
from sqlpriv.release.open import OpenRelease
from sqlpriv.release.views import Rewriter, View, make_views, put_views

ROWS = 30_000


def small_release(folder: Path) -> Path:
    """A release of Adult of which a sample of the rows is left: what an answer says does not matter here."""
    path = folder / "small.duckdb"
    shutil.copy(make_release(Variant(SLOTS, EXCLUSIVE), folder, 1), path)
    with duckdb.connect(str(path)) as con:
        sample = f"FROM sqlpriv_release.published USING SAMPLE reservoir({ROWS} ROWS) REPEATABLE (1)"
        con.execute(f"CREATE TABLE sqlpriv_release.sample AS {sample}").fetchall()
        con.execute("DROP TABLE sqlpriv_release.published").fetchall()
        con.execute("ALTER TABLE sqlpriv_release.sample RENAME TO published").fetchall()
    with open_file(path) as file:
        views = [View(f"view_{number}", query) for number, query in enumerate(OF_ADULT)]
        made = make_views(file, Rewriter(METHODS[file.about["method"]], file), views)
    put_views(path, made)
    return path


def measure(folder: Path, runs: int, screen: Console) -> dict[str, list[float]]:
    """The ratios of all queries, by what is compared with what."""
    found: dict[str, list[float]] = {"small": [], "view": [], "ask": []}
    table = Table("query", "raw", "answer", "by hand", "view", "ask", title=f"CPU ms on a view of {ROWS:,} rows")
    with _opened(small_release(folder)) as (raw, own, release):
        for number, query in enumerate(OF_ADULT):
            sql = release.explain(query).sql
            plain, answer, by_hand, view, ask = interleaved(
                runs,
                lambda query=query: raw.execute(query).fetchall(),  # type: ignore[misc]
                lambda query=query: release.sql(query).fetchall(),  # type: ignore[misc]
                lambda sql=sql: release.con.execute(sql).fetchall(),  # type: ignore[misc]
                lambda number=number: raw.execute(f"FROM file.view_{number}").fetchall(),  # type: ignore[misc]
                lambda query=query: own.execute(f"FROM priv.ask({literal(query)})").fetchall(),  # type: ignore[misc]
                clock=time.process_time,
            )
            found["small"].append(answer.median / plain.median)
            found["view"].append(view.median / by_hand.median)
            found["ask"].append(ask.median / answer.median)
            table.add_row(query, *(f"{1e3 * s.median:.1f}" for s in (plain, answer, by_hand, view, ask)))
    screen.print(table)
    return found


@contextmanager
def _opened(
    path: Path,
) -> Iterator[tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection, OpenRelease]]:
    """A connection with the rows and views as they are, one that asks, and the release."""
    with duckdb.connect() as raw, duckdb.connect() as own, open_release(path) as release:
        raw.execute(f"ATTACH {file_literal(path)} AS file (READ_ONLY)").fetchall()
        raw.execute("CREATE VIEW adult AS FROM file.sqlpriv_release.published").fetchall()
        attach(own, path)
        yield raw, own, release
