"""The coins of a bag: from (d, gamma) to a factor on the odds, and from it to the bag with the smaller error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta.bags import shares
from sqlpriv.methods.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.randomized.attackers import Attacker, list_attackers
from sqlpriv.methods.randomized.terms import (
    SCOPE,
    Asked,
    NoiseByValue,
    Terms,
    refuse_coins,
    refuse_noise,
)
from sqlpriv.methods.randomized.warned import active_domains, told_size
from sqlpriv.table.source import Source

ADVERSARY = "informed"
"""Who knows every other row of the table, and that this person has one."""


def make_terms(source: Source, policy: AlphaBetaPolicy, asked: Asked) -> Terms:
    """The terms of a policy: the kind of bag and its p chosen, or p given and judged by what noise it needs."""
    if asked.known.shared is not None:
        return _terms_by_shares(source, policy, asked)
    calls, n, m, each = source.calls, asked.n_public, float(asked.tuples), policy.rows_each
    factor = calls.row("odds_factor", asked.d, policy.gamma)[0]
    of_row = calls.row("row_factor", factor, each)[0]
    hits, domain_hits = calls.row("small_count", n, m)
    if policy.p is not None or smaller_kind(calls, n, m, of_row) == "bag":
        p = policy.p if policy.p is not None else calls.row("bag_choice", n, m, of_row)[0]
        coins = {"p": p, "q": calls.row("bag_noise", p, factor, each)[0]}
        refuse_coins(p)
        refuse_noise(coins["q"])
        cost = Cost(*calls.row("bag_error", n, m, p, coins["q"], hits, domain_hits))
    else:
        coins = {"a": calls.row("signed_bag_noise", factor, each)[0]}
        refuse_coins(coins["a"])
        cost = Cost(*calls.row("signed_bag_error", n, m, coins["a"], domain_hits))
    worth = judge(calls, asked.d, policy.gamma, coins, each)
    if not worth.private:
        raise PolicyError(f"these coins are not private: a belief of {asked.d:.4g} can become {worth.posterior:.4g}")
    promised = Promised(asked.d, policy.gamma, worth, policy.told_size, each)
    attackers = list_attackers(calls, asked.known, policy.gamma, worth.factor)
    return _terms(
        source, policy, asked, Found(coins, cost, worth, attackers, promise(promised), details(calls, promised))
    )


def _terms_by_shares(source: Source, policy: AlphaBetaPolicy, asked: Asked) -> Terms:
    """The same where noise follows public shares; rows of all persons count, each has one."""
    calls, n, m = source.calls, asked.n_public, float(asked.tuples)
    found = shares.read_shares(calls, asked.known, policy.gamma)
    p = policy.p if policy.p is not None else shares.choose_p(calls, n, m, found)
    noise = shares.noise_of(calls, found, p)
    refuse_coins(p)
    refuse_noise(min(noise.ratios))
    cost = Cost(*calls.row("bag_share_error", n, m, p, noise.ratios, *calls.row("small_count", n, m)))
    worth = judge_shares(calls, policy.gamma, found, p, noise)
    attackers = list_attackers(calls, asked.known, policy.gamma, worth.factor, noise.factors)
    said = shares.promise(found, policy.gamma, (worth.replaced, None if policy.told_size else worth.added))
    lines = shares.details(calls, found, told_size=policy.told_size)
    coins = {"p": p, "q": max(noise.ratios)}
    return _terms(source, policy, asked, Found(coins, cost, worth, attackers, said, lines, noise))


@dataclass(frozen=True)
class Cost:
    """What a bag will be like, by the macros: of a small count, its error."""

    expected_rows: float
    small_error: float
    half_domain_error: float
    possible: bool


@dataclass(frozen=True)
class Found:
    """What was found for a policy, however its noise is made."""

    coins: Mapping[str, float]
    cost: Cost
    worth: Worth
    attackers: tuple[Attacker, ...]
    promise: str
    details: tuple[str, ...]
    by_value: NoiseByValue | None = None


def _terms(source: Source, policy: AlphaBetaPolicy, asked: Asked, found: Found) -> Terms:
    calls, coins, cost, worth = source.calls, found.coins, found.cost, found.worth
    hits = calls.row("small_count", asked.n_public, float(asked.tuples))[0]
    return Terms(
        rows=asked.rows,
        n_public=asked.n_public,
        tuples=asked.tuples,
        d=asked.d,
        gamma=policy.gamma,
        adversary=ADVERSARY,
        coins=coins,
        kept=coins.get("p", 1.0),
        noise=coins.get("q", coins.get("a", 0.0)),
        expected_rows=cost.expected_rows,
        half_domain_error=cost.half_domain_error,
        small_error=float(calls.value(f"_relative_error({cost.small_error!r}, {hits!r})")),
        possible=bool(cost.possible),
        epsilon=worth.replaced,
        promise=found.promise,
        details=found.details,
        factor=worth.factor,
        replaced_epsilon=worth.replaced,
        attackers=found.attackers,
        independent_posterior=worth.posterior,
        exclusive_posterior=worth.posterior,
        added_epsilon=None if policy.told_size else worth.added,
        rows_each=policy.rows_each,
        by_value=found.by_value,
        warnings=(*active_domains(policy), *told_size(policy, asked.n_public)),
    )


@dataclass(frozen=True)
class Worth:
    """What the coins of a bag are worth, by the macros."""

    private: bool
    factor: float
    replaced: float
    added: float
    posterior: float


def judge(calls: Calls, d: float, gamma: float, coins: Mapping[str, float], rows_each: int) -> Worth:
    """What given coins keep."""
    if "q" in coins:
        return Worth(*calls.row("bag_guarantee", d, gamma, coins["p"], coins["q"], rows_each))
    return Worth(*calls.row("signed_bag_guarantee", d, gamma, coins["a"], rows_each))


def judge_shares(calls: Calls, gamma: float, found: shares.Shares, p: float, noise: NoiseByValue) -> Worth:
    """What noise by public shares keeps: the rarest value has least, and the largest belief is the commonest's."""
    private, factor, replaced, added, _ = calls.row("bag_guarantee", min(found.priors), gamma, p, min(noise.ratios), 1)
    least = min(noise.factors)
    return Worth(private, factor, replaced, added, calls.row("posterior_bound", found.largest_prior, least)[0])


