"""Linking with a dictionary: whose record is it? Each record has the entries that it could belong to; an attacker
picks one of them by lot and is right with a chance of one in so many (Lebanon et al. 2009), if the person is listed.

Where a column of the dictionary identifies persons, and the private table has it too, the picks are judged by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.attacks.findings import AttackFinding, Figure, Findings, NotRun, Pair, of_all, people
from sqlpriv.attacks.matches import Matches, match_people
from sqlpriv.attacks.target import AttackerList, AttackOptions, Target
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.records import OwnedRelease, Records, table_records
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
    """The column that identifies persons, as the dictionary and the private table call it."""

    entry: str
    own: str


def attack(target: Target, options: AttackOptions) -> Findings:
    """How many records are found, as is to be expected, and by the truth where it is known."""
    book, truth = target.dictionary, options.truth
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
    own = _numbers(target.scratch, records, book.entries)
    if known is not None:
        people_of = target.private if target.files else target.source
        assert people_of is not None
        own |= _judged(target.scratch, records, book.entries, people_of, known)
    raw: dict[str, float | None] = {}
    if target.private is not None and target.private_dictionary is not None:
        private, entries = target.private, target.private_dictionary.entries
        spelt = {folded(c): c for c in private.columns}
        compared = [spelt[folded(n)] for n in shared if folded(n) in spelt]
        plain = table_records(private.private.name, private.types, compared)
        raw = _numbers(private.scratch, plain, entries)
        raw |= {} if known is None else _judged(private.scratch, plain, entries, private, known)
    pair = Pair(own, raw)
    yield AttackFinding(ATTACK, _sentence(records, book, pair), pair.figures(_FIGURES))


def _truth(target: Target, book: AttackerList, truth: str | None) -> TruthColumn | None:
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
            f"{lacking} has no column {entry if column is None else own or entry!r} that could identify persons; write "
            "--truth COLUMN, or --truth COLUMN=COLUMN, that of the dictionary first"
        )
    return TruthColumn(column, spelt)


def _shared(target: Target, book: AttackerList, truth: TruthColumn | None) -> list[str]:
    """The columns that records are compared by: all that both have, but for sensitive ones and the truth."""
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
            f"{', '.join(book.entries.columns)}; there are {', '.join(offered)}"
        )
    return shared


def _records(target: Target, shared: Sequence[str]) -> Records:
    if target.method is not None:
        return target.method.records(OwnedRelease(target.files[0], target.private, target.policy), shared)
    assert target.source is not None
    return table_records(target.source.table, target.source.types, shared)


def _numbers(scratch: Scratch, records: Records, dictionary: Relation) -> dict[str, float | None]:
    """Records by the number of entries that agree with them."""
    matches = match_people(scratch, records, dictionary.name, open_nulls=True)
    found = fetch(
        scratch.con,
        f"SELECT sum(n), sum(n * {inlined('_picked(entries)')}), coalesce(sum(n) FILTER (entries = 1), 0), "
        f"coalesce(sum(n) FILTER (entries = 0), 0), max({inlined('_picked(entries)')}) FROM ({_counted(matches)})",
    )[0]
    names = ("records", "expected", "alone", "in_no_entry", "surest")
    return {name: float(value) for name, value in zip(names, found, strict=True)}


def _counted(matches: Matches) -> str:
    """The kinds of records with the number of entries that agree."""
    paired = f"{matches.pairs.name} JOIN {matches.people.name} AS p ON person = p.id"
    entries = f"SELECT record, sum(p.n) AS entries FROM {paired} GROUP BY record"
    return (
        f"SELECT r.id, r.n, coalesce(e.entries, 0) AS entries FROM {matches.records.name} AS r "
        f"LEFT JOIN ({entries}) AS e ON r.id = e.record"
    )


def _judged(
    scratch: Scratch, records: Records, dictionary: Relation, source: Source, truth: TruthColumn
) -> dict[str, float | None]:
    """By the truth: the chance that the entry picked for the record of a person is the person's own.

    The record of a person is one of those that could hold the row; where several could, each is as likely as its size.
    """
    entries = match_people(scratch, records, dictionary.name, open_nulls=True, people_columns=[truth.entry])
    owners = match_people(scratch, records, source.private.name, open_nulls=False, people_columns=[truth.own])
    counted = scratch.table(_counted(entries), "counted")
    # Of a record and a true name: how many entries with that name agree with it.
    right = (
        f"SELECT a.record, CAST(e.k0 AS VARCHAR) AS name, sum(e.n) AS right_ones FROM {entries.pairs.name} AS a "
        f"JOIN {entries.people.name} AS e ON a.person = e.id GROUP BY ALL"
    )
    listed = f"SELECT DISTINCT CAST({quoted(truth.entry)} AS VARCHAR) AS name FROM {dictionary.name}"
    behind = (
        f"SELECT b.record, o.id, o.n, CAST(o.k0 AS VARCHAR) AS name, r.n / sum(r.n) OVER (PARTITION BY o.id) AS share "
        f"FROM {owners.people.name} AS o JOIN {owners.pairs.name} AS b ON b.person = o.id "
        f"JOIN {owners.records.name} AS r ON r.id = b.record"
    )
    # Kinds of records are numbered anew by each match, and are the same by what they show.
    same = " AND ".join(f"x.l{i} IS NOT DISTINCT FROM y.l{i}" for i in range(len(records.cells)))
    both = f"{owners.records.name} AS x JOIN {entries.records.name} AS y ON {same}"
    alike = f"SELECT x.id AS own, y.id AS record FROM {both}"
    found = fetch(
        scratch.con,
        f"SELECT (SELECT coalesce(sum(n), 0) FROM {owners.people.name} SEMI JOIN ({listed}) AS l "
        "ON CAST(k0 AS VARCHAR) = l.name), coalesce(sum(b.n * b.share * r.right_ones / e.entries), 0), "
        "coalesce(sum(b.n * b.share) FILTER (e.entries = 1), 0) "
        f"FROM ({behind}) AS b JOIN ({alike}) AS a ON b.record = a.own JOIN ({right}) AS r "
        f"ON r.record = a.record AND r.name = b.name JOIN {counted.name} AS e ON e.id = a.record",
    )[0]
    return {name: float(value) for name, value in zip(("listed", "right", "alone_right"), found, strict=True)}


_FIGURES = (
    Figure("records", "records"),
    Figure("expected", "records found, as is to be expected", is_drawn=True),
    Figure("alone", "records with one entry that agrees", is_drawn=True),
    Figure("in_no_entry", "records that no entry agrees with"),
    Figure("surest", "the best chance of one record", is_share=True),
    Figure("listed", "people of the private table who are in the dictionary"),
    Figure("right", "records found, by the truth", is_drawn=True),
    Figure("alone_right", "records with one entry that agrees, the right one", is_drawn=True),
)


def _sentence(records: Records, book: AttackerList, pair: Pair) -> str:
    own, by, alone = pair.own, ", ".join(c.name for c in records.cells), pair.own["alone"]
    agree = "agree" if alone and alone > 1 else "agrees"
    expected = f"{of_all(round(own['expected'] or 0, 1), own['records'])} right"
    text = (
        f"An attacker who holds {book.name} and compares {by} names {expected}, as is to be expected if all of them "
        f"are in it{pair.raw_text('expected', 'in the private table:')}; with one entry alone {people(alone)} {agree}"
        f"{pair.raw_text('alone', 'there:')}."
    )
    if "right" in own:
        right = f"{people(round(own['right'] or 0, 1))} are named right{pair.raw_text('right', 'there:')}"
        of_alone = f"{people(own['alone_right'])}{pair.raw_text('alone_right', 'there:')}"
        text += f" By the truth {right}, and of those who are alone {of_alone}."
    if records.unknown:
        text += f" Not compared: {', '.join(records.unknown)}, since {NOT_PUBLIC}."
    return text
