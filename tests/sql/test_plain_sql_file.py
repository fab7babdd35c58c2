"""docs/plain-sql.sql: from private table to answer without Python, in the command line, equal to the Python path."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.clients import command_line, needs_command_line
from support.releases import Weighted, write_release

from sqlpriv.macros.catalog import script
from sqlpriv.publishing import open_release

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "plain-sql.sql").read_text(encoding="utf-8")
# Another table and other parameters: what the file says may not hang on its numbers.
OTHER = (
    TEXT.replace("(i * i) % 5 AS nights", "CASE WHEN i % 4 = 0 THEN 0 ELSE 4 END AS nights")
    .replace("range(3000)", "range(777)")
    .replace("bag_choice(3000, 15, 20)", "bag_choice(800, 15, 7.5)")
    .replace("a secret of my own", "some other secret")
    .replace("nights > 2", "nights = 5 AND ill <> ''cold''")
    .replace("'nights', 0.9", "'nights - 3', 0.8")
)
ASKED = {
    TEXT: ("count(*)", "nights > 2", "sum(nights)", 0.9),
    OTHER: ("count(*)", "nights = 5 AND ill <> 'cold'", "sum(nights - 3)", 0.8),
}


def by_command_line(path: Path, text: str) -> None:
    """The macros as a script, then the file, as a client without Python runs them."""
    found = subprocess.run(
        [str(command_line()), "-bail", str(path)], input=script() + text, capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")


def by_this_duckdb(path: Path, text: str) -> None:
    with duckdb.connect(str(path), config={"storage_compatibility_version": "v1.0.0"}) as con:
        con.execute(script() + text).fetchall()


def python_path(path: Path, folder: Path, text: str) -> tuple[list[Any], list[Any], list[Any]]:
    """What the rewriter answers from a release with the same rows and parameters."""
    count, condition, summed, confidence = ASKED[text]
    with duckdb.connect(str(path), read_only=True) as con:
        rows = con.execute("SELECT ill, nights FROM published").fetchall()
        chosen = "3000, 15, 20" if text == TEXT else "800, 15, 7.5"
        ((p, q),) = con.execute(f"SELECT p, q FROM priv.bag_choice({chosen})").fetchall()
    mu = q / (1 - q)
    ours, theirs = (1 - p) / p**2, mu * (mu + p) / p**2
    weights = Weighted(1 / p, ours, ours * (1 - p) / p), {0: Weighted(-mu / p, theirs, theirs * (1 - p) / p)}
    columns = {"ill": ("VARCHAR", ["cold", "flu", "mumps"]), "nights": ("BIGINT", [1, 2, 3, 4, 5])}
    write_release(folder / "release.duckdb", columns, rows, weights, table="stays")
    with open_release(folder / "release.duckdb") as release:
        return (
            release.sql(f"SELECT {count} AS n FROM stays WHERE {condition}").fetchall(),
            release.sql(f"SELECT {summed} AS n FROM stays WHERE ill <> 'flu'", confidence=confidence).fetchall(),
            release.sql("SELECT ill, count(*) AS n FROM stays GROUP BY ill ORDER BY ill").fetchall(),
        )


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "text", [pytest.param(TEXT, id="as it is"), pytest.param(OTHER, id="other table", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("run", [pytest.param(by_command_line, marks=needs_command_line), by_this_duckdb])
def test_the_file_answers_as_the_python_path_does(run: Any, text: str, tmp_path: Path) -> None:
    path = tmp_path / "private.duckdb"
    run(path, text)
    expected = python_path(path, tmp_path, text)
    with duckdb.connect(str(path), read_only=True) as con:
        asked = ("answer_count", "answer_sum", "answer_groups ORDER BY ill")
        for table, answer in zip(asked, expected, strict=True):
            for row, other in zip(con.execute(f"FROM {table}").fetchall(), answer, strict=True):
                assert row[:-3] == other[:-3]
                assert row[-3:] == pytest.approx(other[-3:], rel=1e-9)
        ((kept,),) = con.execute("SELECT k FROM priv.k_anonymity('kept', ['age', 'zip'])").fetchall()
        ((before, left),) = con.execute("SELECT (SELECT count(*) FROM coarse), (SELECT count(*) FROM kept)").fetchall()
        ((estimate, low, high),) = con.execute("FROM answer_sample").fetchall()
        ((true,),) = con.execute("SELECT count(*) FROM stays WHERE age < 45 AND ill = 'flu'").fetchall()
    assert kept >= 5
    assert left < before
    assert low <= true <= high
    assert low <= estimate <= high


def test_the_page_shows_the_file() -> None:
    assert f"```sql\n{TEXT}```" in (DOCS / "plain-sql.md").read_text(encoding="utf-8")
