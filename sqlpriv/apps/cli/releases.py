"""The commands from a policy to a release and back: plan, publish, verify, show, ledger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from sqlpriv import publishing
from sqlpriv.apps.cli.options import (
    AsJson,
    Junit,
    LedgerFile,
    PolicyFile,
    ReleasePath,
    ShowValues,
    print_facts,
    refuse_values_in_json,
    require_writable,
)
from sqlpriv.comparison.typical import with_answers
from sqlpriv.comparison.workload import read_statements
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.core.facts import Facts, Line
from sqlpriv.display import charts
from sqlpriv.display.junit import write_junit
from sqlpriv.display.progress import progress
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import CannotPublish, Request
from sqlpriv.policy.file import Policy
from sqlpriv.publishing import dry_run as run_dry
from sqlpriv.publishing.against import with_differences
from sqlpriv.release.ledger.show import merge, show_ledger, void_entry
from sqlpriv.table.source import Source

if TYPE_CHECKING:  # what draws pages takes a while to load
    from sqlpriv.reports.pages import FoundThen

TimeLimit = Annotated[
    float | None,
    typer.Option(min=0, metavar="SECONDS", help="Stop a search after so many seconds and take the best so far."),
]
Node = Annotated[
    str | None,
    typer.Option(help="Publish this node instead of the best one, as in age=2,zip=1; it must meet the policy."),
]


def _read_at_node(policy: Path, node: str | None) -> Policy:
    """The policy, for the node that --node names."""
    read = publishing.read_policy(policy)
    if node is None:
        return read
    method = METHODS[read.method]
    if not method.has_lattice:
        raise InputError(f"{policy.name} is a policy for {read.method}, which has no nodes; --node is for generalize")
    chosen: Policy = method.at_node(read, node)
    return chosen


def plan_command(
    policy: PolicyFile,
    time_limit: TimeLimit = None,
    node: Node = None,
    chart: Annotated[
        Path | None,
        typer.Option(help="Draw error against gamma there, or risk against utility (needs sqlpriv[report])."),
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SQL",
            help="A question, to see the error of its answer; for the owner alone. May be repeated.",
        ),
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of such questions, with semicolons between them.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="RELEASE", help="An earlier release: show what would differ from it.")
    ] = None,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Show what a policy would publish, guarantee and cost; nothing is written."""
    refuse_values_in_json(as_json, show_values)
    if chart is not None:
        charts.ready(chart)
    read = _read_at_node(policy, node)
    questions = (*(query or []), *(read_statements(queries) if queries is not None else []))
    request = Request(time_limit=time_limit, queries=questions)
    try:
        with (
            progress("planning") as on_progress,
            publishing.planned(read, replace(request, on_progress=on_progress)) as plan,
        ):
            facts = with_answers(publishing.foretold(plan), plan)
            facts = facts if against is None else with_differences(facts, plan, against)
            pictures = charts.choice_pictures(plan) if chart is not None else []
    except CannotPublish as refused:
        print_facts(refused.facts, as_json, show_values)
    except SqlprivError as error:
        raise (error.with_cells() if show_values else error) from None
    if chart is not None:
        if not pictures:
            raise InputError(f"a plan by {read.method} has no curve to draw; `sqlpriv lattice --charts` draws a search")
        for picture, name in zip(pictures, (chart, chart.with_stem(f"{chart.stem}-levels")), strict=False):
            charts.draw(picture, name)
    print_facts(facts, as_json, show_values)


def publish_command(
    policy: PolicyFile,
    output: Annotated[Path | None, typer.Option(help="The release file, instead of the policy's output.")] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="The key of the random noise; without it a fresh one is used once.")
    ] = None,
    ledger: LedgerFile = None,
    time_limit: TimeLimit = None,
    node: Node = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Plan it and write nothing.")] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Publish even if the release says nothing about the table, but only if it is private."
        ),
    ] = False,
    report: Annotated[
        bool, typer.Option(envvar="SQLPRIV_REPORT", help="Write the page to sign next to the policy: NAME-report.html.")
    ] = True,
    as_json: AsJson = False,
    show_values: ShowValues = False,
) -> None:
    """Publish a table under its policy, and enter the release in the ledger.

    The file is verified from what was written before it takes its place. The same table, policy and key again give the
    release that is there.
    """
    refuse_values_in_json(as_json, show_values)
    read = _read_at_node(policy, node)
    with progress("publishing") as on_progress:
        where = (read, output, key_file, ledger, on_progress)
        try:
            if dry_run:
                facts = run_dry(*where, time_limit=time_limit)
            else:
                look = _table_section if report else None
                published = publishing.publish(*where, force=force, time_limit=time_limit, look=look)
                facts = _with_report(policy, published) if report else published.facts
        except CannotPublish as refused:
            if not dry_run:
                raise
            facts = refused.facts
        except SqlprivError as error:
            raise (error.with_cells() if show_values else error) from None
    print_facts(facts, as_json, show_values)


