"""Facts on a terminal: a title, lines and grids, and the warnings. Nothing here knows what the facts are about.

Nothing is ever cut and no word is split. A grid that is too wide for the screen folds its wide columns at words, then
stands closer together, and at last lists its rows one after the other, each cell beside its heading.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sqlpriv.core.facts import Facts, Grid, Line, cell, legible, reads_as_number

_STYLES = {
    "holds": "green",
    "verified": "green",
    "FAILS": "bold red",
    "NO": "bold red",
    "claimed": "yellow",
    "warning": "yellow",
}
_GAPS = (3, 2)  # between columns: as rich has it, and where that is too much
_EDGES = 2
_READABLE = 24  # a folded column narrower than this is a tower of words


def show(console: Console, facts: Facts, values: bool = False) -> None:
    """Print facts for people to read; with `values` also what holds values of people."""
    if facts.title:
        _show_line(console, Line(facts.title), "bold")
    for part in facts.shown(values):
        if isinstance(part, Line):
            _show_line(console, part)
        else:
            _show_grid(console, part)
    for warning in facts.warnings:
        _show_line(console, Line(warning, "warning"))


def _show_line(console: Console, line: Line, style: str = "") -> None:
    """A sentence: on a screen folded at words, below itself; in a file or a pipe on one line, to be searched."""
    mark_style = _STYLES.get(line.mark, "bold")
    mark = f"[{mark_style}]{escape(line.mark)}[/{mark_style}]  " if line.mark else ""
    text = Text(legible(line.text, line.breaks), style="dim" if line.quiet else style)
    if not console.is_terminal:
        console.print(Text.from_markup(mark) + text, soft_wrap=True)
        return
    room = len(line.mark) + 2 if line.mark else len(line.text) - len(line.text.lstrip())
    first, *rest = text.wrap(console, max(console.width - room, 1)) or [Text("")]
    console.print(Text.from_markup(mark) + first)
    for piece in rest:
        console.print(Padding(piece, (0, 0, 0, room)))


def _show_grid(console: Console, given: Grid) -> None:
    grid = replace(given, headings=tuple(map(legible, given.headings)), title=legible(given.title))
    texts = [[cell(v) for v in row] for row in grid.rows]
    for gap in _GAPS:
        widths = _widths(grid, texts, console.width - _EDGES, gap)
        if widths is not None:
            console.print(_table(grid, texts, widths, gap))
            return
    if grid.title:
        console.print(Text(grid.title, style="bold"))
    for row in texts:
        for line in _row_in_lines(grid, row, console.width):
            console.print(line, soft_wrap=True)
    if grid.caption:
        console.print(Text(grid.caption, style="dim italic"))


def _widths(grid: Grid, texts: Sequence[Sequence[str]], room: int, gap: int) -> list[int] | None:
    """How wide the columns are; None where they do not fit unless a word is split."""
    columns = len(grid.headings) or max((len(row) for row in texts), default=0)
    cells = [
        [*(row[i] for row in texts), *([grid.headings[i]] if grid.headings else [])] for i in range(columns)
    ]  # fmt: skip
    natural = [max(map(cell_len, column), default=0) for column in cells]
    left = room - gap * (columns - 1)
    if sum(natural) <= left:
        return natural
    folded = [i for i in range(columns) if _folds(grid, i, columns) or _is_prose(cells[i])]
    if not folded:
        return None
    words = {i: max((cell_len(word) for text in cells[i] for word in text.split()), default=0) for i in folded}
    widths = [words.get(i, width) for i, width in enumerate(natural)]
    for _ in range(left - sum(widths)):  # a column more for what is folded most
        most = max(folded, key=lambda i: natural[i] / max(widths[i], 1))
        widths[most] += 1
    widest = max(folded, key=lambda i: natural[i])
    readable = widths[widest] >= min(natural[widest], _READABLE)
    return widths if sum(widths) <= left and readable else None


def _folds(grid: Grid, place: int, columns: int) -> bool:
    """Columns that say so, and the values of a list of names and values."""
    return grid.headings[place] in grid.folded if grid.headings else place == columns - 1


def _is_prose(texts: Sequence[str]) -> bool:
    """Long texts of several words, whatever their column says."""
    return any(cell_len(text) > _READABLE and " " in text for text in texts)


def _table(grid: Grid, texts: Sequence[Sequence[str]], widths: Sequence[int], gap: int) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD if grid.headings else box.SIMPLE,
        show_header=bool(grid.headings),
        padding=(0, gap - 2, 0, 1),
        pad_edge=False,
        title=escape(grid.title) or None,
        title_justify="left",
        title_style="bold",
        caption=escape(grid.caption) or None,
        caption_justify="left",
    )
    for place, width in enumerate(widths):
        heading = grid.headings[place] if grid.headings else ""
        numbers = heading not in grid.left and _is_of_numbers([row[place] for row in grid.rows])
        table.add_column(escape(heading), justify="right" if numbers else "left", width=width, overflow="fold")
    for number, row in enumerate(texts):
        table.add_row(*map(escape, row), style="bold" if number in grid.marked else None)
    return table


def _is_of_numbers(values: Sequence[Any]) -> bool:
    present = [v for v in values if v not in (None, "", "NULL")]
    return bool(present) and all(map(reads_as_number, present))


def _row_in_lines(grid: Grid, row: Sequence[str], width: int) -> Iterator[Text]:
    """A row that is too wide for a table: all cells that hold something, behind their headings."""
    indent = 2
    line = Text()
    for heading, text in zip(grid.headings, row, strict=True):
        if not text:
            continue
        pair = Text.assemble((f"{heading}: ", "dim"), text)
        if not line:
            line = pair
        elif cell_len(line.plain) + 2 + cell_len(pair.plain) <= width:
            line = Text.assemble(line, "  ", pair)
        else:
            yield from _folded_text(line, width, indent)
            line = Text.assemble(" " * indent, pair)
    yield from _folded_text(line, width, indent)


def _folded_text(line: Text, width: int, indent: int) -> Iterator[Text]:
    """The line, folded at spaces where it is too long; a word that is longer has a line of its own."""
    if cell_len(line.plain) <= width:
        yield line
        return
    below = " " * 2 * indent
    for piece in textwrap.wrap(
        line.plain, width, subsequent_indent=below, break_long_words=False, break_on_hyphens=False
    ):
        yield Text(piece)
