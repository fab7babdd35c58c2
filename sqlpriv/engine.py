"""Run SQL in DuckDB and say in one sentence what went wrong: never DuckDB's own text, which may hold cell values."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from typing import Any

import duckdb

from sqlpriv.errors import InputError, InternalError, SqlprivError, refusal

Row = tuple[Any, ...]

# What DuckDB says, as a pattern, and what we say; the group is a name, never a value.
_TRANSLATIONS: tuple[tuple[str, str], ...] = (
    (r'does not have a column named "([^"\n]+)"', "there is no column {0!r} in the table"),
    (r'Referenced column "([^"\n]+)" not found', "there is no column {0!r} in the table"),
    (r'Column "([^"\n]+)" in REPLACE list not found', "there is no column {0!r} in the table"),
    (r"Table with name ([^!\n]+?) does not exist", "there is no table {0!r}"),
    (r'infinite recursion detected: .*table macro "(\w+)"',
     "the table is a view made with priv.{0}, and this DuckDB does not run a macro inside itself; "
     "write the view with the SQL that `sqlpriv sql` prints, or make it a table"),
    (r'Duplicate struct entry name "([^"\n]+)"', "the column {0!r} is named twice"),
    (r"No files found that match the pattern", "there is no such file"),
    (r"Out of Memory Error", "DuckDB ran out of memory; raise memory_limit or give it a temp_directory"),
    (r"Error when sniffing|CSV Error", "the file cannot be read as CSV; convert it to Parquet or name its format"),
)  # fmt: skip


def translate(error: duckdb.Error) -> SqlprivError:
    """The error as one of ours."""
    text = str(error)
    if ours := refusal(error):
        return InputError(ours)
    for pattern, sentence in _TRANSLATIONS:
        match = re.search(pattern, text)
        if match:
            return InputError(sentence.format(*match.groups()))
    return InternalError(f"DuckDB could not run the check ({type(error).__name__})")


def fetch(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    parameters: list[object] | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> list[Row]:
    """The rows of a query; `on_progress` hears the share done, from 0 to 1, while a long one runs."""
    try:
        if on_progress is None:
            return con.execute(sql, parameters or []).fetchall()
        return _watched(con, sql, parameters or [], on_progress)
    except duckdb.Error as error:
        raise translate(error) from None
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # what DuckDB makes of Ctrl-C
            raise KeyboardInterrupt from None
        raise


def _watched(
    con: duckdb.DuckDBPyConnection,
    sql: str,
    parameters: list[object],
    on_progress: Callable[[float], None],
) -> list[Row]:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: con.execute(sql, parameters).fetchall())
        while True:
            try:
                return running.result(timeout=0.1)
            except TimeoutError:
                on_progress(max(con.query_progress(), 0.0) / 100)
            except KeyboardInterrupt:
                con.interrupt()
                time.sleep(0.1)
                raise
