"""The plugin of dbt-duckdb: it loads the macros, and answers what the dbt package asks.

dbt-duckdb opens one connection a process and gives each thread a cursor of it. Jinja reaches a plugin only by
`adapter.store_relation`, which hands over what it is given as it is: a dictionary goes in, and holds the answer after.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from dbt.adapters.duckdb.plugins import BasePlugin
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError

from sqlpriv.checks.measures import MEASURES
from sqlpriv.checks.requirements import limit
from sqlpriv.doors.dbt.asking import ask
from sqlpriv.doors.dbt.releasing import copied, release
from sqlpriv.engine import translate
from sqlpriv.errors import InputError, SqlprivError
from sqlpriv.macros.expand import expand
from sqlpriv.macros.install import load
from sqlpriv.methods import METHODS
from sqlpriv.release.attach import attach
from sqlpriv.rewrite.clauses import BUDGET
from sqlpriv.version import __version__

NAME = "sqlpriv"
Asked = dict[str, Any]
"""What the package hands over, and where the answer is put."""


class Plugin(BasePlugin):  # type: ignore[misc]
    """What a profile names by `module: sqlpriv.dbt`."""

    def initialize(self, plugin_config: Mapping[str, Any]) -> None:
        """Keep what the profile says. The package calls the plugin by one name, whatever its alias."""
        self.name = NAME
        self._releases = plugin_config.get("releases") or []
        self._of_thread = threading.local()

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        """Load the macros into the warehouse, where they stay: they are SQL, and need no plugin to run.

        Releases that the profile names are attached, with the function that rewrites questions: priv.ask answers.
        """
        _said(lambda: load(conn))
        for path in self._releases:
            _said(partial(attach, conn, METHODS, _project() / str(path), {}, BUDGET))

    def configure_cursor(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Remember the cursor of this thread: a model must be read with its settings and in its transaction."""
        self._of_thread.cursor = cursor

    def store(self, target_config: Any) -> None:
        """Answer what the package asks: what it is stands where dbt has the format."""
        asked: Asked = target_config.config
        con: duckdb.DuckDBPyConnection = self._of_thread.cursor
        answers: dict[str, Callable[[], None]] = {
            "limit": lambda: _limit(asked),
            "measures": lambda: _measures(asked),
            "release": lambda: release(con, asked, _project()),
            "copied": lambda: copied(con, asked),
            "ask": lambda: ask(asked, _project()),
            "expand": lambda: _expand(con, asked),
        }
        _said(lambda: _refuse_another_package(asked))
        _said(answers[target_config.location.format])


def _project() -> Path:
    """The folder of the project that dbt works on, which need not be where it was started."""
    return Path(get_flags().PROJECT_DIR)


def _said(work: Callable[[], None]) -> None:
    """Do something; what it refuses, dbt says in one sentence."""
    try:
        work()
    except SqlprivError as error:
        raise DbtRuntimeError(f"sqlpriv: {error}") from None
    except duckdb.Error as error:
        raise DbtRuntimeError(f"sqlpriv: {translate(error)}") from None


def _refuse_another_package(asked: Asked) -> None:
    package = asked.get("package")
    if package != __version__:
        raise InputError(
            f"the dbt package is that of sqlpriv {package}, and sqlpriv {__version__} is installed; run "
            "`sqlpriv dbt init` again"
        )


def _limit(asked: Asked) -> None:
    """A threshold with the tolerance that all checks have."""
    asked["limit"] = limit(float(asked["threshold"]), "<=")


def _measures(asked: Asked) -> None:
    """What can be required by a threshold alone, class by class: the macro that lists the classes that fail."""
    asked["measures"] = {
        m.name: {"classes": m.listing_macro, "worst": m.direction.worst, "needs_sensitive": m.needs_sensitive}
        for m in MEASURES.values()
        if m.of == "class" and not m.arguments
    }


def _expand(con: duckdb.DuckDBPyConnection, asked: Asked) -> None:
    """A macro call as the plain SQL that it would run, to stand after FROM."""
    asked["plain"] = f"({expand(asked['sql'], con)}) as {asked['name']}"
