"""Which slots copies take: a uniformly random set of different ones, the same whatever other copies there are.

A chi-square test here is failed by one in a million keys, and the key is fixed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, permutations

import duckdb
import pytest
from scipy import stats

from sqlpriv.core.errors import InternalError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.noisy.alpha_beta import slots as instance
from sqlpriv.methods.noisy.tuples import number_elements

PREFIX = "5a" * 32
Con = duckdb.DuckDBPyConnection


@pytest.fixture
def con() -> Iterator[Con]:
    """A database of its own: the tables of a release are made in it."""
    with duckdb.connect(config={"threads": 1}) as con:
        yield con


def elements_taken(con: Con, sizes: Sequence[int], prefix: str) -> list[tuple[int]]:
    """The elements of table __tuples, whose numbers and slots are below some sizes."""
    with Scratch(con).nested() as scratch:
        taken = instance.take_slots(scratch, Relation(con, "__tuples"), number_elements(sizes), prefix)
        return con.execute(f"SELECT e0 FROM {taken.name}").fetchall()


def slots_taken(con: Con, copies: Mapping[int, int], slots: int, prefix: str = PREFIX) -> dict[int, set[int]]:
    """The slots of tuples that are one number each, by take_slots."""
    size = max(copies) + 1
    tuples = "SELECT unnest(CAST(? AS BIGINT[])) AS i0, unnest(CAST(? AS BIGINT[])) AS copies"
    con.execute(f"CREATE OR REPLACE TABLE __tuples AS {tuples}", [list(copies), list(copies.values())]).fetchall()
    found: dict[int, set[int]] = {t: set() for t in copies}
    rows = elements_taken(con, [size, slots], prefix)
    for (element,) in rows:
        found[element // slots].add(element % slots)
    assert len(rows) == sum(map(len, found.values()))
    return found


def slots_in_turn(tuple_text: str, slots: int, prefix: str = PREFIX) -> Iterator[int]:
    """As sql/operators/slots.sql has it, draw by draw: every slot when it is new."""
    seen = set()
    for block in count():
        bits = hashlib.sha256(f"{prefix}|slot|{tuple_text}|{block}".encode()).hexdigest()
        for place in range(4):
            slot = int(bits[15 * place : 15 * place + 15], 16) % slots
            if slot not in seen:
                seen.add(slot)
                yield slot


def in_turn(con: Con, tuples: int, copies: int, slots: int) -> list[tuple[int, ...]]:
    """The slots of the first, second, ... copy of so many tuples: what each further copy adds."""
    added: list[list[int]] = [[] for _ in range(tuples)]
    before: dict[int, set[int]] = {t: set() for t in range(tuples)}
    for number in range(1, copies + 1):
        taken = slots_taken(con, dict.fromkeys(range(tuples), number), slots)
        for t, own in taken.items():
            assert before[t] < own, "a further copy moved another one"
            added[t].extend(own - before[t])
        before = taken
    return [tuple(own) for own in added]


def assert_even(found: Sequence[object], possible: Sequence[object]) -> None:
    counted = Counter(found)
    assert set(counted) <= set(possible)
    assert stats.chisquare([counted[each] for each in possible]).pvalue > 1e-6


@pytest.mark.some(12)
@pytest.mark.parametrize("slots", [*range(1, 41), 63, 64, 65, 127, 256, 257, 1000, 4095])
def test_as_many_copies_as_slots_take_every_slot_once(con: Con, slots: int) -> None:
    taken = slots_taken(con, dict.fromkeys(range(5), slots), slots)
    assert all(own == set(range(slots)) for own in taken.values())


def test_every_number_of_copies_takes_the_first_new_slots_of_the_stream(con: Con) -> None:
    for slots in (1, 2, 3, 5, 8, 21, 100, 12_345, 1_000_000):
        copies = {t: 1 + t % slots for t in range(60)} | {60: min(slots, 2000)}
        for t, own in slots_taken(con, copies, slots).items():
            stream = slots_in_turn(str(t), slots)
            assert own == {next(stream) for _ in range(copies[t])}


def test_the_tuple_is_named_by_all_its_numbers(con: Con) -> None:
    con.execute("CREATE TABLE __tuples AS SELECT 4::BIGINT AS i0, 7::BIGINT AS i1, 3::BIGINT AS copies").fetchall()
    stream = slots_in_turn("4,7", 50)
    found = {row[0] for row in elements_taken(con, [10, 10, 50], PREFIX)}
    assert found == {47 * 50 + next(stream) for _ in range(3)}


@pytest.mark.slow
def test_all_orders_of_slots_are_equally_likely(con: Con) -> None:
    """So are then all sets, each copy's slot, and every pair."""
    assert_even(in_turn(con, 12_000, 4, 4), list(permutations(range(4))))
    assert_even(in_turn(con, 12_000, 3, 7), list(permutations(range(7), 3)))
    assert_even(in_turn(con, 12_000, 2, 20), list(permutations(range(20), 2)))


@pytest.mark.some(1)
@pytest.mark.parametrize("slots", [10, 64, 100])
def test_every_slot_is_taken_as_often_by_many_copies(con: Con, slots: int) -> None:
    """The sets of half the slots: neither a slot nor a pair of neighbours is favoured."""
    taken = slots_taken(con, dict.fromkeys(range(6000), slots // 2), slots)
    sizes = Counter(slot for own in taken.values() for slot in own)
    # Taken or not is a coin of 1/2 for each slot of a tuple; drawn without replacement it varies by less.
    spread = sum((sizes[slot] - 3000) ** 2 for slot in range(slots)) / (6000 / 4 * slots / (slots - 1))
    assert 1e-6 < stats.chi2.cdf(spread, slots - 1) < 1 - 1e-6
    pairs = sum((slot + 1) % slots in own for own in taken.values() for slot in own)
    share = (slots // 2 - 1) / (slots - 1)
    assert pairs / (6000 * (slots // 2)) == pytest.approx(share, abs=0.01)


def test_other_keys_give_other_slots(con: Con) -> None:
    copies = dict.fromkeys(range(200), 3)
    one, other = (slots_taken(con, copies, 1000, key * 32) for key in ("5a", "5b"))
    assert sum(len(one[t] & other[t]) for t in copies) < 20  # 1.8 by chance


def test_how_far_a_stream_is_looked_at_first_changes_nothing(con: Con, monkeypatch: pytest.MonkeyPatch) -> None:
    copies = {t: 1 + t for t in range(60)}
    before = slots_taken(con, copies, 60)
    # One block of the stream for everybody, which is too little for most.
    asked: list[str] = []
    one = "CAST(1 AS BIGINT)"
    monkeypatch.setattr(
        instance, "inlined", lambda sql: inlined((asked.append(sql) or sql).replace("_slot_blocks(copies, 60)", one))
    )
    assert slots_taken(con, copies, 60) == before
    assert any("_slot_blocks(copies, 60)" in sql for sql in asked)


def test_more_copies_than_slots_end_in_an_error_and_not_in_a_search_without_end(con: Con) -> None:
    """Publishing refuses them before; this is what keeps a mistake in that from hanging."""
    with pytest.raises(InternalError, match="found no slots"):
        slots_taken(con, {0: 2}, 1)
