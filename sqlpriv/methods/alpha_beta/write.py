"""Write an alpha-beta release: rows kept by their coins among noise from the domain, in ranges of elements."""

from __future__ import annotations

from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.alpha_beta.draw import source_draws, uniform_draws, view_elements, write_kept
from sqlpriv.methods.alpha_beta.earlier import read_earlier
from sqlpriv.methods.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.alpha_beta.terms import keep
from sqlpriv.methods.alpha_beta.weights import make_weights
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.randomized.elements import Elements
from sqlpriv.methods.randomized.file import (
    PUBLISHED,
    WEIGHTS,
    same_weights,
    shown_rows,
    write_facts,
    write_sorted,
)
from sqlpriv.methods.randomized.instance import refuse_copies, write_instance
from sqlpriv.methods.randomized.plan import RandomizedPlan
from sqlpriv.methods.randomized.weights import AllWeights
from sqlpriv.release.file import double


def write(plan: RandomizedPlan, policy: AlphaBetaPolicy, edition: Edition, request: Request) -> Made:
    """All tables of the release, into the file that is attached."""
    source, terms = plan.source, plan.terms
    refuse_copies(source, terms.slots)
    if edition.view > 1:
        read_earlier(source, policy, plan.columns, plan.elements, edition.earlier)
    write_instance(source, plan.elements, edition.slots)
    weights = make_weights(source.calls, terms.coins, terms.slots, edition.view)
    write_facts(plan, edition, weights, _numbers(plan, policy))
    _write_published(plan, edition, weights, request)
    condition = "WHERE __view" if terms.views > 1 else ""
    rows = int(fetch(source.con, f"SELECT count(*) FROM {PUBLISHED} {condition}")[0][0])
    return Made(rows, *_expected(plan, edition))


def _numbers(plan: RandomizedPlan, policy: AlphaBetaPolicy) -> dict[str, float]:
    terms = plan.terms
    numbers = {"alpha": terms.coins["alpha"], "beta": terms.coins["beta"]}
    if policy.k is not None or policy.n_public is not None:
        numbers["n_public"] = terms.n_public  # else nothing public was made from it
    if "rate" in terms.coins:
        numbers["rate"] = terms.coins["rate"]
    if "persist" in terms.coins:
        numbers["persist"] = terms.coins["persist"]
    return numbers


def _write_published(plan: RandomizedPlan, edition: Edition, weights: AllWeights, request: Request) -> None:
    coins, elements = plan.terms.coins, plan.elements
    persist = None
    if "persist" in coins and edition.view > 1:
        persist = float(plan.source.calls.value(f"_persists({keep(coins)}, {coins['persist']!r})"))
    kept = inlined(keep(coins) if "rate" not in coins else f"_source_keep({coins['alpha']!r}, {_beta(plan)})")
    write_kept(plan.source, elements, kept, edition.prefix, persist)
    if plan.aliases is not None and "rate" in coins:
        ranges = [source_draws(elements, coins["rate"], plan.aliases, edition.prefix)]
        shown = _by_share(plan)
    else:
        ranges = list(uniform_draws(elements, coins["beta"], edition.prefix))
        shown = _by_kind(weights) if edition.view > 1 else same_weights(weights.view["view"])
    for done, draws in enumerate(ranges):
        chosen = view_elements(elements, draws)
        if edition.view > 1:
            chosen = _with_earlier(elements, chosen, draws.low, draws.high)
        write_sorted(plan, chosen)
        rows = shown_rows(plan, shown, _in_views(plan, edition))
        how = f"CREATE TABLE {PUBLISHED} AS" if done == 0 else f"INSERT INTO {PUBLISHED}"
        fetch(plan.source.con, f"{how} {rows}")
        if request.on_progress is not None:
            request.on_progress((done + 1) / len(ranges))


def _in_views(plan: RandomizedPlan, edition: Edition) -> list[str]:
    """In a sequence a row says its slot, and in which views it is."""
    if plan.terms.views == 1:
        return []
    slot = f"1 + {plan.elements.digits[-1].of(plan.elements.columns)} AS __slot"
    views = "in_view AS __view, in_earlier AS __earlier" if edition.view > 1 else "true AS __view, false AS __earlier"
    return [slot, views]


