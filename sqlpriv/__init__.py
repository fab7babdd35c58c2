"""sqlpriv: privacy inside DuckDB. `load(con)` or `install("x.duckdb")`, then `FROM priv.report(...)`."""

from importlib import import_module
from typing import TYPE_CHECKING

from sqlpriv.version import __version__

if TYPE_CHECKING:
    from sqlpriv.errors import SqlprivError
    from sqlpriv.macros.install import install, load
    from sqlpriv.macros.views import create_view
    from sqlpriv.publishing import open_release, plan, publish, read_policy, verify

__all__ = [
    "SqlprivError",
    "__version__",
    "create_view",
    "install",
    "load",
    "open_release",
    "plan",
    "publish",
    "read_policy",
    "verify",
]

# Where each name is found when it is first used: what a program does not use it need not wait for.
_PLACES = {
    "SqlprivError": "sqlpriv.errors",
    "create_view": "sqlpriv.macros.views",
    "install": "sqlpriv.macros.install",
    "load": "sqlpriv.macros.install",
    "open_release": "sqlpriv.publishing",
    "plan": "sqlpriv.publishing",
    "publish": "sqlpriv.publishing",
    "read_policy": "sqlpriv.publishing",
    "verify": "sqlpriv.publishing",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
