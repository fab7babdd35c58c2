"""Which entries are about this table: those of the same place, of the same content, and of what it resembles.

The same place is a file, or a table of a database file, whatever is in it now: that is what sequences of views are for.
The same content is the same whatever its order, names and place. And a table that shares half of the smaller one with
a table of the ledger, by rows that are no chance, is taken for it (sql/operators/sketch.sql says how).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlpriv.release.ledger.entry import Entry
from sqlpriv.release.ledger.store import Book
from sqlpriv.table.fingerprint import Portrait, portray, resemblances
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class Recognised:
    """A table as the ledger sees it: how it is remembered, its releases that count, and why they are its own."""

    place: str
    portrait: Portrait
    releases: tuple[Entry, ...]
    taken_for: dict[str, str] = field(default_factory=dict)
    """By the id of an entry, where the table only resembles that of the entry: how."""


def recognise(book: Book, source: Source, person: str | None, digest: str | None = None) -> Recognised:
    """The releases of this table that count; `digest` is that of what would be published of it."""
    table = source.reference
    place = book.place_of(table.file, table.name)
    portrait = portray(source.con, source.table, book.secret, person)
    counted = [e for e in book.entries if not e.void]
    found = {e.id for e in counted if e.place == place or e.content == portrait.digest or e.digest == digest}
    taken_for = _resembling(book, source, portrait, [e for e in counted if e.id not in found])
    places = {e.place for e in counted if e.id in found or e.id in taken_for}
    releases = tuple(e for e in counted if e.id in found or e.id in taken_for or e.place in places)
    return Recognised(place, portrait, releases, taken_for)


def _resembling(book: Book, source: Source, portrait: Portrait, entries: list[Entry]) -> dict[str, str]:
    """Of which entries the table resembles the table, and by what it does most."""
    listed = [(e.id, sketch) for e in entries for sketch in book.sketches.get(e.id, ())]
    said: dict[str, str] = {}
    for found in resemblances(source.con, [sketch for _, sketch in listed], portrait.sketches):
        entry, sketch = listed[found.known]
        said.setdefault(entry, f"{found.share:.0%} of the {sketch.what} of the smaller one are in both")
    return said
