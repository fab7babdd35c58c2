"""What is in a ledger."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.release.ledger.entry import Entry
from sqlpriv.release.ledger.place import ledger_path
from sqlpriv.release.ledger.store import locked, read_ledger


def entries(path: Path | None = None) -> list[Entry]:
    """The entries of a ledger; without a path of the user's own."""
    return read_ledger(path or ledger_path()).entries


def void(path: Path, name: str, why: str) -> Entry:
    """What `sqlpriv ledger void` does."""
    with locked(path) as ledger:
        return ledger.void(name, why)