def _by_kind(weights: AllWeights) -> str:
    """A row of a later view counts by whether it is in this view, an earlier one, or both."""
    both, view, earlier = (weights.view[k] for k in ("both", "view", "earlier"))
    return ", ".join(
        f"CASE WHEN in_view AND in_earlier THEN {double(getattr(both, part))} WHEN in_view THEN "
        f"{double(getattr(view, part))} ELSE {double(getattr(earlier, part))} END AS __{part}"
        for part in WEIGHTS
    )


def _with_earlier(elements: Elements, view: str, low: int, high: int) -> str:
    limbs = ", ".join(elements.columns)
    return (
        f"SELECT {limbs}, bool_or(now) AS in_view, bool_or(NOT now) AS in_earlier FROM ("
        f"SELECT {limbs}, true AS now FROM ({view}) UNION ALL "
        f"SELECT {limbs}, false AS now FROM __earlier WHERE e0 >= {low} AND e0 < {high}) GROUP BY ALL"
    )


def _beta(plan: RandomizedPlan) -> str:
    """SQL for the probability that an element is noise, where noise follows shares."""
    shares = " * ".join(
        f"(SELECT list(share ORDER BY id) FROM {c.table})[1 + {digit.of(plan.elements.columns)}]"
        for c, digit in zip(plan.columns, plan.elements.digits[:-1], strict=True)
    )
    return inlined(f"_source_noise({plan.terms.coins['rate']!r}, {plan.terms.slots}, {shares})")


def _by_share(plan: RandomizedPlan) -> str:
    alpha, noise = double(plan.terms.coins["alpha"]), _beta(plan)
    weights = (f"_source_weight({alpha})", f"_source_variance({alpha}, {noise})", f"_source_skew({alpha}, {noise})")
    return ", ".join(f"{inlined(sql)} AS __{part}" for sql, part in zip(weights, WEIGHTS, strict=True))


def _expected(plan: RandomizedPlan, edition: Edition) -> tuple[float, float]:
    """How many rows of this view the coins make, in the mean, and their variance, by the true number of rows.

    In a later view what was in an earlier one and has gone from the table is likelier to stay than other noise.
    """
    con, coins, elements = plan.source.con, plan.terms.coins, plan.terms.elements
    rows = int(fetch(con, "SELECT count(*) FROM __instance")[0][0])
    if "rate" in coins:
        own = inlined(f"_source_keep({coins['alpha']!r}, {_beta(plan)})")
        kept = float(fetch(con, f"SELECT coalesce(sum({own}), 0) FROM __instance")[0][0])
        # What falls on the table's own elements is drawn, too, and dropped; a variance is at most the mean.
        noise = _all_noise(plan) - float(fetch(con, f"SELECT coalesce(sum({_beta(plan)}), 0) FROM __instance")[0][0])
        return kept + noise, kept + noise
    left = 0
    if edition.view > 1:
        limbs = ", ".join(plan.elements.columns)
        left = int(fetch(con, f"SELECT count(*) FROM (FROM __earlier ANTI JOIN __instance USING ({limbs}))")[0][0])
    coming = (coins["alpha"], coins["beta"], coins.get("persist", 0.5), rows, left, float(elements))
    expected, variance = plan.source.calls.row("sequence_rows", *coming)
    return float(expected), float(variance)


def _all_noise(plan: RandomizedPlan) -> float:
    """The sum of beta over all elements of the domain, from the series of the weights."""
    weights = make_weights(plan.source.calls, plan.terms.coins, plan.terms.slots, 1).domain
    total = 0.0
    for power, w in weights.items():
        sums = 1.0
        for column in plan.columns:
            sums *= float(fetch(plan.source.con, f"SELECT sum(share ** {power}) FROM {column.table}")[0][0])
        total -= w.weight * sums
    return total * plan.terms.coins["alpha"]
