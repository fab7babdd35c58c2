"""sqlpriv: privacy inside DuckDB. `load(con)` or `install("x.duckdb")`, then `FROM priv.report(...)`.

Every command is a call, too: `check`, `find`, `attack`, `init`, `plan`, `compare`, `publish`, `verify`, `show`,
`ledger`, `report`, `evidence`. They return Facts, which know their JSON and show themselves in a notebook;
`open_release` answers queries, and `attach` lets a connection of your own answer them: `FROM priv.ask('SELECT ...')`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sqlpriv.version import __version__

if TYPE_CHECKING:
    from sqlpriv.apps.python import attach, attack, check, compare, evidence, find, init, ledger, plan, publish, report
    from sqlpriv.core.errors import SqlprivError
    from sqlpriv.core.facts import Facts
    from sqlpriv.macros.expand import create_view
    from sqlpriv.macros.install import install, load
    from sqlpriv.publishing import add_view, drop_view, open_release, read_policy, show, verify

__all__ = [
    "Facts",
    "SqlprivError",
    "__version__",
    "add_view",
    "attach",
    "attack",
    "check",
    "compare",
    "create_view",
    "drop_view",
    "evidence",
    "find",
    "init",
    "install",
    "ledger",
    "load",
    "open_release",
    "plan",
    "publish",
    "read_policy",
    "report",
    "show",
    "verify",
]

# Where each name is found when it is first used: what a program does not use it need not wait for.
_PLACES = {
    "Facts": "sqlpriv.core.facts",
    "SqlprivError": "sqlpriv.core.errors",
    "add_view": "sqlpriv.publishing",
    "attach": "sqlpriv.apps.python",
    "attack": "sqlpriv.apps.python",
    "check": "sqlpriv.apps.python",
    "compare": "sqlpriv.apps.python",
    "create_view": "sqlpriv.macros.expand",
    "drop_view": "sqlpriv.publishing",
    "evidence": "sqlpriv.apps.python",
    "find": "sqlpriv.apps.python",
    "init": "sqlpriv.apps.python",
    "install": "sqlpriv.macros.install",
    "ledger": "sqlpriv.apps.python",
    "load": "sqlpriv.macros.install",
    "open_release": "sqlpriv.publishing",
    "plan": "sqlpriv.apps.python",
    "publish": "sqlpriv.apps.python",
    "read_policy": "sqlpriv.publishing",
    "report": "sqlpriv.apps.python",
    "show": "sqlpriv.publishing",
    "verify": "sqlpriv.publishing",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
