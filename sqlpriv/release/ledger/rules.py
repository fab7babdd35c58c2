"""Which release may follow others of the same table: each rule refuses, with the entry that stands against it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlpriv.core.errors import ReleaseError
from sqlpriv.policy.keys import Budget
from sqlpriv.release.file import released_there
from sqlpriv.release.ledger.entry import Entry
from sqlpriv.release.ledger.recognise import Recognised
from sqlpriv.release.ledger.spent import Spent, spent_of
from sqlpriv.release.ledger.store import Ledger

_HAIR = 1e-9


def refuse_repetition(
    ledger: Ledger, seen: Recognised, new: Entry, total: Spent | None = None, budget: Budget | None = None
) -> None:
    """Refuse a release that does not compose with others of the same table, unless the owner says why it may.

    `seen` is the table with its releases, `new` the entry to be made, and `total` the cost of all of them together;
    None where they do not compose.
    """
    before = seen.releases
    if any(new.coins == e.coins for e in before):
        return
    if budget is not None and new.spent:
        _refuse_beyond(ledger, new, total or spent_of(new.spent), budget)
    if not before or (budget is not None and total is not None):
        return
    if new.view > new.views:
        last = next(e for e in reversed(before) if e.parameters == new.parameters)
        raise ReleaseError(
            f"{_recorded(ledger, seen, last)}, the last of the {new.views} views of this sequence; no more can be "
            "private"
        )
    if new.coexists_because:
        _refuse_the_same_again(ledger, seen, new)
        return
    last = next((e for e in before if e.views == 1), before[-1])
    where = _recorded(ledger, seen, last)
    if new.views == 1 or last.views == 1:
        sequence = "Publish a sequence (views = ...) from the start, use" if "views" in new.parameters else "Use"
        raise ReleaseError(
            f"{where} with {last.method}. A second release made independently would expose people: what occurs in both "
            f"is almost surely true. {sequence} the release there is, void its entry if it never went out "
            f"(sqlpriv ledger void {last.name} --why ...), or write in [release] why "
            f'both may coexist: coexists_because = "..."{_or_add_up(total)}'
        )
    if last.parameters != new.parameters:
        changed = sorted(
            k for k in {*last.parameters, *new.parameters} if last.parameters.get(k) != new.parameters.get(k)
        )
        raise ReleaseError(f"{where}. The next view must have the same parameters; changed: {', '.join(changed)}")
    if new.view != last.view + 1:
        raise ReleaseError(f"{where}, view {last.view} of {last.views}; only view {last.view + 1} can follow")


def _refuse_beyond(ledger: Ledger, new: Entry, total: Spent | None, budget: Budget) -> None:
    """Refuse a release that exceeds the budget, together with the releases before it."""
    if total is None:
        return
    pair = total.of(budget.kind)
    if pair is None:
        raise ReleaseError(
            f"the budget is of neighbours = {budget.neighbours!r}, and one of the releases of {new.table!r} has no "
            "such guarantee: it reveals the number of rows. Write the budget for the other kind of neighbours"
        )
    if _passes(pair[0], budget.epsilon) or _passes(pair[1], budget.delta):
        others = f"with the {total.releases - 1} before it " if total.releases > 1 else ""
        raise ReleaseError(
            f"{others}this release of {new.table!r} would cost epsilon {pair[0]:.6g} and delta {pair[1]:.3g} "
            f"({budget.neighbours}), and the budget is epsilon {budget.epsilon:g} and delta {budget.delta:.3g}. Use "
            f"the releases there are, ask for less, or raise the budget; the ledger is {ledger.path.name!r}"
        )


def _passes(cost: float, allowed: float) -> bool:
    """Whether a cost exceeds the allowed one, up to rounding."""
    return cost > allowed * (1 + _HAIR)


def _or_add_up(total: Spent | None) -> str:
    """The other way out, where releases compose: a budget."""
    if total is None:
        return ""
    pair = total.added or total.replaced or (0.0, 0.0)
    return (
        f". All of them are differential privacy and add up, to epsilon {pair[0]:.6g} and delta {pair[1]:.3g}: within "
        "a budget in [ledger], as in budget = { epsilon = 3, delta = 1e-5 }, they may coexist"
    )


def _refuse_the_same_again(ledger: Ledger, seen: Recognised, new: Entry) -> None:
    """The reason in `beside` is about one release, not about any number of them with new noise or other rows."""
    for last in seen.releases:
        if last.coexists_because != new.coexists_because or new.views > 1:
            continue
        if (last.digest, last.parameters) == (new.digest, dict(new.parameters)):
            raise ReleaseError(
                f"{_recorded(ledger, seen, last)} by this very policy. With new noise it would be one release more, "
                f"and the noise of both averages out: give the key of then, void its entry ({last.name}) if it never "
                "went out, or say in coexists_because why there may be two of them"
            )
        if last.digest != new.digest and (last.output, last.method) == (new.output, new.method):
            raise ReleaseError(
                f"{_recorded(ledger, seen, last)}, with the same words in coexists_because, and its rows have "
                "changed since. The words are about that release, not about one for every change: use the release "
                "there is, void its "
                f"entry ({last.name}) if it never went out, or say in coexists_because why there may be one more"
            )


def refuse_unknown_release(ledger: Ledger, target: Path, table: str) -> None:
    """Refuse to replace a release of the table that the ledger does not know: it is another ledger, or it was lost."""
    there = released_there(target)
    if there is None or there[0] != table:
        return
    if not any(e.release == there[1] for e in ledger.entries):  # a void entry is known, too
        raise ReleaseError(
            f"{target.name!r} is a release of {table!r} already, and the ledger {ledger.path.name!r} knows nothing of "
            "it; bring back the ledger of then, name it with --ledger or, if nobody has that release, remove the file"
        )


def refuse_unfinished(ledger: Ledger, unfinished: Sequence[Entry]) -> None:
    """Refuse a release while another of the table is unfinished: entered, and perhaps not put in its place."""
    for entry in unfinished:
        raise ReleaseError(
            f"the ledger {ledger.path.name!r} says: a release of {entry.table!r} as {entry.output!r} was begun on "
            f"{entry.time[:10]} and not finished. Publish it with the policy and the table of then, which finishes it "
            f"with the same noise; or, if {entry.output!r} is not there and nobody has it, void its entry "
            f"(sqlpriv ledger void {entry.name} --why ...)"
        )


def refuse_another_key(ledger: Ledger, entry: Entry) -> None:
    """Refuse to finish a release with another key: it would be a second one."""
    raise ReleaseError(
        f"the ledger {ledger.path.name!r} says: the release {entry.output!r} of {entry.table!r} was begun with another "
        "key and not finished. Give the key of then, or none: the ledger keeps it until the release is in its place"
    )


def _recorded(ledger: Ledger, seen: Recognised, entry: Entry) -> str:
    """The words for an entry that stands against a release."""
    how = seen.taken_for.get(entry.id)
    taken = f" (this table is taken for it: {how})" if how else ""
    what = f"{entry.table!r}{taken} was released on {entry.time[:10]} as {entry.output!r}"
    return f"the ledger {ledger.path.name!r} says: {what}"
