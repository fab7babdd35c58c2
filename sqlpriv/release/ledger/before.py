"""Ledgers as they were: JSON files beside the data, or where --ledger said. Their entries count, and are taken over.

They had no sketches: a table is known by them through its name and its digests alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from sqlpriv.errors import ReleaseError
from sqlpriv.release.ledger.entry import Entry, entry_of
from sqlpriv.table.reference import TableReference

_SUFFIX = ".sqlpriv-ledger.json"


def ledgers_beside(table: TableReference) -> list[Path]:
    """Those beside the data: of its own file, and of others there, one of which may be a copy."""
    data = table.file.resolve()
    return sorted(data.parent.glob(f"*{_SUFFIX}")) if data.parent.is_dir() else []


def data_of(book: Path) -> Path:
    """The data that a ledger lay beside."""
    return book.with_name(book.name.removesuffix(_SUFFIX))


def read_before(path: Path) -> list[Entry]:
    """The entries of a ledger of before. One that cannot be read stops all: it may hold what must not be repeated."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = [entry_of(release) for release in content["releases"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise unreadable(path) from None
    return [replace(e, place="", finished=True, id=_id(path.name, i, e)) for i, e in enumerate(found)]


def _id(book: str, number: int, entry: Entry) -> str:
    """The same whenever it is read, so that nothing is taken over twice."""
    said = json.dumps([book, number, entry.coins, entry.time, entry.table, entry.output])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def unreadable(path: Path) -> ReleaseError:
    """What is said of every ledger that makes no sense."""
    return ReleaseError(f"the ledger {path.name!r} cannot be read; nothing is published without it")
