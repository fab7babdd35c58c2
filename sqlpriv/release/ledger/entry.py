"""One release, as the ledger has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timezone
from secrets import token_hex
from typing import Any

from sqlpriv.release.ledger.spent import spent_of


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
    place: str = ""
    """A keyed hash of where the table was."""
    finished: bool = True
    """Whether the release was put in its place; if not, it may have been, and only its very coins may do so again."""
    spent: Mapping[str, Any] = field(default_factory=dict)
    """What it costs in differential privacy (spent.py); nothing where it does not compose."""
    id: str = field(default_factory=lambda: token_hex(8))
    """What tells it from all others, also where one release was entered again after it was void."""

    @property
    def name(self) -> str:
        """The entry's name for people."""
        return self.coins[:8]


_TEXTS = ("time", "table", "digest", "content", "method", "coins", "output", "release", "beside", "void", "place", "id")


def entry_of(content: object) -> Entry:
    """An entry from what was read; TypeError where it is none."""
    if not isinstance(content, dict) or not set(content) <= {f.name for f in fields(Entry)}:
        raise TypeError
    entry = Entry(**content)
    if not all(isinstance(getattr(entry, name), str) for name in _TEXTS):
        raise TypeError
    numbers = all(isinstance(n, int) for n in (entry.view, entry.views, entry.finished))
    if not numbers or not isinstance(entry.parameters, dict) or not isinstance(entry.spent, dict):
        raise TypeError
    if entry.spent and spent_of(entry.spent) is None:
        raise TypeError
    return entry


def content_of(entry: Entry) -> dict[str, Any]:
    """The entry as it is kept and shown."""
    return {**asdict(entry), "parameters": dict(entry.parameters), "spent": dict(entry.spent)}


def now() -> str:
    """The time, as entries have it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
