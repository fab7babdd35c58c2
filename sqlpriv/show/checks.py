"""What a check found, for people to read."""

from __future__ import annotations

import math

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sqlpriv.checks.run import Finding, Result
from sqlpriv.macros.language import Macro
from sqlpriv.policy.draft import Draft


def show_result(console: Console, result: Result) -> None:
    """The report, the smallest classes and the verdicts."""
    counted = f", counted by {result.person}" if result.person else ""
    console.print(f"[bold]{escape(result.data)}[/bold]: {result.rows:,} rows{escape(counted)}")
    for combination in dict.fromkeys((f.qis, f.sensitive) for f in result.findings):
        console.print(_report_table(combination, result.findings))
    _show_worst(console, result)
    for v in result.verdicts:
        mark = "[green]holds[/green]" if v.passed else "[bold red]FAILS[/bold red]"
        where = f"{', '.join(v.qis)}{f' / {v.sensitive}' if v.sensitive else ''}"
        console.print(f"{mark}  {escape(v.requirement)}  (is {_number(v.value)}; {escape(where)})")


def show_draft(console: Console, draft: Draft) -> None:
    """The proposed roles, and why."""
    console.print(f"[bold]{escape(draft.table['source'])}[/bold]: {draft.rows:,} rows")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("column", "role", "hierarchy", "why"):
        table.add_column(heading, overflow="fold")
    for c in draft.columns:
        table.add_row(escape(c.name), c.role, c.hierarchy or "", c.reason)
    console.print(table)
    requirements = [f"k = {draft.require['k']}"]
    requirements += [f"distinct_l = {n} for {name}" for name, n in draft.require.get("distinct_l", {}).items()]
    console.print(f"Required: {escape('; '.join(requirements))}", soft_wrap=True)
    for note in draft.notes:
        console.print(f"[yellow]{escape(note)}[/yellow]", soft_wrap=True)


def show_macro(console: Console, macro: Macro) -> None:
    """The page of one macro."""
    arrow = f" -> {macro.header.columns}" if macro.header.columns else ""
    console.print(f"[bold]priv.{escape(macro.signature)}[/bold]{escape(arrow)}\n")
    console.print(escape(macro.header.prose.replace("\n", " ")) + "\n")
    for field in ("guarantee", "nulls"):
        console.print(
            f"[bold]{field.capitalize()}.[/bold] {escape(macro.header.fields[field].replace(chr(10), ' '))}\n"
        )
    console.print("[bold]Example[/bold]")
    console.print("  " + escape(macro.header.fields["example"]), highlight=False)
    console.print("  " + escape(macro.header.fields["expect"]), highlight=False)


def show_macros(console: Console, macros: list[Macro]) -> None:
    """All macros, one line each, by the file they are in."""
    for file in dict.fromkeys(m.file for m in macros):
        console.print(f"\n[bold]{file.removesuffix('.sql')}[/bold]")
        for macro in (m for m in macros if m.file == file):
            first = macro.header.prose.replace("\n", " ").split(". ")[0].rstrip(".")
            console.print(f"  priv.{escape(macro.signature)}", highlight=False)
            console.print(f"      {escape(first)}.", style="dim", highlight=False)


def _report_table(combination: tuple[tuple[str, ...], str | None], findings: tuple[Finding, ...]) -> Table:
    qis, sensitive = combination
    title = f"{', '.join(qis)}{f'  /  {sensitive}' if sensitive else ''}"
    table = Table(
        title=escape(title),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("class", justify="right", no_wrap=True)
    table.add_column("what it means", overflow="fold")
    for f in findings:
        if (f.qis, f.sensitive) == combination:
            name = f"{f.model}, {f.parameters}" if f.parameters else f.model
            meaning = f"{escape(f.meaning)} [cyan]{escape(name)}[/cyan]"
            table.add_row(_number(f.value), f"{f.worst_class_size:,}", meaning)
    table.caption = "class: the size of the smallest class that attains the value"
    table.caption_justify = "left"
    return table


def _show_worst(console: Console, result: Result) -> None:
    for qis in dict.fromkeys(w.qis for w in result.worst):
        worst = [w for w in result.worst if w.qis == qis]
        console.print(f"Smallest classes by {escape(', '.join(qis))}: sizes {', '.join(f'{w.size:,}' for w in worst)}")
        for w in worst:
            if w.values is not None:
                held = "; ".join(f"{c}: {counts}" for c, counts in (w.sensitive or {}).items())
                console.print(f"  {escape(str(w.values))}  {escape(held)}", highlight=False)
    if result.worst and result.worst[0].values is None:
        console.print("[dim]Their values are those of nearly unique people; --show-values prints them.[/dim]")


def _number(value: float) -> str:
    if math.isinf(value):
        return "inf"
    return f"{int(value):,}" if value == int(value) and abs(value) < 1e15 else f"{value:.4g}"
