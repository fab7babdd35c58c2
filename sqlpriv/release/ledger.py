"""The ledger: what has been released from a table, kept beside the private data and never in a release.

Two releases of one table, made independently, are a severe breach: what occurs in two randomized views is almost surely
in the table (Rastogi, Suciu and Hong 2007, section 4.4.1), and two generalized tables are intersected. So a second one
is refused unless it is the next view of its sequence, the very same release again, or the owner writes why both may
stand together. A table is known by its name and by its digests: an updated table, or a copy of it under another name in
the same place, is still that table. A copy that was renamed and changed cannot be known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sqlpriv.errors import InputError, ReleaseError
from sqlpriv.facts import Facts, Grid, Line
from sqlpriv.sqltext import folded
from sqlpriv.table.reference import TableReference
from sqlpriv.version import __version__

ENVIRONMENT = "SQLPRIV_LEDGER"
_SUFFIX = ".sqlpriv-ledger.json"


@dataclass(frozen=True)
class Entry:
    """One release: of which table, by which coins, as which view of how many."""

    time: str
    table: str
    digest: str
    """Of what is published of the table."""
    content: str
    """Of the whole table, so that a copy is known also when other columns are published of it."""
    method: str
    parameters: Mapping[str, object]
    coins: str
    """Equal for the very same release, and of no use to draw its coins."""
    view: int
    views: int
    output: str
    release: str = ""
    """What the release calls itself in its file."""
    beside: str = ""
    """Why the owner lets it stand beside other releases of the table."""
    void: str = ""
    """Why it does not count: it never went out."""

    @property
    def name(self) -> str:
        """The entry's name for people."""
        return self.coins[:8]


