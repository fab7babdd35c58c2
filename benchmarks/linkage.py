"""Records linked with a dictionary although their names are misspelt: `python -m benchmarks.linkage` (see --help).

100,000 records, each of one person of a dictionary of a million, with a typo in most surnames and some first names.
priv.linkage finds entries by names that are similar (Jaro, 0.8) and equal birth years, within
blocks: the first two letters of the surname and the birth year, or the first name and the birth year. Printed: how
many of the planted links are found (recall), how many of the links found are planted (precision), by all links and by
records with a single one, and the time beside that of a raw equi-join of the same blocks. The exit code says whether
the bars hold.
"""

from __future__ import annotations

import sys
from typing import Annotated

import duckdb
import typer
from rich.console import Console
from rich.table import Table

import sqlpriv
from benchmarks.timing import interleaved

LEAST_RECALL, MOST_RATIO = 0.9, 15.0

# Letters by a hash of the number of a person, so that a run is like any other.
TABLES = """
CREATE MACRO drawn(number, salt, choices) AS CAST(hash(number, salt) % choices AS INTEGER);
CREATE MACRO syllable(i) AS substr('bcdfghjklmnprstvwz', 1 + i % 18, 1) || substr('aeiou', 1 + (i // 18) % 5, 1);
CREATE MACRO mistyped(name, kind, place, letter) AS CASE kind
  WHEN 0 THEN left(name, place) || letter || substr(name, place + 2)
  WHEN 1 THEN left(name, place) || substr(name, place + 2)
  WHEN 2 THEN left(name, place) || letter || substr(name, place + 1)
  ELSE left(name, place) || substr(name, place + 2, 1) || substr(name, place + 1, 1) || substr(name, place + 3) END;
CREATE TABLE people AS SELECT i AS id,
  syllable(drawn(i, 1, 90)) || syllable(drawn(i, 2, 90)) || syllable(drawn(i, 3, 30)) || syllable(drawn(i, 4, 5))
    AS surname,
  syllable(drawn(i, 5, 40)) || syllable(drawn(i, 6, 20)) || syllable(drawn(i, 7, 3)) AS first_name,
  1930 + drawn(i, 8, 75) AS born FROM range({people}) AS r(i);
CREATE TABLE records AS SELECT id AS truth,
  CASE WHEN drawn(id, 9, 10) = 0 THEN surname
    ELSE mistyped(surname, drawn(id, 10, 4), 1 + drawn(id, 11, 6), chr(97 + drawn(id, 12, 26))) END AS surname,
  CASE WHEN drawn(id, 13, 10) >= 2 THEN first_name
    ELSE mistyped(first_name, drawn(id, 14, 4), 1 + drawn(id, 15, 4), chr(97 + drawn(id, 16, 26))) END AS first_name,
  born
  FROM people WHERE drawn(id, 17, {people} // {records}) = 0;
"""
BLOCKS = ["concat(left(surname, 2), born)", "concat(first_name, born)"]
LINKS = """[{record: 'surname', entry: 'surname', similarity: 0.8},
  {record: 'first_name', entry: 'first_name', similarity: 0.8}, {record: 'born', entry: 'born'}]"""
LINKED = f"""SELECT count(*) AS links, count(DISTINCT record.truth) AS linked,
  count(*) FILTER (record.truth = entry.id) AS right_links,
  count(*) FILTER (entries = 1) AS alone, count(*) FILTER (entries = 1 AND record.truth = entry.id) AS right_alone
  FROM priv.linkage('records', 'people', {LINKS}, [{", ".join(f"{{record: '{b}', entry: '{b}'}}" for b in BLOCKS)}])
  WHERE entries > 0"""
RAW = "SELECT " + ", ".join(
    f"(SELECT count(*) FROM (SELECT {b} AS b FROM records) AS r JOIN (SELECT {b} AS b FROM people) AS p USING (b))"
    for b in BLOCKS
)

screen = Console()


def main(
    records: Annotated[int, typer.Option(help="Records to link")] = 100_000,
    people: Annotated[int, typer.Option(help="Entries of the dictionary")] = 1_000_000,
    runs: Annotated[int, typer.Option(help="How often each is timed")] = 3,
) -> None:
    """Plant links, find them, and print how many, and how long it took."""
    with duckdb.connect() as con:
        sqlpriv.load(con)
        con.execute(TABLES.format(records=records, people=people)).fetchall()
        [(size,)] = con.execute("SELECT count(*) FROM records").fetchall()
        [pairs] = con.execute(RAW).fetchall()
        [(links, linked, right, alone, right_alone)] = con.execute(LINKED).fetchall()
        ours, raw = interleaved(runs, lambda: con.execute(LINKED).fetchall(), lambda: con.execute(RAW).fetchall())
    table = Table(title=f"{size:,} records, {people:,} entries, {sum(pairs):,} pairs in the blocks")
    for name in ("", "found", "recall", "precision"):
        table.add_column(name, justify="right")
    table.add_row("all links", f"{links:,}", f"{right / size:.4f}", f"{right / links:.4f}")
    table.add_row("records with one", f"{alone:,}", f"{right_alone / size:.4f}", f"{right_alone / alone:.4f}")
    screen.print(table)
    ratio = ours.median / raw.median
    screen.print(f"{linked:,} records linked in {ours.median:.2f} s; raw equi-join {raw.median:.2f} s; {ratio:.1f}x")
    if right / size < LEAST_RECALL or ratio > MOST_RATIO:
        sys.exit(f"below the bar: recall {LEAST_RECALL}, {MOST_RATIO}x")


if __name__ == "__main__":
    typer.run(main)
