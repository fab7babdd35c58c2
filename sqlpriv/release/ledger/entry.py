"""One release as the ledger records it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timezone
from secrets import token_hex
from typing import Any

from sqlpriv.release.ledger.spent import spent_of


@dataclass(frozen=True)
class Entry:
    """One release: its table, its random noise, and which view of how many it is."""

    time: str
    table: str
    digest: str
    """Of what is published of the table."""
    content: str
    """Of the whole table, so that a copy is known also when other columns are published of it."""
    method: str
    parameters: Mapping[str, object]
    coins: str
    """A name of its random noise: equal for the very same release, and of no use to draw that noise."""
    view: int
    views: int
    output: str
    release: str = ""
    """The release ID in its file."""
    coexists_because: str = ""
    """Why it may coexist with other releases of the table, in the owner's words."""
    void: str = ""
    """Why it does not count: it never went out."""
    place: str = ""
    """A keyed hash of where the table was."""
    finished: bool = True
    """Whether it is known that the release was put in its place; if not, only the same noise may be put there."""
    spent: Mapping[str, Any] = field(default_factory=dict)
    """What it costs in differential privacy (spent.py); nothing where it does not compose."""
    id: str = field(default_factory=lambda: token_hex(8))
    """Unique, also where one release was entered again after it was void."""

    @property
    def name(self) -> str:
        """The entry's name for people."""
        return self.coins[:8]


_TEXTS = (
    "time", "table", "digest", "content", "method", "coins", "output", "release", "coexists_because", "void", "place",
    "id",
)  # fmt: skip


def entry_of(content: object) -> Entry:
    """An entry from JSON; TypeError where it is none."""
    if not isinstance(content, dict):
        raise TypeError
    # A ledger outlives versions of sqlpriv: `beside` is what the reason was called before.
    given = {"coexists_because" if name == "beside" else name: value for name, value in content.items()}
    if not set(given) <= {f.name for f in fields(Entry)}:
        raise TypeError
    entry = Entry(**given)
    if not all(isinstance(getattr(entry, name), str) for name in _TEXTS):
        raise TypeError
    numbers = all(isinstance(n, int) for n in (entry.view, entry.views, entry.finished))
    if not numbers or not isinstance(entry.parameters, dict) or not isinstance(entry.spent, dict):
        raise TypeError
    if entry.spent and spent_of(entry.spent) is None:
        raise TypeError
    return entry


def content_of(entry: Entry) -> dict[str, Any]:
    """The entry as JSON, as it is kept and shown."""
    return {**asdict(entry), "parameters": dict(entry.parameters), "spent": dict(entry.spent)}


def now() -> str:
    """The time, as entries have it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
