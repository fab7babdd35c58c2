"""Which release of a table is about to be made, by the ledger: its number, its noise, its key, and its entry."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path

from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.methods.method import AnyMethod, AnyPlan, Edition
from sqlpriv.policy.file import Policy
from sqlpriv.publishing.noise import SHORT, NoiseSeed, fingerprint, read_key
from sqlpriv.release.ledger.entry import Entry, are_settled, now, together
from sqlpriv.release.ledger.rules import (
    TableHistory,
    refuse_another_key,
    refuse_repetition,
    refuse_unfinished,
    table_history,
)
from sqlpriv.release.ledger.store import Ledger


@dataclass(frozen=True)
class Draft:
    """A release that is about to be made: its edition, its entry, the earlier releases of its table, its place."""

    edition: Edition
    entry: Entry
    history: TableHistory
    existing: Entry | None
    """The entry of this very release, where it was begun or published before."""
    key: bytes = field(repr=False)
    ledger: Ledger
    target: Path
    warnings: tuple[str, ...]

    @property
    def date(self) -> str:
        """The day of the release: also written again it is of the day on which it was entered."""
        return (self.existing or self.entry).time[:10]


def given_key(method: AnyMethod, policy: Policy, key_file: Path | None) -> bytes | None:
    """The key that is given; None for a fresh one, or for pseudonyms that of the ledger."""
    if policy.pseudonym is not None:
        return None if key_file is None else read_key(key_file)
    if method.draws:
        if key_file is None and policy.release.get("views", 1) > 1:
            raise PolicyError("a sequence needs a key that stays the same: keep one in a file and give --key-file")
        return None if key_file is None else read_key(key_file)
    if key_file is not None:
        raise InputError(f"{method.name} does not randomize, so it takes no key")
    return b""


def make_draft(method: AnyMethod, plan: AnyPlan, given: bytes | None, ledger: Ledger, target: Path) -> Draft:
    """Which release this is, by the ledger; refused where it does not compose with those before."""
    policy = plan.policy
    history = table_history(ledger, plan.source, policy.person, plan.digest)
    plan.refuse_after(history.releases)
    key = _key(method, plan, given, ledger, history)
    seed = noise_seed(method, plan, key)
    parameters = {"method": policy.method, **seed.parameters}
    # Of a sequence only the last view may be written again: a table that is as it was before has a next view.
    sequence = [e for e in history.releases if e.views > 1 and e.parameters == parameters]
    here = [e for e in sequence[-1:] or history.releases if e.id in ledger.numbers]
    existing = next((e for e in here if _is_drawn_from(e, seed, key)), None)
    view = existing.view if existing else sequence[-1].view + 1 if sequence else 1
    edition = _edition(seed, key, view, tuple(e for e in sequence if e.view < view))
    entry = Entry(
        now(), policy.table.name, plan.digest, history.fingerprint.digest, policy.method, parameters, edition.name,
        view, _views(seed), target.name, coexists_because=policy.coexists_because or "", place=history.place,
        settled_beforehand=(existing.settled_beforehand if existing else policy.settled_beforehand) or "",
        spent=plan.spent(),
    )  # fmt: skip
    # What all releases of the table cost together, up to this one; None where it is alone, or they do not compose.
    before = list(takewhile(lambda earlier: earlier.coins != entry.coins, history.releases))
    upto = (*before, entry)
    total = together(plan.source.calls, [e.spent for e in upto], are_settled(upto)) if before else None
    refuse_repetition(ledger, history, entry, total, policy.budget)
    warnings = [*ledger.warnings]
    if total is not None:
        kind = policy.budget.kind if policy.budget is not None else "added" if total.added else "replaced"
        epsilon, delta = total.of(kind) or (0.0, 0.0)
        warnings.append(
            f"this is release {total.releases} of the table, and all together cost epsilon {epsilon:.4g} and delta "
            f"{delta:.3g} when a {total.unit} is {'added or left out' if kind == 'added' else 'replaced'}"
        )
    warnings += [*history.unclear_words, *plan.warnings()]
    if (method.draws or policy.pseudonym is not None) and len(key) < SHORT:
        warnings.append(f"the key has fewer than {SHORT} bytes and may be guessed")
    return Draft(replace(edition, total=total), entry, history, existing, key, ledger, target, tuple(warnings))


def _key(method: AnyMethod, plan: AnyPlan, given: bytes | None, ledger: Ledger, history: TableHistory) -> bytes:
    """The key of an unfinished release of the table, if this is it; else the one that is given, or a fresh one."""
    unfinished = [e for e in history.releases if not e.finished]
    for entry in unfinished:
        # A renamed method draws the same noise, but what was begun under the old name is not finished under the new:
        # it was planned and recorded as a release of another method.
        if entry.method != plan.policy.method:
            continue
        recorded = ledger.keys.get(entry.id, b"")
        if _is_drawn_from(entry, noise_seed(method, plan, recorded), recorded):
            if given not in {None, recorded}:
                refuse_another_key(ledger, entry)
            return recorded
    refuse_unfinished(ledger, unfinished)
    if given is None and plan.policy.pseudonym is not None:
        return ledger.key_of(plan.policy.table.own_name)
    return read_key(None) if given is None else given


def first_edition(method: AnyMethod, plan: AnyPlan, key: bytes) -> Edition:
    """The release as if it were the first of its table, whatever the ledger holds: the same noise as then."""
    return _edition(noise_seed(method, plan, key), key, 1, ())


def noise_seed(method: AnyMethod, plan: AnyPlan, key: bytes) -> NoiseSeed:
    """What the noise of a plan is made from, under the tag of its method."""
    seed = NoiseSeed(method.noise_tag or method.name, plan.seed_parameters(), plan.digest)
    return seed.of_sequence(key) if _views(seed) > 1 else seed


def _views(seed: NoiseSeed) -> int:
    return int(str(seed.parameters.get("views", 1)))


def _edition(seed: NoiseSeed, key: bytes, view: int, earlier: tuple[Entry, ...]) -> Edition:
    prefix = seed.prefix(key, view)
    return Edition(view, prefix, seed.slots(key) if _views(seed) > 1 else prefix, fingerprint(prefix), earlier)


def _is_drawn_from(entry: Entry, seed: NoiseSeed, key: bytes) -> bool:
    return entry.coins == fingerprint(seed.prefix(key, entry.view))
