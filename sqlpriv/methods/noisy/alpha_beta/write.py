"""Write an alpha-beta release: rows kept at random among noise from the domain, in ranges of elements.

__excluded  elements that noise must not fall on: those of the instance, and of the earlier views of a sequence
__kept      elements of these that are in the view by a draw of their own
"""

from __future__ import annotations

from dataclasses import replace

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.alpha_beta.calibrate import persist_of
from sqlpriv.methods.noisy.alpha_beta.earlier import read_earlier
from sqlpriv.methods.noisy.alpha_beta.mechanism import ByShares, Sequence, Uniform
from sqlpriv.methods.noisy.alpha_beta.policy import AlphaBetaPolicy
from sqlpriv.methods.noisy.alpha_beta.slots import refuse_copies, write_instance
from sqlpriv.methods.noisy.draws import Draws, element_text, source_draws, uniform_draws
from sqlpriv.methods.noisy.mechanism import WEIGHTS, AllWeights
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.tuples import Elements
from sqlpriv.methods.noisy.write import PUBLISHED, same_weights, shown_rows, write_facts, write_sorted
from sqlpriv.release.file import double
from sqlpriv.table.source import Source


def write(plan: RandomizedPlan, policy: AlphaBetaPolicy, edition: Edition, request: Request) -> Made:
    """All tables of the release, into the file that is attached."""
    source, mechanism = plan.source, plan.calibration.mechanism
    assert isinstance(mechanism, Uniform)
    mechanism = replace(mechanism, view=edition.view)
    refuse_copies(source, mechanism.slots)
    if edition.view > 1:
        read_earlier(source, policy, plan.columns, plan.elements, edition.earlier)
    write_instance(source, plan.elements, edition.slots)
    weights = mechanism.weights(source.calls)
    # Where neither k nor n_public is given, nothing public is made from the number of rows.
    size = {"n_public": plan.calibration.n_public} if policy.k is not None or policy.n_public is not None else {}
    write_facts(plan, edition, weights, {**mechanism.numbers, **size})
    _write_published(plan, mechanism, edition, weights, request)
    condition = "WHERE __view" if plan.calibration.views > 1 else ""
    rows = int(fetch(source.con, f"SELECT count(*) FROM {PUBLISHED} {condition}")[0][0])
    return Made(rows, *_expected(plan, mechanism, edition))


def _write_published(
    plan: RandomizedPlan, mechanism: Uniform, edition: Edition, weights: AllWeights, request: Request
) -> None:
    elements = plan.elements
    persist = None
    if isinstance(mechanism, Sequence) and edition.view > 1:
        persist = float(plan.source.calls.value(f"_persists({mechanism.keep}, {mechanism.persist!r})"))
    keep = _keep_by_share(plan, mechanism) if isinstance(mechanism, ByShares) else inlined(mechanism.keep)
    _write_kept(plan.source, elements, keep, edition.prefix, persist)
    if isinstance(mechanism, ByShares) and plan.aliases is not None:
        ranges = [source_draws(elements, mechanism.rate, plan.aliases, edition.prefix)]
        shown = _by_share(plan, mechanism)
    else:
        ranges = list(uniform_draws(elements, mechanism.beta, edition.prefix))
        shown = _by_kind(weights) if edition.view > 1 else same_weights(weights.view["view"])
    for done, draws in enumerate(ranges):
        chosen = _view_elements(elements, draws)
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
    if plan.calibration.views == 1:
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


def _beta(plan: RandomizedPlan, mechanism: ByShares) -> str:
    """SQL for the probability that an element is noise, where noise follows shares."""
    shares = " * ".join(
        f"(SELECT list(share ORDER BY id) FROM {c.table})[1 + {digit.of(plan.elements.columns)}]"
        for c, digit in zip(plan.columns, plan.elements.digits[:-1], strict=True)
    )
    return inlined(f"_source_noise({mechanism.rate!r}, {plan.calibration.slots}, {shares})")


