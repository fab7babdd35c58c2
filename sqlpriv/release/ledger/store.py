"""The ledger as a small database (SQLite), which a crash leaves as it was before or after a change, never between.

    about      name, value: format, the version that wrote it, the secret of the sketches, and the seal: a digest of
               what no reader could see damage in
    entries    coins, finished, key, copy, entry (JSON). The key of an unfinished entry is kept with it, and the name of
               the copy beside the target of the last attempt, until the release is in its place; then both are
               overwritten with zeros
    sketches   of the tables of the entries: private data
    samples    of their rows, cell by cell: private data as well
    people     which entries are known to be about the same people

Beside it is a folder of the owner's, in which releases are written before they are entered, with the lock: SQLite's
own, which the operating system takes from a process that dies. Whoever holds the lock removes what others left there.
The file comes into being with its first entry, under another name first, so that an empty one is always a fault.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from struct import error as struct_error
from struct import iter_unpack, pack, unpack

from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.core.folders import hold_lock
from sqlpriv.core.sqltext import folded
from sqlpriv.policy.keys import REASON
from sqlpriv.release.ledger.entry import Entry, content_of, entry_of
from sqlpriv.release.ledger.place import followed, make_folder, own_folder, tightened
from sqlpriv.table.cells import CellSample
from sqlpriv.table.fingerprint import Fingerprint, Sketch
from sqlpriv.table.source import TableReference
from sqlpriv.version import __version__

_FORMAT, _BEFORE = "2", "1"
_EARLIER = "*.sqlpriv-ledger.json"
_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE entries (id INTEGER PRIMARY KEY, coins TEXT NOT NULL, finished INTEGER NOT NULL, key BLOB, copy TEXT,
                      entry TEXT NOT NULL);
CREATE TABLE sketches (entry INTEGER NOT NULL REFERENCES entries, kind TEXT NOT NULL, columns TEXT NOT NULL,
                       cells BLOB NOT NULL);
"""
_SINCE_2 = """
CREATE TABLE samples (entry INTEGER NOT NULL REFERENCES entries, columns TEXT NOT NULL, counting TEXT NOT NULL,
                      copies BLOB NOT NULL, cells BLOB NOT NULL);
CREATE TABLE people (entry INTEGER NOT NULL REFERENCES entries, other TEXT NOT NULL);
"""


