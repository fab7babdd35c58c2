"""PostgreSQL's SQL as a tree: sqlglot's reading of it, but for what that would translate by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import TokenType, exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.parsers.postgres import PostgresParser

from sqlpriv.rewrite.bind.postgres.names import CALLED

_AS_WRITTEN = ("TO_CHAR", "TO_DATE", "TO_TIMESTAMP", "FORMAT", "TO_NUMBER", "DATE_BIN")


def _call(name: str) -> Callable[[list[exp.Expr]], exp.Expr]:
    return lambda args: exp.Anonymous(this=name.lower(), expressions=args)


def _keeping_name(name: str, parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def parsed(parser: Any) -> Any:
        made = parse(parser)
        if isinstance(made, exp.Expr):
            made.meta[CALLED] = name
        return made

    return parsed


class READ_POSTGRES(Postgres):
    """PostgreSQL's SQL as it is read: a $ begins a parameter, and functions keep the names that were written."""

    ORIGINAL_NAME_META_KEY = CALLED

    class Tokenizer(Postgres.Tokenizer):
        """A $ begins a parameter, and never a text."""

        HEREDOC_STRINGS: ClassVar[list[str | tuple[str, str]]] = []
        SINGLE_TOKENS: ClassVar[dict[str, TokenType]] = {**Postgres.Tokenizer.SINGLE_TOKENS, "$": TokenType.PARAMETER}

    class Parser(PostgresParser):
        """sqlglot would translate formats of dates letter by letter, and leave what it does not know."""

        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {
            **PostgresParser.FUNCTIONS, **{name: _call(name) for name in _AS_WRITTEN},
        }  # fmt: skip
        FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
            name: _keeping_name(name, parse) for name, parse in PostgresParser.FUNCTION_PARSERS.items()
        }
