"""What `sqlpriv ledger` does: show the entries of a ledger, with their costs, or mark one as void."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sqlpriv.core.facts import Facts, Grid, Line
from sqlpriv.macros.calls import Calls
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import Budget
from sqlpriv.release.ledger.entry import Entry, content_of
from sqlpriv.release.ledger.place import followed, ledger_path, passed_over
from sqlpriv.release.ledger.recognise import recognise
from sqlpriv.release.ledger.spent import WORDS, Spent, spent_of, together
from sqlpriv.release.ledger.store import locked, read_ledger
from sqlpriv.table.private_table import open_table

_COSTS = ("entry", "of a", "epsilon", "delta", "epsilon, replaced", "delta, replaced")
_TWO = "what each release costs where somebody is added or left out, and where somebody is replaced: never mixed"
_NO_TOTAL = "some of these releases are no differential privacy, or some are about rows and some about persons"


def ledger_of(policy: Policy, named: Path | None) -> Path:
    """The ledger under which a policy publishes."""
    return ledger_path(named, _of_policy(policy))


def ledger_passed_over(policy: Policy, named: Path | None) -> tuple[str, ...]:
    """A warning where another ledger is named than the policy's."""
    return passed_over(named, _of_policy(policy))


def _of_policy(policy: Policy) -> Path | None:
    return policy.table.path(policy.ledger) if policy.ledger else None


def show_ledger(policy: Policy | None = None, named: Path | None = None) -> Facts:
    """The releases of the table of a policy, also under other names; without a policy, all releases."""
    path = followed(ledger_path(named) if policy is None else ledger_of(policy, named))
    ledger = read_ledger(path, policy.table if policy else None)
    if policy is None or not ledger.entries:
        return ledger_facts(path, ledger.entries)
    with open_table(policy.table, policy.by_text) as source:
        seen = recognise(ledger, source, policy.person)
        told = list(cost_lines(source.calls, [spent_of(e.spent) for e in seen.releases], policy.budget))
    places = {seen.place, *(e.place for e in seen.releases)}
    shown = {e.id for e in seen.releases}
    facts = ledger_facts(path, [e for e in ledger.entries if e.id in shown or e.place in places])
    return replace(facts, parts=(*facts.parts, *told))


def cost_lines(calls: Calls, parts: Sequence[Spent | None], budget: Budget | None) -> Iterator[Line]:
    """Sentences on the cost of all releases of a table, in two totals, and on the rest of the policy's budget."""
    total = together(calls, parts)
    if total is None:
        if any(parts):
            yield Line(f"no total: {_NO_TOTAL}")
        return
    for kind, words in WORDS.items():
        pair = total.of(kind)
        if pair is not None:
            allowed = ""
            if budget is not None and budget.kind == kind:
                allowed = f"; the budget is epsilon {budget.epsilon:g} and delta {budget.delta:.3g}, and left are "
                allowed += f"epsilon {_left(calls, budget.epsilon, pair[0]):.4g} and delta "
                allowed += f"{_left(calls, budget.delta, pair[1]):.3g}"
            yield Line(f"all together: epsilon {pair[0]:.4g} and delta {pair[1]:.3g}, a {total.unit} {words}{allowed}")


def _left(calls: Calls, allowed: float, spent: float) -> float:
    """The rest of a budget; nothing where more was spent, as before there was a budget."""
    return max(float(calls.value(f"_left_over({allowed!r}, {spent!r})")), 0.0)


def void_entry(entry: str, why: str, policy: Policy | None = None, named: Path | None = None) -> Facts:
    """Mark the entry of a release that never went out; the line stays, with the reason."""
    path = ledger_path(named) if policy is None else ledger_of(policy, named)
    with locked(path, policy.table if policy else None) as ledger:
        ledger.void(entry, why)
        return ledger_facts(ledger.path, ledger.entries)


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
    costs = [(e.name, *_costs(spent)) for e in entries if (spent := spent_of(e.spent)) is not None]
    grids = (Grid(headings, rows), *([Grid(_COSTS, tuple(costs), caption=_TWO)] if costs else []))
    said = [Line(f"{e.name} coexists with other releases: {e.coexists_because}") for e in entries if e.coexists_because]
    said += [Line(f"{e.name} does not count: {e.void}") for e in entries if e.void]
    said += [
        Line(f"{e.name} was begun and not finished: publish it again under its policy, or void it")
        for e in entries
        if not e.finished
    ]
    return Facts(path.name, [content_of(e) for e in entries], (*grids, *said))


def _costs(spent: Spent) -> Iterator[str | None]:
    """The cells of a release in the table of costs."""
    yield spent.unit
    for kind in WORDS:
        pair = spent.of(kind)
        yield from (None, None) if pair is None else (f"{pair[0]:.4g}", f"{pair[1]:.3g}")
