"""What every command returns: facts, once as data for machines and once as parts for people.

`content` is the JSON, by names that stay. `parts` are what a person reads, in their order: lines and grids of plain
values, which the terminal (display/terminal.py) and a notebook (`_repr_html_`) only render. `pictures` are drawn when a
notebook shows them (display/charts). Nothing is printed on the way.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Protocol

from sqlpriv.core.errors import InputError

_STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What is no part of a line: escapes, line breaks, halves of characters, and what turns the direction of a text."""
OnProgress = Callable[[float], None] | None
"""Called with the share of a long piece of work that is done, from 0 to 1; None where nobody watches."""


@dataclass(frozen=True)
class Line:
    """A sentence, or a few. `mark` is a word in front of it that is set off: holds, FAILS, claims, warning."""

    text: str
    mark: str = ""
    quiet: bool = False
    private: bool = False
    """Whether it holds values of people: then it is shown only on request."""
    breaks: bool = False
    """Whether it has line breaks of its own; where it has none, a break is somebody else's and is shown as such."""


@dataclass(frozen=True)
class Grid:
    """A table: headings (none: a list of names and values), rows of plain values, what stands above and below it.

    Columns whose values are wide are folded at words where there is no room for them; all others stay
    whole. `marked` are the numbers of rows to set off.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    title: str = ""
    caption: str = ""
    folded: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    marked: tuple[int, ...] = ()
    private: bool = False
    """Whether it holds values of people: then it is shown only on request."""


Part = Line | Grid


class Drawn(Protocol):
    """A picture of facts. It holds no values of people, and draws itself when it is looked at."""

    def inline_svg(self) -> str:
        """The picture as a part of an HTML page that needs nothing else; empty where nothing can draw it."""


@dataclass(frozen=True)
class Facts:
    """What a command found or did."""

    title: str
    content: Any = field(repr=False)
    """By name, or a list of such."""
    parts: tuple[Part, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()
    passed: bool | None = True
    """False where something that was required fails: the exit code 1. None where nothing was: `verdict` says more."""
    pictures: tuple[Drawn, ...] = field(default=(), repr=False, compare=False)

    @property
    def verdict(self) -> str | None:
        """Whether it may go out: no, only if, or yes, against; None where that was not asked."""
        found = self.content.get("verdict") if isinstance(self.content, Mapping) else None
        return str(found.get("word")) if isinstance(found, Mapping) else None

    def __getitem__(self, name: str) -> Any:
        """A part of the content by its name."""
        return self.content[name]

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.content] if isinstance(self.content, Mapping) else []

    def to_frame(self, name: str | None = None) -> Any:
        """A list of the content as a table: the one of that name, or the first. Of pandas, or without it of Arrow."""
        import pyarrow as pa

        listed = {"": self.content} if not isinstance(self.content, Mapping) else self.content
        tables = {key: rows for key, rows in listed.items() if _is_table(rows)}
        if not tables or (name is not None and name not in tables):
            there = ", ".join(repr(key) for key in tables if key) or "none"
            raise InputError(f"there is no table {name or ''!r} in these facts; there are: {there}")
        rows = tables[next(iter(tables)) if name is None else name]
        columns = dict.fromkeys(key for row in rows for key in row)
        table = pa.table({key: _column([row.get(key) for row in rows]) for key in columns})
        try:
            return table.to_pandas()
        except ModuleNotFoundError:
            return table

    def shown(self, values: bool = False) -> tuple[Part, ...]:
        """The parts to show: those with values of people only when asked for."""
        return tuple(part for part in self.parts if values or not part.private)

    def __repr__(self) -> str:
        """The title, with what was judged."""
        judged = {"passed": self.passed, "verdict": self.verdict, "warnings": self.warnings or None}
        return ", ".join([f"Facts({self.title!r}", *(f"{k}={v!r}" for k, v in judged.items() if v is not None)]) + ")"

    def __str__(self) -> str:
        """The facts as plain text, without values of people."""
        return "\n".join(_text(self))

    def _repr_html_(self) -> str:
        """The facts in a notebook, which others may read: without values of people."""
        return f"<div>{''.join(_html(self))}</div>"

    def to_json(self) -> str:
        """The facts for machines: infinity as 'inf', no key that depends on who reads it."""
        text = json.dumps(plain(self.content), indent=2, ensure_ascii=False, default=str)
        return _STEERING.sub(lambda c: c[0] if c[0] == "\n" else f"\\u{ord(c[0]):04x}", text)


def _is_table(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) > 0 and all(isinstance(row, Mapping) for row in value)


def _column(values: list[Any]) -> list[Any]:
    """The cells of a column: values of one kind as they are, lists and several kinds as text."""
    kinds = {type(value) for value in values if value is not None}
    is_plain = len(kinds) <= 1 or kinds <= {int, float}
    if is_plain and not kinds & {dict, list, tuple}:
        return values
    return [None if v is None else cell(v) if isinstance(v, list | tuple) else str(v) for v in values]


def plain(value: Any) -> Any:
    """What JSON can hold: an infinite number is 'inf', one that is none is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def has_control_characters(text: str) -> bool:
    """Whether something in it would steer a terminal."""
    return _STEERING.search(text) is not None


