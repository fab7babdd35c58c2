"""sqlpriv: privacy checks inside DuckDB. `load(con)` or `install("x.duckdb")`, then `FROM priv.report(...)`."""

from importlib import import_module
from typing import TYPE_CHECKING

from sqlpriv.version import __version__

if TYPE_CHECKING:
    from sqlpriv.errors import SqlprivError
    from sqlpriv.macros.install import install, load
    from sqlpriv.macros.views import create_view
    from sqlpriv.methods.generalize.anonymize import anonymize
    from sqlpriv.methods.generalize.policy import read_policy
    from sqlpriv.methods.randomized.policy import read_noise_policy
    from sqlpriv.methods.randomized.publish import publish
    from sqlpriv.release.open import open_release

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

# Where each name is found when it is first used: what a program does not use it need not wait for.
_PLACES = {
    "SqlprivError": "sqlpriv.errors:SqlprivError",
    "anonymize": "sqlpriv.methods.generalize.anonymize:anonymize",
    "create_view": "sqlpriv.macros.views:create_view",
    "install": "sqlpriv.macros.install:install",
    "load": "sqlpriv.macros.install:load",
    "open_release": "sqlpriv.release.open:open_release",
    "publish": "sqlpriv.methods.randomized.publish:publish",
    "read_noise_policy": "sqlpriv.methods.randomized.policy:read_noise_policy",
    "read_policy": "sqlpriv.methods.generalize.policy:read_policy",
}


if not TYPE_CHECKING:  # which would take any name for one of ours

    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = _PLACES[name].partition(":")
        found = globals()[name] = getattr(import_module(module), attribute)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
