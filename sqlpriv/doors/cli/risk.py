"""The command that prices a disclosure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlpriv import publishing
from sqlpriv.doors.cli.options import AsJson, Database, print_facts
from sqlpriv.errors import InputError
from sqlpriv.risk.asked import Asked, Held, Weighed, from_policy, opened, reference
from sqlpriv.risk.measure import estimated_and_true, measure, risk_by_entries
from sqlpriv.risk.told import told
from sqlpriv.showing import charts
from sqlpriv.showing.progress import progress


def risk_command(
    data: Annotated[
        str | None,
        typer.Argument(help="What would be disclosed: a file, or with --database a table; else the policy's table."),
    ] = None,
    dictionary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=PRIOR]",
            help="What an attacker holds: a file, or with --database a table. May be repeated; without one it is the "
            "table itself.",
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=WEIGHT", help="What a value weighs, between commas; infinity: never disclosed."),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=HIERARCHY", help="As in a policy: a .csv file, dates:month,year, table:NAME."),
    ] = None,
    entry: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=EXPRESSION", help="What the dictionary knows of a column, if named otherwise."),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Take the columns, hierarchies and weights of a policy.")
    ] = None,
    form: Annotated[
        str | None, typer.Option(metavar="FORM", help="How the weights of a record add up: linear, or multiplicative.")
    ] = None,
    psi: Annotated[
        float | None, typer.Option(min=0, metavar="NUMBER", help="The loss of a person who is not found; else 0.")
    ] = None,
    database: Database = None,
    chart: Annotated[
        Path | None, typer.Option(help="Draw the risk by the size of the dictionary there (needs sqlpriv[report]).")
    ] = None,
    bound_chart: Annotated[
        Path | None,
        typer.Option(help="Draw the risk estimated with the first dictionary against that with the second there."),
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Who an entry is, in both dictionaries of --bound-chart.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Price a disclosure: how likely each record is found in a dictionary, times what its cells weigh.

    Nothing is written, and no value of the table is shown.
    """
    charts_asked = [path for path in (chart, bound_chart) if path is not None]
    if charts_asked:
        charts.ready(*charts_asked)
    if bound_chart is not None and person is None:
        raise InputError("--bound-chart needs --person, the column that says in both dictionaries who an entry is")
    asked = _asked(data, dictionary or [], weights or [], policy, database)
    asked = _completed(asked, hierarchy or [], entry or [], form, psi)
    pictures: dict[str, Any] = {}
    with opened(asked) as found, progress("pricing"):
        risks = measure(found)
        if chart is not None:
            pictures["by_entries"] = risk_by_entries(found)
        if bound_chart is not None and person is not None:
            pictures["estimated_and_true"] = estimated_and_true(found, person)
    if chart is not None:
        charts.draw(charts.risk_by_entries_picture(pictures["by_entries"]), chart)
    if bound_chart is not None:
        charts.draw(charts.risk_bound_picture(pictures["estimated_and_true"]), bound_chart)
    print_facts(told(asked, risks, pictures), as_json)


def _asked(
    data: str | None, dictionary: list[str], weights: list[str], policy: Path | None, database: Path | None
) -> Asked:
    held = [_held(text) for text in dictionary]
    if policy is not None:
        if weights:
            raise InputError("--weights and --policy both say what a value weighs: leave one out")
        read = publishing.read_policy(policy)
        return from_policy(read, held, None if data is None else reference(data, database, read.table.folder))
    if data is None:
        raise InputError("name what would be disclosed, a file or a table, or a policy with --policy")
    weighed = [Weighed(*_pair(text, "--weights", "city=0.3")) for own in weights for text in own.split(",")]
    if not weighed:
        raise InputError("say what values weigh, as in --weights city=0.3,born=0.5, or name a --policy")
    twice = {own.column for own in weighed if sum(o.column == own.column for o in weighed) > 1}
    if twice:
        raise InputError(f"{min(twice)!r} has two weights in --weights; give it one")
    return Asked(reference(data, database, Path.cwd()), weighed, held)


def _completed(asked: Asked, hierarchy: list[str], entry: list[str], form: str | None, psi: float | None) -> Asked:
    """The request with the other options, which override what a policy says."""
    trees = dict(_pair(text, "--hierarchy", "city=cities.csv") for text in hierarchy)
    entries = dict(_pair(text, "--entry", "born=birthday") for text in entry)
    if entries and not asked.held:
        raise InputError("--entry says what a dictionary knows of a column: name the dictionary with --dictionary")
    for name in [*trees, *entries]:
        if name not in {own.column for own in asked.weighed}:
            raise InputError(f"{name!r} has no weight: name it in --weights, too")
    weighed = [
        replace(own, hierarchy=trees.get(own.column, own.hierarchy), entry=entries.get(own.column, own.entry))
        for own in asked.weighed
    ]
    return replace(asked, weighed=weighed, form=form or asked.form, psi=asked.psi if psi is None else psi)


def _held(text: str) -> Held:
    name, equals, prior = text.rpartition("=")
    if not equals:
        return Held(text)
    try:
        return Held(name, float(prior))
    except ValueError:
        raise InputError(f"--dictionary {text!r} needs a number after =, as in people.csv=0.5") from None


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise InputError(f"{option} {text!r} is no pair; write it like {example}")
    return name.strip(), value.strip()
