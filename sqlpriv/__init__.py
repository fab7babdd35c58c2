"""sqlpriv: privacy checks inside DuckDB. `load(con)` or `install("x.duckdb")`, then `FROM priv.report(...)`."""

from sqlpriv.anonymize import anonymize
from sqlpriv.errors import SqlprivError
from sqlpriv.install import install, load
from sqlpriv.noise.policy import read_noise_policy
from sqlpriv.noise.publish import publish
from sqlpriv.open_release import open_release
from sqlpriv.policy import read_policy
from sqlpriv.version import __version__
from sqlpriv.view import create_view

__all__ = [
    "SqlprivError",
    "__version__",
    "anonymize",
    "create_view",
    "install",
    "load",
    "open_release",
    "publish",
    "read_noise_policy",
    "read_policy",
]
