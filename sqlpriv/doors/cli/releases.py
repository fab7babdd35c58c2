"""The commands of randomized releases: plan, publish, ledger, show."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sqlpriv.doors.cli.policies import AsJson, PolicyFile
from sqlpriv.methods.generalize.anonymize import open_policy
from sqlpriv.methods.randomized.curve import privacy_curve
from sqlpriv.methods.randomized.policy import read_noise_policy
from sqlpriv.methods.randomized.publish import prepare, publish
from sqlpriv.release.ledger import ledger_path, read_ledger
from sqlpriv.show.progress import progress
from sqlpriv.show.randomized import plan_json, show_ledger, show_plan, show_published
from sqlpriv.show.releases import read_shown, show_release

out = Console(highlight=False)

LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", help="The ledger, instead of the one beside the private data.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("plan")(plan_command)
    app.command("publish")(publish_command)
    app.command("ledger")(ledger_command)
    app.command("show")(show_command)


def plan_command(
    policy: PolicyFile,
    chart: Annotated[Path | None, typer.Option(help="Draw error against gamma there (needs [report]).")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a randomized release would guarantee and cost; nothing is published."""
    read = read_noise_policy(policy)
    with open_policy(read) as source:
        prepared = prepare(source, read)
        curve = privacy_curve(prepared)
    if chart is not None:
        from sqlpriv.show.charts import draw_privacy_cost

        draw_privacy_cost([(p.gamma, p.half_domain_error / p.n_public) for p in curve], read.gamma, chart)
    if as_json:
        print(plan_json(prepared.plan, curve))
    else:
        show_plan(out, prepared.plan, curve)


def publish_command(
    policy: PolicyFile,
    output: Annotated[Path | None, typer.Option(help="The release file, instead of the policy's output.")] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="The secret of the coins; without it a fresh one is used once.")
    ] = None,
    ledger: LedgerFile = None,
    force: Annotated[
        bool, typer.Option("--force", help="Publish also what says nothing about the table; never what is not private.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Publish a randomized release with a (d, gamma) guarantee, and enter it in the ledger."""
    read = read_noise_policy(policy)
    with progress("publishing") as on_progress:
        result = publish(read, output, key_file, ledger, on_progress, force=force)
    if as_json:
        print(result.to_json())
    else:
        show_published(out, result)


def ledger_command(policy: PolicyFile, ledger: LedgerFile = None, as_json: AsJson = False) -> None:
    """Show what has been released from the table of a policy."""
    read = read_noise_policy(policy)
    entries = read_ledger(ledger or ledger_path(read))
    if as_json:
        print(json.dumps([asdict(e) for e in entries], indent=2))
    else:
        show_ledger(out, entries)


def show_command(
    release: Annotated[Path, typer.Argument(help="A release file, of any method.")],
    as_json: AsJson = False,
) -> None:
    """Show what a release guarantees, its columns and domains, and what count(*) means in it."""
    shown = read_shown(release)
    if as_json:
        print(shown.to_json())
    else:
        show_release(out, release.name, shown)
