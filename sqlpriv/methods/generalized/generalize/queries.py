"""The queries of a workload file, and which columns they may mention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot

from sqlpriv.core.errors import PolicyError, UnsupportedSQLError
from sqlpriv.core.sqltext import folded
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.rewrite.bind.parse import statements_in_place


@dataclass(frozen=True)
class Query:
    """A query of the file: its text, where it stands in the file, and what to call it."""

    text: str
    name: str


def read_workload(policy: GeneralizePolicy, file: str) -> list[Query]:
    """The queries of a file."""
    path = policy.table.path(file)
    if not path.is_file():
        raise PolicyError(f"there is no workload file {file!r}")
    try:
        texts = statements_in_place(path.read_text(encoding="utf-8"))
    except (UnsupportedSQLError, UnicodeDecodeError):
        raise PolicyError(f"{file} is not SQL: write SELECT queries, each for one number, with ; between") from None
    if not texts:
        raise PolicyError(f"{file} holds no query")
    return [Query(text, f"{file}, query {i}") for i, text in enumerate(texts, 1)]


def other_columns(policy: GeneralizePolicy, queries: Sequence[Query]) -> list[str]:
    """The columns that queries may mention beside quasi-identifiers and sensitive ones; * may mention all."""
    others = policy.named("other")
    words: set[str] = set()
    for query in queries:
        tokens = sqlglot.tokenize(query.text, dialect="duckdb")
        words |= {folded(t.text) for t in tokens}
        stars = [i for i, t in enumerate(tokens) if t.text == "*"]
        if any(i < 2 or folded(tokens[i - 2].text) != "count" for i in stars):
            return list(others)
    return [c for c in others if folded(c) in words]
