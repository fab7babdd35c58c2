"""The SQL that checks a release again, in any DuckDB client: plain SQL, with every macro written out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import legible
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.expand import called, expand
from sqlpriv.methods.method import AnyMethod
from sqlpriv.methods.recheck import Recheck, file_table

_DIGEST = "the digest of the rows as declared; sqlpriv verify computes it from the rows again"


def recheck_sql(method: AnyMethod, file: str, content: Mapping[str, Any], alias: str = "r") -> str:
    """Statements for any DuckDB client, in the folder of the release, with what should come out of each."""
    digest = Recheck(_DIGEST, f"SELECT value FROM {file_table(alias, 'about')} WHERE name = 'digest'")
    attach = f"ATTACH {literal(file)} AS {alias} (READ_ONLY);"
    return "\n".join([attach, *map(_statement, [digest, *method.rechecks(content, alias)])])


def _statement(again: Recheck) -> str:
    """A query with what should come out; above a macro written out stands its call."""
    if not again.query:
        return _comment(again.says)
    if not called(again.query):
        return f"{again.query};  {_comment(again.says)}"
    try:
        return f"{_comment(f'{again.says}: {again.query}')}\n{expand(again.query)};"
    except SqlprivError:  # of a file that was changed: it fails verification
        return _comment(f"{again.says}: no SQL can check it")


def _comment(text: str) -> str:
    """A remark that cannot end before its line does."""
    return f"-- {legible(text)}"
