"""The private table of a policy, as view `__private`: two values are equal there when a reader sees them as equal.

Four things are corrected. A collation would make texts equal that a reader can distinguish, so text compares by its
bytes. A double has two zeros that are equal but written differently, so there is one, and one NaN. A UNION or
VARIANT holds 1 and '1', which differ and read alike, so it is read as text. And a CSV file does
not say which columns are text: DuckDB looks at its first rows, and a code such as 01305 that comes later would lose its
zero. So where a hierarchy goes by text, the column is read as text, and becomes what DuckDB took it for only when every
value is written as DuckDB would write it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.table.engines.types import corrected, corrected_type
from sqlpriv.table.source import FILE_VIEW as _FILE
from sqlpriv.table.source import Source, TableReference, open_source

_VIEW = "__private"


@contextmanager
def open_table(
    reference: TableReference, by_text: Sequence[str], columns: Sequence[str] | None = None, person: str | None = None
) -> Iterator[Source]:
    """The private table of a policy. `by_text`: columns compared as text, so that a file's 01305 keeps its zero.

    `columns` are those that are read, all if none are given; it matters where a program holds a relation. Rows in which
    the column `person` is NULL are left out, if it is given.
    """
    if (kept := reference.kept) is not None:
        opened = open_source(kept, columns=columns)
    elif reference.database is not None:
        opened = open_source(reference.source, reference.file)
    else:
        opened = open_source(reference.source, None, reference.read_options, folder=reference.folder)
    with opened as source:
        private = replace(source, given=reference, table=_VIEW, texts={})
        if source.reading is not None and source.reading.is_csv:
            private.texts.update(_texts(private, by_text))
        if private.texts:
            _read_texts(private)
        if person is not None:
            private = _without_nobody(private, source.table, person)
        _write_view(private, source.table)
        yield replace(private, types={name: corrected_type(kind) for name, kind in private.types.items()})


def _without_nobody(source: Source, table: str, person: str) -> Source:
    """The source, to be read without the rows in which nobody is named."""
    if source.rows is not None:
        raise PolicyError(
            "rows_without_person is for files, databases and data frames: leave such rows out of the relation or view "
            "that another engine reads"
        )
    source.refuse_unknown([person])
    nobody = f"{quoted(person)} IS NULL"
    ((left_out,),) = fetch(source.con, f"SELECT count(*) FROM {table} WHERE {nobody}")
    return replace(source, left_out=int(left_out), condition=f"NOT ({nobody})")


def settle_types(source: Source, frequencies: str) -> None:
    """Give columns that were read as text their type, where no value is written differently by it."""
    if not source.texts:
        return
    for column, kind in list(source.texts.items()):
        name = quoted(column)
        other = fetch(
            source.con,
            f"SELECT count(*) FROM {frequencies} "
            f"WHERE CAST(TRY_CAST({name} AS {kind}) AS VARCHAR) IS DISTINCT FROM trim({name})",
        )[0][0]
        if other == 0:
            fetch(source.con, f"ALTER TABLE {frequencies} ALTER {name} TYPE {kind}")
            del source.texts[column]
    _read_texts(source)
    _write_view(source, _FILE)


def _write_view(source: Source, table: str) -> None:
    here = {str(row[0]) for row in fetch(source.con, f"DESCRIBE FROM {table}")}
    kinds = {name: kind for name, kind in source.types.items() if name in here}
    fetch(source.con, f"CREATE OR REPLACE VIEW {_VIEW} AS {_corrected(source, table, kinds)}")


def _corrected(source: Source, table: str, kinds: Mapping[str, str]) -> str:
    """A query for a table with columns of these types, in which what reads alike is equal."""
    texts = {"VARCHAR"} if table == _FILE else set()  # a file has no collations
    left = {name for name, kind in kinds.items() if kind in texts or name in source.texts}
    replaced = [
        cell for name, kind in kinds.items() if name not in left and (cell := corrected(name, kind)) != quoted(name)
    ]
    values = f"* REPLACE ({', '.join(replaced)})" if replaced else "*"
    return f"SELECT {values} FROM {table} WHERE {source.condition}"


def _texts(source: Source, by_text: Sequence[str]) -> dict[str, str]:
    """The columns that go by text but which DuckDB took for something else, and for what."""
    given = source.reference.read_options.get("types", {})
    if not isinstance(given, Mapping):
        return {}
    typed = {folded(name) for name in given}
    texts = {folded(name) for name in by_text} - typed
    return {name: kind for name, kind in source.types.items() if kind != "VARCHAR" and folded(name) in texts}


def _read_texts(source: Source) -> None:
    """The files' view once more, with the columns of `texts` as text."""
    assert source.reading is not None
    fetch(source.con, f"CREATE OR REPLACE VIEW {_FILE} AS {source.reading.sql(source.con, source.texts)}")
