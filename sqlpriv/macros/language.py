"""The small macro language of `sql/`: read the files, inline the helpers, drop optional parameters.

A file holds `CREATE MACRO` statements, each under a header comment. Names that start with `_` are helpers. They never
reach DuckDB but are substituted, token by token, into the public macros, because DuckDB finds neither a helper macro
through ATTACH nor, in 2.0, the same helper twice under one view. Substitution is textual, so an argument of a helper
may also be a relation name or a whole condition. A parameter in brackets in the header's signature is optional: the
overload without it drops it from the helper calls it is passed to, which is the only place it may stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import NamedTuple

from sqlpriv.core.errors import InternalError

FIELDS = ("nulls", "guarantee", "example", "expect")
# Strings, quoted names, comments, names, numbers, and any other single character.
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|[A-Za-z_]\w*|\d[\w.]*|\S""", re.DOTALL)
_NAME_STARTS = frozenset(ascii_letters + "_")
# What a reader of brackets has to see: brackets, and the strings and comments in which they mean nothing.
_BRACKET = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|[()\[\]{}]""", re.DOTALL)
_CREATE = re.compile(r"CREATE MACRO (\w+)\(")
_MACRO = re.compile(r"CREATE MACRO (\w+)\(([\w\s,]*)\) AS\s+(TABLE\s)?(.*);\s*$", re.DOTALL)
# A name or nothing, and the parenthesis after it.
_CALL = re.compile(r"(?:[A-Za-z_]\w*)?\s*\(")
# Stand for the parameters of a helper: characters for private use, which no SQL of ours holds, each a token by itself.
_MARK = 0xE000
_MARKED = re.compile("([\ue000-\ue0ff])")


class Token(NamedTuple):
    """A piece of SQL text and where it stands."""

    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """An unquoted name or keyword: what may stand for a parameter or a function."""
        return self.text[0] in _NAME_STARTS


def tokenize(text: str) -> list[Token]:
    """The tokens of a piece of SQL, comments left out."""
    found = (Token(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text))
    return [t for t in found if not t.text.startswith(("--", "/*"))]


@dataclass(frozen=True)
class Overload:
    """One signature of a macro with its text."""

    params: tuple[str, ...]
    body: str


@dataclass(frozen=True)
class Header:
    """What the comment above a macro says."""

    arguments: str
    columns: str
    optional: tuple[str, ...]
    prose: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Macro:
    """A macro with all its overloads and its header."""

    name: str
    is_table: bool
    overloads: tuple[Overload, ...]
    header: Header
    file: str

    @property
    def signature(self) -> str:
        """The call as the header writes it, optional parameters in brackets."""
        return f"{self.name}({self.header.arguments})"

    def overload(self, arity: int) -> Overload | None:
        """The overload that takes `arity` arguments."""
        return next((o for o in self.overloads if len(o.params) == arity), None)


@dataclass(frozen=True)
class Definition:
    """A CREATE MACRO statement with the comment above it, not yet read further: most calls need a few of them only."""

    name: str
    file: str
    comment: tuple[str, ...]
    statement: str

    def read(self) -> Macro:
        """The macro, optional parameters resolved, helpers not yet inlined."""
        where = f"{self.file}: {self.name}"
        match = _MACRO.match(self.statement)
        if not match:
            raise InternalError(f"{where}: not a macro: {self.statement[:60]!r}")
        table, body = match.group(3), match.group(4).strip()
        params = tuple(p.strip() for p in match.group(2).split(",") if p.strip())
        header = _header(self.comment, self.name, where)
        overloads = [Overload(params, body)]
        for cut in range(len(header.optional)):
            dropped = set(header.optional[cut:])
            kept = tuple(p for p in params if p not in dropped)
            overloads.append(Overload(kept, _drop(body, dropped, where)))
        overloads.sort(key=lambda o: len(o.params))
        return Macro(self.name, table is not None, tuple(overloads), header, self.file)


def definitions(text: str, file: str) -> Iterator[Definition]:
    """The statements of one file."""
    for comment, statement in _statements(text):
        named = _CREATE.match(statement)
        if not named:
            raise InternalError(f"{file}: not a macro: {statement[:60]!r}")
        yield Definition(named.group(1), file, tuple(comment), statement)


class Inliner:
    """Replaces helper calls by the helpers' text, each helper inlined itself only once."""

    def __init__(self, helper: Callable[[str, int], Overload | None]) -> None:
        self._helper = helper
        self._pieces: dict[tuple[str, int], tuple[list[str], list[int]]] = {}

    def inline(self, body: str) -> str:
        """`body` without helper calls."""
        return substitute(body, {}, is_helper, self._replace)

    def _replace(self, name: str, args: list[str]) -> str:
        texts, places = self._cut(name, len(args))
        operands = [a if _stands_alone(a) else f"({a})" for a in args]
        bound = [operands[place] + text for place, text in zip(places, texts[1:], strict=True)]
        return f"({texts[0]}{''.join(bound)})"

    def _cut(self, name: str, arity: int) -> tuple[list[str], list[int]]:
        """The text of a helper cut at its parameters, and which parameter stands at each cut.

        Cut once: some helpers are called hundreds of times, and to read their text anew took most of the time.
        """
        if (name, arity) not in self._pieces:
            helper = self._helper(name, arity)
            if helper is None:
                raise InternalError(f"no helper {name} with {arity} arguments")
            marks = {param: chr(_MARK + place) for place, param in enumerate(helper.params)}
            parts = _MARKED.split(substitute(helper.body, marks, is_helper, self._replace))
            self._pieces[name, arity] = parts[::2], [ord(mark) - _MARK for mark in parts[1::2]]
        return self._pieces[name, arity]


