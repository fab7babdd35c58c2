"""Hierarchies beside the data: files and tables whose names say for which column, and that fit it.

A file is one as ARX writes it: values and their labels with semicolons, no header. Its name has the word hierarchy and
ends with the column, as in adult_hierarchy_age.csv, or starts with it. A table is called hierarchy_<column>. What lacks
a value of the column, or does not nest, is not proposed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.sqltext import file_literal, folded, quoted, table_parts
from sqlpriv.table.source import Source

_WORD = "hierarchy"
_MOST_BYTES = 50_000_000


@dataclass(frozen=True)
class LevelTable:
    """A hierarchy by its name, and how many levels it has, the values and the top among them."""

    name: str
    is_table: bool
    levels: int


def hierarchies_beside(
    source: Source, relation: str, columns: Sequence[str], file: Path | None
) -> dict[str, LevelTable]:
    """The hierarchy of each column that has one beside the data: beside its file, or in its database."""
    found = {}
    for column in columns:
        for name, rows in _tables(source, column) if file is None else _files(file, column):
            levels = _levels(source, relation, column, rows)
            if levels:
                found[column] = LevelTable(name, file is None, levels)
                break
    return found


def _files(file: Path, column: str) -> Iterator[tuple[str, str]]:
    for beside in sorted(file.parent.glob("*.csv")):
        parts = re.split(rf"[_.-]*{_WORD}[_.-]*", folded(beside.stem))
        if len(parts) == 2 and folded(column) in parts and beside.stat().st_size <= _MOST_BYTES:
            path = file_literal(beside)
            yield beside.name, f"read_csv({path}, delim = ';', header = false, all_varchar = true)"


def _tables(source: Source, column: str) -> Iterator[tuple[str, str]]:
    name, within = f"{_WORD}_{column}", table_parts(source.table)[:-1]
    if name.isprintable():
        yield name, ".".join([*(quoted(part.replace('""', '"')) for part in within), quoted(name)])


def _levels(source: Source, relation: str, column: str, rows: str) -> int:
    """How many levels a hierarchy has; 0 where it is none of the column."""
    try:
        names = [quoted(str(row[0])) for row in fetch(source.con, f"DESCRIBE FROM {rows}")]
        if len(names) < 2:
            return 0
        labels = [f"CAST({name} AS VARCHAR)" for name in names]
        nested = [f"count(DISTINCT ({low}, {high})) = count(DISTINCT ({low},))" for low, high in pairwise(labels)]
        own = f"SELECT CAST({quoted(column)} AS VARCHAR) FROM {relation} WHERE {quoted(column)} IS NOT NULL"
        asked = (
            f"count(*) = count(DISTINCT {labels[0]}) AND count(DISTINCT {labels[-1]}) = 1 AND {' AND '.join(nested)}"
        )
        ((fits,),) = fetch(source.con, f"SELECT {asked} FROM {rows}")
        ((missing,),) = fetch(
            source.con, f"SELECT count(*) FROM ({own}) AS own(v) WHERE v NOT IN (SELECT {labels[0]} FROM {rows})"
        )
    except SqlprivError:
        return 0  # not what its name says
    return len(names) if fits and not missing else 0
