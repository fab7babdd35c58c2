"""The numbers of a release by sampled k-anonymity: the fourth of (epsilon, delta, k, beta), and what all guarantee.

They are worked out for a policy, and again from the numbers that a file declares.

The guarantee of the theorem is about a row that is added or left out. A person with several rows, the choice of a node
and a row that is replaced follow from it by the macros of sql/estimates/sdgs_release.sql.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError, ReleaseError, SqlprivError
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.sdgs.groups import declared_groups, wrong_groups
from sqlpriv.methods.sdgs.policy import SdgsPolicy
from sqlpriv.release.file import ReleaseFile

FOUR = ("epsilon", "delta", "k", "beta")
DECLARED = (*FOUR, "node_epsilon", "rows_each", "total_epsilon", "total_delta", "replaced_epsilon", "replaced_delta")
"""The numbers that every file declares."""
SMOOTH = {"epsilon": "DOUBLE", "delta": "DOUBLE", "bound": "DOUBLE"}
"""The columns of table smooth, which holds the points of a curve."""
_SMOOTH = (1.0, 1.5, 2.0, 3.0, 4.0)
"""How many times epsilon the curve of a release has points at."""
_HAIR = 1e-9
_TIMES = 2.0
"""A linking attacker's odds before the release, as a multiple of an even guess; the other methods use the same."""
_POINTS = 24


@dataclass(frozen=True)
class SdgsTerms:
    """The four numbers of the mechanism, of a row in one group; and the guarantee of all, of a row or of a person."""

    epsilon: float
    delta: float
    k: int
    beta: float
    node_epsilon: float
    rows_each: int
    of_persons: bool
    groups: int
    total_epsilon: float
    total_delta: float
    replaced_epsilon: float
    replaced_delta: float

    @property
    def unit(self) -> str:
        """Whom the guarantee is about."""
        return "person" if self.of_persons else "row"

    @property
    def numbers(self) -> dict[str, float]:
        """As a file declares them."""
        return {name: float(getattr(self, name)) for name in DECLARED}


def make_terms(calls: Calls, policy: SdgsPolicy) -> SdgsTerms:
    """The terms of a policy."""
    four = solve(calls, policy.numbers)
    groups = 1 if policy.groups is None else len(policy.groups)
    return guaranteed(calls, four, policy.node_epsilon, policy.rows_each, policy.person is not None, groups)


def declared_terms(calls: Calls, file: ReleaseFile) -> SdgsTerms:
    """What the four numbers of a file guarantee."""
    refuse_no_numbers(file)
    numbers = file.parameters
    four = {name: numbers[name] for name in FOUR}
    each, of_persons = int(numbers["rows_each"]), file.about["unit"] == "person"
    return guaranteed(calls, four, numbers["node_epsilon"], each, of_persons, len(declared_groups(file)))


def refuse_no_numbers(file: ReleaseFile) -> None:
    """Refuse to answer by numbers that are none, or by groups that are none: anybody may have written the file."""
    numbers = file.parameters
    finite = all(value is not None and math.isfinite(value) for value in numbers.values())
    possible = finite and numbers["k"] >= 1 and numbers["rows_each"] >= 1 and 0 < numbers["beta"] < 1
    if not possible or wrong_groups(file):
        raise ReleaseError(f"{file.name} is no release, or was changed: its numbers or groups are none")


def solve(calls: Calls, given: Mapping[str, float]) -> dict[str, float]:
    """All four numbers from three of them; refused where there is no fourth, or they do not go together."""
    (missing,) = set(FOUR) - set(given)
    listed = ", ".join(f"{name} = {value:g}" for name, value in given.items())
    if {"epsilon", "beta"} <= set(given):
        least = float(calls.value(f"_least_epsilon({given['beta']!r})"))
        if given["epsilon"] < least:
            raise PolicyError(
                f"epsilon = {given['epsilon']:g} is below -ln(1 - beta) = {least:.6g}: a row that is sampled with "
                f"probability {given['beta']:g} changes the odds by that much; ask for more epsilon, or a smaller beta"
            )
    arguments = {
        "epsilon": ("k", "beta", "delta"),
        "k": ("beta", "epsilon", "delta"),
        "beta": ("k", "epsilon", "delta"),
    }
    try:
        if missing == "delta":
            found = delta_of(calls, int(given["k"]), given["beta"], given["epsilon"])
        else:
            found = float(calls.row(f"sdgs_{missing}", *(given[name] for name in arguments[missing]))[0])
    except SqlprivError as error:
        raise PolicyError(f"no {missing} goes with {listed}: {error}") from None
    if missing == "beta" and not found > 0:
        raise PolicyError(f"no beta goes with {listed}: it would have to be 0")
    return {**given, missing: found}


def delta_of(calls: Calls, k: int, beta: float, epsilon: float) -> float:
    """The delta of Theorem 1."""
    return _scalar(calls, "sdgs_delta", k, beta, epsilon)


