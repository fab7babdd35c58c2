"""The formulas by which a table is known again, against their oracles; and that chance alone makes no tables alike."""

from __future__ import annotations

import random
from collections.abc import Mapping
from hashlib import sha256

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import sketches as oracle

from sqlpriv.macros.catalog import inlined
from sqlpriv.table.digest import rows_digest
from sqlpriv.table.engines.rows import WholeRows
from sqlpriv.table.fingerprint import Fingerprint, numbering, take_fingerprint
from sqlpriv.table.resemblance import resemblances

Con = duckdb.DuckDBPyConnection
SIZE = 8
CELLS = st.dictionaries(st.integers(0, 30), st.integers(1, 4) | st.integers(20, 60), min_size=1, max_size=SIZE)


def asked(con: Con, sql: str) -> list[tuple[object, ...]]:
    return con.execute(inlined(sql)).fetchall()


def write(con: Con, name: str, sketch: Mapping[int, int]) -> None:
    rows = ", ".join(f"(0, {h}, {n})" for h, n in sketch.items())
    con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM (VALUES {rows}) AS v(sketch, hash, copies)").fetchall()


@given(known=CELLS, given_cells=CELLS)
def test_resemblance_agrees(con: Con, known: dict[int, int], given_cells: dict[int, int]) -> None:
    write(con, "sketch_k", known)
    write(con, "sketch_g", given_cells)
    con.execute(
        inlined(f"CREATE OR REPLACE TEMP TABLE sketch_both AS FROM _copies_of_both(sketch_k, sketch_g, {SIZE})")
    ).fetchall()
    found = asked(con, "FROM _resemblances(sketch_both)")
    if not set(known) & set(given_cells):
        assert found == []
        return
    shared, smaller, by_chance, evenness, alike = oracle.resemblance(known, given_cells, SIZE)
    assert found[0][2:4] == (shared, smaller)
    assert found[0][4] == pytest.approx(by_chance, abs=1e-9)
    assert found[0][5] == (None if evenness is None else pytest.approx(evenness, abs=1e-6))
    assert found[0][6] == alike
    listed = asked(con, "FROM _listed_rows(sketch_both)")
    assert listed[0][2:] == oracle.listed_rows(known, given_cells, SIZE)


CELL_TEXTS = st.sampled_from(
    ["1", "1.0", "01", "-0", "1e3", "0.1", ".5", "12345678901234567890", "", " a ", "TRUE", "2020-01-02",
     "2020-01-02 00:00:00", "2020-01-02T10:00:00", "2020-01-02 10:00:00", "n/a"]
) | st.text("aB1.- ", max_size=5)  # fmt: skip


@given(cell=CELL_TEXTS | st.none())
def test_cells_agree(con: Con, cell: str | None) -> None:
    asked_for = "SELECT _cell_text(cell) FROM (SELECT CAST(? AS VARCHAR) AS cell)"
    assert con.execute(inlined(asked_for), [cell]).fetchall() == [(oracle.cell_text(cell),)]


@given(words=st.lists(st.integers(0, oracle.WORDS - 1), min_size=1, max_size=9))
def test_words_agree(con: Con, words: list[int]) -> None:
    added = " + ".join(f"CAST({word} AS BIGINT)" for word in words)
    other = words[-1]
    word = oracle.row_word(words)
    digest = oracle.row_digest(word, other)
    assert asked(con, f"SELECT _row_word({added}), _row_digest({word}, {other})") == [(word, digest)]
    bits = sha256(str(words).encode()).hexdigest()
    assert asked(con, f"SELECT _cell_word('{bits}', 1), _named_word({word}, {other})") == [
        (int(bits[13:26], 16), word ^ other)
    ]


def portrait(con: Con, query: str, secret: str = "a secret") -> Fingerprint:
    con.execute(f"CREATE OR REPLACE TEMP TABLE portrayed AS {query}").fetchall()
    return take_fingerprint(WholeRows(con, "portrayed"), secret)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_sketch_is_the_smallest_sums_of_its_rows(con: Con, repeats: int) -> None:
    """Slowly, for one row of text and number: in both ways to read a table, grouped and not."""
    rows = {(f"n{i * 7919 % 5000}", i * 31 % 4999) for i in range(2000)}
    listed = ", ".join(f"('{text}', {number})" for text, number in sorted(rows))
    query = f"SELECT a, b FROM (VALUES {listed}) AS v(a, b), range({repeats})"
    found = portrait(con, query).sketches[0]

    def word(text: str) -> int:
        return int(sha256(f"a secret|{text}".encode()).hexdigest()[:13], 16)

    expected = sorted((oracle.row_word([word(text), word(str(number))]), repeats) for text, number in rows)[:1024]
    assert (found.kind, list(found.cells)) == ("rows", expected)


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_digest_is_the_sum_of_its_rows_whether_they_are_grouped_or_not(con: Con, repeats: int) -> None:
    """Noise is drawn from it: slowly, row by row, for numbers, texts with quotes, NULL and intervals."""
    cells = "i AS a, CASE WHEN i % 3 > 0 THEN 'it''s ' || i END AS b, INTERVAL (i % 40) DAY AS c"
    rows = f"SELECT {cells} FROM range(500) AS r(i), range({repeats})"
    con.execute(f"CREATE OR REPLACE TEMP TABLE digested AS {rows}").fetchall()
    sums = [0] * 4
    for (text,) in con.execute("SELECT CAST(r AS VARCHAR) FROM digested AS r").fetchall():
        bits = sha256(text.encode()).hexdigest()
        sums = [s + int(bits[15 * i : 15 * i + 15], 16) for i, s in enumerate(sums)]
    assert rows_digest(con, "digested") == "-".join(f"{s % 2**64:016x}" for s in sums)


