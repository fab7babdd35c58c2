"""The releases that agents may ask: found by name, asked one question at a time, answered shortly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, TypeVar

import duckdb

from sqlpriv.apps.answers import AnsweredQuery, plain_value
from sqlpriv.apps.below_zero import BelowZero
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.methods import METHODS
from sqlpriv.release.describe import DescribedColumn, Description
from sqlpriv.release.open import OpenRelease, open_files, run_rewritten
from sqlpriv.rewrite.clauses import BUDGET, Options

T = TypeVar("T")

Reply = dict[str, Any]
MOST_DESCRIBED = 2_500
"""The characters of what `describe` says: a screen."""
_AGAIN_SECONDS = 0.05
_HEED_SECONDS = 1.0
"""How long DuckDB has to heed an interrupt, until the agent is answered without it."""
_LONGEST_QUESTION = 100_000
_LENGTHS = (200, 120, 60, 30, 0)
"""Of what is said of each column: shorter until everything fits."""


class Catalog:
    """Open releases by name: the private table's, or the file's where two releases are of tables of one name."""

    def __init__(
        self,
        paths: Sequence[Path],
        most_rows: int = 1000,
        seconds: float = 30.0,
        most_bytes: int = 100_000,
        memory: str = "2GB",
    ) -> None:
        self._most_rows, self._seconds, self._most_bytes, self._memory = most_rows, seconds, most_bytes, memory
        self._paths: dict[str, Path] = {}
        self._open: dict[str, OpenRelease] = {}
        self._lock = Lock()  # an agent may call two tools at once; a connection answers one
        try:
            for path in paths:
                opened = self._opened(path)
                name = opened.table if opened.table not in self._open else path.stem
                if name in self._open:
                    opened.close()
                    raise InputError(f"two releases would be called {name!r}: rename one of the files")
                self._paths[name], self._open[name] = path, opened
        except BaseException:
            self.close()
            raise

    def _opened(self, path: Path) -> OpenRelease:
        return open_files(METHODS, [path], {}, BUDGET, settings={"memory_limit": self._memory})

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the releases."""
        return tuple(self._open)

    def describe(self, release: str | None, column: str | None = None) -> Reply:
        """What a release is, what its columns may hold and what an answer means; or all of one column."""
        name = self._name_of(release)

        def answer(opened: OpenRelease, _: Event) -> Reply:
            about = opened.about
            return _of_column(about, column) if column is not None else _of_release(name, opened.table, about)

        return self._within_time(name, answer)

    def ask(self, sql: str, release: str | None, confidence: float, parameters: list[Any] | None) -> Reply:
        """The estimates of a question, with their bounds, each with the digits that it is good for."""
        name = self._name_of(release)
        if len(sql) > _LONGEST_QUESTION:
            raise InputError(f"the question is too long: {_LONGEST_QUESTION:,} characters at most")

        def answer(opened: OpenRelease, late: Event) -> Reply:
            rewritten = opened.answer(sql, Options(confidence), parameters)
            if late.is_set():  # no query ran that could be interrupted
                raise self._too_long()
            found = run_rewritten(opened.con, _first_rows(rewritten.sql, self._most_rows + 1))
            positive = [column.name for column in rewritten.columns if column.never_below_zero]
            below = BelowZero(positive).look_at(found).warnings("report them as few, with their bounds")
            rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
            listed = [_rounded(row) for row in AnsweredQuery(found.column_names, rows[: self._most_rows]).objects()]
            kept, size = [], 0
            for row in listed:
                size += len(json.dumps(row, ensure_ascii=False).encode())
                if size > self._most_bytes:
                    break
                kept.append(row)
            warnings = [*rewritten.warnings, *below]
            return {"name": name, "rows": kept, "complete": len(kept) == len(rows), "warnings": warnings}

        return self._within_time(name, answer)

    def explain(self, sql: str, release: str | None) -> Reply:
        """The SQL that a question becomes, and what it costs; nothing of it runs."""
        name = self._name_of(release)

        def answer(opened: OpenRelease, _: Event) -> Reply:
            explained = opened.explain(sql)
            return {"name": name, "sql": explained.sql, "domain_rows": plain_value(explained.cost)}

        return self._within_time(name, answer)

    def _name_of(self, release: str | None) -> str:
        if release is None and len(self._open) == 1:
            return next(iter(self._open))
        if release in self._open:
            return str(release)
        raise InputError(f"name one of these releases: {', '.join(self._open)}")

    def _within_time(self, name: str, work: Callable[[OpenRelease, Event], T]) -> T:
        """Do `work` with a release within the time limit; work that runs no query checks the event itself.

        What does not heed an interrupt goes on by itself, over a connection that nobody else has any more.
        """
        with self._lock:
            opened, late, done = self._open[name], Event(), Event()
            found: list[T] = []
            failed: list[BaseException] = []

            def run() -> None:
                try:
                    found.append(work(opened, late))
                except BaseException as error:  # raised below, in the thread that asked
                    failed.append(error)
                finally:
                    done.set()

            worker = Thread(target=run, daemon=True)
            worker.start()
            if not done.wait(self._seconds):
                late.set()
                for _ in range(round(_HEED_SECONDS / _AGAIN_SECONDS)):  # between two queries it stops neither
                    opened.con.interrupt()
                    if done.wait(_AGAIN_SECONDS):
                        break
                else:
                    self._open[name] = self._opened(self._paths[name])
                    raise self._too_long()
            worker.join()
        if not failed:
            return found[0]
        if late.is_set() and isinstance(failed[0], (SqlprivError, duckdb.Error)):
            raise self._too_long() from None
        raise failed[0]

    def _too_long(self) -> InputError:
        seconds = self._seconds
        return InputError(
            f"the answer takes more than {seconds:g} seconds; ask for fewer groups or a simpler condition"
        )

    def close(self) -> None:
        """Give the files back."""
        for opened in self._open.values():
            opened.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _of_release(name: str, table: str, about: Description) -> Reply:
    """A release on one screen: with many columns less is said of each, and `describe` of a column says it."""
    for length in _LENGTHS:
        for most in (len(about.columns), 40, 20, 10):
            reply = {
                "name": name,
                "table": table,
                "what": f"{about.what}. {_cut(about.guarantee, 400)}",
                "answers": f"every number x comes with x_low and x_high: {about.bounds}",
                "columns": {c.name: _column(c, length) for c in about.columns[:most]},
                **_others([c.name for c in about.columns], most),
                "public_tables": {public: ", ".join(columns)[:200] for public, columns in about.public.items()},
                "questions": list(about.examples),
                "more": "describe(column=...) lists what a column may hold",
            }
            if len(json.dumps(reply, ensure_ascii=False)) <= MOST_DESCRIBED or (length, most) == (_LENGTHS[-1], 10):
                return reply
            if length:
                break  # first less of each, then fewer of them
    raise AssertionError("the last of them is returned")


