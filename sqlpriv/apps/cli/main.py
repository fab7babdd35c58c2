"""The command line. Exit code 0: all is well; 1: a requirement fails; 2: the input cannot be used; 130: Ctrl-C.

A signal to end counts as Ctrl-C, so that nothing is left behind: 128 and the number of the signal.

Commands are loaded when they are called: the help of all of them is one table here, so that `sqlpriv --help` imports
neither DuckDB nor any of them. A test compares the table with what the commands say of themselves.
"""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sqlpriv.apps.hints import on_command_line
from sqlpriv.core.errors import SqlprivError
from sqlpriv.version import __version__

# Where each command is, and the first sentence of its help.
COMMANDS: dict[str, tuple[str, str]] = {
    "check": ("checks:check_command", "Report every privacy model on a table, and judge it against requirements."),
    "find": ("find:find_command", "Find the columns, and small sets of columns, that identify people."),
    "init": ("policies:init_command", "Look at a table and write a policy for it, for you to review."),
    "plan": ("releases:plan_command", "Show what a policy would publish, guarantee and cost; nothing is written."),
    "attack": (
        "assess:attack_command",
        "Run what an attacker would on a release or a table, and report it.",
    ),
    "compare": ("assess:compare_command", "Compare methods on your questions: error, protection and cost of each."),
    "risk": (
        "assess:risk_command",
        "Measure disclosure risk: the chance that each record is found in a dictionary, times the weight of its cells.",
    ),
    "publish": ("releases:publish_command", "Publish a table under its policy, and enter the release in the ledger."),
    "verify": ("releases:verify_command", "Judge a release from its file alone: does it hold what it says?"),
    "show": ("releases:show_command", "Show what a release says of itself: guarantee, columns and domains."),
    "report": ("assess:report_command", "Write the page a steward signs: one HTML file that needs nothing else."),
    "evidence": (
        "assess:evidence_command",
        "Write a folder to file with a release: page, policy, ledger entry, verification, record.",
    ),
    "query": ("query:query_command", "Ask a release ordinary SQL: estimates with their bounds."),
    "serve": (
        "serve:serve_command",
        "Serve releases to PostgreSQL clients: psql, BI tools and drivers ask, and get estimates with bounds.",
    ),
    "ledger": ("releases:ledger", "Show what has been released from a table, or void what never went out."),
    "lattice": ("policies:lattice_command", "Show every node of the lattice: what it meets and what it costs."),
    "hierarchy": ("policies:hierarchies", "Look at the hierarchies of a policy, or keep them as tables."),
    "sql": ("macros:sql_command", "Print the plain SQL behind a macro call, for DuckDB or another engine."),
    "docs": ("macros:docs_command", "Print the page of a macro, or the list of all."),
    "install": ("macros:install_command", "Put the macros into a database file, for every DuckDB client."),
    "view": ("query:view", "Keep a query as a view in plain SQL that any DuckDB client reads."),
    "dbt": ("dbt:dbt", "Use sqlpriv in a dbt project: data tests, releases, questions with bounds."),
    "mcp": (
        "serve:mcp_command",
        "Let agents ask releases, over the Model Context Protocol.",
    ),
    "demo": ("sqlpriv.demo.story:demo_command", "Walk through all steps on a generated hospital table."),
}
_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


def load_command(name: str) -> TyperCommand | TyperGroup:
    """The command itself, with its module."""
    place, _ = COMMANDS[name]
    module, _, attribute = place.partition(":")
    found = getattr(import_module(module if "." in module else f"sqlpriv.apps.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        command: Any = typer.main.get_group(found)
    else:
        alone = typer.Typer(pretty_exceptions_enable=False, add_completion=False, rich_markup_mode=None)
        alone.command(name, context_settings=_SETTINGS)(found)
        command = typer.main.get_command(alone)
    command.name = name
    for below in getattr(command, "commands", {}).values():
        below.short_help = below.help  # else it is cut where it is listed
    return command  # type: ignore[no-any-return]


class _LazyGroup(TyperGroup):
    """Knows the names and helps of all commands, and loads the one that is called."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {name: TyperCommand(name, help=text, short_help=text) for name, (_, text) in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name in COMMANDS else command, rest


app = typer.Typer(
    cls=_LazyGroup,
    help="Privacy inside DuckDB: may this table go out, and how?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings=_SETTINGS,
)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Privacy inside DuckDB: may this table go out, and how?"""
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; every refusal is one sentence."""
    signals = _catch_signals()
    try:
        code = app(standalone_mode=False)
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        from rich.console import Console
        from rich.markup import escape

        from sqlpriv.core.facts import legible

        err = Console(stderr=True, highlight=False)
        err.print(f"[bold red]sqlpriv:[/bold red] {escape(legible(message))}", soft_wrap=True)
        sys.exit(2)
    sys.exit(128 + signals[0] if signals else code if isinstance(code, int) else 0)


def _catch_signals() -> list[int]:
    """Treat SIGTERM and SIGHUP as Ctrl-C, unless they are ignored; the list holds those that came."""
    received: list[int] = []

    def end(number: int, _: object) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)  # a second one ends it at once, whatever DuckDB does
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
    return received


def _message(error: Exception) -> str | None:
    """The message of an error: what is wrong and what to change; None where it is a fault of our own."""
    if isinstance(error, SqlprivError):
        return on_command_line(str(error))
    if isinstance(error, _USAGE):
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]
            sys.exit(2)
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "sqlpriv"
        text = " ".join(error.format_message().split()).rstrip(".")  # type: ignore[attr-defined]
        return f"{text}{'' if text.endswith('?') else ';'} see {command} --help"
    if isinstance(error, OSError):
        from sqlpriv.core.engine import disk_trouble

        return str(disk_trouble(error))
    engine = sys.modules.get("duckdb")
    if engine is not None and isinstance(error, engine.Error):
        from sqlpriv.core.engine import translate

        return str(translate(error))
    return None


# The errors of wrong options, wherever typer has them from: its own copy of click, or click.
_USAGE = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


if __name__ == "__main__":
    main()