def _table_section(source: Source, policy: Policy) -> FoundThen:
    """What the private table shows, for the page, while it is open."""
    from sqlpriv.reports.pages import found_while_publishing

    return found_while_publishing(source, policy)


def _with_report(policy: Path, published: publishing.Published) -> Facts:
    """The facts, with the page to sign, which is the owner's: it goes next to the policy, not next to the release."""
    from sqlpriv.reports.html import write_page
    from sqlpriv.reports.pages import report_published

    release, facts = published.written.output, published.facts
    target = policy.parent / f"{release.stem}-report.html"
    try:
        write_page(report_published(published.plan.policy, release, facts, published.found), target)
    except SqlprivError as error:  # the release is published: a missing page does not undo that
        return replace(facts, warnings=(*facts.warnings, f"no page to sign was written: {error}"))
    line = Line(f"The page to sign: {target}")
    return replace(facts, content={**facts.content, "report": str(target)}, parts=(*facts.parts, line))


def verify_command(
    release: ReleasePath,
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="Its policy: nothing that the policy decides may differ.")
    ] = None,
    junit: Junit = None,
    as_json: AsJson = False,
) -> None:
    """Judge a release from its file alone: does it hold what it says?"""
    if junit is not None:
        require_writable(junit)
    facts = publishing.verify(release, policy)
    if junit is not None:
        write_junit(facts, f"sqlpriv verify {release.name}", junit)
    print_facts(facts, as_json)


def show_command(release: ReleasePath, as_json: AsJson = False) -> None:
    """Show what a release says of itself: guarantee, columns and domains."""
    print_facts(publishing.show(release), as_json)


class _ShowsByDefault(TyperGroup):
    """`sqlpriv ledger POLICY` is `sqlpriv ledger show POLICY`, and without a policy all is shown."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in {*self.commands, "-h", "--help"}:
            args = ["show", *args]
        return super().parse_args(ctx, args)


ledger = typer.Typer(
    cls=_ShowsByDefault,
    rich_markup_mode=None,
    help="Show what has been released from a table, or void what never went out.\n\n"
    "`sqlpriv ledger` and `sqlpriv ledger POLICY` show it, too.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@ledger.command("show")
def ledger_command(
    policy: Annotated[Path | None, typer.Argument(help="A policy of the table; without one, all releases.")] = None,
    ledger_file: LedgerFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what has been released from the table of a policy, or from all tables."""
    print_facts(show_ledger(_read(policy), ledger_file), as_json)


@ledger.command("void")
def void_command(
    entry: Annotated[str, typer.Argument(help="The entry, as `sqlpriv ledger` names it.")],
    why: Annotated[str, typer.Option("--why", help="Why it does not count: the release never went out.")],
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", help="A policy of the table, if it names a ledger.")
    ] = None,
    ledger_file: LedgerFile = None,
    as_json: AsJson = False,
) -> None:
    """Mark the entry of a release that never went out; the line stays, with the reason."""
    print_facts(void_entry(entry, why, _read(policy), ledger_file), as_json)


@ledger.command("merge")
def merge_command(
    other: Annotated[Path, typer.Argument(help="The other ledger, which stays as it is.")],
    ledger_file: LedgerFile = None,
    as_json: AsJson = False,
) -> None:
    """Read a copy of another ledger together with this one from now on."""
    print_facts(merge(other, ledger_file), as_json)


def _read(policy: Path | None) -> Policy | None:
    return None if policy is None else publishing.read_policy(policy)