@dataclass
class Ledger:
    """An open ledger: its content, and, while it is locked, the ways to change it."""

    path: Path
    secret: str = field(repr=False)
    entries: list[Entry]
    sketches: dict[str, tuple[Sketch, ...]] = field(default_factory=dict, repr=False)
    """By the id of their entry."""
    samples: dict[str, CellSample] = field(default_factory=dict, repr=False)
    """By the id of their entry; what an earlier version entered has none."""
    people: dict[str, frozenset[str]] = field(default_factory=dict)
    """The ids of entries about the same people, as it was known when an entry was made, by its id."""
    keys: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Of unfinished entries, by their ids."""
    numbers: dict[str, int] = field(default_factory=dict, repr=False)
    """The rows of entries in the file, by their ids."""
    home: str = ""
    """A keyed hash of where it was when it was last written."""
    others: tuple[Ledger, ...] = ()
    """Ledgers that are read together with it, and not written."""
    warnings: tuple[str, ...] = ()
    """Sentences about the ledger for its owner."""

    @property
    def was_copied(self) -> bool:
        """Whether it lies in another place than the one where it was last written."""
        return bool(self.home) and self.home != self.place_of(self.path, "")

    @property
    def known(self) -> Iterator[Entry]:
        """Its entries, and those of the ledgers that are read together with it."""
        for ledger in (self, *self.others):
            yield from ledger.entries

    @property
    def folder(self) -> Path:
        """The folder for unfinished releases."""
        return _folder(self.path)

    def place_of(self, file: Path, table: str) -> str:
        """Where a table is, hashed: no path stands in the ledger."""
        where = f"{file.resolve()}|{folded(table)}"
        return hmac.new(self.secret.encode(), where.encode(), hashlib.sha256).hexdigest()[:32]

    def key_of(self, table: str) -> bytes:
        """The key of pseudonyms of a table, where its owner has none: the same whenever it is published again."""
        return hmac.new(self.secret.encode(), f"pseudonyms|{folded(table)}".encode(), hashlib.sha256).digest()

    def enter(self, entry: Entry, fingerprint: Fingerprint, people: Iterable[str], key: bytes, copy: Path) -> None:
        """Write an unfinished entry with its key; from then on the release may be put in its place.

        `people` are the ids of the entries that are known to be about the same people.
        """
        entry, sample = replace(entry, finished=False), fingerprint.sample
        with self._changing() as con:
            con.execute(
                "INSERT INTO entries (coins, finished, key, copy, entry) VALUES (?, 0, ?, ?, ?)",
                (entry.coins, key, str(copy), json.dumps(content_of(entry))),
            )
            number = int(con.execute("SELECT last_insert_rowid()").fetchone()[0])
            con.executemany(
                "INSERT INTO sketches VALUES (?, ?, ?, ?)",
                [
                    (number, s.kind, json.dumps(s.columns), b"".join(pack("<qq", *cell) for cell in s.cells))
                    for s in fingerprint.sketches
                ],
            )
            if sample is not None:
                con.execute("INSERT INTO samples VALUES (?, ?, ?, ?, ?)", (number, *_packed(sample)))
            con.executemany("INSERT INTO people VALUES (?, ?)", [(number, other) for other in people])
            con.execute("INSERT OR REPLACE INTO about VALUES ('home', ?)", (self.place_of(self.path, ""),))
        self.entries.append(entry)
        self.sketches[entry.id] = fingerprint.sketches
        if sample is not None:
            self.samples[entry.id] = sample
        self.people[entry.id], self.keys[entry.id], self.numbers[entry.id] = frozenset(people), key, number

    def try_again(self, entry: Entry, copy: Path) -> None:
        """Record the copy by which the release of an entry is put in its place once more, or in another place."""
        self._update(entry, "copy = ?", str(copy))

    def finish(self, entry: Entry) -> None:
        """Record that the release is in its place; its key and the name of its copy are erased."""
        self._close(replace(entry, finished=True))

    def take_back(self, entry: Entry) -> None:
        """Delete the entry of a release that could not be put in its place, so that nobody can have seen it."""
        with self._changing() as con:
            for table in ("sketches", "samples", "people"):
                con.execute(f"DELETE FROM {table} WHERE entry = ?", (self.numbers[entry.id],))
            con.execute("DELETE FROM entries WHERE id = ?", (self.numbers[entry.id],))
        self.entries = [e for e in self.entries if e.id != entry.id]

    def void(self, name: str, why: str) -> Entry:
        """Mark an entry as one that never went out; the line stays, with the reason."""
        if not why.strip():
            raise InputError("say why the release does not count: it never went out, and nobody has a copy")
        if REASON.read(why.strip()) is None:
            raise InputError(f"why the release does not count must be {REASON.words}")
        called = [e for e in self.entries if name and e.coins.startswith(name)]
        found = [e for e in called if not e.void]
        if called and not found:
            raise InputError(f"the entry {name!r} of {self.path.name!r} does not count already: {called[0].void}")
        if len(found) != 1:
            which = "more than one entry" if found else "no entry"
            raise InputError(f"{which} of {self.path.name!r} is called {name!r}; `sqlpriv ledger` lists them")
        voided = replace(found[0], void=why.strip(), finished=True)
        self._close(voided)
        return voided

    def _close(self, entry: Entry) -> None:
        """Write an entry that nothing is left to do for, in the place of what it was."""
        self._update(entry, "finished = 1, key = NULL, copy = NULL, entry = ?", json.dumps(content_of(entry)))
        self.entries = [entry if e.id == entry.id else e for e in self.entries]
        self.keys.pop(entry.id, None)

    def _update(self, entry: Entry, assignments: str, value: str) -> None:
        with self._changing() as con:
            of_entry = (self.numbers[entry.id], entry.coins)
            changed = con.execute(f"UPDATE entries SET {assignments} WHERE id = ? AND coins = ?", (value, *of_entry))
            if changed.rowcount != 1:  # somebody replaced the file meanwhile
                raise sqlite3.DataError

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """A change of the file, as a whole or not at all; the file is made with the first."""
        try:
            if not self.path.exists():
                _create(self.path, self.secret)
            with closing(_connect(self.path)) as con:
                con.execute("BEGIN IMMEDIATE")
                _upgrade(con)
                yield con
                con.execute("INSERT OR REPLACE INTO about VALUES ('seal', ?)", (_seal(con),))
                con.execute("COMMIT")
        except (sqlite3.Error, OSError):
            raise ReleaseError(f"cannot write the ledger {self.path.name!r}; nothing is published without it") from None


def read_ledger(path: Path, table: TableReference | None = None, beside: Sequence[Path] = ()) -> Ledger:
    """The ledger as it is; nothing is changed. Refused where one of an earlier version lies beside the table.

    `beside` are ledgers that are read together with it, as those are that were merged into it.
    """
    there = followed(path)
    merged = sorted(merged_folder(there).glob("*.db"))
    others = {other: None for name in (*beside, *merged) if (other := followed(name)) != there and other.exists()}
    return replace(_read_alone(there, table), others=tuple(_read_alone(other, None) for other in others))


def merged_folder(path: Path) -> Path:
    """Where the copies of the ledgers are that were merged into one."""
    return path.with_name(f"{path.name}-merged")


def merge_ledger(path: Path, other: Path) -> Ledger:
    """From now on read another ledger together with this one: a copy of it is kept beside."""
    given = followed(other)
    if not given.exists():
        raise InputError(f"there is no ledger {other.name!r}")
    with locked(path) as ledger:
        if given == ledger.path:
            raise InputError("a ledger cannot be merged with itself; name another")
        read = _read_alone(given, None)
        folder = merged_folder(ledger.path)
        own_folder(folder)
        copy = folder / f"{hashlib.sha256(read.secret.encode()).hexdigest()[:16]}.db"
        new = copy.with_suffix(".new")
        new.unlink(missing_ok=True)
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(_connect(given)) as source, closing(_connect(new)) as target:
            source.backup(target)
        os.replace(new, copy)
        return read_ledger(ledger.path)


def _read_alone(there: Path, table: TableReference | None) -> Ledger:
    if table is not None:
        _refuse_earlier_ledger(table.file.resolve().parent)
    if not there.exists():
        return Ledger(there, os.urandom(32).hex(), [])
    try:
        with closing(_connect(there)) as con:
            return _read(con, there)
    except (sqlite3.Error, ValueError, KeyError, TypeError, struct_error):
        raise _unreadable(there) from None


def _refuse_earlier_ledger(folder: Path) -> None:
    """Earlier versions kept a ledger beside the data; ignoring it could publish for the second time."""
    for found in sorted(folder.glob(_EARLIER)) if folder.is_dir() else ():
        raise ReleaseError(
            f"{found.name!r} beside the data is a ledger of an earlier version of sqlpriv, which this version does "
            "not read. Look which releases it lists, and move it away only if nobody has them or the new release may "
            "coexist with them"
        )


@contextmanager
def locked(path: Path, table: TableReference | None = None, beside: Sequence[Path] = ()) -> Iterator[Ledger]:
    """The ledger, while nobody else publishes under it; what dead processes left unfinished is removed."""
    there = followed(path)
    make_folder(there)
    warnings = tightened(there)
    own_folder(_folder(there))
    lock = _folder(there) / "lock"
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600))
    except OSError:
        raise ReleaseError(f"cannot write beside the ledger {there.name!r}; name another with --ledger") from None
    try:
        held = hold_lock(lock)
    except sqlite3.Error:
        raise ReleaseError(
            f"someone is publishing under the ledger {there.name!r}; try again when it is done"
        ) from None
    with closing(held):
        _remove_leftovers(there)
        ledger = read_ledger(there, table, beside)
        yield replace(ledger, warnings=(*warnings, *_strange(ledger)))


def _strange(ledger: Ledger) -> Iterator[str]:
    """Sentences on a ledger that may not know what was released."""
    if ledger.was_copied:
        yield (
            f"the ledger {ledger.path.name!r} was copied or moved here: releases that were entered since where it was "
            "before are not known here; go on with one of the two, or merge the other (sqlpriv ledger merge)"
        )


def _folder(path: Path) -> Path:
    return path.with_name(f"{path.name}-unfinished")


def _remove_leftovers(path: Path) -> None:
    """Remove files of processes that died: in our folder, and copies beside targets, whose names are recorded."""
    try:
        for left in _folder(path).iterdir():
            if not left.name.startswith("lock"):
                left.unlink()
        if path.exists():
            with closing(_connect(path)) as con:
                for (copy,) in con.execute("SELECT copy FROM entries WHERE copy IS NOT NULL").fetchall():
                    Path(copy).unlink(missing_ok=True)
    except sqlite3.Error:
        raise _unreadable(path) from None
    except OSError:
        raise ReleaseError(
            f"cannot remove what an earlier run left in {_folder(path).name!r} beside the ledger; remove it by hand"
        ) from None


def _connect(path: Path) -> sqlite3.Connection:
    con = sqlite3.connect(path, timeout=10, isolation_level=None)
    con.execute("PRAGMA secure_delete = ON")  # a key that is forgotten is gone
    return con


def _create(path: Path, secret: str) -> None:
    """The file with nothing but its secret."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(_connect(new)) as con:
        con.executescript(f"BEGIN;{_SCHEMA}{_SINCE_2}COMMIT;")
        about = [("format", _FORMAT), ("sqlpriv", __version__), ("secret", secret)]
        con.executemany("INSERT INTO about VALUES (?, ?)", about)
    os.replace(new, path)


