"""The commands around a policy: init, lattice, and a look at hierarchies."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from sqlpriv import publishing
from sqlpriv.doors.cli.options import AsJson, Data, Database, PolicyFile, can_write, say, tell, write_csv
from sqlpriv.errors import InputError
from sqlpriv.methods import METHODS
from sqlpriv.methods.generalize.nodes import NodeRow, all_nodes, lattice_facts, minimal_nodes
from sqlpriv.methods.generalize.plan import prepare
from sqlpriv.methods.generalize.policy import GeneralizePolicy
from sqlpriv.methods.generalize.search import search
from sqlpriv.methods.labelled.evaluate import Node, allowance
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.labelled.scan import Scan, scan_table
from sqlpriv.policy import draft
from sqlpriv.showing.progress import progress
from sqlpriv.sqltext import folded
from sqlpriv.table.hierarchies import draw, save_hierarchies, wide_tables

hierarchies = typer.Typer(
    help="Look at the hierarchies of a policy, or keep them as tables.", no_args_is_help=True, rich_markup_mode=None
)

_SIGMAS = [*(10.0**e for e in range(1, 9)), math.inf]


def init_command(
    data: Data,
    database: Database = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", "-m", help=f"One of {', '.join(METHODS)}; without it one is proposed, with the reason."
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The policy file to write.")] = Path("policy.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the policy file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the proposal for machines, too.")] = False,
) -> None:
    """Look at a table and write a policy for it, for you to review."""
    draft.check_target(output, data, database, force)
    proposed = draft.draft(data, database, output.parent, METHODS, method)
    draft.write(proposed, output)
    tell(proposed.facts(), as_json)
    if not as_json:
        first = "Fill in what is empty, review" if proposed.blanks else "Review"
        then = (
            "the roles and domains, then: [bold]sqlpriv plan"
            if proposed.is_noisy
            else "the roles, then: [bold]sqlpriv publish"
        )
        say(f"Wrote {escape(str(output))}. {first} {then} {escape(str(output))}[/bold]")


def lattice_command(
    policy: PolicyFile,
    minimal: Annotated[bool, typer.Option("--minimal", help="Only the minimal nodes that meet the policy.")] = False,
    most: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many nodes to print; all go to --csv and --json.")
    ] = 40,
    to_csv: Annotated[Path | None, typer.Option("--csv", help="Write every node with every measure there.")] = None,
    charts: Annotated[
        Path | None, typer.Option(help="Draw the pictures into this folder (needs sqlpriv[report]).")
    ] = None,
    kind: Annotated[str, typer.Option("--format", help="Of the pictures: svg, png, html or json.")] = "svg",
    as_json: AsJson = False,
) -> None:
    """Show every node of the lattice: what it meets and what it costs."""
    read = _generalizing(policy)
    if to_csv:
        can_write(to_csv)
    if charts:
        _can_draw(charts, kind)
    with publishing.open_private(read) as source, progress("evaluating") as on_progress:
        scan, measures, objective, _ = prepare(source, read)
        rows = minimal_nodes(scan, measures, on_progress) if minimal else all_nodes(scan, measures, on_progress)
        texts = [m.requirement.text for m in measures]
        if to_csv:
            _write_csv(to_csv, read.qis, texts, rows)
        best = search(scan, measures, objective).best if charts else None
        drawn = _draw(charts, kind, scan, measures, rows, None if best is None else best.node) if charts else []
    tell(lattice_facts(read.qis, texts, rows, most), as_json)
    for text in [] if as_json else drawn:
        print(text)


def _can_draw(folder: Path, kind: str) -> None:
    """Refuse pictures that could not be drawn, before the lattice is evaluated."""
    from sqlpriv.showing import charts

    if kind not in charts.KINDS:
        raise InputError(f"--format {kind} is no format of pictures here; it is {', '.join(charts.KINDS)}")
    charts.ready()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        raise InputError(f"cannot make the folder {str(folder)!r} for the pictures; name another") from None
    can_write(folder / f"lattice.{kind}")


def _generalizing(policy: Path) -> GeneralizePolicy:
    """The policy of a search: only generalization has a lattice."""
    read = publishing.read_policy(policy)
    if not isinstance(read, GeneralizePolicy):
        raise InputError(f"{policy.name} is a policy for {read.method}, which has no lattice; `sqlpriv plan` shows it")
    return read


def _draw(
    folder: Path, kind: str, scan: Scan, measures: tuple[ClassMeasure, ...], rows: list[NodeRow], chosen: Node | None
) -> list[str]:
    """The lattice, risk against utility, and epsilon against stubbornness for each column that requires one.

    What cannot be drawn is told in its place: the nodes were found all the same.
    """
    from sqlpriv.methods.generalize.stubbornness import stubbornness_curves
    from sqlpriv.showing import charts

    def stubborn(column: str) -> charts.Picture:
        curves = stubbornness_curves(scan, chosen or scan.heights, column, _SIGMAS)
        return charts.stubbornness_picture(curves, f"{column}: minimum epsilon against stubbornness")

    texts, allowed = [m.requirement.text for m in measures], allowance(scan)
    pictures: dict[str, Callable[[], charts.Picture]] = {
        "lattice": lambda: charts.lattice_picture(rows, scan.policy.qis, texts, chosen, allowed),
        "tradeoff": lambda: charts.tradeoff_picture(rows, chosen, "loss", measures),
    }
    bounded = {m.requirement.sensitive for m in measures if m.requirement.measure.adversary is not None}
    for number, column in enumerate(scan.policy.sensitive, 1):
        if column in bounded:
            pictures[f"stubbornness-{number}"] = partial(stubborn, column)
    told = []
    for name, picture in pictures.items():
        try:
            told.append(f"drawn: {charts.draw(picture(), folder / f'{name}.{kind}').name}")
        except InputError as error:
            told.append(f"not drawn: {name}.{kind}: {error}")
    return told


def _write_csv(path: Path, qis: tuple[str, ...], texts: list[str], rows: list[NodeRow]) -> None:
    objectives = list(rows[0].objectives) if rows else []
    counts = ((r.valid, r.minimal, r.outcome.suppressed, r.outcome.classes) for r in rows)
    listed = ([*r.node, *n, *r.outcome.worst, *r.objectives.values()] for r, n in zip(rows, counts, strict=True))
    write_csv(path, [*qis, "valid", "minimal", "suppressed_rows", "classes", *texts, *objectives], listed)


@hierarchies.command("show")
def show_command(
    column: Annotated[str, typer.Argument(help="A quasi-identifier of the policy.")],
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy file.")] = Path("policy.toml"),
    most: Annotated[int, typer.Option(min=1, metavar="N", help="How many labels to draw below each label.")] = 12,
) -> None:
    """Draw the tree of a hierarchy, with the number of values below each label."""
    read = _generalizing(policy)
    known = {folded(q): q for q in read.qis}
    if folded(column) not in known:
        raise InputError(f"{column!r} is no quasi-identifier of {policy.name}; there are {', '.join(read.qis)}")
    with publishing.open_private(read) as source:
        scan = scan_table(source, read)
        hierarchy = next(h for h in scan.hierarchies if h.column == known[folded(column)])
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
    read = _generalizing(policy)
    with publishing.open_private(read) as source:
        tables = wide_tables(source, scan_table(source, read).hierarchies)
    print("\n".join(save_hierarchies(tables, database)))
