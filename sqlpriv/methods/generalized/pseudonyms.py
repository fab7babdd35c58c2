"""Pseudonyms of persons: the rows of a person stay together in a release, and nobody learns from it whose they are.

The key is a variable of the connection while a release is written, so that the queries for its rows say the same
whether or not there is one. In plans every pseudonym is made with the empty key, and nobody sees it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.method import PSEUDONYM_KEY
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check


def pseudonym(column: str) -> str:
    """The pseudonym of the person in a row t, as SQL."""
    return inlined(f"_pseudonym(t.{quoted(column)}, coalesce(getvariable('{PSEUDONYM_KEY}'), ''))")


def check_pseudonyms(file: ReleaseFile) -> Iterator[Check]:
    """Whether the person column of a file holds nothing but what a pseudonym can be."""
    for name in file.names_with_role("person"):
        column = quoted(name)
        odd = f"{column} IS NULL OR NOT regexp_full_match(CAST({column} AS VARCHAR), '[0-9a-f]{{20}}')"
        ((rows,),) = fetch(file.con, f"SELECT count(*) FROM {file.table('published')} WHERE {odd}")
        yield Check(f"{name} holds pseudonyms alone", not rows, f"{rows:,} rows have something else" if rows else "")
