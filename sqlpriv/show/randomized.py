"""Plans, ledgers and releases for people to read, and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sqlpriv.methods.randomized.guarantee import guarantee
from sqlpriv.methods.randomized.parameters import Plan, plan_facts
from sqlpriv.methods.randomized.publish import Published
from sqlpriv.release.ledger import Entry

_BAR = 30


def whole_plan(plan: Plan) -> dict[str, Any]:
    """All that a plan says, by name."""
    return {
        **plan_facts(plan),
        "half_domain_error": plan.half_domain_error,
        "possible": plan.possible,
        "dp_epsilon": None if math.isinf(plan.epsilon) else plan.epsilon,
        "independent_posterior": plan.independent_posterior,
        "exclusive_posterior": plan.exclusive_posterior,
        "guarantee": guarantee(plan),
        "warnings": list(plan.for_the_owner),
    }


def plan_json(plan: Plan, curve: Sequence[Plan]) -> str:
    """A plan for machines, with what other gammas would cost."""
    others = [
        {"gamma": p.gamma, "expected_rows": p.expected_rows, "half_domain_error": p.half_domain_error} for p in curve
    ]
    return json.dumps({**whole_plan(plan), "curve": others}, indent=2)


def show_plan(console: Console, plan: Plan, curve: Sequence[Plan]) -> None:
    """What would be published and what it means, and a curve of what other gammas would cost."""
    console.print(f"[bold]{plan.method}[/bold]  {escape(guarantee(plan))}", soft_wrap=True)
    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    for name, value in whole_plan(plan).items():
        if name not in {"guarantee", "warnings", "method"} and value is not None:
            table.add_row(name, escape(_written(value)))
    console.print(table)
    most = max((p.half_domain_error for p in curve), default=1.0)
    costs = Table("gamma", "expected rows", "error of half the domain", "", box=box.SIMPLE_HEAD, pad_edge=False)
    for p in curve:
        here = "[bold]" if p.gamma == plan.gamma else ""
        length = max(1, round(_BAR * p.half_domain_error / most))
        costs.add_row(f"{here}{p.gamma:g}", f"{p.expected_rows:,.0f}", f"{p.half_domain_error:,.1f}", "█" * length)
    console.print(costs)
    if not plan.possible:
        console.print("[red]The view would say nothing about the table[/red]: its error passes the number of rows.")
    show_warnings(console, plan.for_the_owner)


def show_warnings(console: Console, warnings: Sequence[str]) -> None:
    """One line a warning."""
    for warning in warnings:
        console.print(f"[yellow]warning[/yellow]  {escape(warning)}", soft_wrap=True)


def show_published(console: Console, result: Published) -> None:
    """Where the release is, and what it promises."""
    plan = result.plan
    view = f", view {result.view} of {plan.views}" if plan.views > 1 else ""
    console.print(
        f"[bold]{escape(result.output.name)}[/bold]: {result.rows:,} rows ({plan.expected_rows:,.0f} expected) over a "
        f"domain of {plan.tuples:,} tuples{view}",
        soft_wrap=True,
    )
    console.print(escape(guarantee(plan)), soft_wrap=True)
    show_warnings(console, result.warnings)
    console.print(f'Ask it: sqlpriv query {escape(result.output.name)} "SELECT count(*) FROM ..."', soft_wrap=True)


def show_ledger(console: Console, entries: Sequence[Entry]) -> None:
    """All releases, in their order."""
    if not entries:
        console.print("nothing has been released")
        return
    table = Table(
        "time", "table", "method", "d", "gamma", "view", "output", "digest", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for e in entries:
        d, gamma = (_written(e.parameters.get(k)) for k in ("d", "gamma"))
        cells = [e.time, e.table, e.method, d, gamma, f"{e.view} of {e.views}", e.output, e.digest[:8]]
        table.add_row(*(escape(c) for c in cells))
    console.print(table)


def _written(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.4f}".rstrip("0").rstrip(".") if 1 <= abs(value) < 1e15 else f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
