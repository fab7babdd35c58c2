"""Who might attack a release, what they believe before and at most after it, and whether that stays below gamma.

Whatever the method, a release changes the odds of a statement about a person by at most a factor, the release's own:
a belief b becomes at most b L / (1 - b + b L). So one table in plain words serves all of them. The attacker that
counts is the linking one: knows every other column of a person, that the person is in the table, and everybody else;
believes in a value of the column wanted with at most `times` the odds of an even guess among its choices, or of its
public share. Who knows less is covered by averaging. The formulas are in sql/estimates/belief.sql.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.core.facts import Grid, shown_number
from sqlpriv.macros.calls import Calls

COMMON = 0.1
"""The share of a common value, where shares are not public."""
_HAIR = 1e-9
COLUMNS = {"knows": "VARCHAR", "wants": "VARCHAR", "prior": "DOUBLE", "covered": "BOOLEAN", "posterior": "DOUBLE"}
_HEADINGS = ("knows", "wants", "before", "after", "")


@dataclass(frozen=True)
class Wanted:
    """A column that an attacker wants: its choices given all others."""

    column: str
    choices: int
    shares: tuple[float, ...] = ()
    """The public shares of its values, in the order of the domain, where attackers know them and noise follows them."""


@dataclass(frozen=True)
class Background:
    """What attackers of a release know beforehand, all of it public."""

    wanted: tuple[Wanted, ...]
    quasi_identifiers: tuple[str, ...]
    tuples: int
    times: float
    rows_each: int

    @property
    def shared(self) -> Wanted | None:
        """The column with public shares, if there is one."""
        return next((w for w in self.wanted if w.shares), None)


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


@dataclass(frozen=True)
class Belief:
    """What an attacker believes of a row, and by how much its odds may change: the release's own factor, or another."""

    knows: str
    wants: str
    prior: float
    factor: float | None = None
    is_linking: bool = False


def row_prior(calls: Calls, wanted: Wanted, times: float) -> float:
    """What a linking attacker believes, at most, of one row, where values are guessed evenly."""
    return float(calls.row("linking_prior", wanted.choices, times)[0])


def person_prior(calls: Calls, prior: float, rows_each: int) -> float:
    """What a belief about each row of a person makes of one about any of them."""
    return prior if rows_each == 1 else float(calls.row("person_prior", prior, rows_each)[0])


def linking_prior(calls: Calls, background: Background, gamma: float) -> float:
    """The prior bound that covers a linking attacker on every column that is wanted, about a row.

    Of a column with public shares, it is the largest belief in a value that can be kept below gamma, if one can.
    """
    priors = [row_prior(calls, w, background.times) for w in _open(background) if not w.shares]
    if background.shared:
        rows = calls.rows("bag_share_factors", background.shared.shares, background.times, gamma)
        priors.append(max((d for _, d, _, covered in rows if covered), default=max(row[1] for row in rows)))
    return max(priors)


def list_attackers(
    calls: Calls, background: Background, gamma: float, factor: float, of_values: Sequence[float] = ()
) -> tuple[Attacker, ...]:
    """All of them, for a release that changes odds by at most `factor`.

    With public shares, the odds of each value of that column change by at most its own factor.
    """

    def attacker(held: Belief) -> Attacker:
        belief = person_prior(calls, held.prior, background.rows_each)
        posterior = _posterior(calls, belief, held.factor or factor)
        covered = is_covered(posterior, gamma)
        return Attacker(held.knows, held.wants, belief, covered, posterior, held.is_linking)

    found = (
        _beliefs(calls, background)
        if background.shared is None
        else _shared_beliefs(calls, background, gamma, of_values)
    )
    return tuple(map(attacker, found))


def worst_posterior(
    calls: Calls, background: Background, factor: float, of_values: Sequence[float] = ()
) -> float | None:
    """The largest belief of a linking attacker in any value afterwards; None where nothing is left to know."""
    found = []
    for wanted in _open(background):
        beliefs = [(row_prior(calls, wanted, background.times), factor)]
        if wanted.shares:
            rows = calls.rows("bag_share_beliefs", wanted.shares, list(of_values), background.times, 1)
            beliefs = [(before, of_values[value - 1]) for value, before, _ in rows]
        found += [_posterior(calls, person_prior(calls, b, background.rows_each), change) for b, change in beliefs]
    return max(found, default=None)


def _posterior(calls: Calls, belief: float, change: float) -> float:
    return 1.0 if math.isinf(change) else float(calls.row("posterior_bound", belief, change)[0])


def is_covered(posterior: float, gamma: float) -> bool:
    """Whether a belief stays at or below gamma, but for the last digits."""
    return posterior <= gamma * (1 + _HAIR)


def _open(background: Background) -> Iterator[Wanted]:
    """The columns of which something is left to know when all others are known."""
    return (w for w in background.wanted if w.choices > 1)


def _beliefs(calls: Calls, background: Background) -> Iterator[Belief]:
    """Who knows and wants what, where values are guessed evenly."""
    yield Belief(
        "nothing", "the whole row", float(calls.row("linking_prior", float(background.tuples), background.times)[0])
    )
    for wanted in _open(background):
        prior = row_prior(calls, wanted, background.times)
        if background.quasi_identifiers:
            yield Belief(_quasi_identifiers(background, wanted), wanted.column, prior)
    for wanted in _open(background):
        prior = row_prior(calls, wanted, background.times)
        yield Belief(f"all but {wanted.column}", wanted.column, prior, is_linking=True)
    yield Belief("all but one column", f"a value that {COMMON:.0%} of people have", COMMON)


def _shared_beliefs(calls: Calls, background: Background, gamma: float, of_values: Sequence[float]) -> Iterator[Belief]:
    """The same where the shares of a column are public: those of its values that can be covered, and the others."""
    shared = background.shared
    assert shared is not None
    shares, name = shared.shares, shared.column

    def believed(others: int) -> list[tuple[float, float, float]]:
        """Of each value: the belief afterwards and before, and its factor; `others` are the tuples it may have."""
        rows = calls.rows("bag_share_beliefs", shares, list(of_values), background.times, others)
        return [(after, before, of_values[value - 1]) for value, before, after in rows]

    linking = believed(1)
    bare = [b for b in linking if not is_covered(b[0], gamma)]
    _, prior, factor = max((b for b in linking if is_covered(b[0], gamma)), key=lambda b: b[1])
    covered = f"{name}, its rarer values" if bare else name
    _, of_row, row_factor = max(believed(background.tuples // len(shares)))
    yield Belief("nothing", "the whole row", of_row, row_factor)
    if background.quasi_identifiers:
        yield Belief(_quasi_identifiers(background, shared), covered, prior, factor)
    yield Belief(f"all but {name}", covered, prior, factor, is_linking=True)
    for wanted in _open(background):
        if wanted is not shared:
            belief = row_prior(calls, wanted, background.times)
            yield Belief(f"all but {wanted.column}", wanted.column, belief, is_linking=True)
    if bare:
        wants = f"{name}, its commonest value" if len(bare) == 1 else f"{name}, its {len(bare)} commonest values"
        _, prior, factor = max(bare, key=lambda b: b[1])
        yield Belief(f"all but {name}", wants, prior, factor, is_linking=True)
    else:
        most = max(shares)
        yield Belief(f"all but {name}", f"{name}, its commonest value", most, of_values[shares.index(most)])


def _quasi_identifiers(background: Background, wanted: Wanted) -> str:
    return f"the quasi-identifiers: {', '.join(q for q in background.quasi_identifiers if q != wanted.column)}"


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
