"""The commands by which an owner judges a table or a release: attack, compare, risk, report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sqlpriv import publishing
from sqlpriv.apps.cli.options import (
    AsJson,
    Database,
    Delimiter,
    Encoding,
    Header,
    LedgerFile,
    PolicyFile,
    ReleasePath,
    ShowValues,
    print_facts,
    read_options,
    refuse_values_in_json,
    require_writable,
    split_names,
)
from sqlpriv.attacks.run import run_attacks
from sqlpriv.attacks.target import MOST_KNOWN, WORLDS, AttackedColumns, AttackOptions, Inputs, Knowledge
from sqlpriv.comparison.facts import comparison_facts
from sqlpriv.comparison.run import CompareOptions, compare_methods
from sqlpriv.core.errors import InputError
from sqlpriv.display import charts
from sqlpriv.display.progress import progress
from sqlpriv.methods import METHODS
from sqlpriv.risk.dictionaries import Dictionary
from sqlpriv.risk.measure import estimated_and_true, measure, risk_by_entries, risk_facts
from sqlpriv.risk.request import RiskRequest, WeightedColumn, from_policy, open_tables, reference


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
        typer.Option(metavar="COLUMNS", help="Without a policy: the columns attackers know, between commas."),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Without a policy: the columns attackers want."),
    ] = None,
    person: Annotated[str | None, typer.Option(help="Without a policy: the column that says whose row it is.")] = None,
    database: Database = None,
    dictionary: Annotated[
        str | None, typer.Option(metavar="FILE", help="A list of people that an attacker holds.")
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="The column of the dictionary that identifies persons, also in the private table."
        ),
    ] = None,
    negations: Annotated[
        int,
        typer.Option(min=0, max=MOST_KNOWN, metavar="N", help="Attackers know up to N values a person does not have."),
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
        bool, typer.Option("--show-values", help="Print the worst classes: values of people, for the owner alone.")
    ] = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = None,
) -> None:
    """Run what an attacker would on a release or a table, and report it.

    Every number is shown next to that of the private table if --policy names it. Nothing is judged: the exit code is
    0 whatever is found.
    """
    refuse_values_in_json(as_json, show_values)
    if chart is not None:
        charts.ready(chart)
    read, other = (None if path is None else publishing.read_policy(path) for path in (policy, second_policy))
    columns = AttackedColumns(_names(qi), _names(sensitive), person)
    options = read_options(encoding, delimiter, header, database)
    given = Inputs(target, second, read, other, database, columns, dictionary, options)
    chosen = AttackOptions(Knowledge(negations, implications), truth, worlds, show_values)
    with progress("attacking") as on_progress:
        found = run_attacks(given, chosen, on_progress)
    if chart is not None:
        charts.draw(charts.attacks_picture(found.title, found.found), chart)
    print_facts(found.facts(), as_json, show_values)


def _names(given: list[str] | None) -> tuple[str, ...]:
    names = tuple(name for text in given or [] for name in split_names(text))
    if not all(names):
        raise InputError("an empty name is no column; write them like zip,age")
    return names


def compare_command(
    policy: PolicyFile,
    workload: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your questions, with semicolons between them; else 500 are made up."),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help=f"Some of {', '.join(METHODS)}; else all."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of made-up questions.")] = 0,
    key_file: Annotated[
        Path | None, typer.Option(help="The key of the random noise; without it a fresh one is used once.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Stop each search after so many seconds and take the best so far."),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune/--no-tune", help="Also show the best choice for the workload, read off the table.")
    ] = True,
    chart: Annotated[Path | None, typer.Option(help="Draw the errors there (needs sqlpriv[report]).")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare methods on your questions: error, protection and cost of each.

    Nothing is published. Each method's release is made at the protection of the policy in a scratch place that the
    ledger does not count, asked, and removed. What is printed is made from the private table: it is for you alone.
    """
    if chart is not None:
        charts.ready(chart)
    options, read = CompareOptions(workload, seed, key_file, time_limit, tune), publishing.read_policy(policy)
    with progress("comparing") as on_progress:
        found = compare_methods(read, () if methods is None else methods, options, on_progress)
    if chart is not None:
        charts.draw(charts.comparison_picture(found.rows), chart)
    print_facts(comparison_facts(found), as_json)


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
        typer.Option(metavar="COLUMN=WEIGHT", help="The weight of a value, as in zip=0.3; infinity: never disclosed."),
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
        str | None,
        typer.Option(metavar="COLUMN", help="The column of people in both dictionaries of --bound-chart."),
    ] = None,
    as_json: AsJson = False,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    header: Header = None,
) -> None:
    """Measure disclosure risk: the chance that each record is found in a dictionary, times the weight of its cells.

    Nothing is written, and no value of the table is shown.
    """
    charts_asked = [path for path in (chart, bound_chart) if path is not None]
    if charts_asked:
        charts.ready(*charts_asked)
    if bound_chart is not None and person is None:
        raise InputError("--bound-chart needs --person, the column that says in both dictionaries who an entry is")
    options = read_options(encoding, delimiter, header, database)
    request = _request(data, dictionary or [], weights or [], policy, database, options)
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
    data: str | None,
    dictionary: list[str],
    weights: list[str],
    policy: Path | None,
    database: Path | None,
    options: dict[str, Any],
) -> RiskRequest:
    dictionaries = [_dictionary(text) for text in dictionary]
    if policy is not None:
        if weights:
            raise InputError("--weights and --policy both say what a value weighs: leave one out")
        read = publishing.read_policy(policy)
        if data is None and options:
            raise InputError(f"[table] of {policy.name} says how its file is read: leave --{next(iter(options))} out")
        own = None if data is None else reference(data, database, read.table.folder, options)
        return from_policy(read, dictionaries, own)
    if data is None:
        raise InputError("name what would be disclosed, a file or a table, or a policy with --policy")
    columns = [WeightedColumn(*_pair(text, "--weights", "city=0.3")) for own in weights for text in own.split(",")]
    if not columns:
        raise InputError("say what values weigh, as in --weights city=0.3,born=0.5, or name a --policy")
    twice = {own.name for own in columns if sum(o.name == own.name for o in columns) > 1}
    if twice:
        raise InputError(f"{min(twice)!r} has two weights in --weights; give it one")
    return RiskRequest(reference(data, database, Path.cwd(), options), columns, dictionaries)


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


