"""Who might attack a release, what they believe before and at most after it, and whether that stays below gamma.

Whatever the method, a release changes the odds of a statement about a person by at most a factor, the release's own:
a belief b becomes at most b L / (1 - b + b L). So one table in plain words serves all of them. The attacker that
counts is the linking one: knows every other column of a person, that the person is in the table, and everybody else;
believes in a value of the column wanted with at most `times` the odds of an even guess among its choices, or of its
public share. Who knows less is covered by averaging. The formulas are in sql/belief.sql.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.errors import PolicyError
from sqlpriv.facts import Grid, shown_number
from sqlpriv.macros.calls import Calls

COMMON = 0.1
"""The share of a common value, where shares are not public."""
_HAIR = 1e-9
COLUMNS = {"knows": "VARCHAR", "wants": "VARCHAR", "prior": "DOUBLE", "covered": "BOOLEAN", "posterior": "DOUBLE"}
_HEADINGS = ("knows", "wants", "before", "after", "")


@dataclass(frozen=True)
class Wanted:
    """A column that an attacker wants: its choices given all others, or the public share of its commonest value."""

    column: str
    choices: int
    share: float | None = None


@dataclass(frozen=True)
class Known:
    """What attackers of a release are made from, all of it public."""

    wanted: tuple[Wanted, ...]
    quasi_identifiers: tuple[str, ...]
    tuples: int
    times: float
    rows_each: int


@dataclass(frozen=True)
class Attacker:
    """One of them: in words, and what the release may do to a belief of theirs."""

    knows: str
    wants: str
    prior: float
    covered: bool
    posterior: float
    is_linking: bool = False

    def to_json(self) -> dict[str, object]:
        """As `attackers` lists it."""
        return {name: getattr(self, name) for name in COLUMNS}


def row_prior(calls: Calls, wanted: Wanted, times: float) -> float:
    """What a linking attacker believes, at most, of one row."""
    if wanted.share is not None:
        return float(calls.row("linking_prior_of_share", wanted.share, times)[0])
    return float(calls.row("linking_prior", wanted.choices, times)[0])


def person_prior(calls: Calls, prior: float, rows_each: int) -> float:
    """What a belief about each row of a person makes of one about any of them."""
    return prior if rows_each == 1 else float(calls.row("person_prior", prior, rows_each)[0])


def linking_prior(calls: Calls, known: Known) -> float:
    """The prior bound that covers a linking attacker on every column that is wanted, about a row."""
    priors = [row_prior(calls, w, known.times) for w in _open(known)]
    if not priors:
        raise PolicyError("the sensitive columns have one possible value each, so there is nothing to hide")
    return max(priors)


def list_attackers(calls: Calls, known: Known, gamma: float, factor: float) -> tuple[Attacker, ...]:
    """All of them, for a release that changes odds by at most `factor`."""

    def attacker(knows: str, wants: str, prior: float, *, is_linking: bool = False) -> Attacker:
        belief = person_prior(calls, prior, known.rows_each)
        posterior = 1.0 if math.isinf(factor) else float(calls.row("posterior_bound", belief, factor)[0])
        return Attacker(knows, wants, belief, posterior <= gamma * (1 + _HAIR), posterior, is_linking)

    return tuple(attacker(k, w, prior, is_linking=linking) for k, w, prior, linking in _beliefs(calls, known))


def _open(known: Known) -> Iterator[Wanted]:
    """The columns of which something is left to know when all others are known."""
    return (w for w in known.wanted if w.choices > 1)


def _beliefs(calls: Calls, known: Known) -> Iterator[tuple[str, str, float, bool]]:
    """Who knows what, wants what, and believes it how much of a row; whether it is a linking attacker."""
    yield "nothing", "the whole row", float(calls.row("linking_prior", float(known.tuples), known.times)[0]), False
    for wanted in _open(known):
        prior = row_prior(calls, wanted, known.times)
        if known.quasi_identifiers:
            listed = ", ".join(q for q in known.quasi_identifiers if q != wanted.column)
            yield f"the quasi-identifiers: {listed}", wanted.column, prior, False
    for wanted in _open(known):
        yield f"all but {wanted.column}", wanted.column, row_prior(calls, wanted, known.times), True
    shares = {w.share: w.column for w in _open(known) if w.share is not None}
    if shares:
        most = max(shares)
        yield f"all but {shares[most]}", f"{shares[most]}, its commonest value", most, False
    else:
        yield "all but one column", f"a value that {COMMON:.0%} of people have", COMMON, False


def uncovered(attackers: Sequence[Attacker]) -> list[Attacker]:
    """The linking attackers that the release is not private against."""
    return [a for a in attackers if a.is_linking and not a.covered]


def attacker_grid(attackers: Sequence[Mapping[str, object]]) -> Grid:
    """The attackers as a table for people."""
    rows = tuple(
        (
            a["knows"],
            a["wants"],
            _belief(a["prior"]),
            _belief(a["posterior"]),
            "covered" if a["covered"] else "NOT covered",
        )
        for a in attackers
    )
    marked = tuple(i for i, a in enumerate(attackers) if not a["covered"])
    caption = "What they believe before, and at most after: b becomes b L / (1 - b + b L)."
    return Grid(_HEADINGS, rows, title="Who attacks", caption=caption, folded=("knows", "wants"), marked=marked)


def _belief(value: object) -> str:
    return shown_number(float(str(value)))
