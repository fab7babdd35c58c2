"""The only path from a policy to a release, for every method.

target    where it goes, and that nothing else is there
lock      nobody else publishes under the same ledger meanwhile; what dead processes left is removed
plan      what would be published; what must not be is refused
ledger    what does not compose with earlier releases of the table is refused
write     into a folder beside the ledger that only its owner can look into
verify    from that file alone, and then against the private table
enter     in the ledger, unfinished and with its key, before anything leaves that folder
place     by a rename; on another file system by a copy that only its owner can read, and then a rename
finish    the entry, and forget the key

A crash before the entry leaves nothing; one after it leaves an entry that the next run completes with the same coins.
There is never a second view: the key of an unfinished entry is the only one by which its table can be published.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.core.arguments import checked
from sqlpriv.core.engine import translate
from sqlpriv.core.errors import InputError, PolicyError, ReleaseError
from sqlpriv.core.facts import Drawn, Facts, Line, OnProgress
from sqlpriv.methods import METHODS
from sqlpriv.methods.draft import Draft, given_key, make_draft
from sqlpriv.methods.method import AnyMethod, AnyPlan, Edition, Made, Request, Written
from sqlpriv.policy.file import Policy, read_policy_file
from sqlpriv.release.copies import remove_left_copies
from sqlpriv.release.file import check_target, count_rows, open_file, readable, remove_partial
from sqlpriv.release.ledger.rules import refuse_unknown_release
from sqlpriv.release.ledger.show import ledger_of, ledger_passed_over
from sqlpriv.release.ledger.store import locked
from sqlpriv.release.open import OpenRelease, open_files
from sqlpriv.release.put import put_in_place
from sqlpriv.release.show import show_release
from sqlpriv.release.stamp import stamp
from sqlpriv.release.verify_views import refuse_to_lose
from sqlpriv.release.views import write_views
from sqlpriv.released import judged_file, method_of
from sqlpriv.rewrite.clauses import BUDGET
from sqlpriv.table.private_table import open_table
from sqlpriv.table.source import Source

NO_OUTPUT = "the policy names no output; add it to [release], or give one"


@dataclass(frozen=True)
class Published:
    """What was published: for the owner, who may know the number of rows."""

    plan: AnyPlan
    written: Written
    facts: Facts
    seen: Any = None
    """What `look` found."""


@checked
def read_policy(path: str | Path) -> Policy:
    """Read a policy file of any method, or say which line is wrong and why."""
    return read_policy_file(path, METHODS)


@contextmanager
def planned(policy: Policy, request: Request | None = None) -> Iterator[AnyPlan]:
    """The plan of a policy, while its private table is open."""
    with open_private(policy) as source:
        yield METHODS[policy.method].plan(source, policy, request or Request())


def plan(
    policy: Policy | str | Path,
    *,
    queries: Sequence[str] = (),
    time_limit: float | None = None,
    on_progress: OnProgress = None,
    pictures_of: Callable[[AnyPlan], tuple[Drawn, ...]] = lambda _: (),
) -> Facts:
    """What a policy would publish, guarantee and cost; nothing is written.

    Of `queries`, what one would ask the release, it tells the standard errors of the answers: for the owner alone.
    Pictures are made while the table is open.
    """
    request = Request(time_limit=time_limit, on_progress=on_progress, queries=tuple(queries))
    with planned(_read(policy), request) as plan:
        return replace(foretold(plan), pictures=pictures_of(plan))


def foretold(plan: AnyPlan, output: Path | None = None) -> Facts:
    """The facts of a plan, with what publishing would say of the place of the release."""
    facts, target = plan.facts(), target_of(plan.policy, output)
    if target is None:
        content = {**facts.content, "warnings": [*facts.content.get("warnings", ()), NO_OUTPUT]}
        return replace(facts, content=content, warnings=(*facts.warnings, NO_OUTPUT))
    try:
        check_target(target, plan.policy.table)
    except ReleaseError as error:
        return refused(facts, str(error))
    return facts


def refused(facts: Facts, why: str) -> Facts:
    """The facts, with why nothing would be published."""
    content = {**facts.content, "refused": [*facts.content.get("refused", ()), why]}
    return replace(facts, content=content, parts=(Line(why, "REFUSED"), *facts.parts), passed=False)


def target_of(policy: Policy, output: Path | None) -> Path | None:
    """Where the release goes: to what is given, or where the policy says."""
    return output or (policy.table.path(policy.output) if policy.output else None)


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

    The same table, policy and key again return the release that is there. `look` sees the table once it is out.
    """
    policy = _read(policy)
    method = METHODS[policy.method]
    target = target_of(policy, output)
    if target is None:
        raise PolicyError(NO_OUTPUT)
    check_target(target, policy.table)
    key = given_key(method, policy, key_file)
    request = Request(force, time_limit, on_progress)
    with locked(ledger_of(policy, ledger_file), policy.table) as book, open_private(policy) as source:
        book.warnings += ledger_passed_over(policy, ledger_file)
        refuse_unknown_release(book, target, policy.table.name)
        remove_left_copies(target.resolve())
        before = policy.table.state()
        plan = method.plan(source, policy, request)
        plan.refuse(request)
        _refuse_change(policy.table.state() == before)
        draft = make_draft(method, plan, key, book, target)
        written = _existing(method, plan, draft) or _write(method, plan, draft, request, before)
        return Published(plan, written, plan.facts(written), look and look(source, policy))


