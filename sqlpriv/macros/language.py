"""The small macro language of `sql/`: read the files, inline the helpers, drop optional parameters.

A file holds `CREATE MACRO` statements, each under a header comment. Names that start with `_` are helpers: they never
reach DuckDB but are substituted, token by token, into the public macros, because DuckDB finds neither a helper macro
through ATTACH nor, in 2.0, the same helper twice under one view. Substitution is textual, so an argument of a helper
may also be a relation name or a whole condition. A parameter in brackets in the header's signature is optional: the
overload without it drops it from the helper calls it is passed to, which is the only place it may stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.errors import InternalError

FIELDS = ("nulls", "guarantee", "example", "expect")
# Strings, quoted names, comments, names, numbers, and any other single character.
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|[A-Za-z_]\w*|\d[\w.]*|\S""", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of SQL text and where it stands."""

    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """An unquoted name or keyword: what may stand for a parameter or a function."""
        return _NAME.fullmatch(self.text) is not None


def tokenize(text: str) -> list[Token]:
    """The tokens of a piece of SQL, comments left out."""
    found = (Token(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text))
    return [t for t in found if not t.text.startswith(("--", "/*"))]


@dataclass(frozen=True)
class Overload:
    """One signature of a macro with its text."""

    params: tuple[str, ...]
    body: str


Helpers = Mapping[tuple[str, int], Overload]


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


def read_file(text: str, file: str) -> Iterator[Macro]:
    """The macros of one file, optional parameters resolved, helpers not yet inlined."""
    for comment, statement in _statements(text):
        match = re.match(r"CREATE MACRO (\w+)\(([\w\s,]*)\) AS\s+(TABLE\s)?(.*);\s*$", statement, re.DOTALL)
        if not match:
            raise InternalError(f"{file}: not a macro: {statement[:60]!r}")
        name, table, body = match.group(1), match.group(3), match.group(4).strip()
        params = tuple(p.strip() for p in match.group(2).split(",") if p.strip())
        header = _header(comment, name, f"{file}: {name}")
        overloads = [Overload(params, body)]
        for cut in range(len(header.optional)):
            dropped = set(header.optional[cut:])
            kept = tuple(p for p in params if p not in dropped)
            overloads.append(Overload(kept, _drop(body, dropped, f"{file}: {name}")))
        overloads.sort(key=lambda o: len(o.params))
        yield Macro(name, table is not None, tuple(overloads), header, file)


class Inliner:
    """Replaces helper calls by the helpers' text, each helper inlined itself only once."""

    def __init__(self, helpers: Helpers) -> None:
        self._helpers = helpers
        self._bodies: dict[tuple[str, int], str] = {}

    def inline(self, body: str) -> str:
        """`body` without helper calls."""
        return substitute(body, {}, is_helper, self._replace)

    def _replace(self, name: str, args: list[str]) -> str:
        helper = self._helpers.get((name, len(args)))
        if helper is None:
            raise InternalError(f"no helper {name} with {len(args)} arguments")
        if (name, len(args)) not in self._bodies:
            self._bodies[name, len(args)] = self.inline(helper.body)
        operands = [a if _stands_alone(a) else f"({a})" for a in args]
        bindings = dict(zip(helper.params, operands, strict=True))
        return f"({substitute(self._bodies[name, len(args)], bindings)})"


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
    tokens = tokenize(text)
    opening = 1 if len(tokens) > 1 and tokens[0].is_name else 0
    return len(tokens) == 1 or (
        tokens[opening].text == "(" and call_arguments(text, tokens, opening)[0] == len(tokens) - 1
    )


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