def smooth_curve(calls: Calls, k: int, beta: float, epsilon: float) -> list[tuple[float, float, float]]:
    """Points of the f-smooth guarantee: epsilon, delta, and the closed bound on delta."""
    found = []
    for times in _SMOOTH:
        point = float(calls.value(f"_times({times!r}, {epsilon!r})"))
        delta, bound = (_scalar(calls, name, k, beta, point) for name in ("sdgs_delta", "sdgs_smooth_delta"))
        found.append((point, delta, bound))
    return found


def delta_curves(calls: Calls, terms: SdgsTerms) -> dict[str, list[tuple[float, float]]]:
    """Delta against epsilon: for this k and beta, for others of each, and the closed bound."""
    k, beta = terms.k, terms.beta
    others = [(k, beta), *((n, beta) for n in _around(calls, k)), *((k, b) for b in _around(calls, beta))]
    found = {}
    for n, share in others:
        found[f"k = {n:g}, beta = {share:.3g}"] = _curve(calls, "sdgs_delta", n, share, terms.epsilon)
    found[f"bound, k = {k}, beta = {beta:.3g}"] = _curve(calls, "sdgs_smooth_delta", k, beta, terms.epsilon)
    return found


def _around(calls: Calls, value: float) -> list[float]:
    """Half and twice a number, as far as it may be that."""
    found = [float(calls.value(f"_times({times!r}, {value!r})")) for times in (0.5, 2.0)]
    if isinstance(value, int):
        return [int(n) for n in found if n >= 1]
    return [n for n in found if n < 1]


def _curve(calls: Calls, name: str, k: float, beta: float, epsilon: float) -> list[tuple[float, float]]:
    steps = f"range({_POINTS + 1}) AS r(i)"
    points = inlined(f"_epsilon_step({beta!r}, {epsilon!r}, i / {float(_POINTS)!r})")
    rows = f"SELECT e, {calls.need(name)}({int(k)}, {beta!r}, e) FROM (SELECT {points} AS e FROM {steps}) ORDER BY e"
    return [(float(e), float(d)) for e, d in fetch(calls.con, rows)]


def _scalar(calls: Calls, name: str, *arguments: float) -> float:
    listed = ", ".join(repr(a) for a in arguments)
    return float(fetch(calls.con, f"SELECT {calls.need(name)}({listed})")[0][0])


def sensitivity(calls: Calls, k: int, beta: float) -> float:
    """By how much one row changes the score of a node."""
    return _scalar(calls, "sdgs_sensitivity", k, beta)


def guaranteed(
    calls: Calls, four: Mapping[str, float], node_epsilon: float, rows_each: int, of_persons: bool, groups: int
) -> SdgsTerms:
    """What the four numbers guarantee for a node that costs so much, persons with so many rows, and so many groups."""
    spent = float(calls.value(f"_both_spent({four['epsilon']!r}, {node_epsilon!r})"))
    added = calls.row("sdgs_person", spent, four["delta"], rows_each)
    replaced = calls.row("sdgs_replaced", *added)
    # Groups are releases one after the other: each of the two guarantees adds up by itself, as in the ledger.
    totals = [float(n) for one in (added, replaced) for n in calls.row("sdgs_groups", *one, groups)]
    return SdgsTerms(
        four["epsilon"], four["delta"], int(four["k"]), four["beta"], node_epsilon, rows_each, of_persons, groups,
        *totals,
    )  # fmt: skip


def go_together(calls: Calls, four: Mapping[str, float]) -> bool:
    """Whether four declared numbers satisfy the theorem: delta is no smaller than it must be."""
    try:
        needed = delta_of(calls, int(four["k"]), four["beta"], four["epsilon"])
    except SqlprivError:
        return False
    return needed <= four["delta"] * (1 + _HAIR) and four["k"] == int(four["k"])


def linking_posterior(
    calls: Calls, terms: SdgsTerms, choices: Sequence[int | None], times: float = _TIMES
) -> float | None:
    """The most that an attacker who knows all else of a person comes to believe in a value; None: not known.

    `choices` are the sizes of the public domains of the sensitive columns. It holds on average over the random sample:
    with a chance of delta the value may be seen. Where a person may have several rows, the belief is that one of them
    has it.
    """
    if not choices or None in choices:
        return None
    return max(linking_beliefs(calls, terms, size or 1, times)[1] for size in choices)


def linking_beliefs(calls: Calls, terms: SdgsTerms, choices: int, times: float = _TIMES) -> tuple[float, float]:
    """Belief of an attacker who knows all else of a person in one of so many values: before, and at most after."""
    factor = float(calls.value(f"exp({terms.replaced_epsilon!r})"))
    prior = calls.row("linking_prior", float(choices), times)[0]
    prior = prior if terms.rows_each == 1 else calls.row("person_prior", prior, terms.rows_each)[0]
    bounded = calls.row("posterior_bound", prior, factor)[0]
    return float(prior), float(calls.value(f"_belief_but_for({bounded!r}, {terms.replaced_delta!r})"))