def legible(text: str, breaks: bool = False) -> str:
    r"""A text as it may go to a terminal, whoever wrote it: what would steer that is shown as an escape.

    >>> legible("\x1b[2Jall is well"), legible("one\ntwo"), legible("one\ntwo", breaks=True)
    ('\\x1b[2Jall is well', 'one\\ntwo', 'one\ntwo')
    """
    return _STEERING.sub(lambda c: c[0] if breaks and c[0] in "\n\t" else c[0].encode("unicode_escape").decode(), text)


def shown_number(value: float, digits: int = 4) -> str:
    """A number for people: whole ones in full, others with so many digits, but never less than their whole part.

    >>> shown_number(24000.0), shown_number(0.123456), shown_number(math.inf)
    ('24,000', '0.1235', 'inf')
    >>> shown_number(39999.6), shown_number(-48.7362), shown_number(0.00001234), shown_number(0.5004, 3)
    ('40,000', '-48.74', '1.234e-05', '0.5')
    """
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if abs(value) >= 1e15 or 0 < abs(value) < 1e-4:
        return f"{value:.{digits}g}"
    if value == int(value):
        return f"{int(value):,}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def cell(value: Any) -> str:
    """A value as a cell: numbers with their separators, lists between commas, nothing for None.

    >>> cell(31891.1548), cell(0.0606), cell(["a", None]), cell(None)
    ('31,891.2', '0.0606', 'a, NULL', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return shown_number(value, 6)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join("NULL" if v is None else legible(str(v)) for v in value)
    return legible(str(value))


def reads_as_number(value: Any) -> bool:
    """Whether a value is a number, or a text that is one, written for people: it stands at the right of its column."""
    if isinstance(value, str):
        text = value.replace(",", "").removeprefix("* ").lstrip("-")
        return text in {"inf", "nan"} or text.replace(".", "", 1).isdigit() or ("e" in text and _is_float(text))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(facts: Facts) -> Iterator[str]:
    if facts.title:
        yield legible(facts.title)
    for part in (*facts.shown(), *(Line(w, "warning") for w in facts.warnings)):
        if isinstance(part, Line):
            text = legible(part.text, part.breaks)
            yield f"{part.mark}  {text}" if part.mark else text
            continue
        yield from filter(None, [part.title])
        rows = [[cell(v) for v in row] for row in part.rows]
        table = [[legible(h) for h in part.headings], *rows] if part.headings else rows
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        yield from ("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
        yield from filter(None, [part.caption])


def _html(facts: Facts) -> Iterator[str]:
    if facts.title:
        yield f"<p><b>{escape(facts.title)}</b></p>"
    yield from map(html_part, facts.shown())
    for warning in facts.warnings:
        yield _html_line(Line(warning, "warning"))
    for drawn in filter(None, (picture.inline_svg() for picture in facts.pictures)):
        yield f"<figure>{drawn}</figure>"


def html_part(part: Part) -> str:
    """A part as HTML, everything in it escaped."""
    return _html_line(part) if isinstance(part, Line) else "".join(_html_grid(part))


def _html_line(line: Line) -> str:
    mark = f"<b>{escape(line.mark)}</b> " if line.mark else ""
    said = escape(legible(line.text, line.breaks))
    text = f"<small>{said}</small>" if line.quiet else said
    return f"<p>{mark}{text}</p>"


def _html_grid(grid: Grid) -> Iterator[str]:
    yield "<table>"
    if grid.title or grid.caption:
        yield f"<caption>{escape(legible('. '.join(filter(None, (grid.title, grid.caption)))))}</caption>"
    if grid.headings:
        yield f"<thead><tr>{''.join(f'<th>{escape(legible(h))}</th>' for h in grid.headings)}</tr></thead>"
    yield "<tbody>"
    for number, row in enumerate(grid.rows):
        before, after = ("<b>", "</b>") if number in grid.marked else ("", "")
        yield f"<tr>{''.join(f'<td>{before}{escape(cell(v))}{after}</td>' for v in row)}</tr>"
    yield "</tbody></table>"
