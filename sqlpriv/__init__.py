"""sqlpriv: privacy checks inside DuckDB. `load(con)` or `install("x.duckdb")`, then `FROM priv.report(...)`."""

from sqlpriv.errors import SqlprivError
from sqlpriv.macros.install import install, load
from sqlpriv.macros.views import create_view
from sqlpriv.publishing import open_release, plan, publish, read_policy, show, verify
from sqlpriv.version import __version__

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
