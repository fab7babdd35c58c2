"""The materialization `private_release`: what a model selects is published by its policy, through `publish`.

The rows that the model selects are the private table. A temporary table of dbt's connection holds them meanwhile, which
is dropped at once: they never leave it, and no relation of the warehouse ever holds them.

The warehouse holds a copy of the release. Its tables, of the release of `main.stays`, stand in the schema
`main__stays`: those of its own schema by their names, `published` among them, and those of the schemas domain and
public as `domain__age` and `public__wards`. Questions are over these instead of the file.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
import sqlglot

from sqlpriv.apps.dbt.policies import keeps_on_change, key_file, model_policy
from sqlpriv.checks.verdict import NO
from sqlpriv.core.engine import fetch, run
from sqlpriv.core.errors import InputError, PolicyError, SecondReleaseError, refusal
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.publishing import method_of, publish
from sqlpriv.release.file import SCHEMA, ReleaseFile, attach_release, released_there

_ONE_AT_A_TIME = Lock()
"""dbt's threads would find the ledger locked by each other."""
COMMENT = "A table of a release by sqlpriv: it is dropped when the model is built again."
"""The comment of every table that is copied into the warehouse."""
_COPIED = (SCHEMA, "domain", "public")
_MOST_LISTED = 3
_EVERY_RELEASE = {"about", "published"}
"""Tables that every release has."""


def publish_model(con: duckdb.DuckDBPyConnection, request: dict[str, Any], folder: Path) -> None:
    """Publish a model of the project in `folder`, attach the file, and say which of its tables to copy where."""
    schema = inner_schema(request["schema"], request["name"])
    _refuse_foreign_tables(con, request["database"], schema)
    with _private_rows(con, request["sql"]) as rows:
        policy = model_policy(request["name"], request["policy"], request["columns"], rows.columns, folder)
        key = key_file(request["name"], request["policy"], policy, folder)
        target, kept = policy.table.path(str(policy.output)), ""
        keeps = keeps_on_change(request["name"], request["policy"])
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with _ONE_AT_A_TIME:
                done = publish(policy.holding(rows), key_file=key)
            said = [done.verdict.sentence, f'accepted: "{policy.accept}"' if done.verdict.word == NO else ""]
            said += done.written.warnings
        except SecondReleaseError as error:
            if not keeps or (released_there(target) or [""])[0] != request["name"]:
                raise
            kept = f"warning: the release of {request['name']} stays as it was, and is not of today's rows: {error}"
            said = []
    catalog = f"sqlpriv_{secrets.token_hex(8)}"
    file = attach_release(con, target, catalog)
    request["catalog"] = catalog
    request["schema"], request["comment"] = schema, COMMENT
    request["tables"] = {original: quoted(called) for original, called in copied_tables(file).items()}
    promised = f"{file.about['table']}, by {file.about['method']}: {method_of(file).guarantee(file)}"
    request["messages"] = [promised, *filter(None, [*said, kept])]


def _refuse_foreign_tables(con: duckdb.DuckDBPyConnection, database: str, schema: str) -> None:
    """The schema is dropped and made anew for each release: one that holds anything but an earlier one is left alone.

    A name says nothing, since anybody may call a table `published`: ours have our comment.
    """
    here = f"database_name = {literal(database)} AND lower(schema_name) = lower({literal(schema)})"
    others = [f"SELECT table_name FROM duckdb_tables() WHERE {here} AND comment IS DISTINCT FROM {literal(COMMENT)}"]
    others += [
        f"SELECT {kind}_name FROM duckdb_{kind}s() WHERE {here}" for kind in ("view", "sequence", "function", "type")
    ]
    held = sorted({str(name) for (name,) in fetch(con, " UNION ALL ".join(others))})
    if held:
        listed = ", ".join(map(repr, held[:_MOST_LISTED])) + (" and more" if len(held) > _MOST_LISTED else "")
        raise InputError(
            f"the schema {schema!r} is where the tables of this release would go, and it holds what is of no release: "
            f"{listed}; move that elsewhere, or give the model an alias"
            f"{_or_drop(database, schema) if set(held) >= _EVERY_RELEASE else ''}"
        )


def _or_drop(database: str, schema: str) -> str:
    """What to do with the tables of a release that was built before tables had our comment."""
    return (
        "; if it was built by an earlier version of sqlpriv, see that nothing of yours is in it and run "
        f"DROP SCHEMA {quoted(database, schema)} CASCADE once: the release stays in its file"
    )


def detach(con: duckdb.DuckDBPyConnection, request: dict[str, Any]) -> None:
    """Detach the release file, once its tables are in the warehouse."""
    fetch(con, f"DETACH {request['catalog']}")


@contextmanager
def _private_rows(con: duckdb.DuckDBPyConnection, sql: str) -> Iterator[duckdb.DuckDBPyRelation]:
    """What the model selects, computed once; DuckDB's own words may hold cells, so they are not passed on."""
    name = f"sqlpriv_{secrets.token_hex(8)}"
    try:
        run(con, f"CREATE TEMP TABLE {name} AS {sql}")
    except duckdb.Error as error:
        if ours := refusal(error):
            raise InputError(ours) from None
        raise PolicyError(
            f"DuckDB cannot run the SQL of the model ({type(error).__name__}); what it says may hold values, so run "
            "the compiled SQL yourself to see it"
        ) from None
    try:
        yield con.table(name)
    finally:
        with suppress(duckdb.Error):  # of a transaction that has failed, and everything with it
            run(con, f"DROP TABLE {name}")


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