def evidence_command(
    release: ReleasePath,
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="The policy of the release: it goes into the folder, too.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder; else NAME-evidence next to the release.")
    ] = None,
    ledger: LedgerFile = None,
    as_json: AsJson = False,
) -> None:
    """Write a folder to file with a release: page, policy, ledger entry, verification, record."""
    from sqlpriv.apps.python import evidence

    with progress("filing") as on_progress:
        facts = evidence(release, output, policy=policy, ledger_file=ledger, on_progress=on_progress)
    print_facts(facts, as_json)


def report_command(
    target: Annotated[Path, typer.Argument(metavar="RELEASE|POLICY", help="A release file, or a policy (.toml).")],
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="The policy of the release: the page then covers both.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="RELEASE", help="Another release, to compare it with.")
    ] = None,
    workload: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your questions: how far off their answers are.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page to write; else NAME-report.html here.")
    ] = None,
    charts: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write the charts as PNG there, too.")] = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Write the page a steward signs: one HTML file that needs nothing else."""
    from sqlpriv.apps.python import report

    refuse_values_in_json(as_json, show_values)
    page = output or Path(f"{target.stem}-report.html")
    require_writable(page)
    with progress("reporting") as on_progress:
        facts = report(
            target, page, policy=policy, compare=compare, workload=workload, charts=charts,
            show_values=show_values, on_progress=on_progress,
        )  # fmt: skip
    print_facts(facts, as_json)
