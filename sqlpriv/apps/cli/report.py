"""The command that writes the page a steward signs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sqlpriv.apps.cli.options import AsJson, ShowValues, print_facts, refuse_values_in_json, require_writable
from sqlpriv.display.progress import progress


def report_command(
    target: Annotated[Path, typer.Argument(metavar="RELEASE|POLICY", help="A release file, or a policy (.toml).")],
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="The policy of the release: the page then covers both.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="RELEASE", help="Another release, to compare it with.")
    ] = None,
    workload: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your questions: how far off their answers are.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The page; else NAME-report.html here.")] = None,
    charts: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write the charts as PNG there, too.")] = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Write the page a steward signs: one HTML file that needs nothing else."""
    from sqlpriv.apps.python import report

    refuse_values_in_json(as_json, show_values)
    page = output or Path(f"{target.stem}-report.html")
    require_writable(page)
    with progress("reporting") as on_progress:
        facts = report(
            target, page, policy=policy, compare=compare, workload=workload, charts=charts,
            show_values=show_values, on_progress=on_progress,
        )  # fmt: skip
    print_facts(facts, as_json)
