"""What the ledger knows again, and whom it mixes up: python -m benchmarks.ledger [HALVES] [disguises|strangers]

Adult, a year of the demo's hospital and the trial ACTG175, each in the 44 disguises of benchmarks/disguises.py: known
by its digest, by today's sketches, or by its people. Then strangers of the same shape: halves by chance of these and
other real tables, parts that a condition chooses, years of a hospital with other people.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from benchmarks.data import adult_folder
from benchmarks.disguises import Shape, disguises, strangers
from sqlpriv.core.engine import fetch
from sqlpriv.demo import hospital
from sqlpriv.table.engines.rows import WholeRows
from sqlpriv.table.fingerprint import Fingerprint, take_fingerprint
from sqlpriv.table.resemblance import resemblances
from tests.support import real_tables

_ADULT = Shape(
    (), ("age", "occupation", "education", "workclass", "marital-status", "race", "native-country", "sex",
         "salary-class"), "age", "age < 33",
)  # fmt: skip
_HOSPITAL = Shape(
    ("patient_id",), ("zip", "birth_date", "admission_date", "diagnosis", "sex", "nationality", "length_of_stay"),
    "length_of_stay", "length_of_stay < 4",
)  # fmt: skip
_TRIAL, _TRIAL_FIRST = ("column00", "pidnum"), ("wtkg", "age", "cd40", "cd80")
_BIASED = {
    "Adult": ("age < 35", "sex = 'Male'", "education = 'HS-grad'", "race = 'White'"),
    "hospital": ("sex = 'F'", "length_of_stay < 3"),
    "ACTG175": ("age < 33", "wtkg > 70"),
}
_MORE = ("nhefs", "lymph_node", "thornton_hiv", "social_insure", "adult_services")


@dataclass(frozen=True)
class Judged:
    """By what a table is known again, and the CPU seconds of its whole fingerprint."""

    by_sketches: bool
    by_people: bool
    seconds: float


def main(halves: int, parts: set[str]) -> None:
    """Print who was known, and who was mixed up."""
    if "disguises" in parts:
        for name, con, shape in _tables():
            _known_again(name, con, shape)
    if "strangers" in parts:
        _mixed_up(halves)


def _known_again(name: str, con: duckdb.DuckDBPyConnection, shape: Shape) -> None:
    earlier = _of(con, "FROM t")
    found = {what: _judged(con, earlier, query) for what, query in disguises(shape).items()}
    known = [what for what, j in found.items() if j.by_sketches or j.by_people]
    print(f"{name}: {len(known)} of {len(found)}; by sketches alone {sum(j.by_sketches for j in found.values())};")
    print(f"  missed: {', '.join(what for what in found if what not in known) or 'nothing'}")
    print(f"  {sum(j.seconds for j in found.values()) / len(found):.2f} CPU s each", flush=True)


def _mixed_up(halves: int) -> None:
    tried, by_sketches, by_people = 0, 0, 0
    for name, con, first, second in _strangers(halves):
        found = _judged(con, _of(con, first), second)
        tried, by_sketches, by_people = tried + 1, by_sketches + found.by_sketches, by_people + found.by_people
        if found.by_sketches or found.by_people:
            print(f"{name}: taken for the same, {found}: {second}", flush=True)
    print(f"{tried} strangers: {by_sketches} taken for the same by sketches, {by_people} by their people")


def _tables() -> Iterator[tuple[str, duckdb.DuckDBPyConnection, Shape]]:
    yield "Adult", _with(f"FROM read_csv('{adult_folder() / 'adult.csv'}')"), _ADULT
    con = duckdb.connect()
    hospital.create(con, "h")
    con.execute("CREATE TABLE t AS FROM h").fetchall()
    yield "hospital", con, _HOSPITAL
    con = _with(_csv("ACTG175"))
    names = [str(row[0]) for row in fetch(con, "DESCRIBE FROM t")]
    others = (*_TRIAL_FIRST, *(n for n in names if n not in (*_TRIAL, *_TRIAL_FIRST)))
    yield "ACTG175", con, Shape(_TRIAL, others, "age", "age < 31")


def _strangers(halves: int) -> Iterator[tuple[str, duckdb.DuckDBPyConnection, str, str]]:
    for name, con, _ in _tables():
        for first, second in strangers(range(halves), _BIASED[name]):
            yield name, con, first, second
    for name in _MORE:
        con = _with(_csv(name))
        for first, second in strangers(range(halves), ()):
            yield name, con, first, second
    for seed in range(2 * halves):
        con = duckdb.connect()
        hospital.create(con, "one", rows=4000, seed=seed + 1)
        hospital.create(con, "next", rows=4000, seed=seed + 1001)
        yield "years of a hospital", con, "FROM one", "FROM next"


def _with(query: str) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t AS {query}").fetchall()
    return con


def _csv(name: str) -> str:
    path: Path | None = real_tables.find(name)
    if path is None:
        sys.exit("this benchmark needs real tables: python -m tests.support.real_tables fetches them")
    return f"FROM read_csv('{path}')"


def _of(con: duckdb.DuckDBPyConnection, query: str) -> Fingerprint:
    con.execute(f"CREATE OR REPLACE TEMP TABLE judged AS {query}").fetchall()
    return take_fingerprint(WholeRows(con, "judged"), "a secret")


def _judged(con: duckdb.DuckDBPyConnection, earlier: Fingerprint, query: str) -> Judged:
    con.execute(f"CREATE OR REPLACE TEMP TABLE judged AS {query}").fetchall()
    began = time.process_time()
    known = {} if earlier.sample is None else {"earlier": earlier.sample}
    later = take_fingerprint(WholeRows(con, "judged"), "a secret", None, known)
    seconds = time.process_time() - began
    alike = later.digest == earlier.digest or bool(resemblances(con, earlier.sketches, later.sketches))
    people = later.people.get("earlier")
    return Judged(alike, people is not None and people.are_the_same, seconds)


if __name__ == "__main__":
    given = sys.argv[1:]
    named = {word for word in given if not word.isdigit()}
    main(next((int(word) for word in given if word.isdigit()), 20), named or {"disguises", "strangers"})
