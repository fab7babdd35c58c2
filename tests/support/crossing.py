"""Counts the rows that leave DuckDB for Python, by the line of sqlpriv that fetches them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pytest

from sqlpriv.table.engines.duck import HeldRelation

Crossed = Counter[str]
"""The most rows that one call fetched, by its place."""
_DOORS = ("core/engine.py", "core/relation.py", "table/engines/duck.py")


def note(crossed: Crossed, rows: int) -> None:
    """The call is the nearest one of sqlpriv that is no door to DuckDB."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        path = frame.f_code.co_filename
        if "/sqlpriv/" in path and not path.endswith(_DOORS):
            break
        frame = frame.f_back
    place = f"{frame.f_code.co_filename.rpartition('/sqlpriv/')[2]}:{frame.f_code.co_name}"
    crossed[place] = max(crossed[place], rows)


class Counted:
    """A connection or a relation of which all that is fetched is counted."""

    def __init__(self, inner: Any, crossed: Crossed) -> None:
        self._inner, self._crossed = inner, crossed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __enter__(self) -> Counted:
        self._inner.__enter__()
        return self

    def __exit__(self, *given: object) -> None:
        self._inner.__exit__(*given)

    def execute(self, *given: object) -> Counted:
        return Counted(self._inner.execute(*given), self._crossed)

    def sql(self, *given: object) -> Counted:
        return Counted(self._inner.sql(*given), self._crossed)

    def cursor(self) -> Counted:
        return Counted(self._inner.cursor(), self._crossed)

    def fetchall(self) -> list[Any]:
        found: list[Any] = self._inner.fetchall()
        note(self._crossed, len(found))
        return found

    def fetchnumpy(self) -> dict[str, Any]:
        found: dict[str, Any] = self._inner.fetchnumpy()
        note(self._crossed, max(map(len, found.values()), default=0))
        return found

    def to_arrow_table(self) -> Any:
        found = self._inner.to_arrow_table()
        note(self._crossed, len(found))
        return found

    def to_arrow_reader(self, *given: object) -> Any:
        """Only the published rows are streamed, a batch at a time, to be hashed."""
        if not sys._getframe(1).f_code.co_filename.endswith("/release/digest.py"):
            raise AssertionError("rows are streamed out of DuckDB: count them here")
        return self._inner.to_arrow_reader(*given)


@contextmanager
def counting(patched: pytest.MonkeyPatch) -> Iterator[tuple[Crossed, list[int]]]:
    """What is fetched meanwhile, and how many combinations were counted into another database."""
    crossed, combinations, connect = Crossed(), list[int](), duckdb.connect
    into, fetched = HeldRelation.histogram, HeldRelation.fetchall

    def histogram(own: HeldRelation, con: Any, *given: Any) -> Any:
        found = into(own, getattr(con, "_inner", con), *given)
        combinations.append(found.written or 0)
        return found

    def fetchall(own: HeldRelation) -> list[Any]:
        found = fetched(own)
        note(crossed, len(found))
        return found

    with patched.context() as inside:
        inside.setattr(duckdb, "connect", lambda *given, **named: Counted(connect(*given, **named), crossed))
        inside.setattr(HeldRelation, "histogram", histogram)
        inside.setattr(HeldRelation, "fetchall", fetchall)
        yield crossed, combinations