def now() -> str:
    """The time, as entries have it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def environment_ledger() -> Path | None:
    """The ledger that the environment names, if it does."""
    given = os.environ.get(ENVIRONMENT)
    return Path(given) if given else None


def ledger_path(table: TableReference, named: Path | None = None) -> Path:
    """The ledger: the one named, or that of the environment, or the one beside the data, also by a link."""
    if found := named or environment_ledger():
        return found.resolve()  # a link is followed, or writing would put a file in its place
    data = table.file.resolve()
    return data.with_name(data.name + _SUFFIX)


def ledgers_beside(table: TableReference, book: Path) -> list[Path]:
    """The ledger, and where it is the one beside the data also those of other files there: one may be a copy."""
    if book.name.endswith(_SUFFIX) and book.parent == table.file.resolve().parent:
        return [book, *(p for p in sorted(book.parent.glob(f"*{_SUFFIX}")) if p != book)]
    return [book]


def read_ledger(path: Path) -> list[Entry]:
    """The releases so far. A ledger that cannot be read stops everything: it may hold what must not be repeated."""
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = [Entry(**entry) for entry in content["releases"]]
        texts = (
            f for e in found for f in (e.time, e.table, e.digest, e.content, e.method, e.coins, e.output, e.beside)
        )
        if not all(isinstance(t, str) for t in texts) or not all(
            isinstance(e.parameters, dict) and isinstance(e.view, int) and isinstance(e.views, int) for e in found
        ):
            raise TypeError
        return found
    except (OSError, ValueError, KeyError, TypeError):
        raise ReleaseError(f"the ledger {path.name!r} cannot be read; nothing is published without it") from None


def releases_of(entries: Sequence[Entry], table: str, digests: tuple[str, str]) -> list[Entry]:
    """The releases of this table that count, by its name or its content, and those of the table it is a copy of."""
    counted = [e for e in entries if not e.void]
    names = {folded(table), *(folded(e.table) for e in counted if e.digest == digests[0] or e.content == digests[1])}
    return [e for e in counted if folded(e.table) in names]


def refuse_repetition(before: Sequence[Entry], new: Entry, path: Path) -> None:
    """Refuse what does not compose with the releases of the same table, unless the owner says why it may."""
    if not before or any(new.coins == e.coins for e in before):
        return
    if new.view > new.views:
        last = next(e for e in reversed(before) if e.parameters == new.parameters)
        raise ReleaseError(
            f"{_said(path, last)}, the last of the {new.views} views of this sequence; no more can be private"
        )
    if new.beside:
        _refuse_the_same_again(before, new, path)
        return
    last = next((e for e in before if e.views == 1), before[-1])
    where = _said(path, last)
    if new.views == 1 or last.views == 1:
        sequence = "Publish a sequence (views = ...) from the start, use" if "views" in new.parameters else "Use"
        raise ReleaseError(
            f"{where} with {last.method}. A second release made independently would expose people: what occurs in both "
            f"is almost surely true. {sequence} the release there is, void its entry if it never went out "
            f"(sqlpriv ledger void {last.name} --why ...), or write in [release] why "
            'both may stand together: beside = "..."'
        )
    if last.parameters != new.parameters:
        changed = sorted(
            k for k in {*last.parameters, *new.parameters} if last.parameters.get(k) != new.parameters.get(k)
        )
        raise ReleaseError(f"{where}. The next view must have the same parameters; changed: {', '.join(changed)}")
    if new.view != last.view + 1:
        raise ReleaseError(f"{where}, view {last.view} of {last.views}; only view {last.view + 1} can follow")


def _refuse_the_same_again(before: Sequence[Entry], new: Entry, path: Path) -> None:
    """The sentence of `beside` is about one release, not about any number of the same with fresh coins."""
    for last in before:
        same = (last.beside, last.digest, last.parameters) == (new.beside, new.digest, dict(new.parameters))
        if same and new.views == 1:
            raise ReleaseError(
                f"{_said(path, last)} by this very policy. With fresh coins it would be one release more, and the "
                f"noise of both averages out: give the key of then, void its entry ({last.name}) if it never went out, "
                "or say in beside why there may be two of them"
            )


def _said(path: Path, entry: Entry) -> str:
    return f"the ledger {path.name!r} says: {entry.table!r} was released on {entry.time[:10]} as {entry.output!r}"


def append(path: Path, entry: Entry) -> None:
    """Write the entry into the ledger, as a whole or not at all; the same release again is entered once."""
    entries = read_ledger(path)
    if any(e.coins == entry.coins and not e.void for e in entries):
        return
    write_ledger(path, [*entries, entry])


def void(path: Path, name: str, why: str) -> Entry:
    """Mark an entry as one that never went out; the line stays, with the reason."""
    if not why.strip():
        raise InputError("say why the release does not count: it never went out, and nobody has a copy")
    with locked(path):
        entries = read_ledger(path)
        called = [i for i, e in enumerate(entries) if name and e.coins.startswith(name)]
        found = [i for i in called if not entries[i].void]
        if called and not found:
            raise InputError(f"the entry {name!r} of {path.name!r} does not count already: {entries[called[0]].void}")
        if len(found) != 1:
            which = "more than one entry" if found else "no entry"
            raise InputError(f"{which} of {path.name!r} is called {name!r}; `sqlpriv ledger` lists them")
        entries[found[0]] = replace(entries[found[0]], void=why.strip())
        write_ledger(path, entries)
    return entries[found[0]]


def write_ledger(path: Path, entries: Sequence[Entry]) -> None:
    """Replace the ledger; only its owner may read it."""
    content: dict[str, Any] = {"sqlpriv": __version__, "releases": [asdict(e) for e in entries]}
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(content, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise ReleaseError(f"cannot write the ledger {path.name!r}; nothing is published without it") from None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep others from publishing under the same ledger meanwhile."""
    lock = path.with_name(path.name + ".lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise ReleaseError(
            f"someone is publishing under the ledger {path.name!r}; if not, remove {lock.name!r} and try again"
        ) from None
    except OSError:
        raise ReleaseError(f"cannot write beside the ledger {path.name!r}; name another with --ledger") from None
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def ledger_facts(path: Path) -> Facts:
    """All releases of a ledger, in their order."""
    entries = read_ledger(path)
    if not entries:
        return Facts(path.name, [], (Line("nothing has been released"),))
    headings = ("entry", "date", "table", "method", "d", "gamma", "view", "output")
    rows = tuple(
        (e.name, e.time[:10], e.table, e.method, e.parameters.get("d"), e.parameters.get("gamma"),
         f"{e.view} of {e.views}", e.output)
        for e in entries
    )  # fmt: skip
    said = [Line(f"{e.name} stands beside other releases: {e.beside}") for e in entries if e.beside]
    said += [Line(f"{e.name} does not count: {e.void}") for e in entries if e.void]
    return Facts(path.name, [asdict(e) for e in entries], (Grid(headings, rows), *said))
