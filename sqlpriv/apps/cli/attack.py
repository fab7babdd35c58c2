"""The command that attacks a table or a release as an attacker would."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sqlpriv import publishing
from sqlpriv.apps.cli.options import AsJson, Database, print_facts, refuse_values_in_json, split_names
from sqlpriv.attacks.run import run_attacks
from sqlpriv.attacks.target import MOST_KNOWN, WORLDS, AttackOptions, Columns, Inputs, Knowledge
from sqlpriv.core.errors import InputError
from sqlpriv.display import charts
from sqlpriv.display.progress import progress


def attack_command(
    target: Annotated[str, typer.Argument(metavar="RELEASE|TABLE", help="A release, or a table as `check` takes it.")],
    second: Annotated[
        Path | None, typer.Argument(metavar="SECOND", help="Another release of the same table, to intersect them.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", "-p", help="The policy: it names the private table, to compare with."),
    ] = None,
    second_policy: Annotated[
        Path | None, typer.Option(help="The policy of the second release, where it has other hierarchies.")
    ] = None,
    qi: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Of a table without a policy: what attackers know, between commas."),
    ] = None,
    sensitive: Annotated[
        list[str] | None, typer.Option(metavar="COLUMNS", help="Of a table without a policy: what they want.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="Of a table without a policy: whose row it is.")] = None,
    database: Database = None,
    dictionary: Annotated[
        str | None, typer.Option(metavar="FILE", help="What an attacker holds: a list of people, to find them by it.")
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="The column of the dictionary that identifies persons, also in the private table."
        ),
    ] = None,
    negations: Annotated[
        int,
        typer.Option(min=0, max=MOST_KNOWN, metavar="N", help="Attackers know up to N values that a person has not."),
    ] = 2,
    implications: Annotated[
        int, typer.Option(min=0, max=MOST_KNOWN, metavar="K", help="Attackers know up to K facts that link two people.")
    ] = 2,
    worlds: Annotated[
        int,
        typer.Option(
            min=0,
            max=100_000,
            metavar="N",
            help="Run the search on up to N other worlds, to see what its choice reveals.",
        ),
    ] = WORLDS,
    chart: Annotated[Path | None, typer.Option(help="Draw the numbers there (needs sqlpriv[report]).")] = None,
    as_json: AsJson = False,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Print the classes to blame: values of people, for the owner alone.")
    ] = False,
) -> None:
    """Run what an attacker would on a release or a table, and report it.

    Every number is shown next to that of the private table if --policy names it. Nothing is judged: the exit code is
    0 whatever is found.
    """
    refuse_values_in_json(as_json, show_values)
    if chart is not None:
        charts.ready(chart)
    read, other = (None if path is None else publishing.read_policy(path) for path in (policy, second_policy))
    columns = Columns(_names(qi), _names(sensitive), person)
    given = Inputs(target, second, read, other, database, columns, dictionary)
    asked = AttackOptions(Knowledge(negations, implications), truth, worlds, show_values)
    with progress("attacking") as on_progress:
        found = run_attacks(given, asked, on_progress)
    if chart is not None:
        charts.draw(charts.attacks_picture(found.title, found.found), chart)
    print_facts(found.facts(), as_json, show_values)


def _names(given: list[str] | None) -> tuple[str, ...]:
    names = tuple(name for text in given or [] for name in split_names(text))
    if not all(names):
        raise InputError("an empty name is no column; write them like zip,age")
    return names