def is_helper(name: str) -> bool:
    """Helpers start with one underscore; two are for the names of common table expressions."""
    return name.startswith("_") and not name.startswith("__")


def substitute(
    body: str,
    bindings: Mapping[str, str],
    wanted: Callable[[str], bool] = lambda _: False,
    replace: Callable[[str, list[str]], str] = lambda name, _: name,
) -> str:
    """Replace parameters by their bindings, and each call of a `wanted` name by `replace(name, arguments)`."""
    tokens = tokenize(body)
    out: list[str] = []
    copied = position = 0
    while position < len(tokens):
        token, end, new = tokens[position], position, None
        if token.is_name and not _names_something_else(tokens, position):
            if not _opens_call(tokens, position):
                new = bindings.get(token.text)
            elif wanted(token.text):
                end, args = call_arguments(body, tokens, position + 1)
                new = replace(token.text, [substitute(a, bindings, wanted, replace) for a in args])
        if new is not None:
            out += [body[copied : token.start], new]
            copied = tokens[end].end
        position = end + 1
    return "".join([*out, body[copied:]])


def call_arguments(body: str, tokens: Sequence[Token], opening: int) -> tuple[int, list[str]]:
    """Index of the closing parenthesis and the texts of the arguments of the call that opens at `opening`."""
    depth = 0
    args: list[str] = []
    start = tokens[opening].end
    for position in range(opening, len(tokens)):
        token = tokens[position]
        depth += (token.text in "([{") - (token.text in ")]}")
        if depth == 0 or (depth == 1 and token.text == ","):
            args.append(body[start : token.start].strip())
            start = token.end
        if depth == 0:
            return position, [a for a in args if a]
    raise InternalError("a call without its closing parenthesis")


def _stands_alone(text: str) -> bool:
    """One token, one call or one pair of parentheses: nothing around it can take it apart."""
    if _TOKEN.fullmatch(text):
        return True
    start = _CALL.match(text)
    if start is None or text[-1] != ")":
        return False
    depth = 0
    for bracket in _BRACKET.finditer(text, start.end() - 1):
        depth += (bracket.group() in "([{") - (bracket.group() in ")]}")
        if depth == 0 and bracket.group() == ")":
            return bracket.end() == len(text)
    raise InternalError("a call without its closing parenthesis")


def _names_something_else(tokens: Sequence[Token], position: int) -> bool:
    """A field after a dot or an alias after AS is no parameter, whatever it is called."""
    return position > 0 and tokens[position - 1].text.upper() in {".", "AS"}


def _opens_call(tokens: Sequence[Token], position: int) -> bool:
    return position + 1 < len(tokens) and tokens[position + 1].text == "("


def _drop(body: str, dropped: set[str], where: str) -> str:
    """Remove the dropped parameters from the argument lists of the helpers they are passed to."""

    def without(name: str, args: list[str]) -> str:
        return f"{name}({', '.join(a for a in args if a not in dropped)})"

    shorter = substitute(body, {}, is_helper, without)
    left = {t.text for t in tokenize(shorter) if t.is_name} & dropped
    if left:
        raise InternalError(f"{where}: optional {sorted(left)} may only be passed to helpers")
    return shorter


def _statements(text: str) -> Iterator[tuple[list[str], str]]:
    comment: list[str] = []
    statement: list[str] = []
    for line in text.splitlines():
        if not statement and (line.startswith("--") or not line.strip()):
            comment = [] if not line.strip() else [*comment, line[2:].strip()]
            continue
        statement.append(line)
        if line.rstrip().endswith(";"):
            yield comment, "\n".join(statement)
            comment, statement = [], []
    if statement:
        raise InternalError(f"unfinished statement: {statement[0]!r}")


def _header(comment: Sequence[str], name: str, where: str) -> Header:
    lines = list(comment)
    signature = re.fullmatch(r"(\w+)\((.*)\)(?:\s*->\s*(.*))?", lines[0]) if lines else None
    if signature and signature.group(1) != name:
        raise InternalError(f"{where}: the header says {signature.group(1)}")
    values = {"prose": ""}
    current = "prose"
    for line in lines[1:] if signature else lines:
        key, colon, rest = line.partition(":")
        if colon and key in FIELDS:
            current = key
        text = rest.strip() if colon and key in FIELDS else line
        values[current] = f"{values.get(current, '')}\n{text}".strip()
    arguments = signature.group(2) if signature else ""
    return Header(
        arguments=arguments,
        columns=(signature.group(3) or "") if signature else "",
        optional=tuple(re.findall(r"\[,\s*(\w+)", arguments)),
        prose=values.pop("prose"),
        fields=values,
    )
