"""Who might attack a release, what they believe before and at most after it, and whether that stays below gamma.

Whatever the method, a release changes the odds of a statement about a person by at most a factor, the release's own.
A belief b becomes at most b L / (1 - b + b L). So one table in plain words serves all of them. The attacker that
counts is the linking one, who knows every other column of a person, that the person is in the table, and everybody
else. This attacker believes in a value of the column wanted with at most `times` the odds of an even guess among its
choices, or of its public share. Who knows less is covered by averaging. The formulas are in sql/estimates/belief.sql.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.facts import Grid, shown_number
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.background import Background, Wanted

COMMON = 0.1
"""The share of a common value, where shares are not public."""
_HAIR = 1e-9
COLUMNS = {"knows": "VARCHAR", "wants": "VARCHAR", "prior": "DOUBLE", "covered": "BOOLEAN", "posterior": "DOUBLE"}
_HEADINGS = ("knows", "wants", "before", "after", "")


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


def row_prior(calls: Calls, choices: float, times: float) -> float:
    """What a linking attacker believes, at most, of one row, where so many values are guessed evenly."""
    return float(calls.row("linking_prior", choices, times)[0])


def person_prior(calls: Calls, prior: float, rows_each: int) -> float:
    """What a belief about each row of a person makes of one about any of them."""
    return prior if rows_each == 1 else float(calls.row("person_prior", prior, rows_each)[0])


def linking_prior(calls: Calls, background: Background, gamma: float) -> float:
    """The prior bound that covers a linking attacker on every column that is wanted, about a row.

    Of a column with public shares, it is the largest belief in a value that can be kept below gamma, if one can.
    """
    priors = [row_prior(calls, w.choices, background.times) for w in background.open if not w.shares]
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
    found: list[Attacker] = []

    def add(knows: str, wants: str, of_row: float, change: float = factor, *, is_linking: bool = False) -> None:
        prior = person_prior(calls, of_row, background.rows_each)
        posterior = _posterior(calls, prior, change)
        found.append(Attacker(knows, wants, prior, _is_covered(posterior, gamma), posterior, is_linking))

    def quasi_identifiers(wanted: Wanted) -> str:
        return f"the quasi-identifiers: {', '.join(q for q in background.quasi_identifiers if q != wanted.column)}"

    shared, priors = background.shared, {}
    for wanted in background.open:
        if not wanted.shares:
            priors[wanted] = row_prior(calls, wanted.choices, background.times)
    if shared is None:
        add("nothing", "the whole row", row_prior(calls, float(background.tuples), background.times))
        for wanted, prior in priors.items():
            if background.quasi_identifiers:
                add(quasi_identifiers(wanted), wanted.column, prior)
        for wanted, prior in priors.items():
            add(f"all but {wanted.column}", wanted.column, prior, is_linking=True)
        add("all but one column", f"a value that {COMMON:.0%} of people have", COMMON)
        return tuple(found)

    # Where the shares of a column are public: those of its values that can be covered, and the others.
    name, linking = shared.column, _believed(calls, background, shared, of_values, 1)
    bare = [b for b in linking if not _is_covered(b[0], gamma)]
    _, prior, change = max((b for b in linking if _is_covered(b[0], gamma)), key=lambda b: b[1])
    covered = f"{name}, its rarer values" if bare else name
    others = background.tuples // len(shared.shares)
    add("nothing", "the whole row", *max(_believed(calls, background, shared, of_values, others))[1:])
    if background.quasi_identifiers:
        add(quasi_identifiers(shared), covered, prior, change)
    add(f"all but {name}", covered, prior, change, is_linking=True)
    for wanted, of_row in priors.items():
        add(f"all but {wanted.column}", wanted.column, of_row, is_linking=True)
    if bare:
        wants = f"{name}, its commonest value" if len(bare) == 1 else f"{name}, its {len(bare)} commonest values"
        _, prior, change = max(bare, key=lambda b: b[1])
        add(f"all but {name}", wants, prior, change, is_linking=True)
    else:
        most = max(shared.shares)
        add(f"all but {name}", f"{name}, its commonest value", most, of_values[shared.shares.index(most)])
    return tuple(found)


def worst_posterior(
    calls: Calls, background: Background, factor: float, of_values: Sequence[float] = ()
) -> float | None:
    """The largest belief of a linking attacker in any value afterwards; None where nothing is left to know."""
    found = []
    for wanted in background.open:
        beliefs = [(row_prior(calls, wanted.choices, background.times), factor)]
        if wanted.shares:
            beliefs = [(before, change) for _, before, change in _believed(calls, background, wanted, of_values, 1)]
        found += [_posterior(calls, person_prior(calls, b, background.rows_each), change) for b, change in beliefs]
    return max(found, default=None)


def _believed(
    calls: Calls, background: Background, shared: Wanted, of_values: Sequence[float], others: int
) -> list[tuple[float, float, float]]:
    """Of each value of a column with public shares: the belief afterwards and before, and by what its odds change.

    `others` are the tuples of the other columns that the person may have: 1 for an attacker who knows them.
    """
    rows = calls.rows("bag_share_beliefs", shared.shares, list(of_values), background.times, others)
    return [(after, before, of_values[value - 1]) for value, before, after in rows]


def _posterior(calls: Calls, belief: float, change: float) -> float:
    return 1.0 if math.isinf(change) else float(calls.row("posterior_bound", belief, change)[0])


def _is_covered(posterior: float, gamma: float) -> bool:
    """Whether a belief stays at or below gamma, but for the last digits."""
    return posterior <= gamma * (1 + _HAIR)


def uncovered(attackers: Sequence[Attacker]) -> list[Attacker]:
    """The linking attackers that the release is not private against."""
    return [a for a in attackers if a.is_linking and not a.covered]


def attacker_evidence(attackers: Sequence[Attacker]) -> Iterator[Evidence]:
    """What the verdict is judged by: each attacker who links, covered or not."""
    for one in attackers:
        if one.is_linking:
            knows = f"{one.knows} and wants {one.wants}"
            yield Evidence(
                "covered" if one.covered else "uncovered", one.posterior, knows, detail=shown_number(one.prior)
            )


def attacker_grid(attackers: Sequence[Mapping[str, object]]) -> Grid:
    """The attackers as a table for people."""
    rows = []
    for a in attackers:
        before, after = (shown_number(float(str(a[name]))) for name in ("prior", "posterior"))
        rows.append((a["knows"], a["wants"], before, after, "covered" if a["covered"] else "NOT covered"))
    marked = tuple(i for i, a in enumerate(attackers) if not a["covered"])
    caption = "What they believe before, and at most after: b becomes b L / (1 - b + b L)."
    return Grid(_HEADINGS, tuple(rows), title="Who attacks", caption=caption, folded=("knows", "wants"), marked=marked)
