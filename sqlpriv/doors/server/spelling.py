"""What PostgreSQL's tools write and DuckDB spells otherwise: dates and times as constants."""

from __future__ import annotations

import sqlglot
from sqlglot import Token, TokenType

# By function and format: the type of the constant.
_CONSTANTS = {
    ("TO_DATE", "YYYY-MM-DD"): "DATE",
    ("TO_TIMESTAMP", "YYYY-MM-DD HH24:MI:SS.US"): "TIMESTAMP",
    ("TO_TIMESTAMP", "YYYY-MM-DD HH24:MI:SS.MS"): "TIMESTAMP",
    ("TO_TIMESTAMP", "YYYY-MM-DD HH24:MI:SS"): "TIMESTAMP",
}
_CALL = (TokenType.L_PAREN, TokenType.STRING, TokenType.COMMA, TokenType.STRING, TokenType.R_PAREN)


def for_duckdb(text: str) -> str:
    """The statement with its constants as DuckDB writes them; all else keeps its place.

    >>> for_duckdb("SELECT 1 WHERE day >= TO_DATE('2024-01-31', 'YYYY-MM-DD') AND true")
    "SELECT 1 WHERE day >= CAST('2024-01-31' AS DATE)          AND true"
    """
    if "TO_" not in text.upper():
        return text
    try:
        tokens = sqlglot.tokenize(text, dialect="postgres")
    except sqlglot.errors.SqlglotError:
        return text  # the rewriter says why
    made, done = "", 0
    for at, token in enumerate(tokens):
        written = _constant(text, token, tokens[at + 1 : at + 1 + len(_CALL)])
        if written is not None:
            end = tokens[at + len(_CALL)].end + 1
            made += text[done : token.start] + written.ljust(end - token.start)
            done = end
    return made + text[done:]


def _constant(text: str, name: Token, call: list[Token]) -> str | None:
    if name.token_type is TokenType.IDENTIFIER or tuple(token.token_type for token in call) != _CALL:
        return None
    kind = _CONSTANTS.get((name.text.upper(), call[3].text))
    # As it stands in the text, with its quotes.
    return None if kind is None else f"CAST({text[call[1].start : call[1].end + 1]} AS {kind})"
