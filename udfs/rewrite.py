"""A question in, the SQL that estimates its answer out: what `priv.ask` stands on.

DuckDB calls the function while it binds a query, with constants, and binds what it returns in its place. Who answers
is injected: `answer_by` keeps a callable for every database, under a token that the macro of that database passes.
The function itself belongs to the module, so that it outlives every connection that registered it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import duckdb

REWRITE = "__priv_rewrite"
REFUSED = "sqlpriv: "
"""How a refusal starts. It is returned and not raised, since DuckDB would print the files and lines of an exception."""
Answering = Callable[[str, float, tuple[str, ...]], str]
"""A question, the confidence of its intervals, and the settings of who asks, into SQL or a refusal."""

_ANSWERING: dict[str, Answering] = {}


def answer_by(token: str, answering: Answering) -> None:
    """Let questions with this token be answered so from now on."""
    _ANSWERING[token] = answering


def answering(token: str) -> Answering | None:
    """Who answers questions with this token in this process."""
    return _ANSWERING.get(token)


def rewritten(token: str, question: str, confidence: float, settings: Sequence[str]) -> str:
    """The SQL for a question, or why there is none. DuckDB does not call it with NULL.

    >>> rewritten("of no database", "SELECT 1", 0.95, [])
    'sqlpriv: no release is attached here; call sqlpriv.attach(con, FILE) in this process first'
    """
    asked = _ANSWERING.get(token)
    if asked is None:
        return f"{REFUSED}no release is attached here; call sqlpriv.attach(con, FILE) in this process first"
    return asked(question, confidence, tuple(settings))


def register(con: duckdb.DuckDBPyConnection) -> None:
    """Let DuckDB call it; once is enough for a database, and DuckDB 1.5 refuses a second registration."""
    if con.execute(f"SELECT 1 FROM duckdb_functions() WHERE function_name = '{REWRITE}'").fetchall():
        return
    con.create_function(REWRITE, rewritten, ["VARCHAR", "VARCHAR", "DOUBLE", duckdb.list_type("VARCHAR")], "VARCHAR")
