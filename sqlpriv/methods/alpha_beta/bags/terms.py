"""The coins of a bag: from (d, gamma) to a factor on the odds, and from it to the bag with the smaller error."""

from __future__ import annotations

from sqlpriv.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.randomized.terms import Asked, Terms, active_domains, refuse_coins, refuse_noise
from sqlpriv.table.source import Source

ADVERSARY = "informed"
"""Who knows every other row of the table, and that this person has one."""


def make_terms(source: Source, policy: AlphaBetaPolicy, asked: Asked) -> Terms:
    """The terms of a policy: the kind of bag and its p chosen, or p given and judged by what noise it needs."""
    calls, n, m = source.calls, asked.n_public, float(asked.tuples)
    factor, _ = calls.row("odds_factor", asked.d, policy.gamma)
    if policy.p is not None or smaller_kind(calls, n, m, factor) == "bag":
        p = policy.p if policy.p is not None else calls.row("bag_choice", n, m, factor)[0]
        coins = {"p": p, "q": calls.row("bag_noise", p, factor)[0]}
        refuse_coins(p)
        refuse_noise(coins["q"])
        expected, _, error, possible = calls.row("bag_error", n, m, coins["p"], coins["q"], 0, 0)
        worth = calls.row("bag_guarantee", asked.d, policy.gamma, coins["p"], coins["q"])
    else:
        coins = {"a": calls.row("signed_bag_noise", factor)[0]}
        refuse_coins(coins["a"])
        expected, _, error, possible = calls.row("signed_bag_error", n, m, coins["a"], 0)
        worth = calls.row("signed_bag_guarantee", asked.d, policy.gamma, coins["a"])
    private, _, replaced, added, posterior = worth
    if not private:
        raise PolicyError(f"these coins are not private: a belief of {asked.d:.4g} can become {posterior:.4g}")
    return Terms(
        asked.rows,
        n,
        asked.tuples,
        asked.d,
        policy.gamma,
        ADVERSARY,
        coins,
        expected,
        error,
        bool(possible),
        replaced,
        promise(asked.d, policy.gamma, factor, replaced, added, policy.told_size),
        posterior,
        posterior,
        warnings=(*active_domains(policy), *_told(policy, n)),
    )


def smaller_kind(calls: Calls, n_public: int, tuples: float, factor: float) -> str:
    """Which kind of bag makes the smaller error."""
    return str(calls.row("bag_kind", n_public, tuples, factor)[0])


def _told(policy: AlphaBetaPolicy, n_public: int) -> tuple[str, ...]:
    if not policy.told_size:
        return ()
    return (f"n_public is not declared; the number of rows rounded up, {n_public:,}, becomes public",)


def promise(d: float, gamma: float, factor: float, replaced: float, added: float, told_size: bool) -> str:
    """The guarantee: two sentences to say aloud, then the rest."""
    change = "" if told_size else f", and {added:.3g} for a row added or removed"
    return (
        f"Whoever believes with at most {d:.4g} that a person's row is a certain one, or any other statement about it, "
        f"believes so with at most {gamma:g} after seeing the release, even when they know every other row. Any "
        f"belief b becomes at most b L / (1 - b + b L) and at least b / (b + (1 - b) L), with L = {factor:.4g}: "
        f"differential privacy with epsilon {replaced:.3g} for a row replaced by another{change}. Rows that belong "
        "together (several of one person, of a family) are not covered together, nor is what the release teaches of "
        "people in general. The domains, the parameters and the numbers given here are public."
    )
