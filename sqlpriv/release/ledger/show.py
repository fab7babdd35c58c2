"""The entries of a ledger, for people and for machines: what `sqlpriv ledger` shows, and what it marks as void."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sqlpriv.facts import Facts, Grid, Line
from sqlpriv.policy.budget import Budget
from sqlpriv.policy.file import Policy
from sqlpriv.release.ledger.book import locked, read_book
from sqlpriv.release.ledger.entry import Entry, content_of
from sqlpriv.release.ledger.place import followed, ledger_path, passed_over
from sqlpriv.release.ledger.recognise import recognise
from sqlpriv.release.ledger.spent import WORDS, Spent, spent_of, together
from sqlpriv.table.private import open_table


def ledger_of(policy: Policy, named: Path | None) -> Path:
    """The ledger under which a policy publishes."""
    return ledger_path(named, _of_policy(policy))


def ledger_passed_over(policy: Policy, named: Path | None) -> tuple[str, ...]:
    """What is said where another ledger is named than the policy's."""
    return passed_over(named, _of_policy(policy))


def _of_policy(policy: Policy) -> Path | None:
    return policy.table.path(policy.ledger) if policy.ledger else None


def show_ledger(policy: Policy | None = None, named: Path | None = None) -> Facts:
    """What has been released from the table of a policy, also under other names; without a policy, all releases."""
    path = followed(ledger_path(named) if policy is None else ledger_of(policy, named))
    book = read_book(path, policy.table if policy else None)
    if policy is None or not book.entries:
        return ledger_facts(path, book.entries)
    with open_table(policy.table, policy.by_text) as source:
        seen = recognise(book, source, policy.person)
        total = together(source.calls, [spent_of(e.spent) for e in seen.releases])
        told = [] if total is None else list(told_costs(total, policy.budget))
    places = {seen.place, *(e.place for e in seen.releases if e.place)}
    shown = {e.id for e in seen.releases}
    facts = ledger_facts(path, [e for e in book.entries if e.id in shown or e.place in places])
    return replace(facts, parts=(*facts.parts, *told))


def told_costs(total: Spent, budget: Budget | None) -> Iterator[Line]:
    """What all releases of a table cost together, and what the budget of the policy is."""
    for kind, words in WORDS.items():
        pair = total.of(kind)
        if pair is not None:
            allowed = ""
            if budget is not None and budget.kind == kind:
                allowed = f"; the budget is epsilon {budget.epsilon:g} and delta {budget.delta:.3g}"
            yield Line(f"all together: epsilon {pair[0]:.4g} and delta {pair[1]:.3g}, a {total.unit} {words}{allowed}")


def void_entry(entry: str, why: str, policy: Policy | None = None, named: Path | None = None) -> Facts:
    """Mark the entry of a release that never went out; the line stays, with the reason."""
    path = ledger_path(named) if policy is None else ledger_of(policy, named)
    with locked(path, policy.table if policy else None) as book:
        book.void(entry, why)
        return ledger_facts(book.path, book.entries)


def ledger_facts(path: Path, entries: Sequence[Entry]) -> Facts:
    """Releases of a ledger, in their order."""
    if not entries:
        return Facts(path.name, [], (Line("nothing has been released"),))
    headings = ("entry", "date", "table", "method", "d", "gamma", "view", "output")
    rows = tuple(
        (e.name, e.time[:10], e.table, e.method, e.parameters.get("d"), e.parameters.get("gamma"),
         f"{e.view} of {e.views}", e.output)
        for e in entries
    )  # fmt: skip
    said = [Line(f"{e.name} stands beside other releases: {e.beside}") for e in entries if e.beside]
    said += [Line(f"{e.name} does not count: {e.void}") for e in entries if e.void]
    said += [
        Line(f"{e.name} was begun and not finished: publish it again under its policy, or void it")
        for e in entries
        if not e.finished
    ]
    return Facts(path.name, [content_of(e) for e in entries], (Grid(headings, rows), *said))
