"""The command that compares methods on a workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sqlpriv import publishing
from sqlpriv.apps.cli.options import AsJson, PolicyFile, print_facts
from sqlpriv.comparison.facts import comparison_facts
from sqlpriv.comparison.run import CompareOptions, compare_methods
from sqlpriv.display import charts
from sqlpriv.display.progress import progress
from sqlpriv.methods import METHODS


def compare_command(
    policy: PolicyFile,
    workload: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your questions, with semicolons between them; else 500 are made up."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(metavar="NAMES", help=f"Between commas, some of {', '.join(METHODS)}; else all.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the questions that are made up.")] = 0,
    key_file: Annotated[
        Path | None, typer.Option(help="The key of the random noise; without it a fresh one is used once.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Stop each search after so many seconds and take the best so far."),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune/--no-tune", help="With what is best for the workload, read off the table.")
    ] = True,
    chart: Annotated[Path | None, typer.Option(help="Draw the errors there (needs sqlpriv[report]).")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare methods on your questions: error, protection and cost of each.

    Nothing is published. Each method's release is made at the protection of the policy in a scratch place that the
    ledger does not count, asked, and removed. What is printed is made from the private table: it is for you alone.
    """
    if chart is not None:
        charts.ready(chart)
    asked = CompareOptions(workload, seed, key_file, time_limit, tune)
    with progress("comparing") as on_progress:
        found = compare_methods(publishing.read_policy(policy), () if methods is None else methods, asked, on_progress)
    if chart is not None:
        charts.draw(charts.comparison_picture(found.rows), chart)
    print_facts(comparison_facts(found), as_json)