def _keep_by_share(plan: RandomizedPlan, mechanism: ByShares) -> str:
    """SQL for the probability that an element of the table is in the view, where noise follows shares."""
    return inlined(f"_source_keep({mechanism.alpha!r}, {_beta(plan, mechanism)})")


def _by_share(plan: RandomizedPlan, mechanism: ByShares) -> str:
    weights = mechanism.row_weights(_beta(plan, mechanism))
    return ", ".join(f"{inlined(sql)} AS __{part}" for sql, part in zip(weights, WEIGHTS, strict=True))


def _expected(plan: RandomizedPlan, mechanism: Uniform, edition: Edition) -> tuple[float, float]:
    """How many rows this view will have, in the mean, and their variance, by the true number of rows.

    In a later view what was in an earlier one and has gone from the table is likelier to stay than other noise.
    """
    con = plan.source.con
    rows = int(fetch(con, "SELECT count(*) FROM __instance")[0][0])
    if isinstance(mechanism, ByShares):
        own, beta = _keep_by_share(plan, mechanism), _beta(plan, mechanism)
        kept = float(fetch(con, f"SELECT coalesce(sum({own}), 0) FROM __instance")[0][0])
        # What falls on the table's own elements is drawn, too, and dropped; a variance is at most the mean.
        fallen = float(fetch(con, f"SELECT coalesce(sum({beta}), 0) FROM __instance")[0][0])
        noise = _all_noise(plan, mechanism) - fallen
        return kept + noise, kept + noise
    left = 0
    if edition.view > 1:
        limbs = ", ".join(plan.elements.columns)
        left = int(fetch(con, f"SELECT count(*) FROM (FROM __earlier ANTI JOIN __instance USING ({limbs}))")[0][0])
    numbers = (mechanism.alpha, mechanism.beta, persist_of(mechanism))
    coming = (rows, left, float(plan.calibration.elements))
    expected, variance = plan.source.calls.row("sequence_rows", *numbers, *coming)
    return float(expected), float(variance)


def _all_noise(plan: RandomizedPlan, mechanism: ByShares) -> float:
    """The sum of beta over all elements of the domain, from the series of the weights."""
    weights = mechanism.weights(plan.source.calls).domain
    total = 0.0
    for power, w in weights.items():
        sums = 1.0
        for column in plan.columns:
            sums *= float(fetch(plan.source.con, f"SELECT sum(share ** {power}) FROM {column.table}")[0][0])
        total -= w.weight * sums
    return total * mechanism.alpha


def _write_kept(source: Source, elements: Elements, keep: str, prefix: str, persist: float | None) -> None:
    """Tables __excluded and __kept. `keep` is SQL for the probability of an element of the instance.

    Elements of earlier views that are not in the instance stay with probability `persist`.
    """
    limbs = ", ".join(elements.columns)
    share = inlined(f"_coin_share(_coin_bits({literal(prefix)}, 'keep|' || {element_text(elements)}))")
    kept = f"SELECT {limbs} FROM __instance WHERE {share} < {keep}"
    excluded = f"SELECT {limbs} FROM __instance"
    if persist is not None:
        left = f"SELECT {limbs} FROM __earlier ANTI JOIN __instance USING ({limbs})"
        kept += f" UNION ALL SELECT {limbs} FROM ({left}) WHERE {share} < {persist!r}"
        excluded += f" UNION ALL {left}"
    fetch(source.con, f"CREATE OR REPLACE TABLE __kept AS {kept}")
    fetch(source.con, f"CREATE OR REPLACE TABLE __excluded AS {excluded}")


def _view_elements(elements: Elements, draws: Draws) -> str:
    """SQL for the distinct elements of the view in a range, without an order."""
    limbs = ", ".join(elements.columns)
    inside = f"e0 >= {draws.low} AND e0 < {draws.high}"
    return (
        f"SELECT {limbs} FROM __kept WHERE {inside} UNION ALL "
        f"SELECT {limbs} FROM (SELECT DISTINCT {limbs} FROM ({draws.sql})) "
        f"ANTI JOIN (SELECT {limbs} FROM __excluded WHERE {inside}) USING ({limbs})"
    )
