"""Which entries are about this table: those of the same place, of the same content, and of tables that resemble it.

The same place is a file, or a table of a database file, whatever is in it now: that is what sequences of views are for.
The same content is the same whatever its order, names and place. And a table that shares half of the smaller one with
a table of the ledger, more than chance explains, is taken for it (sql/operators/sketch.sql says how).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlpriv.release.ledger.entry import Entry
from sqlpriv.release.ledger.store import Ledger
from sqlpriv.table.fingerprint import Fingerprint, resemblances, take_fingerprint
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class Recognised:
    """A table with its releases in the ledger: its hashed place, its fingerprint, and the entries that count."""

    place: str
    fingerprint: Fingerprint
    releases: tuple[Entry, ...]
    taken_for: dict[str, str] = field(default_factory=dict)
    """How the table resembles that of an entry, by the id of the entry, where place and content differ."""


def recognise(ledger: Ledger, source: Source, person: str | None, digest: str | None = None) -> Recognised:
    """The table with its releases that count; `digest` is that of the part of it that would be published."""
    table = source.reference
    place = ledger.place_of(table.file, table.name)
    fingerprint = take_fingerprint(source.con, source.table, ledger.secret, person)
    counted = [e for e in ledger.entries if not e.void]
    found = {e.id for e in counted if e.place == place or e.content == fingerprint.digest or e.digest == digest}
    taken_for = _resembling(ledger, source, fingerprint, [e for e in counted if e.id not in found])
    places = {e.place for e in counted if e.id in found or e.id in taken_for}
    releases = tuple(e for e in counted if e.id in found or e.id in taken_for or e.place in places)
    return Recognised(place, fingerprint, releases, taken_for)


def _resembling(ledger: Ledger, source: Source, fingerprint: Fingerprint, entries: list[Entry]) -> dict[str, str]:
    """The entries whose tables this one resembles, each with the strongest resemblance in words."""
    listed = [(e.id, sketch) for e in entries for sketch in ledger.sketches.get(e.id, ())]
    said: dict[str, str] = {}
    for found in resemblances(source.con, [sketch for _, sketch in listed], fingerprint.sketches):
        entry, sketch = listed[found.known]
        said.setdefault(entry, f"{found.share:.0%} of the {sketch.what} of the smaller one are in both")
    return said
