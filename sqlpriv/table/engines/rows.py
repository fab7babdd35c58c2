"""The seam to an engine that keeps the rows of a table: only counts of combinations leave it.

Everything else is computed by DuckDB from those counts, noise included, so a release is the same whichever engine has
counted. An engine is a subclass of `Rows` in a module of its own; `engines.rows_of` chooses it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from sqlpriv.core.engine import Runs
from sqlpriv.core.errors import InputError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded

COUNT = "__priv_n"
"""The column with the number of rows, wherever combinations are counted."""


@dataclass(frozen=True)
class WholeRows:
    """Rows with all their columns, where they are read."""

    con: Runs
    table: str
    """As SQL."""
    copies: str | None = None
    """The column that says how often each row is there, where it is no part of them."""


@dataclass(frozen=True)
class Fold:
    """What is to be found in all rows, a part of them at a time (task.py), by SQL of DuckDB: what is found adds up."""

    tables: tuple[str, ...]
    """Statements that make what the queries need of a part."""
    queries: Mapping[int, str]
    """For each number a query for hash, n, low and high."""
    size: int
    """How many of its smallest hashes each number keeps."""


class Rows(ABC):
    """The rows of a table, where an engine keeps them."""

    label: str = "the data"
    folds: bool = False
    """Whether it folds rows where they are, so that not all combinations of all columns have to come here."""
    types: Mapping[str, str]
    """The columns with their types in DuckDB."""

    @abstractmethod
    def count(self) -> int:
        """How many rows there are."""

    @abstractmethod
    def histogram(self, con: duckdb.DuckDBPyConnection, names: Sequence[str], table: str) -> Relation:
        """Make a table of the combinations of some columns in a database, with COUNT; its columns have their types."""

    @abstractmethod
    def everything(self, con: duckdb.DuckDBPyConnection) -> WholeRows:
        """The rows with all columns; what is equal to a reader is equal there."""

    def fold(self, con: duckdb.DuckDBPyConnection, fold: Fold, table: str) -> Relation:
        """Make a table of what is found: part, hash, n, low, high."""
        raise NotImplementedError

    @abstractmethod
    def sharing(self, name: str) -> int:
        """How many rows have a value of a column that another row has, too."""

    def spelt(self, names: Sequence[str]) -> list[str]:
        """Those of its columns that are named, in its order."""
        wanted = {folded(name) for name in names}
        return [c for c in self.types if folded(c) in wanted]

    def close(self) -> None:  # noqa: B027
        """Remove what was made beside the rows; most make nothing."""


def each_copy(counted: Relation) -> str:
    """The combinations, each as often as it is there, for FROM."""
    return f"{counted.name}, range({COUNT}) AS __priv_copies(__priv_copy)"


def each_row_of(whole: WholeRows) -> str:
    """All rows one by one, as SQL for FROM."""
    if whole.copies is None:
        return whole.table
    return (
        f"(SELECT * EXCLUDE ({whole.copies}, __priv_copy) FROM {whole.table}, range({whole.copies}) AS c(__priv_copy))"
    )


def refuse_columns(label: str, names: Sequence[str], unread: Iterable[tuple[str, str]]) -> None:
    """Refuse columns that DuckDB cannot have: two names that differ only in case, and types that are not read."""
    twice = [n for i, n in enumerate(names) if folded(n) in {folded(other) for other in names[:i]}]
    if twice:
        raise InputError(
            f"{label} has two columns called {twice[0]!r}, and DuckDB ignores case; rename one, or leave it out"
        )
    for name, kind in unread:
        raise InputError(
            f"the column {name!r} of {label} is {kind}, which is not read there; cast it in a view, or leave it out"
        )
