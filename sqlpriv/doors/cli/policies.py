"""The commands that start from a policy file: anonymize, lattice, and a look at hierarchies."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from sqlpriv.errors import InputError
from sqlpriv.methods.generalize.anonymize import anonymize, open_policy, prepare
from sqlpriv.methods.generalize.evaluate import Node
from sqlpriv.methods.generalize.measures import ClassMeasure
from sqlpriv.methods.generalize.nodes import NodeRow, all_nodes, minimal_nodes
from sqlpriv.methods.generalize.policy import read_policy
from sqlpriv.methods.generalize.scan import Domain, read_domain
from sqlpriv.methods.generalize.search import search
from sqlpriv.show.generalized import show_anonymized, show_lattice
from sqlpriv.show.progress import progress
from sqlpriv.sqltext import folded
from sqlpriv.table.hierarchies import draw, save_hierarchies, wide_tables

out = Console(highlight=False)
hierarchies = typer.Typer(help="Look at the hierarchies of a policy, or keep them as tables.", no_args_is_help=True)

_SIGMAS = [*(10.0**e for e in range(1, 9)), math.inf]

PolicyFile = Annotated[Path, typer.Argument(help="The policy, a TOML file; `sqlpriv init` writes one.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("anonymize")(anonymize_command)
    app.command("lattice")(lattice_command)
    app.add_typer(hierarchies, name="hierarchy")


def anonymize_command(
    policy: PolicyFile,
    output: Annotated[Path | None, typer.Option(help="The release file, instead of the policy's output.")] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Stop after so many seconds and publish the best node so far.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Find the node and write nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the best generalization that meets the policy, and write it as a release."""
    read = read_policy(policy)
    with progress("searching") as on_progress:
        result = anonymize(read, output, time_limit, on_progress, dry_run=dry_run)
    if as_json:
        print(result.to_json())
    else:
        show_anonymized(out, result)


def lattice_command(
    policy: PolicyFile,
    minimal: Annotated[bool, typer.Option("--minimal", help="Only the minimal nodes that meet the policy.")] = False,
    most: Annotated[int, typer.Option(min=1, help="How many nodes to print; all go to --csv and --json.")] = 40,
    to_csv: Annotated[Path | None, typer.Option("--csv", help="Write every node with every measure there.")] = None,
    charts: Annotated[Path | None, typer.Option(help="Draw the pictures into this folder (needs [report]).")] = None,
    as_json: AsJson = False,
) -> None:
    """Show every node of the lattice: what it meets, what it costs, and pictures of the trade-off."""
    read = read_policy(policy)
    if to_csv and not to_csv.parent.is_dir():
        raise InputError(f"cannot write {str(to_csv)!r}: there is no such folder")
    with open_policy(read) as source, progress("evaluating") as on_progress:
        domain, measures, objective = prepare(source, read)
        rows = minimal_nodes(domain, measures, on_progress) if minimal else all_nodes(domain, measures, on_progress)
        best = search(domain, measures, objective).best if charts else None
        drawn = _draw(charts, domain, measures, rows, None if best is None else best.node) if charts else []
    texts = [m.requirement.text for m in measures]
    if to_csv:
        _write_csv(to_csv, read.qis, texts, rows)
    if as_json:
        print(json.dumps([_plain(read.qis, texts, r) for r in rows], indent=2))
        return
    show_lattice(out, read, texts, rows, most)
    for path in drawn:
        out.print(f"drawn: {path.name}")


def _draw(
    folder: Path, domain: Domain, measures: tuple[ClassMeasure, ...], rows: list[NodeRow], chosen: Node | None
) -> list[Path]:
    """The lattice, risk against utility, and for each sensitive column epsilon against stubbornness."""
    from sqlpriv.methods.generalize.stubbornness import stubbornness_curves
    from sqlpriv.show import charts

    folder.mkdir(parents=True, exist_ok=True)
    drawn = [folder / "lattice.svg", folder / "tradeoff.svg"]
    charts.draw_lattice(rows, domain.policy.qis, [m.requirement.text for m in measures], drawn[0], chosen=chosen)
    charts.draw_tradeoff(rows, chosen, "loss", drawn[1], measures=measures)
    for number, column in enumerate(domain.policy.sensitive, 1):
        drawn.append(folder / f"stubbornness-{number}.svg")
        curves = stubbornness_curves(domain, chosen or domain.heights, column, _SIGMAS)
        charts.draw_stubbornness(curves, drawn[-1], title=f"{column}: minimum epsilon against stubbornness")
    return drawn


def _plain(qis: tuple[str, ...], texts: list[str], row: NodeRow) -> dict[str, Any]:
    return {
        "node": dict(zip(qis, row.node, strict=True)),
        "valid": row.valid,
        "minimal": row.minimal,
        "suppressed_rows": row.outcome.suppressed,
        "classes": row.outcome.classes,
        "requirements": {
            text: {"value": _number(value), "holds": holds}
            for text, value, holds in zip(texts, row.outcome.worst, row.holds, strict=True)
        },
        **row.objectives,
    }


def _number(value: float | None) -> float | str | None:
    return "inf" if value is not None and math.isinf(value) else value


def _write_csv(path: Path, qis: tuple[str, ...], texts: list[str], rows: list[NodeRow]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        objectives = list(rows[0].objectives) if rows else []
        writer.writerow([*qis, "valid", "minimal", "suppressed_rows", "classes", *texts, *objectives])
        for row in rows:
            counts = [row.valid, row.minimal, row.outcome.suppressed, row.outcome.classes]
            writer.writerow([*row.node, *counts, *row.outcome.worst, *row.objectives.values()])


@hierarchies.command("show")
def show_command(
    column: Annotated[str, typer.Argument(help="A quasi-identifier of the policy.")],
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy file.")] = Path("policy.toml"),
    most: Annotated[int, typer.Option(min=1, help="How many labels to draw below each label.")] = 12,
) -> None:
    """Draw the tree of a hierarchy, with the number of values below each label."""
    read = read_policy(policy)
    known = {folded(q): q for q in read.qis}
    if folded(column) not in known:
        raise InputError(f"{column!r} is no quasi-identifier of {policy.name}; there are {', '.join(read.qis)}")
    with open_policy(read) as source:
        domain = read_domain(source, read)
        hierarchy = next(h for h in domain.hierarchies if h.column == known[folded(column)])
        branches: list[Tree] = []
        for depth, label, below in draw(source, hierarchy, most):
            shown = f"{escape(label)} [dim]({below:,})[/dim]" if depth < hierarchy.height else escape(label)
            branch = Tree(shown) if depth == 0 else branches[depth - 1].add(shown)
            branches[depth:] = [branch]
            if depth == 0:
                root = branch
    out.print(root)


@hierarchies.command("save")
def save_command(
    database: Annotated[Path, typer.Argument(help="A DuckDB file; the tables hierarchy_<column> are written there.")],
    policy: Annotated[Path, typer.Option("--policy", "-p", help="The policy file.")] = Path("policy.toml"),
) -> None:
    """Keep the hierarchies as tables, to read and edit in SQL; a policy names them as table:hierarchy_<column>."""
    read = read_policy(policy)
    with open_policy(read) as source:
        tables = wide_tables(source, read_domain(source, read).hierarchies)
    print("\n".join(save_hierarchies(tables, database)))
