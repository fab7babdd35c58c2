"""Which release of a table is about to be made, by the ledger: its number, its coins, its key, and its entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlpriv.errors import InputError, PolicyError
from sqlpriv.methods.method import Composes, Edition, LooksBack, Method, Plan
from sqlpriv.methods.randomized.coins import coin_prefix, fingerprint, read_key, slot_prefix
from sqlpriv.policy.file import Policy
from sqlpriv.release.ledger.book import Book
from sqlpriv.release.ledger.entry import Entry, now
from sqlpriv.release.ledger.judge import refuse_another_key, refuse_repetition, refuse_unfinished
from sqlpriv.release.ledger.recognise import Recognised, recognise
from sqlpriv.release.ledger.spent import Spent, spent_of, together


@dataclass(frozen=True)
class Draft:
    """A release that is about to be made: its edition, its entry with how its table is remembered, where both go."""

    edition: Edition
    entry: Entry
    seen: Recognised
    known: Entry | None
    key: bytes = field(repr=False)
    book: Book
    target: Path
    warnings: tuple[str, ...]

    @property
    def date(self) -> str:
        """The day of the release: also written again it is of the day on which it was entered."""
        return (self.known or self.entry).time[:10]


def given_key(method: Method, policy: Policy, key_file: Path | None) -> bytes | None:
    """The key that is given; None for a fresh one."""
    if method.draws:
        if key_file is None and policy.release.get("views", 1) > 1:
            raise PolicyError("a sequence needs a key that stays the same: keep one in a file and give --key-file")
        return None if key_file is None else read_key(key_file)
    if key_file is not None:
        raise InputError(f"{method.name} throws no coins, so it takes no key")
    return b""


def make_draft(found: Plan, given: bytes | None, book: Book, target: Path) -> Draft:
    """Which release this is, by the ledger; refused where it does not compose with those before."""
    policy, digest = found.policy, found.digest
    seen = recognise(book, found.source, policy.person, digest)
    if isinstance(found, LooksBack):
        found.refuse_after(seen.releases)
    key = _kept_key(found, given, book, seen)
    parameters = found.parameters(key)
    views = int(str(parameters.get("views", 1)))

    def coins(view: int) -> str:
        return coin_prefix(key, parameters, digest, view)

    # Of a sequence only the last view may be written again: a table that is as it was before has a next view.
    sequence = [e for e in seen.releases if e.views > 1 and e.parameters == parameters]
    known = next((e for e in sequence[-1:] or seen.releases if e.coins == fingerprint(coins(e.view))), None)
    view = known.view if known else sequence[-1].view + 1 if sequence else 1
    name = fingerprint(coins(view))
    spent = found.spent() if isinstance(found, Composes) else None
    entry = Entry(
        now(), policy.table.name, digest, seen.portrait.digest, policy.method, dict(parameters), name, view, views,
        target.name, beside=policy.coexists_because or "", place=seen.place, spent=spent.to_json() if spent else {},
    )  # fmt: skip
    total = _together(found, seen, entry)
    refuse_repetition(book, seen, entry, total, policy.budget)
    edition = _edition(key, parameters, coins(view), view, tuple(e for e in sequence if e.view < view))
    said = (*book.said, *_said(total, policy), *found.warnings(key))
    return Draft(replace(edition, total=total), entry, seen, known, key, book, target, said)


def _together(found: Plan, seen: Recognised, entry: Entry) -> Spent | None:
    """What all releases of the table cost together, up to this one; None where it is alone, or they do not compose."""
    before = []
    for other in seen.releases:
        if other.coins == entry.coins:
            break
        before.append(other)
    if not before:
        return None
    return together(found.source.calls, [spent_of(e.spent) for e in (*before, entry)])


def _said(total: Spent | None, policy: Policy) -> tuple[str, ...]:
    if total is None:
        return ()
    kind = policy.budget.kind if policy.budget is not None else "added" if total.added else "replaced"
    pair = total.of(kind) or (0.0, 0.0)
    return (
        f"this is release {total.releases} of the table, and all together cost epsilon {pair[0]:.4g} and delta "
        f"{pair[1]:.3g} when a {total.unit} is {'added or left out' if kind == 'added' else 'replaced'}",
    )


def first_edition(found: Plan, key: bytes) -> Edition:
    """The release as if it were the first of its table, whatever the ledger holds: the same coins as then."""
    parameters = found.parameters(key)
    return _edition(key, parameters, coin_prefix(key, parameters, found.digest, 1), 1, ())


def _edition(
    key: bytes, parameters: Mapping[str, object], coins: str, view: int, earlier: tuple[Entry, ...]
) -> Edition:
    slots = slot_prefix(key, parameters) if int(str(parameters.get("views", 1))) > 1 else coins
    return Edition(view, coins, slots, fingerprint(coins), earlier)


def _kept_key(found: Plan, given: bytes | None, book: Book, seen: Recognised) -> bytes:
    """The key of an unfinished release of the table, if this is it; else the one that is given, or a fresh one."""
    unfinished = [e for e in seen.releases if not e.finished]
    for entry in unfinished:
        # A renamed method draws the same noise, but what was begun under the old name is not finished under the new:
        # it was planned and recorded as a release of another method.
        if entry.method != found.policy.method:
            continue
        kept = book.keys.get(entry.id, b"")
        parameters = found.parameters(kept)
        if entry.coins == fingerprint(coin_prefix(kept, parameters, found.digest, entry.view)):
            if given not in {None, kept}:
                refuse_another_key(book, entry)
            return kept
    refuse_unfinished(book, unfinished)
    return read_key(None) if given is None else given
