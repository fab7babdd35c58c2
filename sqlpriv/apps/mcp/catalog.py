"""The releases that agents may ask: found by name, asked one question at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, TypeVar

import duckdb

from sqlpriv import publishing
from sqlpriv.apps.answers import AnsweredQuery, plain_value
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.core.facts import plain
from sqlpriv.release.open import OpenRelease, run_rewritten

T = TypeVar("T")

Reply = dict[str, Any]
_AGAIN_SECONDS = 0.05


class Catalog:
    """Open releases by name: the private table's, or the file's where two releases are of tables of one name."""

    def __init__(self, paths: Sequence[Path], most_rows: int, seconds: float) -> None:
        self._most_rows, self._seconds = most_rows, seconds
        self._paths: dict[str, Path] = {}
        self._open: dict[str, OpenRelease] = {}
        self._lock = Lock()  # an agent may call two tools at once; a connection answers one
        try:
            for path in paths:
                opened = publishing.open_release(path)
                name = opened.table if opened.table not in self._open else path.stem
                if name in self._open:
                    opened.close()
                    raise InputError(f"two releases would be called {name!r}: rename one of the files")
                self._paths[name], self._open[name] = path, opened
        except BaseException:
            self.close()
            raise

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the releases."""
        return tuple(self._open)

    def describe(self, release: str | None) -> Reply:
        """What a release says of itself: guarantee, columns with their domains, what an answer means."""
        name = self._name_of(release)
        shown = plain(publishing.show(self._paths[name]).content)
        return {**shown, "name": name, "table": self._open[name].table}

    def ask(self, sql: str, release: str | None, confidence: float, parameters: list[Any] | None) -> Reply:
        """The estimates of a question, with their bounds."""
        name = self._name_of(release)
        options = (sql, confidence, True, False, parameters)

        def answer(opened: OpenRelease, late: Event) -> Reply:
            rewritten, warnings = opened.explain(*options).sql, list(opened.warnings(*options))
            if late.is_set():  # no query ran that could be interrupted
                raise self._too_long()
            found = opened.con.from_arrow(run_rewritten(opened.con, _first_rows(rewritten, self._most_rows + 1)))
            rows = found.fetchall()
            listed = AnsweredQuery(found.columns, rows[: self._most_rows]).objects()
            return {"name": name, "rows": listed, "complete": len(rows) <= self._most_rows, "warnings": warnings}

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
        """Do `work` with a release within the time limit; work that runs no query checks the event itself."""
        opened, late, done = self._open[name], Event(), Event()

        def watch() -> None:
            if done.wait(self._seconds):
                return
            late.set()
            opened.con.interrupt()
            while not done.wait(_AGAIN_SECONDS):  # an interrupt between two queries stops neither
                opened.con.interrupt()

        with self._lock:
            watcher = Thread(target=watch, daemon=True)
            watcher.start()
            try:
                return work(opened, late)
            except (SqlprivError, duckdb.Error):
                if not late.is_set():
                    raise
                raise self._too_long() from None
            finally:
                done.set()
                watcher.join()  # lest it stops the next question

    def _too_long(self) -> InputError:
        return InputError(
            f"the answer takes more than {self._seconds:g} seconds; ask for fewer groups or a simpler condition"
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


def _first_rows(sql: str, most: int) -> str:
    """The SQL for the first rows alone, so that no more are held; DuckDB keeps the order of the inner query."""
    return sql if sql.startswith("DESCRIBE") else f"SELECT * FROM ({sql}) LIMIT {most}"
