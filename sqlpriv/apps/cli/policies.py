"""The commands around a policy: init, lattice, and a look at hierarchies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from sqlpriv import publishing
from sqlpriv.apps.cli.options import (
    AsJson,
    Connection,
    Data,
    Database,
    Delimiter,
    Encoding,
    Engine,
    Header,
    PolicyFile,
    print_facts,
    print_text,
    read_options,
    require_writable,
    table_of,
    write_csv,
)
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import folded
from sqlpriv.display.progress import progress
from sqlpriv.methods import METHODS
from sqlpriv.methods.lattice import Curves, Lattice
from sqlpriv.methods.method import AnyMethod
from sqlpriv.policy.file import Policy
from sqlpriv.policy.propose_policy import check_target, write_policy
from sqlpriv.publishing.proposing import propose
from sqlpriv.table.hierarchies import draw, save_hierarchies, wide_tables

hierarchies = typer.Typer(
    help="Look at the hierarchies of a policy, or keep them as tables.", no_args_is_help=True, rich_markup_mode=None
)


def init_command(
    data: Data,
    database: Database = None,
    engine: Engine = None,
    connection: Connection = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", "-m", help=f"One of {', '.join(METHODS)}; without it one is proposed, with the reason."
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The policy file to write.")] = Path("policy.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the policy file if it exists.")] = False,
    words: Annotated[
        Path | None,
        typer.Option("--words", metavar="FILE", help="A TOML file of more words that names of sensitive columns have."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the proposal as JSON, too.")] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = None,
) -> None:
    """Look at a table and write a policy for it, for you to review."""
    table = table_of(data, database, engine, connection)
    check_target(output, data, database, force)
    options = read_options(encoding, delimiter, header, database)
    with progress("planning") as on_progress:
        proposed = propose(table, database, output.parent, method, None, options, words, on_progress)
    write_policy(proposed, output)
    print_facts(proposed.facts(), as_json)
    if not as_json:
        first = "Decide on what is asked, review" if proposed.undecided else "Review"
        then = (
            "the roles and domains, then: [bold]sqlpriv plan"
            if proposed.is_noisy
            else "the roles, then: [bold]sqlpriv publish"
        )
        print_text(f"Wrote {escape(str(output))}. {first} {then} {escape(str(output))}[/bold]")


def lattice_command(
    policy: PolicyFile,
    minimal: Annotated[
        bool, typer.Option("--minimal", help="Show only the minimal nodes that meet the policy.")
    ] = False,
    most: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many nodes to print; all go to --csv and --json.")
    ] = 40,
    to_csv: Annotated[Path | None, typer.Option("--csv", help="Write every node with every measure there.")] = None,
    charts: Annotated[
        Path | None, typer.Option(help="Draw the pictures into this folder (needs sqlpriv[report]).")
    ] = None,
    kind: Annotated[str, typer.Option("--format", help="The format of the pictures: svg, png, html or json.")] = "svg",
    as_json: AsJson = False,
) -> None:
    """Show every node of the lattice: what it meets and what it costs."""
    read, method = _with_lattice(policy)
    if to_csv:
        require_writable(to_csv)
    if charts:
        _require_drawable(charts, kind)
    with publishing.open_private(read) as (source, read), progress("evaluating") as on_progress:
        lattice = method.lattice(
            source, read, only_minimal=minimal, with_choice=charts is not None, on_progress=on_progress
        )
        if to_csv:
            write_csv(to_csv, lattice.headings, lattice.listed())
        drawn = _draw(charts, kind, lattice, read.sensitive) if charts else []
    print_facts(lattice.facts(most), as_json)
    for text in [] if as_json else drawn:
        print(text)


def _require_drawable(folder: Path, kind: str) -> None:
    """Refuse pictures that could not be drawn, before the lattice is evaluated."""
    from sqlpriv.display import charts

    if kind not in charts.KINDS:
        raise InputError(f"--format {kind} is no format of pictures here; it is {', '.join(charts.KINDS)}")
    charts.ready()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise InputError(f"cannot make the folder {str(folder)!r} for the pictures; name another") from None
    require_writable(folder / f"lattice.{kind}")


def _with_lattice(policy: Path) -> tuple[Policy, AnyMethod]:
    """The policy of a search, and its method."""
    read = publishing.read_policy(policy)
    method = METHODS[read.method]
    if not method.has_lattice:
        raise InputError(f"{policy.name} is a policy for {read.method}, which has no lattice; `sqlpriv plan` shows it")
    return read, method


def _draw(folder: Path, kind: str, lattice: Lattice, sensitive: Sequence[str]) -> list[str]:
    """The lattice, risk against utility, and epsilon against stubbornness for each column that requires one.

    For a picture that cannot be drawn there is a line that says why: the nodes were found all the same.
    """
    from sqlpriv.display import charts

    def stubborn(column: str, curves: Curves) -> charts.Picture:
        return charts.stubbornness_picture(curves, f"{column}: minimum epsilon against stubbornness")

    pictures: dict[str, Callable[[], charts.Picture]] = {
        "lattice": lambda: charts.lattice_picture(lattice),
        "tradeoff": lambda: charts.tradeoff_picture(lattice),
    }
    for number, column in enumerate(sensitive, 1):
        if column in lattice.stubbornness:
            pictures[f"stubbornness-{number}"] = partial(stubborn, column, lattice.stubbornness[column])
    lines = []
    for name, picture in pictures.items():
        try:
            lines.append(f"drawn: {charts.draw(picture(), folder / f'{name}.{kind}').name}")
        except InputError as error:
            lines.append(f"not drawn: {name}.{kind}: {error}")
    return lines


@hierarchies.command("show")
def show_command(
    column: Annotated[str, typer.Argument(help="A quasi-identifier of the policy.")],
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy file.")] = Path("policy.toml"),
    most: Annotated[int, typer.Option(min=1, metavar="N", help="How many labels to draw below each label.")] = 12,
) -> None:
    """Draw the tree of a hierarchy, with the number of values below each label."""
    read, method = _with_lattice(policy)
    if folded(column) not in map(folded, read.qis):
        raise InputError(f"{column!r} is no quasi-identifier of {policy.name}; there are {', '.join(read.qis)}")
    with publishing.open_private(read) as (source, read):
        hierarchy = next(h for h in method.hierarchies(source, read) if folded(h.column) == folded(column))
        branches: list[Tree] = []
        for depth, label, below in draw(source, hierarchy, most):
            shown = f"{escape(label)} [dim]({below:,})[/dim]" if depth < hierarchy.height else escape(label)
            branch = Tree(shown) if depth == 0 else branches[depth - 1].add(shown)
            branches[depth:] = [branch]
            if depth == 0:
                root = branch
    Console(highlight=False).print(root)


@hierarchies.command("save")
def save_command(
    database: Annotated[Path, typer.Argument(help="A DuckDB file; the tables hierarchy_<column> are written there.")],
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy file.")] = Path("policy.toml"),
) -> None:
    """Keep the hierarchies as tables, to read and edit in SQL; a policy names them as table:hierarchy_<column>."""
    read, method = _with_lattice(policy)
    with publishing.open_private(read) as (source, read):
        tables = wide_tables(source, method.hierarchies(source, read))
    print("\n".join(save_hierarchies(tables, database)))
