"""Which entries are about a table, and which release may follow them: each rule refuses, naming the entry against it.

Entries are about this table if they have its place, its content, or a table that resembles it. The same place is a
file, or a table of a database file, whatever is in it now: that is what sequences of views are for. The same content is
the same whatever its order, names and place. A table that shares half of the smaller one with a table of the ledger,
more than chance explains, is taken for it (sql/operators/sketch.sql says how). So is one in which the people of that
table are found by the columns that both have (sql/operators/known_people.sql). Whatever is known to be about the same
people as one of these, by the ledger, counts with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from pathlib import Path

from sqlpriv.core.errors import ReleaseError, SecondReleaseError
from sqlpriv.policy.keys import Budget
from sqlpriv.release.file import released_there
from sqlpriv.release.ledger.entry import Entry, Spent
from sqlpriv.release.ledger.store import Ledger
from sqlpriv.table.fingerprint import Fingerprint
from sqlpriv.table.folded import fingerprint_of_table
from sqlpriv.table.resemblance import resemblances
from sqlpriv.table.source import Source

_ROUNDING = 1e-9
"""By how much, as a share, a cost may exceed the budget."""


@dataclass(frozen=True)
class TableHistory:
    """A table with its releases in the ledger: its hashed place, its fingerprint, and the entries that count."""

    place: str
    fingerprint: Fingerprint
    releases: tuple[Entry, ...]
    taken_for: dict[str, str] = field(default_factory=dict)
    """How the table resembles that of an entry, by the id of the entry, where place and content differ."""
    unclear: tuple[Entry, ...] = ()
    """Those of which nobody can tell whether they are about the same people: too few rows are distinct."""

    @property
    def unclear_words(self) -> tuple[str, ...]:
        """A sentence on those, if there are any."""
        if not self.unclear:
            return ()
        last, more = self.unclear[-1], len(self.unclear) - 1
        others = f", nor of {more} others" if more else ""
        return (
            f"nobody can tell whether {last.table!r}, released on {last.time[:10]} as {last.output!r}, is about the "
            f"same people{others}: in the columns that both have too few rows are distinct. If it is, the two releases "
            "can be intersected",
        )


def table_history(ledger: Ledger, source: Source, person: str | None, digest: str | None = None) -> TableHistory:
    """The table with its releases that count; `digest` is that of the part of it that would be published.

    Those of the ledgers that are read together with this one are among them, each release once.
    """
    own = _history_by(ledger, source, person, digest)
    for other in ledger.others:
        if not any(not e.void for e in other.entries):
            continue
        found = _history_by(other, source, person, digest)
        coins = {e.coins for e in own.releases}
        more = [e for e in found.releases if e.coins not in coins]
        # Merged, not sorted: a clock that went backwards changes no order within a ledger.
        releases = tuple(merge(own.releases, more, key=lambda e: e.time))
        taken_for, unclear = {**found.taken_for, **own.taken_for}, (*own.unclear, *found.unclear)
        own = replace(own, releases=releases, taken_for=taken_for, unclear=unclear)
    return own


def _history_by(ledger: Ledger, source: Source, person: str | None, digest: str | None) -> TableHistory:
    """The table with its releases in one ledger."""
    table = source.reference
    place = ledger.place_of(table.file, table.own_name)
    counted = [e for e in ledger.entries if not e.void]
    at_hand = [e for e in counted if e.place != place and e.digest != digest and e.id in ledger.samples]
    known = {e.content: ledger.samples[e.id] for e in at_hand}
    fingerprint = fingerprint_of_table(source.everything, ledger.secret, person, known)
    found = {e.id for e in counted if e.place == place or e.content == fingerprint.digest or e.digest == digest}
    # The others by likeness: the strongest resemblance of each comes first.
    others = [(e.id, sketch) for e in counted if e.id not in found for sketch in ledger.sketches.get(e.id, ())]
    taken_for: dict[str, str] = {}
    for alike in resemblances(source.con, [sketch for _, sketch in others], fingerprint.sketches):
        entry, sketch = others[alike.known]
        taken_for.setdefault(entry, f"{alike.share:.0%} of the {sketch.what} of the smaller one are in both")
    unclear = []
    for e in at_hand:
        people = fingerprint.people.get(e.content)
        if e.id in found or e.id in taken_for or people is None:
            continue
        if people.are_the_same:
            taken_for[e.id] = people.words
        elif people.is_unclear:
            unclear.append(e)
    all_found = _with_the_same_people(ledger, counted, {*found, *taken_for})
    releases = tuple(e for e in counted if e.id in all_found)
    return TableHistory(place, fingerprint, releases, taken_for, tuple(e for e in unclear if e.id not in all_found))


def _with_the_same_people(ledger: Ledger, counted: Sequence[Entry], found: set[str]) -> set[str]:
    """The ids of these entries, and of all of the same place or content, or entered as about the same people."""
    while True:
        of_these = [e for e in counted if e.id in found]
        places, contents = {e.place for e in of_these}, {e.content for e in of_these}
        linked = {other for e in of_these for other in ledger.people.get(e.id, ())}
        more = {
            e.id
            for e in counted
            if e.id in linked or e.place in places or e.content in contents or ledger.people.get(e.id, set()) & found
        }
        if more <= found:
            return found
        found = found | more


def refuse_repetition(
    ledger: Ledger, history: TableHistory, new: Entry, total: Spent | None = None, budget: Budget | None = None
) -> None:
    """Refuse a release that does not compose with others of the same table, unless the owner says why it may.

    `history` is the table with its releases, `new` the entry to be made, and `total` the cost of all of them together;
    None where they do not compose.
    """
    before = history.releases
    if any(new.coins == e.coins for e in before):
        return
    cost = total or new.spent
    if budget is not None and cost is not None:
        _refuse_beyond(ledger, new, cost, budget)
    if not before or (budget is not None and total is not None):
        return
    if new.view > new.views:
        last = next(e for e in reversed(before) if e.parameters == new.parameters)
        raise SecondReleaseError(
            f"{_recorded(ledger, history, last)}, the last of the {new.views} views of this sequence; no more can be "
            "private"
        )
    if new.coexists_because:
        _refuse_the_same_again(ledger, history, new)
        return
    last = next((e for e in before if e.views == 1), before[-1])
    where = _recorded(ledger, history, last)
    if new.views == 1 or last.views == 1:
        sequence = "Publish a sequence (views = ...) from the start, use" if "views" in new.parameters else "Use"
        budgeted = ""
        if total is not None:
            epsilon, delta = total.added or total.replaced or (0.0, 0.0)
            budgeted = (
                f". All of them are differential privacy and add up, to epsilon {epsilon:.6g} and delta {delta:.3g}: "
                "within a budget in [ledger], as in budget = { epsilon = 3, delta = 1e-5 }, they may coexist"
            )
        raise SecondReleaseError(
            f"{where} with {last.method}. A second release made independently would expose people: what occurs in both "
            f"is almost surely true. {sequence} the release there is, void its entry if it never went out "
            f"(sqlpriv ledger void {last.name} --why ...), or write in [release] why "
            f'both may coexist: coexists_because = "..."{budgeted}'
        )
    if last.parameters != new.parameters:
        changed = sorted(
            k for k in {*last.parameters, *new.parameters} if last.parameters.get(k) != new.parameters.get(k)
        )
        raise SecondReleaseError(f"{where}. The next view must have the same parameters; changed: {', '.join(changed)}")
    if new.view != last.view + 1:
        raise SecondReleaseError(f"{where}, view {last.view} of {last.views}; only view {last.view + 1} can follow")


def _refuse_beyond(ledger: Ledger, new: Entry, total: Spent, budget: Budget) -> None:
    """Refuse a release that exceeds the budget, together with the releases before it."""
    pair = total.of(budget.kind)
    if pair is None:
        raise SecondReleaseError(
            f"the budget is of neighbours = {budget.neighbours!r}, and one of the releases of {new.table!r} has no "
            "such guarantee: it reveals the number of rows. Write the budget for the other kind of neighbours"
        )
    if pair[0] > budget.epsilon * (1 + _ROUNDING) or pair[1] > budget.delta * (1 + _ROUNDING):
        others = f"with the {total.releases - 1} before it " if total.releases > 1 else ""
        raise SecondReleaseError(
            f"{others}this release of {new.table!r} would cost epsilon {pair[0]:.6g} and delta {pair[1]:.3g} "
            f"({budget.neighbours}), and the budget is epsilon {budget.epsilon:g} and delta {budget.delta:.3g}. Use "
            f"the releases there are, ask for less, or raise the budget; the ledger is {ledger.path.name!r}"
        )


def _refuse_the_same_again(ledger: Ledger, history: TableHistory, new: Entry) -> None:
    """The reason in coexists_because is about one release, not about any number with new noise or other rows."""
    for last in history.releases:
        if last.coexists_because != new.coexists_because or new.views > 1:
            continue
        if (last.digest, last.parameters) == (new.digest, dict(new.parameters)):
            raise SecondReleaseError(
                f"{_recorded(ledger, history, last)} by this very policy. With new noise it would be one more "
                f"release, and the noise of both averages out. Give the same key as before, void its entry "
                f"({last.name}) if it never went out, or say in coexists_because why there may be two of them"
            )
        if last.digest != new.digest and (last.output, last.method) == (new.output, new.method):
            raise SecondReleaseError(
                f"{_recorded(ledger, history, last)}, with the same words in coexists_because, and its rows have "
                "changed since. The words allow that release, not one for every change. Use the existing release, "
                f"void its entry ({last.name}) if it never went out, or say in coexists_because why there may be one "
                "more"
            )


def refuse_unknown_release(ledger: Ledger, target: Path, table: str) -> None:
    """Refuse to replace a release of the table that the ledger does not know: it is another ledger, or it was lost."""
    there = released_there(target)
    if there is None or there[0] != table:
        return
    if not any(e.release == there[1] for e in ledger.known):  # a void entry is known, too
        raise ReleaseError(
            f"{target.name!r} is a release of {table!r} already, and the ledger {ledger.path.name!r} knows nothing of "
            "it; bring back the earlier ledger, name it with --ledger or, if nobody has that release, remove the file"
        )


def refuse_unfinished(ledger: Ledger, unfinished: Sequence[Entry]) -> None:
    """Refuse a release while another of the table is unfinished: entered, and perhaps not put in its place."""
    for entry in unfinished:
        raise ReleaseError(
            f"the ledger {ledger.path.name!r} says: a release of {entry.table!r} as {entry.output!r} was begun on "
            f"{entry.time[:10]} and not finished. Publish it with the same policy and table as before, which finishes "
            f"it with the same noise. If {entry.output!r} does not exist and nobody has it, you can void its entry "
            f"instead (sqlpriv ledger void {entry.name} --why ...)"
        )


def refuse_another_key(ledger: Ledger, entry: Entry) -> None:
    """Refuse to finish a release with another key: it would be a second one."""
    raise ReleaseError(
        f"the ledger {ledger.path.name!r} says: the release {entry.output!r} of {entry.table!r} was begun with another "
        "key and not finished. Give the same key as before, or none: the ledger keeps it until the release is in place"
    )


def _recorded(ledger: Ledger, history: TableHistory, entry: Entry) -> str:
    """The words for an entry that stands against a release."""
    how = history.taken_for.get(entry.id)
    taken = f" (this table is taken for it: {how})" if how else ""
    what = f"{entry.table!r}{taken} was released on {entry.time[:10]} as {entry.output!r}"
    return f"the ledger {ledger.path.name!r} says: {what}"
