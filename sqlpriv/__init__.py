"""sqlpriv: privacy checks inside DuckDB. `load(con)` or `install("x.duckdb")`, then `FROM priv.report(...)`.

What is named here is imported when it is first asked for, so that `sqlpriv --help` need not wait for DuckDB.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlpriv.errors import SqlprivError
from sqlpriv.version import __version__

if TYPE_CHECKING:
    from sqlpriv.macros.install import install, load
    from sqlpriv.macros.views import create_view
    from sqlpriv.publishing import open_release, plan, publish, read_policy, show, verify

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
    "show",
    "verify",
]
_MODULES = {"install": "macros.install", "load": "macros.install", "create_view": "macros.views"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'sqlpriv' has no attribute {name!r}")
    found = getattr(import_module(f"sqlpriv.{_MODULES.get(name, 'publishing')}"), name)
    globals()[name] = found
    return found