def _upgrade(con: sqlite3.Connection) -> None:
    """Make what an earlier version did not have; from then on that version does not read the file."""
    if con.execute("SELECT value FROM about WHERE name = 'format'").fetchone()[0] == _BEFORE:
        for statement in filter(str.strip, _SINCE_2.split(";")):
            con.execute(statement)
        changed = [(_FORMAT, "format"), (__version__, "sqlpriv")]
        con.executemany("UPDATE about SET value = ? WHERE name = ?", changed)


def _seal(con: sqlite3.Connection) -> str:
    """A digest of the secret, of which entries there are, and of all that tables are known again by.

    Other damage makes an entry unreadable. Of these a reader would only find that no table is known.
    """
    digest = hashlib.sha256()
    for query in (
        "SELECT value FROM about WHERE name = 'secret'",
        "SELECT id, coins FROM entries ORDER BY id",
        *(f"SELECT * FROM {table} ORDER BY rowid" for table in ("sketches", "samples", "people")),
    ):
        for row in con.execute(query):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def _packed(sample: CellSample) -> tuple[str, str, bytes, bytes]:
    """The sample as it is kept: how often each row is there, and two bytes a cell."""
    rows = len(sample.cells)
    cells = [value for row in sample.cells for value in row]
    return (
        json.dumps(sample.columns),
        json.dumps(sorted(sample.counting)),
        pack(f"<{rows}q", *sample.copies),
        pack(f"<{len(cells)}H", *cells),
    )


