"""Write noisy counts: for every tuple how many of its rows are kept, and how much noise it has, by a draw each.

A draw is for a tuple and not for a row: how many of its copies are kept is a binomial number, made from the one draw.
Noise has the probability q on every tuple of the domain, in the table or not. So it is drawn like the noise of an
alpha-beta view, and what is drawn has one row more for each further success of a geometric number. Where noise follows
shares, it is drawn with the largest q, and a draw of its own decides whether a tuple with a smaller one is left. Kept
rows and noise of a tuple are added up before anything is sorted or written: which is which is nowhere to be seen.
"""

from __future__ import annotations

import math

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.draws import Draws, uniform_draws
from sqlpriv.methods.noisy.noisy_counts.mechanism import NoisyCountsMechanism, OneSided, OneSidedByShares, Signed
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.write import PUBLISHED, row_weights, write_facts, write_published
from sqlpriv.release.file import double


def write(plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
    """All tables of the release, into the file that is attached."""
    mechanism, source, found = plan.calibration.mechanism, plan.source, plan.calibration
    assert isinstance(mechanism, OneSided | Signed)
    weights = mechanism.weights(source.calls)
    write_facts(plan, edition, weights, {**mechanism.numbers, "n_public": found.n_public})
    kinds = {}
    if isinstance(mechanism, Signed):
        noisy = source.calls.value(f"_noisy_share({double(mechanism.a)})")
        kinds = {"n < 0": weights.view["negative"]}
    else:
        noisy = mechanism.q
    with source.scratch.nested() as scratch:
        kept = scratch.table(_kept(plan, mechanism, edition.prefix), "kept")
        ratios = scratch.table(_ratios(mechanism), "ratios") if isinstance(mechanism, OneSidedByShares) else None
        ranges = [
            _counts(plan, mechanism, kept, ratios, draws, edition.prefix)
            for draws in uniform_draws(source.calls, plan.elements, noisy, edition.prefix)
        ]
        rows = write_published(plan, ranges, row_weights(weights.view["view"], kinds), request, copies="abs(n)")
    if isinstance(mechanism, OneSided):
        mean, variance = mechanism.rows(source.calls, found.rows, float(found.tuples))
        return Made(rows, mean, variance, _room(variance, mechanism.q))
    # How many rows signed noise makes does not show that it is off, but their sum does.
    variance = float(source.calls.value(f"{float(found.tuples)!r} * _signed_variance({double(mechanism.a)})"))
    net = float(fetch(source.con, f"SELECT coalesce(sum(sign(__weight)), 0) FROM {PUBLISHED}")[0][0])
    if abs(net - found.rows) > _room(variance, mechanism.a):
        raise ReleaseError("the noise is not what it should be, so nothing was published; run it again")
    return Made(rows, float(rows))


def _draw(plan: RandomizedPlan, prefix: str, purpose: str) -> str:
    return inlined(f"_coin_share(_coin_bits({literal(prefix)}, '{purpose}|' || {plan.elements.text}))")


def _kept(plan: RandomizedPlan, mechanism: NoisyCountsMechanism, prefix: str) -> str:
    """SQL for the elements of the table with `n`, the rows of theirs that are kept."""
    limbs = plan.elements.select([*(f"i{a}" for a in range(len(plan.columns))), "0"])
    if isinstance(mechanism, Signed):
        return f"SELECT {limbs}, copies AS n FROM {plan.tuples.name}"
    p, numbers = double(mechanism.p), f"SELECT DISTINCT copies FROM {plan.tuples.name}"
    steps = inlined(f"SELECT copies, _kept_steps(copies, {p}) AS steps FROM ({numbers})")
    drawn = f"SELECT *, {_draw(plan, prefix, 'keep')} AS share FROM (SELECT {limbs}, copies FROM {plan.tuples.name})"
    return (
        f"SELECT * FROM (SELECT {plan.elements.listed}, {inlined(f'_kept_copies(copies, {p}, steps, share)')} AS n "
        f"FROM ({drawn}) JOIN ({steps}) USING (copies)) WHERE n > 0"
    )


def _ratios(mechanism: OneSidedByShares) -> str:
    """SQL for each value of the column with shares (id): what part of the noise is left, and powers of its q."""
    ratios = mechanism.by_value.ratios
    each = f"SELECT unnest(range({len(ratios)})) AS id, unnest(CAST({literal(ratios)} AS DOUBLE[])) AS q"
    made = inlined(f"SELECT id, _part_of_noise(q, {double(mechanism.q)}) AS part, _squares(q) AS squares")
    return f"{made} FROM ({each})"


def _counts(
    plan: RandomizedPlan,
    mechanism: NoisyCountsMechanism,
    kept: Relation,
    ratios: Relation | None,
    draws: Draws,
    prefix: str,
) -> str:
    """SQL for the elements of the view in a range, with how often they are there; below 0 where rows count -1."""
    limbs = plan.elements.listed
    drawn = f"SELECT DISTINCT {limbs} FROM ({draws.sql})"
    ratio = mechanism.q if isinstance(mechanism, OneSided) else mechanism.a
    more = inlined(f"1 + _geometric(share, {double(ratio)})")
    if isinstance(mechanism, OneSidedByShares) and ratios is not None:
        place = next(i for i, c in enumerate(plan.columns) if c.name == mechanism.by_value.column)
        part, squares = (
            f"(SELECT list({what} ORDER BY id) FROM {ratios.name})[1 + {plan.elements.digit(place)}]"
            for what in ("part", "squares")
        )
        drawn = f"SELECT * FROM ({drawn}) WHERE {_draw(plan, prefix, 'thin')} < {part}"
        more = inlined(f"1 + _geometric_of(share, {squares})")
    is_signed = isinstance(mechanism, Signed)
    sign = f"CASE WHEN {_draw(plan, prefix, 'sign')} < 0.5 THEN 1 ELSE -1 END" if is_signed else "1"
    sized = f"SELECT *, {_draw(plan, prefix, 'copies')} AS share FROM ({drawn})"
    noise = f"SELECT {limbs}, ({more}) * {sign} AS n FROM ({sized})"
    return (
        f"SELECT {limbs}, CAST(sum(n) AS BIGINT) AS n FROM (SELECT {limbs}, n FROM {kept.name} WHERE {draws.inside} "
        f"UNION ALL {noise}) GROUP BY {limbs} HAVING sum(n) <> 0"
    )


def _room(variance: float, ratio: float) -> float:
    """How far noise may be off before it is taken for a fault: so far that draws of 52 bits never come there.

    Whether to stop depends on the true number of rows. So it must not be a chance that the bound would notice: nine
    deviations of many draws, and of few the tail of a geometric number, ratio^x < 2^-80.
    """
    return 9 * math.sqrt(variance) + 80 * math.log(2) / -math.log(ratio) + 0.5
