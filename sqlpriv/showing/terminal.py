"""Facts on a terminal: a title, lines and grids, and the warnings. Nothing here knows what the facts are about."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sqlpriv.facts import Facts, Grid, Line

_STYLES = {
    "holds": "green",
    "verified": "green",
    "FAILS": "bold red",
    "NO": "bold red",
    "claimed": "yellow",
    "warning": "yellow",
}


def show(console: Console, facts: Facts) -> None:
    """Print facts for people to read."""
    if facts.title:
        console.print(f"[bold]{escape(facts.title)}[/bold]", soft_wrap=True)
    for part in facts.parts:
        if isinstance(part, Line):
            _show_line(console, part)
        else:
            console.print(_table(part))
    for warning in facts.warnings:
        _show_line(console, Line(warning, "warning"))


def _show_line(console: Console, line: Line) -> None:
    style = _STYLES.get(line.mark, "bold")
    mark = f"[{style}]{escape(line.mark)}[/{style}]  " if line.mark else ""
    text = f"[dim]{escape(line.text)}[/dim]" if line.quiet else escape(line.text)
    console.print(mark + text, soft_wrap=True)


def _table(grid: Grid) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD if grid.headings else box.SIMPLE,
        show_header=bool(grid.headings),
        pad_edge=False,
        title=escape(grid.title) or None,
        title_justify="left",
        title_style="bold",
        caption=escape(grid.caption) or None,
        caption_justify="left",
    )
    for place, heading in enumerate(grid.headings):
        numbers = all(isinstance(row[place], int | float) or _is_number(row[place]) for row in grid.rows)
        right = numbers and heading not in grid.left
        if heading in grid.folded:
            table.add_column(escape(heading), overflow="fold")
        else:
            table.add_column(escape(heading), justify="right" if right else "left", overflow="fold")
    for number, row in enumerate(grid.rows):
        table.add_row(*(escape(cell(v)) for v in row), style="bold" if number in grid.marked else None)
    return table


def _is_number(value: Any) -> bool:
    """Whether a text is a number that was written for people."""
    return isinstance(value, str) and bool(value) and value.replace(",", "").replace(".", "", 1).lstrip("-").isdigit()


def cell(value: Any) -> str:
    """A value as a cell: numbers with their separators, lists between commas, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return f"{value:,.4f}".rstrip("0").rstrip(".") if 1 <= abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join("NULL" if v is None else str(v) for v in value)
    return str(value)