def _read(policy: Policy | str | Path) -> Policy:
    return policy if isinstance(policy, Policy) else read_policy(policy)


def open_private(policy: Policy) -> AbstractContextManager[Source]:
    """The private table of a policy."""
    return open_table(policy.table, policy.by_text)


def _existing(method: AnyMethod, plan: AnyPlan, draft: Draft) -> Written | None:
    """The release that is there, if it is the one that would be made, and whole."""
    target = draft.target
    if draft.known is None or not draft.known.release or not target.exists():
        return None
    try:
        with open_file(target) as file:
            if file.about.get("release") != draft.known.release:
                return None
            refuse_to_lose(method, file, plan.policy)
            if not judged_file(method, file, plan.policy).passed:
                return None
            rows = count_rows(file)
    except ReleaseError:  # of an older format, or empty: it is written again
        return None
    if not draft.known.finished:
        draft.book.finish(draft.known)
    return Written(target, draft.edition.view, Made(rows, rows), draft.warnings, again=True)


def _write(method: AnyMethod, plan: AnyPlan, draft: Draft, request: Request, before: tuple[int, int] | None) -> Written:
    target = draft.target
    partial = draft.book.folder / f"{draft.entry.name}.duckdb"
    try:
        made, release = make_file(method, plan, draft.edition, draft.date, partial, request, before)
        _publish_file(partial, draft, release)
    except duckdb.Error as error:
        raise translate(error) from None
    except OSError:
        raise ReleaseError(f"cannot write {target.name} in its folder") from None
    finally:
        remove_partial(partial)
    return Written(target, draft.edition.view, made, draft.warnings)


def make_file(
    method: AnyMethod,
    plan: AnyPlan,
    edition: Edition,
    date: str,
    path: Path,
    request: Request,
    before: tuple[int, int] | None,
) -> tuple[Made, str]:
    """The whole release in a file, verified: what it holds, and what it calls itself."""
    table = plan.policy.table
    _refuse_change(table.state() == before)
    made = method.write(plan, edition, path, request)
    stamp(plan.source.con, path, plan.policy, method, date, edition.total)
    write_views(method, path, plan.policy.questions, plan.policy.auto_views)
    _reached("written")
    made.refuse_unlikely()
    release = _verified(method, plan, path)
    _refuse_change(table.state() == before)
    _reached("verified")
    return made, release


def _reached(step: str) -> None:
    """Does nothing: where tests let the process die."""


def _refuse_change(is_unchanged: bool) -> None:
    if not is_unchanged:
        raise ReleaseError("the file changed while it was read, so nothing was published; run it again")


def _verified(method: AnyMethod, plan: AnyPlan, partial: Path) -> str:
    """Refuse a file that does not hold what it says; what the release calls itself."""
    with open_file(partial) as file:
        judged = judged_file(method, file, plan.policy)
        if not judged.passed:
            failed = ", ".join(c["check"] for c in judged.content["checks"] if c["passed"] is False)
            raise ReleaseError(
                f"the file that was written does not hold what it says ({failed}); nothing was published"
            )
        name = file.about["release"]
    method.compare(plan, partial)
    return name


def _publish_file(partial: Path, draft: Draft, release: str) -> None:
    """Enter the release, then put it in its place, then finish its entry; if it cannot be put there, take that back."""
    book, entry = draft.book, draft.known and replace(draft.known, coexists_because=draft.entry.coexists_because)
    if entry is not None and entry.release not in ("", release):
        raise ReleaseError(
            "this policy published other rows of the same table before, so a file that it names has changed since, and "
            "the two releases would together tell more than either; restore that file, or give it another name to have "
            "this judged as another release"
        )
    copy = draft.target.with_name(f".{draft.target.name}.{draft.entry.name}.partial")
    if entry is None:
        entry = replace(draft.entry, release=release, finished=False)
        book.enter(entry, draft.seen.fingerprint.sketches, draft.key, copy.absolute())
    else:
        book.try_again(entry, copy.absolute())
    _reached("entered")
    try:
        put_in_place(partial, copy, draft.target, _reached)
    except OSError:
        if draft.known is None and not os.path.lexists(copy):  # else the next start removes it
            book.take_back(entry)
        raise ReleaseError(f"cannot write {draft.target.name} in its folder") from None
    _reached("placed")
    book.finish(entry)
    _reached("finished")


@checked
def open_release(
    path: str | Path, *more_views: str | Path, public: Mapping[str, Any] | None = None, budget: float = BUDGET
) -> OpenRelease:
    """Open a release file for queries; with more views of the same sequence, they answer together.

    `public` names tables that queries may join: files (Parquet, CSV, JSON), data frames or Arrow tables.
    """
    return open_files(METHODS, [Path(p) for p in (path, *more_views)], public or {}, budget)


@checked
def show(path: str | Path) -> Facts:
    """What a release says of itself: its guarantee as it claims it, columns, domains, what count(*) means."""
    with readable(Path(path)), open_file(Path(path)) as file:
        return show_release(method_of(file), file)


@checked
def verify(path: str | Path, policy: Policy | str | Path | None = None) -> Facts:
    """Judge a release from its file alone; with its policy, also that it holds nothing beyond it."""
    read = None if policy is None else _read(policy)
    with readable(Path(path)), open_file(Path(path)) as file:
        method = method_of(file)
        if read is not None and read.method != method.name:
            raise InputError(f"{file.name} is a release by {method.name}, and the policy is for {read.method}")
        return judged_file(method, file, read)
