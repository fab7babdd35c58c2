"""A release in the warehouse: a copy of its tables, and queries over these instead of its file.

The tables of the release of `main.stays` stand in the schema `main__stays`: those of its own schema by their names,
`published` among them, and those of the schemas domain and public as `domain__age` and `public__wards`.
"""

from __future__ import annotations

import sqlglot

from sqlpriv.core.sqltext import quoted
from sqlpriv.release.file import SCHEMA, ReleaseFile

_COPIED = (SCHEMA, "domain", "public")


def inner_schema(schema: str, name: str) -> str:
    """The schema that holds the tables of a release."""
    return f"{schema}__{name}"


def copied_tables(file: ReleaseFile) -> dict[str, str]:
    """The tables of a release that is attached, as SQL, and the name of each in the warehouse."""
    return {
        quoted(file.catalog, schema, name): _copied_name(schema, name)
        for schema, name in sorted(file.tables - file.views)
        if schema in _COPIED
    }


def over_copies(sql: str, catalog: str, place: tuple[str, str]) -> str:
    """SQL over a release that is attached as `catalog`, over its copy in a schema: `place` is a database and a schema.

    >>> over_copies('SELECT 1 FROM f.sqlpriv_release.published, "f"."domain"."a b"', "f", ("w", "main__stays"))
    'SELECT 1 FROM "w"."main__stays"."published", "w"."main__stays"."domain__a b"'
    """
    tokens = sqlglot.tokenize(sql, dialect="duckdb")
    parts, done = [], 0
    for at, token in enumerate(tokens[:-4]):
        if token.text == catalog and [tokens[at + 1].text, tokens[at + 3].text] == [".", "."]:
            parts += [sql[done : token.start], quoted(*place, _copied_name(tokens[at + 2].text, tokens[at + 4].text))]
            done = tokens[at + 4].end + 1
    return "".join([*parts, sql[done:]])


def _copied_name(schema: str, name: str) -> str:
    return name if schema == SCHEMA else f"{schema}__{name}"
