"""The one registry: every macro of `sql/`, helpers inlined, in the order of their files."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files

from sqlpriv.errors import InputError
from sqlpriv.macros.language import Helpers, Inliner, Macro, Overload, is_helper, read_file
from sqlpriv.version import __version__

SCHEMA = "priv"


@cache
def macros() -> dict[str, Macro]:
    """All public macros by name, each standing alone: no helper is left in its text."""
    return {
        m.name: Macro(
            m.name,
            m.is_table,
            tuple(Overload(o.params, inlined(o.body)) for o in m.overloads),
            m.header,
            m.file,
        )
        for m in _read()
        if not is_helper(m.name)
    }


def macro(name: str) -> Macro:
    """The public macro of that name, or an error that lists the nearest ones."""
    found = macros().get(name.removeprefix(f"{SCHEMA}."))
    if found is None:
        near = [m for m in macros() if name.split("_", maxsplit=1)[0] in m] or list(macros())
        raise InputError(f"there is no macro {name!r} in {SCHEMA}; there are {', '.join(near)}")
    return found


@lru_cache(maxsize=1024)
def inlined(text: str) -> str:
    """SQL that calls helpers, with the text of the helpers in their place."""
    return _inliner().inline(text)


@cache
def _inliner() -> Inliner:
    return Inliner(_helpers(_read()))


@cache
def _read() -> list[Macro]:
    folder = files("sqlpriv.sql")
    names = sorted(f.name for f in folder.iterdir() if f.name.endswith(".sql"))
    texts = {n: (folder / n).read_text(encoding="utf-8") for n in names}
    version = {n: t.replace("__SQLPRIV_VERSION__", __version__) for n, t in texts.items()}
    return [m for n, text in version.items() for m in read_file(text, n)]


def _helpers(read: list[Macro]) -> Helpers:
    return {(m.name, len(o.params)): o for m in read if is_helper(m.name) for o in m.overloads}
