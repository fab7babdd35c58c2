"""Linking with a dictionary: whose record is it? Each record has the entries that it could belong to; an attacker
picks one of them by lot and is right with a chance of one in so many (Lebanon et al. 2009), if the person is listed.

Where a column of the dictionary tells who is who, and the private table has it too, the picks are judged by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

from sqlpriv.attacks.dictionary import TABLE, Dictionary
from sqlpriv.attacks.findings import Figure, Finding, Findings, NotRun, Pair, of_all, people
from sqlpriv.attacks.matches import Matches, match_people
from sqlpriv.attacks.target import Target
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.records import Records, table_records
from sqlpriv.release.file import SCHEMA
from sqlpriv.table.source import Source

ATTACK = "linking with a dictionary"
NOT_PUBLIC = "which values are below its labels is not public; --policy says it"
_NO_DICTIONARY = "it needs --dictionary FILE, a list of people that an attacker may hold"
_NOISE = (
    "random noise made the rows, or moved them: that an entry agrees with a row does not say that the row is that "
    "person's; the linking attacker says what it reveals"
)


@dataclass(frozen=True)
class TruthColumn:
    """The column that tells who is who, as the dictionary and the private table call it."""

    entry: str
    own: str


def attack(target: Target, truth: str | None) -> Findings:
    """How many records are found, as is to be expected, and by the truth where it is known."""
    book = target.dictionary
    if book is None and truth is not None:
        raise InputError("--truth is a column of a dictionary, and none is given: name one with --dictionary")
    if book is None:
        yield NotRun(ATTACK, _NO_DICTIONARY)
        return
    known = _truth(target, book, truth)
    if known is not None and target.bounds_beliefs:
        raise InputError(
            f"random noise decides which rows {target.name} holds, so nobody knows whose they are: leave --truth out"
        )
    shared = _shared(target, book, known)
    if target.files and "__weight" in target.files[0].columns(SCHEMA, "published"):
        yield NotRun(ATTACK, _NOISE)
        return
    records = _records(target, shared)
    if not records.cells:
        yield NotRun(ATTACK, f"of {', '.join(records.unknown)}, {NOT_PUBLIC}")
        return
    con, private = target.calls.con, target.private
    own = _numbers(con, "own", records)
    if known is not None:
        people_of = target.private if target.files else target.source
        assert people_of is not None
        own |= _judged(con, "own", records, people_of, known)
    raw: dict[str, float | None] = {}
    if private is not None:
        plain = table_records(private.table, private.types, _spelt(private, shared))
        raw = _numbers(private.con, "raw", plain)
        raw |= {} if known is None else _judged(private.con, "raw", plain, private, known)
    pair = Pair(own, raw)
    yield Finding(ATTACK, _sentence(records, book, pair), tuple(_figures(pair)))


def _truth(target: Target, book: Dictionary, truth: str | None) -> TruthColumn | None:
    if truth is None:
        return None
    entry, _, own = truth.partition("=")
    source = target.private or target.source
    if source is None or (target.files == () and target.private is not None):
        raise InputError(
            "--truth is judged by the private table, row by row: give --policy with a release, or attack that table"
        )
    spelt = next((c for c in source.columns if folded(c) == folded(own or entry)), None)
    column = book.column(entry)
    if column is None or spelt is None:
        lacking = book.name if column is None else "the private table"
        raise InputError(
            f"{lacking} has no column {entry if column is None else own or entry!r} that could tell who is who; write "
            "--truth COLUMN, or --truth COLUMN=COLUMN, that of the dictionary first"
        )
    return TruthColumn(column, spelt)


def _shared(target: Target, book: Dictionary, truth: TruthColumn | None) -> list[str]:
    """The columns by which records are compared: all that both have, but those that are wanted or tell the truth."""
    if target.files:
        offered = [str(r["name"]) for r in target.files[0].rows("attributes") if r.get("role") != "sensitive"]
    else:
        assert target.source is not None
        known = target.policy.named("quasi-identifier", "other", "published") if target.policy else None
        wanted = {folded(s) for s in target.own}
        offered = [
            c for c in target.source.columns
            if folded(c) not in wanted and (known is None or folded(c) in map(folded, known))
        ]  # fmt: skip
    secret = set() if truth is None else {folded(truth.entry), folded(truth.own)}
    shared = [c for c in offered if book.column(c) is not None and folded(c) not in secret]
    if not shared:
        raise InputError(
            f"the dictionary {book.name} shares no column with {target.name}, so nobody can be found by it: it has "
            f"{', '.join(book.types)}; there are {', '.join(offered)}"
        )
    return shared


def _records(target: Target, shared: Sequence[str]) -> Records:
    if target.method is not None:
        return target.method.records(target.files[0], shared, target.private, target.policy)
    assert target.source is not None
    return table_records(target.source.table, target.source.types, shared)


def _spelt(source: Source, names: Sequence[str]) -> list[str]:
    spelt = {folded(c): c for c in source.columns}
    return [spelt[folded(n)] for n in names if folded(n) in spelt]


def _entries(con: duckdb.DuckDBPyConnection, name: str, records: Records, keep: Sequence[str] = ()) -> Matches:
    return match_people(con, name, records, TABLE, open_nulls=True, people_columns=keep)


def _numbers(con: duckdb.DuckDBPyConnection, name: str, records: Records) -> dict[str, float | None]:
    """Records by the number of entries that agree with them."""
    matches = _entries(con, name, records)
    found = fetch(
        con,
        f"SELECT sum(n), sum(n * {inlined('_picked(entries)')}), coalesce(sum(n) FILTER (entries = 1), 0), "
        f"coalesce(sum(n) FILTER (entries = 0), 0), max({inlined('_picked(entries)')}) FROM ({_counted(matches)})",
    )[0]
    names = ("records", "expected", "alone", "in_no_entry", "surest")
    return {name: float(value) for name, value in zip(names, found, strict=True)}


def _counted(matches: Matches) -> str:
    """The kinds of records with the number of entries that agree."""
    paired = f"{matches.pairs} JOIN {matches.people} AS p ON person = p.id"
    entries = f"SELECT record, sum(p.n) AS entries FROM {paired} GROUP BY record"
    return (
        f"SELECT r.id, r.n, coalesce(e.entries, 0) AS entries FROM {matches.records} AS r LEFT JOIN ({entries}) AS e "
        "ON r.id = e.record"
    )


def _judged(
    con: duckdb.DuckDBPyConnection, name: str, records: Records, source: Source, truth: TruthColumn
) -> dict[str, float | None]:
    """By the truth: the chance that the entry picked for the record of a person is the person's own.

    The record of a person is one of those that could hold the row; where several could, each is as likely as its size.
    """
    entries = _entries(con, name, records, [truth.entry])
    owners = match_people(con, f"{name}_rows", records, source.table, open_nulls=False, people_columns=[truth.own])
    fetch(con, f"CREATE OR REPLACE TEMP TABLE __entries AS {_counted(entries)}")
    # Of a record and a true name: how many entries with that name agree with it.
    right = (
        f"SELECT a.record, CAST(e.k0 AS VARCHAR) AS name, sum(e.n) AS right_ones FROM {entries.pairs} AS a "
        f"JOIN {entries.people} AS e ON a.person = e.id GROUP BY ALL"
    )
    listed = f"SELECT DISTINCT CAST({quoted(truth.entry)} AS VARCHAR) AS name FROM {TABLE}"
    behind = (
        f"SELECT b.record, o.id, o.n, CAST(o.k0 AS VARCHAR) AS name, r.n / sum(r.n) OVER (PARTITION BY o.id) AS share "
        f"FROM {owners.people} AS o JOIN {owners.pairs} AS b ON b.person = o.id JOIN {owners.records} AS r "
        "ON r.id = b.record"
    )
    # Kinds of records are numbered anew by each match, and are the same by what they show.
    same = " AND ".join(f"x.l{i} IS NOT DISTINCT FROM y.l{i}" for i in range(len(records.cells)))
    alike = f"SELECT x.id AS own, y.id AS record FROM {owners.records} AS x JOIN {entries.records} AS y ON {same}"
    found = fetch(
        con,
        f"SELECT (SELECT coalesce(sum(n), 0) FROM {owners.people} SEMI JOIN ({listed}) AS l ON CAST(k0 AS VARCHAR) = "
        "l.name), coalesce(sum(b.n * b.share * r.right_ones / e.entries), 0), "
        "coalesce(sum(b.n * b.share) FILTER (e.entries = 1), 0) "
        f"FROM ({behind}) AS b JOIN ({alike}) AS a ON b.record = a.own JOIN ({right}) AS r "
        "ON r.record = a.record AND r.name = b.name JOIN __entries AS e ON e.id = a.record",
    )[0]
    return {name: float(value) for name, value in zip(("listed", "right", "alone_right"), found, strict=True)}


_WORDS = {
    "records": "records",
    "expected": "records found, as is to be expected",
    "alone": "records with one entry that agrees",
    "in_no_entry": "records that no entry agrees with",
    "surest": "the best chance of one record",
    "listed": "people of the private table who are in the dictionary",
    "right": "records found, by the truth",
    "alone_right": "records with one entry that agrees, the right one",
}

_DRAWN = frozenset({"expected", "alone", "right", "alone_right"})


def _figures(pair: Pair) -> Iterator[Figure]:
    for name, words in _WORDS.items():
        if name in pair.own:
            yield pair.figure(name, words, is_share=name == "surest", is_drawn=name in _DRAWN)


def _sentence(records: Records, book: Dictionary, pair: Pair) -> str:
    own, by = pair.own, ", ".join(c.name for c in records.cells)
    expected = f"{of_all(round(own['expected'] or 0, 1), own['records'])} right"
    text = (
        f"An attacker who holds {book.name} and compares {by} names {expected}, as is to be expected if all of them "
        f"are in it{pair.raw_text('expected', 'in the private table:')}; with one entry alone {_agrees(own['alone'])}"
        f"{pair.raw_text('alone', 'there:')}."
    )
    if "right" in own:
        right = f"{people(round(own['right'] or 0, 1))} are named right{pair.raw_text('right', 'there:')}"
        alone = f"{people(own['alone_right'])}{pair.raw_text('alone_right', 'there:')}"
        text += f" By the truth {right}, and of those who are alone {alone}."
    if records.unknown:
        text += f" Not compared: {', '.join(records.unknown)}, since {NOT_PUBLIC}."
    return text


def _agrees(value: float | None) -> str:
    return f"{people(value)} {'agree' if value and value > 1 else 'agrees'}"