def test_one_value_without_a_number_says_that_a_text_does_not_count_up(con: Con) -> None:
    """Also where many rows before it do."""
    for last, counts in (("'P' || i", {"a", "b"}), ("'none'", {"a"})):
        rows = f"SELECT i AS a, CASE WHEN i < 4999 THEN 'P' || i ELSE {last} END AS b FROM range(5000) AS r(i)"
        con.execute(f"CREATE OR REPLACE TEMP TABLE digested AS {rows}").fetchall()
        assert numbering(con, "digested") == counts


def test_nothing_depends_on_the_order_of_rows_and_columns(con: Con) -> None:
    query = "SELECT i * 37 % 211 AS a, i % 5 AS b, 'x' || i % 13 AS c FROM range(700) AS r(i)"
    first = portrait(con, query)
    again = portrait(con, f"SELECT c, a, b FROM ({query}) ORDER BY hash(a, c)")
    assert again.digest == first.digest
    assert {s.cells for s in again.sketches} == {s.cells for s in first.sketches}
    assert portrait(con, query, "another").digest != first.digest
    assert portrait(con, query.replace("i % 5", "(i + 1) % 5")).digest != first.digest


@pytest.mark.slow
def test_samples_of_one_population_are_strangers(con: Con) -> None:
    """Two halves of one table share nobody. That they are taken for each other is one in some hundred."""
    coin = random.Random(3)
    for kinds in (20, 300, 5000):
        people = [(coin.randrange(kinds) ** 2 // kinds, coin.randrange(4), i % 2) for i in range(4000)]
        listed = ", ".join(str(p) for p in people)
        con.execute(f"CREATE OR REPLACE TEMP TABLE everybody AS FROM (VALUES {listed}) AS v(a, b, half)").fetchall()
        one, other = (portrait(con, f"SELECT a, b FROM everybody WHERE half = {half}") for half in (0, 1))
        assert resemblances(con, one.sketches, other.sketches) == []
        part = portrait(con, "SELECT a, b FROM everybody WHERE half = 0 LIMIT 1200")
        assert resemblances(con, one.sketches, part.sketches)[0].share == 1


def admissions() -> str:
    """A thousand of them on 480 days, each of some days, by coins."""
    coin = random.Random(11)
    drawn = [(coin.randrange(480), coin.randrange(10), coin.choice("FM")) for _ in range(1000)]
    rows = [f"({d}, {d + n}, '{sex}', 'd{coin.randrange(20)}', 'w{coin.randrange(12)}')" for d, n, sex in drawn]
    days = ("day", "discharged")
    replaced = ", ".join(f"CAST(DATE '2024-01-01' + {name} AS DATE) AS {name}" for name in days)
    return f"SELECT * REPLACE ({replaced}) FROM (VALUES {', '.join(rows)}) AS v(day, discharged, sex, diag, ward)"


@pytest.mark.some(2)
@pytest.mark.parametrize("share", [99, 80, 70, 60, 50, 30, 10])
def test_a_part_of_any_size_is_known_although_its_days_are_fewer(con: Con, share: int) -> None:
    """A day is one for two rows of the whole, and one for each of a part; also where the part came first."""
    whole = portrait(con, admissions())
    part = portrait(con, f"{admissions()} LIMIT {share * 10}")
    assert resemblances(con, whole.sketches, part.sketches)[0].share == 1
    assert resemblances(con, part.sketches, whole.sketches)[0].share == 1


@pytest.mark.parametrize("rest", ["hash(i, {n}) % 2 AS sex", "hash(i, {n}) % 20 = 0 AS ill, hash(i, 7, {n}) % 3 AS b"])
def test_strangers_with_the_same_numbers_are_strangers(con: Con, rest: str) -> None:
    one, other = (
        portrait(con, f"SELECT i AS id, 'P' || i AS code, {rest.format(n=n)} FROM range(800) AS r(i)") for n in (1, 2)
    )
    assert resemblances(con, one.sketches, other.sketches) == []


def test_a_copy_with_new_numbers_and_a_column_less_is_known(con: Con) -> None:
    query = "SELECT {n} + i AS id, hash(i, 1) % 60 AS age, 'z' || hash(i, 2) % 97 AS zip, hash(i, 3) % 9 AS ill"
    one, other = (portrait(con, f"{query.format(n=n)} FROM range(900) AS r(i)") for n in (1, 5000))
    assert resemblances(con, one.sketches, other.sketches)[0].share == 1
    less = portrait(con, f"SELECT * EXCLUDE (ill) FROM ({query.format(n=5000)} FROM range(900) AS r(i))")
    assert resemblances(con, one.sketches, less.sketches)[0].share == 1
