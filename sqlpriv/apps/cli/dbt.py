"""The command that copies the dbt package into a project, and prints the lines that name it there."""

from __future__ import annotations

import re
import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from sqlpriv.apps.cli.options import AsJson, print_facts
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts, Line
from sqlpriv.version import __version__

FOLDER = "dbt_sqlpriv"
"""What the copy is called: not like the package, since dbt would take a folder of that name for one it installed."""
PACKAGES = f"packages:\n  - local: {FOLDER}"
PLUGINS = "plugins:\n  - module: sqlpriv.dbt"


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
    print_facts(_copy_package(project), as_json)


def _copy_package(project: Path) -> Facts:
    """Copy the package into a dbt project, in the place of an earlier copy, and say what to write where."""
    if not (project / "dbt_project.yml").is_file():
        raise InputError(f"there is no dbt_project.yml in {str(project)!r}; name the folder of a dbt project")
    target = project / FOLDER
    again = target.exists()
    if again and not _is_ours(target):
        raise InputError(f"{FOLDER!r} is there already and is no copy of our package; move it away first")
    with as_file(files("sqlpriv.apps.dbt").joinpath("package")) as package:
        if again:
            shutil.rmtree(target)
        shutil.copytree(package, target)
    content = {"folder": FOLDER, "version": __version__, "packages.yml": PACKAGES, "profiles.yml": PLUGINS}
    lines = (
        Line(f"the dbt package of sqlpriv {__version__} is in {FOLDER}{', again' if again else ''}"),
        Line("in packages.yml:"),
        Line(PACKAGES, breaks=True),
        Line("in profiles.yml, in the output of type duckdb:"),
        Line(PLUGINS, breaks=True),
        Line("then run: dbt deps"),
    )
    return Facts("dbt", content, lines)


def _is_ours(folder: Path) -> bool:
    try:
        text = (folder / "dbt_project.yml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return re.search(r"^name: sqlpriv$", text, re.MULTILINE) is not None
