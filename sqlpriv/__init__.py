"""sqlpriv: privacy checks inside DuckDB. `load(con)` or `install("x.duckdb")`, then `FROM priv.report(...)`."""

from sqlpriv.errors import SqlprivError
from sqlpriv.macros.install import install, load
from sqlpriv.macros.views import create_view
from sqlpriv.methods.generalize.anonymize import anonymize
from sqlpriv.methods.generalize.policy import read_policy
from sqlpriv.methods.randomized.policy import read_noise_policy
from sqlpriv.methods.randomized.publish import publish
from sqlpriv.release.open import open_release
from sqlpriv.version import __version__

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
