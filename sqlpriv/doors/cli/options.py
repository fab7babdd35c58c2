"""What the commands share: options that mean the same everywhere, and how facts are told."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sqlpriv.errors import InputError
from sqlpriv.facts import Facts

Database = Annotated[
    Path | None,
    typer.Option("--database", "-d", help="The DuckDB file that DATA is a table or view of."),
]
Data = Annotated[str, typer.Argument(help="A Parquet, CSV or JSON file, or with --database a table or view.")]
PolicyFile = Annotated[Path, typer.Argument(help="The policy, a TOML file; `sqlpriv init` writes one.")]
ReleasePath = Annotated[Path, typer.Argument(help="A release file, of any method.")]
LedgerFile = Annotated[
    Path | None,
    typer.Option("--ledger", help="The ledger; else that of SQLPRIV_LEDGER, of the policy, or your own."),
]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


ShowValues = Annotated[
    bool, typer.Option("--show-values", help="Print rows before and after: values of people, for the owner alone.")
]


def refuse_values_in_json(as_json: bool, show_values: bool) -> None:
    """What goes to machines goes anywhere."""
    if as_json and show_values:
        raise InputError("--show-values is for a person at a terminal; --json never holds values: leave one out")


def tell(facts: Facts, as_json: bool = False, values: bool = False) -> None:
    """Print facts, as JSON or for people; exit code 1 where something that was required fails."""
    if as_json:
        print(facts.to_json())
    else:
        from rich.console import Console

        from sqlpriv.showing.terminal import show

        show(Console(highlight=False), facts, values)
    if not facts.passed:
        raise typer.Exit(1)


def say(text: str) -> None:
    """A sentence for people, in rich's markup."""
    from rich.console import Console

    Console(highlight=False).print(text, soft_wrap=True)
