"""A text into its statements, and each statement to whom it concerns: a question, the catalog, or the session.

Who is asked decides about the right answer, not about privacy: the shadow has no rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import sqlglot
from sqlglot import Token, TokenType

from sqlpriv.sqltext import folded

_LITERALS = frozenset(
    {TokenType.STRING, TokenType.NUMBER, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING, TokenType.RAW_STRING,
     TokenType.UNICODE_STRING, TokenType.NATIONAL_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING,
     TokenType.PARAMETER}
)  # fmt: skip
_CATALOGS = frozenset({"pg_catalog", "information_schema"})
# Words that only PostgreSQL's catalog knows, or that tools ask about their connection.
_OF_CATALOG = frozenset({
    "version", "current_schema", "current_schemas", "current_database", "current_catalog", "current_user",
    "session_user", "current_role", "current_setting", "set_config", "format_type", "obj_description",
    "col_description", "shobj_description", "to_regclass", "to_regtype", "has_table_privilege", "has_schema_privilege",
    "has_column_privilege", "has_database_privilege", "has_any_column_privilege", "regclass", "regtype", "regproc",
    "regnamespace", "txid_current", "inet_server_addr", "inet_server_port", "inet_client_addr", "quote_ident",
})  # fmt: skip
_OF_SESSION = frozenset({
    "SET", "RESET", "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "DISCARD",
    "DEALLOCATE", "UNLISTEN",
})  # fmt: skip
_OF_CURSORS = frozenset({"DECLARE", "FETCH", "MOVE", "CLOSE"})
_READS = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
MOST_PARAMETERS = 65_535
"""What the protocol can count."""
MOST_WORDS = 20_000
"""Of a question: it is rewritten in Python, which no time limit stops."""
_MOST_SHOWN = 300


class For(Enum):
    """Whom a statement concerns."""

    QUESTION = "question"
    CATALOG = "catalog"
    EITHER = "either"
    """It names both the catalog and a served table: the shadow says whether it reads the table."""
    SESSION = "session"
    CURSOR = "cursor"


@dataclass(frozen=True)
class Statement:
    """One statement, in its place. The text it stands in is shared: a thousand statements are not a thousand texts."""

    whole: str
    start: int
    end: int
    concerns: For
    words: tuple[str, ...]
    """Of a command of the session: its words, in capitals."""
    tables: frozenset[str]
    """The served tables that it names, folded."""
    parameters: int
    """The largest number of a parameter: $2 has 2."""
    length: int
    """Its words and signs."""
    shape: str
    """The statement for the log: no literal, no name that is not known, and not more than its beginning."""

    @property
    def text(self) -> str:
        """The statement; what stands before it is spaces, so that places in it are places in the whole."""
        return blank(self.whole[: self.start]) + self.whole[self.start : self.end]


def blank(text: str) -> str:
    """Spaces for all but the ends of lines."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def statements(text: str, tables: Collection[str], known: Collection[str]) -> list[Statement]:
    """The statements of a text; `tables` are served, `known` are all names that the log may repeat, folded."""
    try:
        tokens = sqlglot.tokenize(text, dialect="postgres")
    except (sqlglot.errors.SqlglotError, RecursionError):
        # The rewriter says why it cannot be read.
        return [Statement(text, 0, len(text), For.QUESTION, (), frozenset(), 0, 0, "unreadable")]
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
    concerns = _concerns(tokens, names, served)
    shape = "catalog" if concerns is For.CATALOG else _shape(tokens, known)
    start, end = tokens[0].start, tokens[-1].end + 1
    numbers = (_parameters(tokens), len(tokens))
    return Statement(text, start, end, concerns, _words(tokens), served, *numbers, shape)


def _parameters(tokens: list[Token]) -> int:
    digits = [b.text for a, b in pairwise(tokens) if a.token_type is TokenType.PARAMETER and b.text.isdecimal()]
    # A number of six digits is too large already; what follows need not be read.
    return max((int(text.lstrip("0")[:6] or "0") for text in digits), default=0)


def _words(tokens: list[Token]) -> tuple[str, ...]:
    return tuple(word for t in tokens[:6] for word in t.text.upper().split())


def _concerns(tokens: list[Token], names: set[str], served: frozenset[str]) -> For:
    verb, *rest = _words(tokens) or ("",)
    if verb in _OF_SESSION:
        return For.SESSION
    if verb in _OF_CURSORS:
        return For.CURSOR
    if verb == "SHOW":
        return For.QUESTION if rest == ["TABLES"] else For.CATALOG
    asks_catalog = bool(names & (_CATALOGS | _OF_CATALOG)) or any(name.startswith("pg_") for name in names)
    if verb not in _READS or not asks_catalog:
        return For.QUESTION
    return For.EITHER if served else For.CATALOG


def _shape(tokens: list[Token], known: Collection[str]) -> str:
    shown = [_shown(token, known) for token in tokens[:_MOST_SHOWN]]
    return " ".join([*shown, "..."] if len(tokens) > _MOST_SHOWN else shown)


def _shown(token: Token, known: Collection[str]) -> str:
    if token.token_type in _LITERALS:
        return "?"
    if token.token_type not in {TokenType.VAR, TokenType.IDENTIFIER} or folded(token.text) in known:
        return token.text
    return "?"
