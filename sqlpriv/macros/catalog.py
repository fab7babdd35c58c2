"""The one registry: every macro of `sql/`, helpers inlined, in the order of their files, and the SQL that creates them.

A macro is read and inlined when it is first used: a check needs one of them, and all of them take a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path

from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.language import Definition, Inliner, Macro, Overload, definitions, is_helper
from sqlpriv.version import __version__

SCHEMA = "priv"
MARK = "sqlpriv: "
"""How the comment of each macro starts, by which it is recognised, and how its messages start."""


class _Macros(Mapping[str, Macro]):
    """The public macros by name, each made when it is first used."""

    def __init__(self, defined: Mapping[str, Sequence[Definition]]) -> None:
        self._defined = {name: found[-1] for name, found in defined.items() if not is_helper(name)}
        self._made: dict[str, Macro] = {}

    def __getitem__(self, name: str) -> Macro:
        if name not in self._made:
            read = self._defined[name].read()
            standing_alone = tuple(Overload(o.params, inlined(o.body)) for o in read.overloads)
            self._made[name] = Macro(read.name, read.is_table, standing_alone, read.header, read.file)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._defined)

    def __len__(self) -> int:
        return len(self._defined)


@cache
def macros() -> Mapping[str, Macro]:
    """All public macros by name, each standing alone: no helper is left in its text."""
    return _Macros(defined())


def macro(name: str) -> Macro:
    """The public macro of that name, or an error that lists the nearest ones."""
    found = macros().get(name.removeprefix(f"{SCHEMA}."))
    if found is None:
        near = get_close_matches(name.removeprefix(f"{SCHEMA}."), macros(), n=5) or list(macros())
        raise InputError(f"there is no macro {name!r} in {SCHEMA}; there are {', '.join(near)}")
    return found


@lru_cache(maxsize=1024)
def inlined(text: str) -> str:
    """SQL that calls helpers, with the text of the helpers in their place."""
    return _inliner().inline(text)


@cache
def texts() -> Mapping[str, str]:
    """The files of `sql/` by their path below it, `checks/k_anonymity.sql`, with the version filled in."""
    folder = Path(str(import_module("sqlpriv.sql").__file__)).parent
    read = {f.relative_to(folder).as_posix(): f.read_text(encoding="utf-8") for f in sorted(folder.rglob("*.sql"))}
    return {path: text.replace("__SQLPRIV_VERSION__", __version__) for path, text in read.items()}


@cache
def defined() -> Mapping[str, Sequence[Definition]]:
    """Every definition by its name, helpers too; a helper may have one for each number of arguments."""
    found: dict[str, list[Definition]] = {}
    for file, text in texts().items():
        for definition in definitions(text, file):
            found.setdefault(definition.name, []).append(definition)
    return found


@cache
def _inliner() -> Inliner:
    return Inliner(_helper)


def _helper(name: str, arity: int) -> Overload | None:
    found = [o for d in defined().get(name, ()) for o in d.read().overloads if len(o.params) == arity]
    return found[-1] if found else None


def creations(chosen: Iterable[Macro], database: str | None = None) -> Iterator[str]:
    """The schema, and each macro with its comment; in the current database, or in one that is attached."""
    schema = f"{database}.{SCHEMA}" if database else SCHEMA
    yield f"CREATE SCHEMA IF NOT EXISTS {schema}"
    for each in chosen:
        yield create_statement(each, schema)
        comment = literal(MARK + each.header.prose.replace("\n", " "))
        yield f'COMMENT ON MACRO {"TABLE " if each.is_table else ""}{schema}."{each.name}" IS {comment}'


def script() -> str:
    """All macros as one SQL script: what `install` does, for a client without Python.

    The build puts it into the wheel as `sqlpriv/sqlpriv.sql`. Nothing but Python's own library is imported for it.
    """
    head = (
        f"-- The macros of sqlpriv {__version__}, for any DuckDB client; in DuckDB's command line: .read sqlpriv.sql\n"
        f"-- They go into schema {SCHEMA} of the current database and replace macros of the same names.\n"
    )
    return head + "".join(f"{statement};\n" for statement in ("BEGIN", *creations(macros().values()), "COMMIT"))


def create_statement(created: Macro, schema: str = SCHEMA) -> str:
    """The statement that creates a macro with all its overloads."""
    kind = "TABLE " if created.is_table else ""
    overloads = ",\n".join(f"({', '.join(o.params)}) AS {kind}({o.body})" for o in created.overloads)
    return f'CREATE OR REPLACE MACRO {schema}."{created.name}"{overloads}'
