"""Policies read and planned: what would be published, and what publishing would refuse; nothing is written.

Given a policy, or the path of one; returned are the plan, while its private table is open, or its Facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlpriv.core.arguments import checked
from sqlpriv.core.errors import InputError, PolicyError, ReleaseError
from sqlpriv.core.facts import Drawn, Facts, Line, OnProgress
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import AnyPlan, Request
from sqlpriv.policy.file import P, Policy, read_policy_file
from sqlpriv.policy.output import release_name
from sqlpriv.publishing.draft import given_key, make_draft
from sqlpriv.publishing.tables import check_place
from sqlpriv.publishing.verdicts import not_accepted, plan_verdict, with_verdict
from sqlpriv.release.ledger.place import ledger_of, ledgers_beside
from sqlpriv.release.ledger.rules import refuse_unknown_release
from sqlpriv.release.ledger.store import read_ledger
from sqlpriv.table.private_table import open_table
from sqlpriv.table.source import Source

NO_OUTPUT = "the policy names no output; add it to [release], or give one"


@checked
def read_policy(path: str | Path) -> Policy:
    """Read a policy file of any method, or say which line is wrong and why."""
    return read_policy_file(path, METHODS)


def as_policy(given: Policy | str | Path) -> Policy:
    """A policy, read where its path is given."""
    return given if isinstance(given, Policy) else read_policy(given)


@contextmanager
def open_private(policy: P, *, whole: bool = False) -> Iterator[tuple[Source, P]]:
    """The private table of a policy, and the policy with its columns spelt as the table spells them.

    Of rows that a program holds the columns that methods read are at hand, or the whole of it.
    """
    if policy.patterns:
        with open_table(policy.table, ()) as source:
            policy = policy.spelt_as(source.columns)
    person = policy.person if policy.drops_nobodys_rows else None
    with open_table(policy.table, policy.by_text, None if whole else policy.read, person) as source:
        yield source, policy.spelt_as(source.columns)


def target_of(policy: Policy, output: Path | None) -> Path | None:
    """Where the release goes: to the output that is given, or to that of the policy."""
    if output is not None:
        return Path(release_name(str(output)))
    return policy.table.path(policy.output) if policy.output else None


@contextmanager
def planned(policy: Policy, request: Request | None = None) -> Iterator[AnyPlan]:
    """The plan of a policy, while its private table is open."""
    with open_private(policy) as (source, spelt):
        yield METHODS[policy.method].plan(source, spelt, request or Request())


def plan(
    policy: Policy | str | Path,
    *,
    queries: Sequence[str] = (),
    time_limit: float | None = None,
    on_progress: OnProgress = None,
    pictures_of: Callable[[AnyPlan], tuple[Drawn, ...]] = lambda _: (),
    look: Callable[[Facts, AnyPlan], Facts] = lambda facts, _: facts,
) -> Facts:
    """What a policy would publish, guarantee and cost; nothing is written.

    For `queries`, questions to the release, it reports the standard errors of the answers: for the owner alone.
    Pictures are made while the table is open, and `look` adds what else is to be seen of the plan.
    """
    request = Request(time_limit=time_limit, on_progress=on_progress, queries=tuple(queries))
    with planned(as_policy(policy), request) as plan:
        return replace(look(foretold(plan), plan), pictures=pictures_of(plan))


def dry_run(
    policy: Policy,
    output: Path | None = None,
    key_file: Path | None = None,
    ledger_file: Path | None = None,
    on_progress: OnProgress = None,
    *,
    time_limit: float | None = None,
) -> Facts:
    """The plan, refused also where publishing with the same key and ledger would be; nothing is written."""
    with planned(policy, Request(time_limit=time_limit, on_progress=on_progress)) as plan:
        facts, target = foretold(plan, output), target_of(policy, output)
        try:
            if target is None:
                raise PolicyError(NO_OUTPUT)
            key = given_key(METHODS[policy.method], policy, key_file)
            ledger = read_ledger(ledger_of(policy, ledger_file), policy.table, ledgers_beside(policy, ledger_file))
            refuse_unknown_release(ledger, target, policy.table.name)
            if any(ledger.known) or policy.budget is not None:
                make_draft(METHODS[policy.method], plan, key, ledger, target)
        except (InputError, PolicyError, ReleaseError) as error:
            return _refused(facts, str(error))
    return facts


def foretold(plan: AnyPlan, output: Path | None = None) -> Facts:
    """The facts of a plan, and whether publishing could write to the place of the release."""
    facts, target = plan.facts(), target_of(plan.policy, output)
    refused = facts.content.get("refused", ())
    verdict = plan_verdict(plan, refused)
    facts = with_verdict(facts, verdict, plan.policy.accept)
    if not refused and (why := not_accepted(verdict, plan.policy)):
        facts = _refused(facts, why)
    if left_out := plan.source.left_out:
        said = f"{left_out:,} rows without a person are left out"
        content = {**facts.content, "warnings": [*facts.content.get("warnings", ()), said]}
        facts = replace(facts, content=content, warnings=(*facts.warnings, said))
    if target is None:
        content = {**facts.content, "warnings": [*facts.content.get("warnings", ()), NO_OUTPUT]}
        return replace(facts, content=content, warnings=(*facts.warnings, NO_OUTPUT))
    try:
        check_place(plan.policy, output, target)
    except ReleaseError as error:
        return _refused(facts, str(error))
    return facts


def _refused(facts: Facts, why: str) -> Facts:
    """The facts, with why nothing would be published."""
    content = {**facts.content, "refused": [*facts.content.get("refused", ()), why]}
    return replace(facts, content=content, parts=(Line(why, "REFUSED"), *facts.parts), passed=False)
