"""The ledger: what has been released from a table, kept beside the private data and never in a release.

Two randomized releases of one table, made independently, are a severe breach: what occurs in both is almost surely in
the table (Rastogi, Suciu and Hong 2007, section 4.4.1). So a second one is refused unless it is the next view of its
sequence, or the very same release again. A table is known by its name and by its digests: an updated table, or a copy
of it under another name in the same place, is still that table. A copy that was renamed and changed cannot be known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sqlpriv.errors import ReleaseError
from sqlpriv.policy.reader import TablePolicy
from sqlpriv.sqltext import folded
from sqlpriv.version import __version__

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
    view: int
    views: int
    output: str


def ledger_path(policy: TablePolicy) -> Path:
    """Where the ledger of a policy's table is, unless another one is named: beside the data, also by a link."""
    data = policy.path(policy.database if policy.database is not None else policy.source).resolve()
    return data.with_name(data.name + _SUFFIX)


def read_ledger(path: Path) -> list[Entry]:
    """The releases so far. A ledger that cannot be read stops everything: it may hold what must not be repeated."""
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return [Entry(**entry) for entry in content["releases"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise ReleaseError(f"the ledger {path.name!r} cannot be read; nothing is published without it") from None


def make_entry(
    table: str,
    digests: tuple[str, str],
    method: str,
    parameters: Mapping[str, object],
    coins: str,
    view: int,
    views: int,
    output: str,
) -> Entry:
    """An entry for a release that is about to be made."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Entry(now, table, *digests, method, dict(parameters), coins, view, views, output)


def releases_of(entries: list[Entry], table: str, digests: tuple[str, str]) -> list[Entry]:
    """The releases of this table, by its name or by its content, and with it those of the table it is a copy of."""
    names = {folded(table), *(folded(e.table) for e in entries if e.digest == digests[0] or e.content == digests[1])}
    return [e for e in entries if folded(e.table) in names]


def refuse_repetition(before: list[Entry], new: Entry, path: Path) -> None:
    """Refuse what does not compose with the releases of the same table."""
    if not before or new.coins == before[-1].coins:
        return
    last = next((e for e in before if e.views == 1), before[-1])
    where = f"the ledger {path.name!r} says: {last.table!r} was released on {last.time[:10]} as {last.output!r}"
    if new.views == 1 or last.views == 1:
        raise ReleaseError(
            f"{where} with {last.method}. A second release made independently would expose people: what occurs in both "
            "is almost surely true. Publish a sequence (views = ...) from the start, or use the release there is"
        )
    if last.parameters != new.parameters:
        changed = sorted(
            k for k in {*last.parameters, *new.parameters} if last.parameters.get(k) != new.parameters.get(k)
        )
        raise ReleaseError(f"{where}. The next view must have the same parameters; changed: {', '.join(changed)}")
    if new.view > new.views:
        raise ReleaseError(f"{where}, the last of the {new.views} views of this sequence; no more can be private")
    if new.view != last.view + 1:
        raise ReleaseError(f"{where}, view {last.view} of {last.views}; only view {last.view + 1} can follow")


def append(path: Path, entry: Entry) -> None:
    """Write the entry into the ledger, as a whole or not at all; the same release again is entered once."""
    entries = read_ledger(path)
    if any(e.coins == entry.coins for e in entries):
        return
    write_ledger(path, [*entries, entry])


def write_ledger(path: Path, entries: list[Entry]) -> None:
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
