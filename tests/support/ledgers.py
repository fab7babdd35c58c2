"""What is in a ledger, and ledgers as they were."""

from __future__ import annotations

import json
from pathlib import Path

from sqlpriv.release.ledger.book import locked, read_book
from sqlpriv.release.ledger.entry import Entry, content_of
from sqlpriv.release.ledger.place import ledger_path

BEFORE = ("time", "table", "digest", "content", "method", "parameters", "coins", "view", "views", "output")
"""What entries had when ledgers were files beside the data."""


def entries(path: Path | None = None) -> list[Entry]:
    """The entries of a ledger; without a path of the user's own."""
    return read_book(path or ledger_path()).entries


def void(path: Path, name: str, why: str) -> Entry:
    """What `sqlpriv ledger void` does."""
    with locked(path) as book:
        return book.void(name, why)


def write_before(path: Path, known: list[Entry]) -> None:
    """A ledger as it was, with these entries."""
    listed = [{k: v for k, v in content_of(e).items() if k in BEFORE} for e in known]
    path.write_text(json.dumps({"sqlpriv": "0.1.0", "releases": listed}))
