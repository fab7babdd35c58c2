"""The SQL that creates the macros in a database: one by one, or all as one script for any DuckDB client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import SCHEMA, macros
from sqlpriv.macros.language import Macro
from sqlpriv.version import __version__

# How the comment of a macro of ours starts, and its messages.
MARK = "sqlpriv: "


def creations(chosen: Iterable[Macro], database: str | None = None) -> Iterator[str]:
    """The schema, and each macro with its comment; in the current database, or in one that is attached."""
    schema = f"{database}.{SCHEMA}" if database else SCHEMA
    yield f"CREATE SCHEMA IF NOT EXISTS {schema}"
    for macro in chosen:
        yield create_statement(macro, schema)
        comment = literal(comment_on(macro))
        yield f'COMMENT ON MACRO {"TABLE " if macro.is_table else ""}{schema}."{macro.name}" IS {comment}'


def script() -> str:
    """All macros as one SQL script: what `install` does, for a client without Python.

    The build puts it into the wheel as `sqlpriv/sqlpriv.sql`. Nothing but Python's own library is imported for it.
    """
    head = (
        f"-- The macros of sqlpriv {__version__}, for any DuckDB client; in DuckDB's command line: .read sqlpriv.sql\n"
        f"-- They go into schema {SCHEMA} of the current database and replace macros of the same names.\n"
    )
    return head + "".join(f"{statement};\n" for statement in ("BEGIN", *creations(macros().values()), "COMMIT"))


def comment_on(macro: Macro) -> str:
    """The comment of a macro in a database; by its start we know that a macro is ours."""
    return MARK + macro.header.prose.replace("\n", " ")


def create_statement(macro: Macro, schema: str = SCHEMA) -> str:
    """The statement that creates a macro with all its overloads."""
    kind = "TABLE " if macro.is_table else ""
    overloads = ",\n".join(f"({', '.join(o.params)}) AS {kind}({o.body})" for o in macro.overloads)
    return f'CREATE OR REPLACE MACRO {schema}."{macro.name}"{overloads}'
