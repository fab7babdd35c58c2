"""The plugin of dbt-duckdb: it loads the macros, and answers the requests of the dbt package.

dbt-duckdb opens one connection a process and gives each thread a cursor of it. Jinja reaches a plugin only by
`adapter.store_relation`, which passes on a dictionary as it is: the request, which holds the answer afterwards.
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

from sqlpriv.apps.dbt.questions import rewrite_question
from sqlpriv.apps.dbt.release import detach, publish_model
from sqlpriv.checks.measures import MEASURES
from sqlpriv.checks.requirements import limit
from sqlpriv.core.engine import translate
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.macros.expand import expand
from sqlpriv.macros.install import load
from sqlpriv.methods import METHODS
from sqlpriv.release.attach import attach
from sqlpriv.rewrite.clauses import BUDGET
from sqlpriv.version import __version__

NAME = "sqlpriv"
Request = dict[str, Any]
"""What the dbt package passes to the plugin; the answer is put into it."""


class Plugin(BasePlugin):  # type: ignore[misc]
    """The plugin that a profile names by `module: sqlpriv.dbt`."""

    def initialize(self, plugin_config: Mapping[str, Any]) -> None:
        """Keep what the profile says. The package calls the plugin by one name, whatever its alias."""
        self.name = NAME
        self._releases = plugin_config.get("releases") or []
        self._of_thread = threading.local()

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        """Load the macros into the warehouse, where they stay: they are SQL, and need no plugin to run.

        Releases that the profile names are attached, with the function that rewrites questions: priv.ask answers.
        """
        _run(lambda: load(conn))
        for path in self._releases:
            _run(partial(attach, conn, METHODS, _project() / str(path), {}, BUDGET))

    def configure_cursor(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Remember the cursor of this thread: a model must be read with its settings and in its transaction."""
        self._of_thread.cursor = cursor

    def store(self, target_config: Any) -> None:
        """Answer a request of the dbt package, whose name stands where dbt has the format."""
        request: Request = target_config.config
        con: duckdb.DuckDBPyConnection = self._of_thread.cursor
        answers: dict[str, Callable[[], None]] = {
            "limit": lambda: _limit(request),
            "measures": lambda: _measures(request),
            "release": lambda: publish_model(con, request, _project()),
            "detach": lambda: detach(con, request),
            "ask": lambda: rewrite_question(request, _project()),
            "expand": lambda: _expand(con, request),
        }
        _run(lambda: _refuse_other_version(request))
        _run(answers[target_config.location.format])


def _project() -> Path:
    """The folder of the project that dbt works on, which need not be where it was started."""
    return Path(get_flags().PROJECT_DIR)


def _run(work: Callable[[], None]) -> None:
    """Do `work`; a refusal becomes an error of dbt, in one sentence."""
    try:
        work()
    except SqlprivError as error:
        raise DbtRuntimeError(f"sqlpriv: {error}") from None
    except duckdb.Error as error:
        raise DbtRuntimeError(f"sqlpriv: {translate(error)}") from None


def _refuse_other_version(request: Request) -> None:
    package = request.get("package")
    if package != __version__:
        raise InputError(
            f"the dbt package is that of sqlpriv {package}, and sqlpriv {__version__} is installed; run "
            "`sqlpriv dbt init` again"
        )


def _limit(request: Request) -> None:
    """A threshold with the tolerance that all checks have."""
    request["limit"] = limit(float(request["threshold"]), "<=")


def _measures(request: Request) -> None:
    """What can be required by a threshold alone, class by class: the macro that lists the classes that fail."""
    request["measures"] = {
        m.name: {"classes": m.listing_macro, "worst": m.direction.worst, "needs_sensitive": m.needs_sensitive}
        for m in MEASURES.values()
        if m.of == "class" and not m.arguments
    }


def _expand(con: duckdb.DuckDBPyConnection, request: Request) -> None:
    """A macro call as the plain SQL that it would run, to stand after FROM."""
    request["plain"] = f"({expand(request['sql'], con)}) as {request['name']}"