def smaller_kind(calls: Calls, n_public: int, tuples: float, factor: float) -> str:
    """Which kind of bag makes the smaller error."""
    return str(calls.row("bag_kind", n_public, tuples, factor)[0])


@dataclass(frozen=True)
class Promised:
    """What the words of a guarantee depend on."""

    d: float
    gamma: float
    worth: Worth
    told_size: bool
    rows_each: int


def promise(given: Promised) -> str:
    """The guarantee: two sentences to say aloud."""
    whose = "a person's row" if given.rows_each == 1 else f"a person, who has up to {given.rows_each} rows"
    others = "every other row" if given.rows_each == 1 else "the rows of everybody else"
    what = "a person's row is" if given.rows_each == 1 else "a person's rows are"
    change = "" if given.told_size else f", and {given.worth.added:.3g} when a person is added or left out"
    return (
        f"Whoever believes a statement about {whose} with at most {given.d:.4g} believes it with at most "
        f"{given.gamma:g} after seeing this release, even when they know {others}. It is differential privacy with "
        f"epsilon {given.worth.replaced:.3g} when {what} replaced{change}."
    )


def details(calls: Calls, given: Promised) -> tuple[str, ...]:
    """What belongs to the guarantee, line by line."""
    even = calls.row("posterior_bound", 0.5, given.worth.factor)[0]
    together = (
        SCOPE[0]
        if given.rows_each == 1
        else "Rows of different persons that belong together (families) are not covered together."
    )
    told = "The number of rows, rounded up, is told: nothing is claimed of who is in the table at all."
    return (
        f"Any belief b becomes at most b L / (1 - b + b L) and at least b / (b + (1 - b) L), with L = "
        f"{given.worth.factor:.4g}: one half becomes at most {even:.3g}.",
        *((told,) if given.told_size else ()),
        together,
        *SCOPE[1:],
    )
