"""Which table is private, and where it and the files beside it are: what a policy says in its section [table]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlpriv.sqltext import table_parts


@dataclass(frozen=True)
class TableReference:
    """The private table: a file, or a table of a database. File names start at `folder`, that of the policy."""

    folder: Path
    source: str
    database: str | None
    read_options: Mapping[str, Any]
    held: Any = field(default=None, repr=False, compare=False)
    """What a program holds in the place of the file: a data frame, an Arrow table, a DuckDB relation."""

    @property
    def name(self) -> str:
        """What the table is called, and what a release of it calls it."""
        if self.database:
            return table_parts(self.source)[-1].replace('""', '"')
        return Path(self.source).name.lstrip(".").partition(".")[0] or "data"

    @property
    def file(self) -> Path:
        """The file that holds the private data."""
        return self.path(self.database if self.database is not None else self.source)

    @property
    def is_in_database(self) -> bool:
        """Whether the rows come from a database, in which there may be tables beside them."""
        return self.database is not None and self.held is None

    @property
    def is_in_file(self) -> bool:
        """Whether the rows come from a file."""
        return self.database is None and self.held is None

    def path(self, name: str) -> Path:
        """A file named in the policy, relative to its folder."""
        return self.folder / name

    def is_file(self, name: str) -> bool:
        """Whether there is such a file; what no file can be called is none."""
        try:
            return self.path(name).is_file()
        except (OSError, ValueError):
            return False

    def state(self) -> tuple[int, int] | None:
        """Size and time of the source file. A database is locked while it is open, so it cannot change."""
        if not self.is_in_file:
            return None
        try:
            found = self.file.stat()
        except OSError:
            return None
        return found.st_size, found.st_mtime_ns
