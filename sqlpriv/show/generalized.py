"""What a policy led to, for people to read."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sqlpriv.methods.generalize.anonymize import Anonymized
from sqlpriv.methods.generalize.nodes import NodeRow
from sqlpriv.methods.generalize.policy import Policy


def show_anonymized(console: Console, result: Anonymized) -> None:
    """The node, what it meets and costs, a few rows before and after, and where the release is."""
    levels = ", ".join(f"{q} {level}/{result.heights[q]}" for q, level in result.node.items())
    console.print(f"[bold]node[/bold]  {escape(levels)}  [dim](level / top of each hierarchy)[/dim]", soft_wrap=True)
    share = result.suppressed_rows / result.rows
    console.print(
        f"{result.rows - result.suppressed_rows:,} of {result.rows:,} rows in {result.classes:,} classes; "
        f"{result.suppressed_rows:,} suppressed ({share:.2%}); loss {result.loss:.4f}"
        + (f"; {result.objective} {_number(result.value)}" if result.objective != "loss" else "")
    )
    for text, value in result.worst.items():
        console.print(f"[green]holds[/green]  {escape(text)}  (is {_number(value)})")
    console.print(_sample(result))
    answer = result.answer
    seen = f"{answer.nodes_evaluated:,} of {answer.nodes_total:,} nodes looked at"
    ruled = f"{answer.pruned_by_requirement:,} ruled out by a requirement, {answer.pruned_by_bound:,} by their cost"
    proof = (
        "No node is better: this is the optimum."
        if answer.optimal
        else f"The time was over: an unseen node may reach {_number(result.bound)}."
    )
    console.print(f"{seen}, {ruled}. {proof}", soft_wrap=True)
    if result.output:
        console.print(f"Written and checked again from the file: [bold]{escape(result.output.name)}[/bold]")


def show_lattice(console: Console, policy: Policy, texts: Sequence[str], rows: Sequence[NodeRow], most: int) -> None:
    """The nodes, valid and cheap ones first."""
    ordered = sorted(rows, key=lambda r: (not r.valid, r.objectives["loss"], r.node))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    numbers = [f"({i})" for i, _ in enumerate(texts, 1)]
    for name in ("node", "meets all", "suppressed", "classes", "loss", *numbers):
        table.add_column(name, justify="right", no_wrap=True)
    for row in ordered[:most]:
        meets = "[green]minimal[/green]" if row.minimal else "yes" if row.valid else "no"
        values = [
            _number(value) if holds else f"[red]{_number(value)}[/red]"
            for value, holds in zip(row.outcome.worst, row.holds, strict=True)
        ]
        counts = [f"{row.outcome.suppressed:,}", f"{row.outcome.classes:,}", f"{row.objectives['loss']:.4f}"]
        table.add_row(escape(str(list(row.node))), meets, *counts, *values)
    console.print(f"node: the levels of {escape(', '.join(policy.qis))}", soft_wrap=True)
    for number, text in zip(numbers, texts, strict=True):
        console.print(f"{number} {escape(text)}, with nothing suppressed", soft_wrap=True)
    console.print(table)
    left = f"; {len(ordered) - most:,} more, see --csv" if len(ordered) > most else ""
    console.print(f"{sum(r.valid for r in rows):,} of {len(rows):,} nodes meet the policy{left}")


def _sample(result: Anonymized) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="frequent rows", title_justify="left", title_style="bold")
    table.add_column("before", overflow="fold")
    table.add_column("after", overflow="fold")
    for before, after in result.sample:
        table.add_row(
            *(escape(", ".join("NULL" if v is None else str(v) for v in row.values())) for row in (before, after))
        )
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "none"
    if math.isinf(value):
        return "inf"
    return f"{int(value):,}" if value == int(value) and abs(value) < 1e15 else f"{value:.4g}"
