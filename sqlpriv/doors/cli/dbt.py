"""The command that prepares a dbt project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sqlpriv.doors.cli.options import AsJson, tell
from sqlpriv.doors.dbt.copying import copy_package

dbt = typer.Typer(
    help="Use sqlpriv in a dbt project: data tests, releases, questions with bounds.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@dbt.callback()
def root() -> None:
    """Use sqlpriv in a dbt project: data tests, releases, questions with bounds."""


@dbt.command("init")
def init_command(
    project: Annotated[Path, typer.Argument(help="The folder of the dbt project.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Copy the dbt package into a project, and print what to write in its files."""
    tell(copy_package(project), as_json)
