"""The only path from a policy to a release, for every method.

target    where it goes, and that nothing else is there
lock      nobody else publishes under the same ledger meanwhile; what dead processes left is removed
plan      what would be published; what must not be is refused
ledger    what does not compose with earlier releases of the table is refused
write     into a folder next to the ledger that only its owner can look into
verify    from that file alone, and then against the private table
verdict   a release that may not go out is refused, unless the policy says why to accept that
enter     in the ledger, unfinished and with its key, before anything leaves that folder
place     by a rename; on another file system by a copy that only its owner can read, and then a rename
finish    the entry, and forget the key
tables    the files that people use, where the output names such, from the release in its place

A crash before the entry leaves nothing; one after it leaves an entry that the next run completes with the same noise.
There is never a second view: the key of an unfinished entry is the only one by which its table can be published.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.checks.verdict import Verdict
from sqlpriv.core.engine import fetch, translate
from sqlpriv.core.errors import PolicyError, ReleaseError
from sqlpriv.core.facts import Facts, OnProgress
from sqlpriv.core.sqltext import literal
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import PSEUDONYM_KEY, AnyMethod, AnyPlan, Edition, Made, Request, Written
from sqlpriv.policy.file import Policy
from sqlpriv.publishing.draft import Draft, given_key, make_draft
from sqlpriv.publishing.planning import NO_OUTPUT, as_policy, open_private, target_of
from sqlpriv.publishing.released import judged_file
from sqlpriv.publishing.tables import TableFiles, check_place, refuse_no_tables, with_tables, write_tables
from sqlpriv.publishing.verdicts import not_accepted, with_verdict, written_verdict
from sqlpriv.release.file import count_rows, open_file
from sqlpriv.release.ledger.place import ledger_of, ledger_passed_over, ledgers_beside
from sqlpriv.release.ledger.rules import refuse_unknown_release
from sqlpriv.release.ledger.store import locked
from sqlpriv.release.place import put_in_place, remove_left_copies, remove_partial
from sqlpriv.release.verify_views import refuse_to_lose
from sqlpriv.release.views import write_views
from sqlpriv.release.write import stamp
from sqlpriv.table.source import Source, TableReference

State = tuple[tuple[str, int, int], ...] | None
"""Of the file of a table: it is another when the file was changed."""


@dataclass(frozen=True)
class Published:
    """What was published: for the owner, who may know the number of rows."""

    plan: AnyPlan
    written: Written
    facts: Facts
    verdict: Verdict
    found: Any = None
    """What `look` found."""


def publish(
    policy: Policy | str | Path,
    output: Path | None = None,
    key_file: Path | None = None,
    ledger_file: Path | None = None,
    on_progress: OnProgress = None,
    *,
    force: bool = False,
    time_limit: float | None = None,
    look: Callable[[Source, Policy], Any] | None = None,
) -> Published:
    """Publish a table under its policy, enter it in the ledger, and return what was done.

    The same table, policy and key again return the release that is there. `look` is called with the table once the
    release is in its place.
    """
    policy = as_policy(policy)
    method, table = METHODS[policy.method], policy.table
    target = target_of(policy, output)
    if target is None:
        raise PolicyError(NO_OUTPUT)
    tables = check_place(policy, output, target)
    key = given_key(method, policy, key_file)
    request = Request(force, time_limit, on_progress)
    others = ledgers_beside(policy, ledger_file)
    with locked(ledger_of(policy, ledger_file), table, others) as ledger, open_private(policy) as (source, policy):
        ledger.warnings += ledger_passed_over(policy, ledger_file)
        refuse_unknown_release(ledger, target, table.name)
        remove_left_copies(target.resolve())
        before = table.state()
        plan = method.plan(source, policy, request)
        plan.refuse(request)
        _refuse_change(table, before)
        draft = make_draft(method, plan, key, ledger, target)
        written, verdict = _existing(method, plan, draft) or _write(method, plan, draft, request, before, tables)
        facts = with_verdict(plan.facts(written), verdict, policy.accept)
        if tables is not None:
            facts = with_tables(facts, write_tables(method, written.output, tables))
        return Published(plan, written, facts, verdict, look and look(source, policy))


def _existing(method: AnyMethod, plan: AnyPlan, draft: Draft) -> tuple[Written, Verdict] | None:
    """The release that is there, if it is the one that would be made, and whole, and the verdict on it."""
    entry, target = draft.existing, draft.target
    if entry is None or not entry.release or not target.exists():
        return None
    try:
        with open_file(target) as file:
            if file.about.get("release") != entry.release:
                return None
            refuse_to_lose(method, file, plan.policy)
            if not judged_file(method, file, plan.policy).passed:
                return None
            rows = count_rows(file)
    except ReleaseError:  # of an older format, or empty: it is written again
        return None
    verdict = _accepted(method, plan, target)
    if not entry.finished:
        draft.ledger.finish(entry)
    return Written(target, draft.edition.view, Made(rows, rows), draft.warnings, again=True), verdict


def _write(
    method: AnyMethod, plan: AnyPlan, draft: Draft, request: Request, before: State, tables: TableFiles | None
) -> tuple[Written, Verdict]:
    partial = draft.ledger.folder / f"{draft.entry.name}.duckdb"
    try:
        made, release = make_file(method, plan, draft.edition, draft.date, partial, request, before)
        verdict = _accepted(method, plan, partial)
        if tables is not None:
            refuse_no_tables(partial, tables)
            tables.make_folder(draft.target, plan.policy.table)
        _publish_file(partial, draft, release)
    except duckdb.Error as error:
        raise translate(error) from None
    except OSError:
        raise ReleaseError(f"cannot write {draft.target.name} in its folder") from None
    finally:
        remove_partial(partial)
    return Written(draft.target, draft.edition.view, made, draft.warnings), verdict


def _accepted(method: AnyMethod, plan: AnyPlan, path: Path) -> Verdict:
    """The verdict on a file; refused where that is no, and the owner does not say why it may go out all the same."""
    verdict = written_verdict(method, plan, path)
    if why := not_accepted(verdict, plan.policy):
        raise PolicyError(why)
    return verdict


def make_file(
    method: AnyMethod, plan: AnyPlan, edition: Edition, date: str, path: Path, request: Request, before: State
) -> tuple[Made, str]:
    """The whole release in a file, verified from that and against the private table: what it holds, and its ID.

    `before` is the state of the private table when it was planned: a table that changes meanwhile is refused.
    """
    policy = plan.policy
    _refuse_change(policy.table, before)
    if policy.pseudonym is not None:
        fetch(plan.source.con, f"SET VARIABLE {PSEUDONYM_KEY} = {literal(edition.prefix)}")
    made = method.write(plan, edition, path, request)
    stamp(plan.source.con, path, policy, method, date, edition.total)
    write_views(method, path, policy.questions, policy.auto_views)
    _reached("written")
    made.refuse_unlikely()
    with open_file(path) as file:
        judged = judged_file(method, file, policy)
        if not judged.passed:
            failed = ", ".join(c["check"] for c in judged.content["checks"] if c["passed"] is False)
            raise ReleaseError(
                f"the file that was written does not hold what it says ({failed}); nothing was published"
            )
        release = file.about["release"]
    _refuse_change(policy.table, before)
    method.compare(plan, path)
    _refuse_change(policy.table, before)
    _reached("verified")
    return made, release


def _refuse_change(table: TableReference, before: State) -> None:
    if table.state() != before:
        raise ReleaseError("the file changed while it was read, so nothing was published; run it again")


def _publish_file(partial: Path, draft: Draft, release: str) -> None:
    """Enter the release, then put it in its place, then finish its entry; if it cannot be put there, take that back."""
    ledger, target, entry = draft.ledger, draft.target, draft.existing
    if entry is not None and entry.release not in ("", release):
        raise ReleaseError(
            "this policy published other rows of the same table before, so a file that it names has changed since. "
            "The two releases would reveal more together than either one; restore that file, or give it another name "
            "to have this judged as another release"
        )
    copy = target.with_name(f".{target.name}.{draft.entry.name}.partial")
    if entry is None:
        entry = replace(draft.entry, release=release, finished=False)
        people = [e.id for e in draft.history.releases]
        ledger.enter(entry, draft.history.fingerprint, people, draft.key, copy.absolute())
    else:
        entry = replace(entry, coexists_because=draft.entry.coexists_because)
        ledger.try_again(entry, copy.absolute())
    _reached("entered")
    try:
        put_in_place(partial, copy, target, _reached)
    except OSError:
        if draft.existing is None and not os.path.lexists(copy):  # else the next start removes it
            ledger.take_back(entry)
        raise ReleaseError(f"cannot write {target.name} in its folder") from None
    _reached("placed")
    ledger.finish(entry)
    _reached("finished")


def _reached(step: str) -> None:
    """Does nothing: where tests let the process die."""