def _unpacked(columns: str, counting: str, copies: bytes, cells: bytes) -> CellSample:
    names = tuple(json.loads(columns))
    rows = len(copies) // 8
    if rows * len(names) * 2 != len(cells):
        raise ValueError
    found = tuple(iter_unpack(f"<{len(names)}H", cells)) if cells else ()
    return CellSample(names, frozenset(json.loads(counting)), unpack(f"<{rows}q", copies), found)


def _unreadable(path: Path) -> ReleaseError:
    return ReleaseError(
        f"the ledger {path.name!r} cannot be read; nothing is published without it: bring back your last copy of it"
    )


def _read(con: sqlite3.Connection, path: Path) -> Ledger:
    about = dict(con.execute("SELECT name, value FROM about").fetchall())
    if about["format"] not in {_FORMAT, _BEFORE}:
        raise ReleaseError(f"the ledger was written by sqlpriv {about['sqlpriv']}, which this version does not read")
    if about["format"] == _FORMAT and "seal" in about and about["seal"] != _seal(con):
        raise _unreadable(path)
    ledger = Ledger(path, about["secret"], [], home=about.get("home", ""))
    ids: dict[int, str] = {}
    for number, finished, key, content in con.execute("SELECT id, finished, key, entry FROM entries ORDER BY id"):
        entry = replace(entry_of(json.loads(content)), finished=bool(finished))
        if not entry.place:
            raise TypeError  # of an earlier version, which did not record where a table was
        ledger.entries.append(entry)
        ids[number], ledger.numbers[entry.id] = entry.id, number
        if key is not None:
            ledger.keys[entry.id] = bytes(key)
    for number, kind, columns, cells in con.execute("SELECT entry, kind, columns, cells FROM sketches ORDER BY rowid"):
        sketch = Sketch(kind, tuple(json.loads(columns)), tuple((h, n) for h, n in iter_unpack("<qq", cells)))
        ledger.sketches[ids[number]] = (*ledger.sketches.get(ids[number], ()), sketch)
    if about["format"] == _FORMAT:
        for number, *packed in con.execute("SELECT entry, columns, counting, copies, cells FROM samples"):
            ledger.samples[ids[number]] = _unpacked(*packed)
        for number, other in con.execute("SELECT entry, other FROM people"):
            ledger.people[ids[number]] = ledger.people.get(ids[number], frozenset()) | {str(other)}
    return ledger
