"""A text into its statements, each with its kind: a query, a look at the catalog, or a command of the session.

The kind decides who answers, not about privacy: the catalog server has no rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import sqlglot
from sqlglot import Token, TokenType

from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.bind.postgres.parser import READ_POSTGRES

MOST_PARAMETERS = 65_535
"""What the protocol can count."""
MOST_WORDS = 20_000
"""Of a query: it is rewritten in Python, which no time limit stops."""
_MOST_LOGGED = 300
_LITERALS = frozenset(
    {TokenType.STRING, TokenType.NUMBER, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING, TokenType.RAW_STRING,
     TokenType.UNICODE_STRING, TokenType.NATIONAL_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING,
     TokenType.PARAMETER}
)  # fmt: skip
# Schemas and functions that only PostgreSQL's catalog has, or by which tools ask about their connection.
_CATALOG_NAMES = frozenset({
    "pg_catalog", "information_schema", "version", "current_schema", "current_schemas", "current_database",
    "current_catalog", "current_user", "session_user", "current_role", "current_setting", "set_config", "format_type",
    "obj_description", "col_description", "shobj_description", "to_regclass", "to_regtype", "has_table_privilege",
    "has_schema_privilege", "has_column_privilege", "has_database_privilege", "has_any_column_privilege", "regclass",
    "regtype", "regproc", "regnamespace", "txid_current", "inet_server_addr", "inet_server_port", "inet_client_addr",
    "quote_ident",
})  # fmt: skip
_SESSION_VERBS = frozenset({
    "SET", "RESET", "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "DISCARD",
    "DEALLOCATE", "UNLISTEN",
})  # fmt: skip
_CURSOR_VERBS = frozenset({"DECLARE", "FETCH", "MOVE", "CLOSE"})
_COMMAND_VERBS = frozenset({"COPY", "PREPARE", "EXECUTE", "EXPLAIN"})
_READING_VERBS = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})


class Kind(Enum):
    """What a statement is, which decides who answers it."""

    QUERY = "query"
    CATALOG = "catalog"
    EITHER = "either"
    """It names both the catalog and a served table: the catalog server says whether it reads the table."""
    SESSION = "session"
    CURSOR = "cursor"
    COMMAND = "command"
    """It does something else than to send the rows of a query."""


@dataclass(frozen=True)
class Statement:
    """One statement, in its place. The text it stands in is shared: a thousand statements are not a thousand texts."""

    full_text: str
    start: int
    end: int
    kind: Kind
    words: tuple[str, ...]
    """Its first words, in capitals."""
    tables: frozenset[str]
    """The served tables that it names, folded."""
    parameters: int
    """The largest number of a parameter: $2 has 2."""
    length: int
    """Its words and signs."""
    log_text: str
    """The statement for the log: no literal, no name that is not known, and not more than its beginning."""

    @property
    def text(self) -> str:
        """The statement; what stands before it is spaces, so that places in it are places in the full text."""
        return blank(self.full_text[: self.start]) + self.full_text[self.start : self.end]


def blank(text: str) -> str:
    """Spaces for all but the ends of lines."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def split_statements(text: str, tables: Collection[str], known: Collection[str]) -> list[Statement]:
    """The statements of a text; `tables` are served, `known` are all names that the log may repeat, folded."""
    try:
        tokens = sqlglot.tokenize(text, dialect=READ_POSTGRES)
    except (sqlglot.errors.SqlglotError, RecursionError):
        # The rewriter says why it cannot be read.
        return [Statement(text, 0, len(text), Kind.QUERY, (), frozenset(), 0, 0, "unreadable")]
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return [_statement(text, part, tables, known) for part in parts if part]


def _statement(text: str, tokens: list[Token], tables: Collection[str], known: Collection[str]) -> Statement:
    names = {folded(t.text) for t in tokens if t.token_type not in _LITERALS}
    served = frozenset(name for name in tables if name in names)
    words = tuple(word for t in tokens[:6] for word in t.text.upper().split())
    kind = _kind(words, names, bool(served))
    digits = [b.text for a, b in pairwise(tokens) if a.token_type is TokenType.PARAMETER and b.text.isdecimal()]
    return Statement(
        text,
        tokens[0].start,
        tokens[-1].end + 1,
        kind,
        words,
        served,
        # A number of six digits is too large already; what follows need not be read.
        parameters=max((int(text.lstrip("0")[:6] or "0") for text in digits), default=0),
        length=len(tokens),
        log_text="catalog" if kind is Kind.CATALOG else _log_text(tokens, known),
    )


def _kind(words: tuple[str, ...], names: set[str], names_table: bool) -> Kind:
    verb, *rest = words or ("",)
    if verb in _SESSION_VERBS:
        return Kind.SESSION
    if verb in _CURSOR_VERBS:
        return Kind.CURSOR
    if verb in _COMMAND_VERBS:
        return Kind.COMMAND
    if verb == "SHOW":
        return Kind.QUERY if rest == ["TABLES"] else Kind.CATALOG
    asks_catalog = bool(names & _CATALOG_NAMES) or any(name.startswith("pg_") for name in names)
    if verb not in _READING_VERBS or not asks_catalog:
        return Kind.QUERY
    return Kind.EITHER if names_table else Kind.CATALOG


def _log_text(tokens: list[Token], known: Collection[str]) -> str:
    words = []
    for token in tokens[:_MOST_LOGGED]:
        is_name = token.token_type in {TokenType.VAR, TokenType.IDENTIFIER}
        is_secret = token.token_type in _LITERALS or (is_name and folded(token.text) not in known)
        words.append("?" if is_secret else token.text)
    return " ".join([*words, "..."] if len(tokens) > _MOST_LOGGED else words)