def _of_column(about: Description, name: str) -> Reply:
    found = about.column(name)
    if found is None:
        raise InputError(f"there is no column {name!r}: {_cut(', '.join(c.name for c in about.columns), 1000)}")
    (said,) = (c for c in about.columns if c.name == found.name)
    values, size = [], 0
    for value in about.values_of(found):
        size += len(value) + 4
        if size > MOST_DESCRIBED - 700:
            break
        values.append(value)
    return {
        "column": said.name, "type": said.type, "holds": _cut(said.values, 400), "values": values,
        "number_of_values": found.size, "null": found.has_null,
    }  # fmt: skip


def _others(names: list[str], most: int) -> Reply:
    left = names[most:]
    return {"more_columns": f"{len(left)} more: {_cut(', '.join(left), 400)}"} if left else {}


def _column(column: DescribedColumn, length: int) -> str:
    return f"{column.type}: {_cut(column.values, length)}" if length else column.type


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: max(length - 3, 0)]}..."


def _rounded(row: Reply) -> Reply:
    """A row whose estimates have the digits that their bounds leave them, and all others six."""
    rounded = dict(row)
    for name, value in row.items():
        if not isinstance(value, float) or name.endswith(("_low", "_high")):
            continue
        ends = [row.get(f"{name}_{end}") for end in ("low", "high")]
        digits = _digits(value, *ends)
        rounded[name] = _short(round(value, digits))
        for end, bound, outwards in zip(("low", "high"), ends, (math.floor, math.ceil), strict=True):
            if isinstance(bound, float):
                scale = 10.0**digits
                near = round(bound, digits)
                is_exact = math.isclose(near, bound, rel_tol=1e-9, abs_tol=1e-12)
                rounded[f"{name}_{end}"] = _short(near if is_exact else round(outwards(bound * scale) / scale, digits))
    return rounded


def _digits(value: float, low: Any, high: Any) -> int:
    """After the point: two digits of half the width between the bounds, or six of the value."""
    width = (high - low) / 2 if isinstance(low, float) and isinstance(high, float) else 0.0
    size = width if width > 0 else abs(value) / 1e4
    return 0 if size == 0 else min(12, 1 - math.floor(math.log10(size)))


def _short(value: float) -> float | int:
    return int(value) if value == int(value) and abs(value) < 1e15 else value


def _first_rows(sql: str, most: int) -> str:
    """The SQL for the first rows alone, so that no more are held; DuckDB keeps the order of the inner query."""
    return sql if sql.startswith("DESCRIBE") else f"SELECT * FROM ({sql}) LIMIT {most}"
