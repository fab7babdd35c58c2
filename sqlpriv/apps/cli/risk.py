"""`sqlpriv risk`: the risk of disclosing a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlpriv import publishing
from sqlpriv.apps.cli.options import AsJson, Database, print_facts
from sqlpriv.core.errors import InputError
from sqlpriv.display import charts
from sqlpriv.display.progress import progress
from sqlpriv.risk.dictionaries import Dictionary
from sqlpriv.risk.measure import estimated_and_true, measure, risk_by_entries, risk_facts
from sqlpriv.risk.request import RiskRequest, WeightedColumn, from_policy, open_tables, reference


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
    """Measure disclosure risk: the chance that each record is found in a dictionary, times the weight of its cells.

    Nothing is written, and no value of the table is shown.
    """
    charts_asked = [path for path in (chart, bound_chart) if path is not None]
    if charts_asked:
        charts.ready(*charts_asked)
    if bound_chart is not None and person is None:
        raise InputError("--bound-chart needs --person, the column that says in both dictionaries who an entry is")
    request = _request(data, dictionary or [], weights or [], policy, database)
    request = _with_options(request, hierarchy or [], entry or [], form, psi)
    points: dict[str, Any] = {}
    with open_tables(request) as opened, progress("measuring"):
        risks = measure(opened)
        if chart is not None:
            points["by_entries"] = risk_by_entries(opened)
        if bound_chart is not None and person is not None:
            points["estimated_and_true"] = estimated_and_true(opened, person)
    if chart is not None:
        charts.draw(charts.risk_by_entries_picture(points["by_entries"]), chart)
    if bound_chart is not None:
        charts.draw(charts.risk_bound_picture(points["estimated_and_true"]), bound_chart)
    print_facts(risk_facts(request, risks, points), as_json)


def _request(
    data: str | None, dictionary: list[str], weights: list[str], policy: Path | None, database: Path | None
) -> RiskRequest:
    dictionaries = [_dictionary(text) for text in dictionary]
    if policy is not None:
        if weights:
            raise InputError("--weights and --policy both say what a value weighs: leave one out")
        read = publishing.read_policy(policy)
        return from_policy(read, dictionaries, None if data is None else reference(data, database, read.table.folder))
    if data is None:
        raise InputError("name what would be disclosed, a file or a table, or a policy with --policy")
    columns = [WeightedColumn(*_pair(text, "--weights", "city=0.3")) for own in weights for text in own.split(",")]
    if not columns:
        raise InputError("say what values weigh, as in --weights city=0.3,born=0.5, or name a --policy")
    twice = {own.name for own in columns if sum(o.name == own.name for o in columns) > 1}
    if twice:
        raise InputError(f"{min(twice)!r} has two weights in --weights; give it one")
    return RiskRequest(reference(data, database, Path.cwd()), columns, dictionaries)


def _with_options(
    request: RiskRequest, hierarchy: list[str], entry: list[str], form: str | None, psi: float | None
) -> RiskRequest:
    """The request with the other options, which override what a policy says."""
    trees = dict(_pair(text, "--hierarchy", "city=cities.csv") for text in hierarchy)
    entries = dict(_pair(text, "--entry", "born=birthday") for text in entry)
    if entries and not request.dictionaries:
        raise InputError("--entry says what a dictionary knows of a column: name the dictionary with --dictionary")
    for name in [*trees, *entries]:
        if name not in {own.name for own in request.columns}:
            raise InputError(f"{name!r} has no weight: name it in --weights, too")
    columns = [
        replace(own, hierarchy=trees.get(own.name, own.hierarchy), entry=entries.get(own.name, own.entry))
        for own in request.columns
    ]
    return replace(request, columns=columns, form=form or request.form, psi=request.psi if psi is None else psi)


def _dictionary(text: str) -> Dictionary:
    name, equals, prior = text.rpartition("=")
    if not equals:
        return Dictionary(text)
    try:
        return Dictionary(name, float(prior))
    except ValueError:
        raise InputError(f"--dictionary {text!r} needs a number after =, as in people.csv=0.5") from None


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise InputError(f"{option} {text!r} is no pair; write it like {example}")
    return name.strip(), value.strip()
