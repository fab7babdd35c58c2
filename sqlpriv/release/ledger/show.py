"""What `sqlpriv ledger` does: show the entries of a ledger, with their costs, or mark one as void."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from sqlpriv.core.facts import Facts, Grid, Line
from sqlpriv.macros.calls import Calls
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import Budget
from sqlpriv.release.ledger.entry import KINDS, Entry, are_settled, content_of, together
from sqlpriv.release.ledger.place import followed, ledger_of, ledger_path, ledgers_beside
from sqlpriv.release.ledger.rules import table_history
from sqlpriv.release.ledger.store import locked, merge_ledger, read_ledger
from sqlpriv.table.private_table import open_table

_COSTS = ("entry", "of a", "epsilon", "delta", "epsilon, replaced", "delta, replaced")
_TWO = "what each release costs where somebody is added or left out, and where somebody is replaced: never mixed"
_NO_TOTAL = "some of these releases are not differential privacy, or some are about rows and some about persons"


def show_ledger(policy: Policy | None = None, named: Path | None = None) -> Facts:
    """The releases of the table of a policy, also under other names; without a policy, all releases."""
    path = followed(ledger_path(named) if policy is None else ledger_of(policy, named))
    if policy is None:
        return ledger_facts(path, [*read_ledger(path).known])
    ledger = read_ledger(path, policy.table, ledgers_beside(policy, named))
    if not any(ledger.known):
        return ledger_facts(path, [])
    with open_table(policy.table, policy.by_text, ()) as source:
        history = table_history(ledger, source, policy.person)
        costs = list(cost_lines(source.calls, history.releases, policy.budget))
    # Void entries of the same places, too: they are shown, and do not count.
    places = {history.place, *(e.place for e in history.releases)}
    shown = {e.id for e in history.releases}
    facts = ledger_facts(path, [e for e in ledger.known if e.id in shown or e.place in places])
    unclear = [Line(words) for words in history.unclear_words]
    return replace(facts, parts=(*facts.parts, *costs, *unclear))


def merge(other: Path, named: Path | None = None) -> Facts:
    """Read another ledger together with this one from now on, as if all were entered in one."""
    path = ledger_path(named)
    ledger = merge_ledger(path, other)
    facts = ledger_facts(ledger.path, [*ledger.known])
    said = Line(f"{other.name!r} is read together with {ledger.path.name!r} from now on; merge it again if it grows")
    return replace(facts, parts=(*facts.parts, said))


def cost_lines(calls: Calls, entries: Sequence[Entry], budget: Budget | None) -> Iterator[Line]:
    """Sentences on the cost of all releases of a table, in two totals, and on the rest of the policy's budget."""
    total = together(calls, [e.spent for e in entries], are_settled(entries))
    if total is None:
        if any(e.spent for e in entries):
            yield Line(f"no total: {_NO_TOTAL}")
        return

    def left(allowed: float, spent: float) -> float:
        """The rest of a budget; nothing where more was spent, as before there was a budget."""
        return max(float(calls.value(f"_left_over({allowed!r}, {spent!r})")), 0.0)

    for kind, words in KINDS.items():
        pair = total.of(kind)
        if pair is None:
            continue
        text = f"all together: epsilon {pair[0]:.4g} and delta {pair[1]:.3g}, a {total.unit} {words}"
        if budget is not None and budget.kind == kind:
            text += f"; the budget is epsilon {budget.epsilon:g} and delta {budget.delta:.3g}, and left are epsilon "
            text += f"{left(budget.epsilon, pair[0]):.4g} and delta {left(budget.delta, pair[1]):.3g}"
        yield Line(text)


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
    rows, costs = [], []
    coexisting, void, unfinished = [], [], []
    for e in entries:
        numbers = (e.parameters.get("d"), e.parameters.get("gamma"))
        rows.append((e.name, e.time[:10], e.table, e.method, *numbers, f"{e.view} of {e.views}", e.output))
        if e.spent is not None:
            pairs = (e.spent.of(kind) for kind in KINDS)
            cells = ((None, None) if pair is None else (f"{pair[0]:.4g}", f"{pair[1]:.3g}") for pair in pairs)
            costs.append((e.name, e.spent.unit, *chain.from_iterable(cells)))
        if e.coexists_because:
            coexisting.append(Line(f"{e.name} coexists with other releases: {e.coexists_because}"))
        if e.settled_beforehand:
            coexisting.append(Line(f"{e.name} was settled before any release was seen: {e.settled_beforehand}"))
        if e.void:
            void.append(Line(f"{e.name} does not count: {e.void}"))
        if not e.finished:
            unfinished.append(
                Line(f"{e.name} was begun and not finished: publish it again under its policy, or void it")
            )
    grids = (Grid(headings, tuple(rows)), *([Grid(_COSTS, tuple(costs), caption=_TWO)] if costs else []))
    return Facts(path.name, [content_of(e) for e in entries], (*grids, *coexisting, *void, *unfinished))
