"""Write noisy counts: for every tuple how many of its rows are kept, and how much noise it has, by a draw each.

    __kept   elements of the table with `n`, the rows of theirs that are kept

A draw is for a tuple and not for a row: how many of its copies are kept is a binomial number, made from the one draw.
Noise has the probability q on every tuple of the domain, in the table or not, so it is drawn like the noise of an
alpha-beta view, and what is drawn has one row more for each further success of a geometric number. Where noise follows
shares, it is drawn with the largest q, and a draw of its own decides whether a tuple with a smaller one is left. Kept
rows and noise of a tuple are added up before anything is sorted or written: which is which is nowhere to be seen.
"""

from __future__ import annotations

import math

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.noisy.draws import Draws, element_text, uniform_draws
from sqlpriv.methods.noisy.mechanism import WEIGHTS, AllWeights
from sqlpriv.methods.noisy.noisy_counts.mechanism import NoisyCountsMechanism, OneSided, OneSidedByShares, Signed
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.write import PUBLISHED, same_weights, shown_rows, write_facts, write_sorted
from sqlpriv.release.file import double


def write(plan: RandomizedPlan, edition: Edition, request: Request) -> Made:
    """All tables of the release, into the file that is attached."""
    mechanism, con, calls = plan.calibration.mechanism, plan.source.con, plan.source.calls
    assert isinstance(mechanism, OneSided | Signed)
    weights = mechanism.weights(calls)
    write_facts(plan, edition, weights, {**mechanism.numbers, "n_public": plan.calibration.n_public})
    _write_kept(plan, mechanism, edition.prefix)
    if isinstance(mechanism, OneSidedByShares):
        _write_ratios(plan, mechanism)
    noisy = calls.value(f"_noisy_share({mechanism.a!r})") if isinstance(mechanism, Signed) else mechanism.q
    ranges = list(uniform_draws(plan.elements, noisy, edition.prefix))
    for done, draws in enumerate(ranges):
        write_sorted(plan, _counts(plan, mechanism, draws, edition.prefix))
        rows = _repeated(shown_rows(plan, _weights(weights), ["abs(n) AS __copies"]))
        how = f"CREATE TABLE {PUBLISHED} AS" if done == 0 else f"INSERT INTO {PUBLISHED}"
        fetch(con, f"{how} {rows}")
        if request.on_progress is not None:
            request.on_progress((done + 1) / len(ranges))
    return _made(plan, mechanism)


def _draw(plan: RandomizedPlan, prefix: str, purpose: str) -> str:
    return inlined(f"_coin_share(_coin_bits({literal(prefix)}, '{purpose}|' || {element_text(plan.elements)}))")


def _write_kept(plan: RandomizedPlan, mechanism: NoisyCountsMechanism, prefix: str) -> None:
    elements = plan.elements
    ids = [*(f"i{a}" for a in range(len(plan.columns))), "0"]
    limbs = ", ".join(f"{n} AS {e}" for n, e in zip(elements.number(ids), elements.columns, strict=True))
    kept = f"SELECT {limbs}, copies AS n FROM __tuples"
    if isinstance(mechanism, OneSided):
        p, listed = repr(mechanism.p), ", ".join(elements.columns)
        steps = inlined(f"SELECT copies, _kept_steps(copies, {p}) AS steps FROM (SELECT DISTINCT copies FROM __tuples)")
        drawn = f"SELECT *, {_draw(plan, prefix, 'keep')} AS share FROM (SELECT {limbs}, copies FROM __tuples)"
        kept = (
            f"SELECT * FROM (SELECT {listed}, {inlined(f'_kept_copies(copies, {p}, steps, share)')} AS n "
            f"FROM ({drawn}) JOIN ({steps}) USING (copies)) WHERE n > 0"
        )
    fetch(plan.source.con, f"CREATE OR REPLACE TABLE __kept AS {kept}")


def _write_ratios(plan: RandomizedPlan, mechanism: OneSidedByShares) -> None:
    """Table __ratios: for each value of the column with shares, how much noise is left, and powers of its q."""
    ratios = mechanism.by_value.ratios
    each = f"SELECT unnest(range({len(ratios)})) AS id, unnest(CAST({literal(ratios)} AS DOUBLE[])) AS q"
    made = inlined(f"SELECT id, _part_of_noise(q, {mechanism.q!r}) AS part, _squares(q) AS squares")
    fetch(plan.source.con, f"CREATE OR REPLACE TABLE __ratios AS {made} FROM ({each})")


def _of_value(plan: RandomizedPlan, mechanism: OneSidedByShares, what: str) -> str:
    """SQL for a column of __ratios, by an element."""
    place = next(i for i, c in enumerate(plan.columns) if c.name == mechanism.by_value.column)
    number = plan.elements.digits[place].of(plan.elements.columns)
    return f"(SELECT list({what} ORDER BY id) FROM __ratios)[1 + {number}]"


def _counts(plan: RandomizedPlan, mechanism: NoisyCountsMechanism, draws: Draws, prefix: str) -> str:
    """SQL for the elements of the view in a range, with how often they are there; below 0 where rows count -1."""
    limbs = ", ".join(plan.elements.columns)
    inside = f"e0 >= {draws.low} AND e0 < {draws.high}"
    drawn = f"SELECT DISTINCT {limbs} FROM ({draws.sql})"
    ratio = mechanism.q if isinstance(mechanism, OneSided) else mechanism.a
    more = inlined(f"1 + _geometric(share, {ratio!r})")
    if isinstance(mechanism, OneSidedByShares):
        drawn = f"SELECT * FROM ({drawn}) WHERE {_draw(plan, prefix, 'thin')} < {_of_value(plan, mechanism, 'part')}"
        more = inlined(f"1 + _geometric_of(share, {_of_value(plan, mechanism, 'squares')})")
    is_signed = isinstance(mechanism, Signed)
    sign = f"CASE WHEN {_draw(plan, prefix, 'sign')} < 0.5 THEN 1 ELSE -1 END" if is_signed else "1"
    sized = f"SELECT *, {_draw(plan, prefix, 'copies')} AS share FROM ({drawn})"
    noise = f"SELECT {limbs}, ({more}) * {sign} AS n FROM ({sized})"
    return (
        f"SELECT {limbs}, CAST(sum(n) AS BIGINT) AS n FROM (SELECT {limbs}, n FROM __kept WHERE {inside} "
        f"UNION ALL {noise}) GROUP BY {limbs} HAVING sum(n) <> 0"
    )


def _repeated(rows: str) -> str:
    """SQL for rows as often as __copies says: a tuple is sorted, and gets its values, once for all its copies."""
    return f"SELECT * EXCLUDE (__copies, __copy) FROM (SELECT *, unnest(range(__copies)) AS __copy FROM ({rows}))"


def _weights(weights: AllWeights) -> str:
    if "negative" not in weights.view:
        return same_weights(weights.view["view"])
    view, negative = weights.view["view"], weights.view["negative"]
    return ", ".join(
        f"CASE WHEN n < 0 THEN {double(getattr(negative, part))} ELSE {double(getattr(view, part))} END AS __{part}"
        for part in WEIGHTS
    )


def _made(plan: RandomizedPlan, mechanism: NoisyCountsMechanism) -> Made:
    """The rows, how many were to be expected, and that signed noise is not off."""
    con, calls, true_rows = plan.source.con, plan.source.calls, plan.calibration.rows
    rows, net = fetch(con, f"SELECT count(*), coalesce(sum(sign(__weight)), 0) FROM {PUBLISHED}")[0]
    m = float(plan.calibration.tuples)
    if isinstance(mechanism, OneSided):
        mean, variance = mechanism.rows(calls, true_rows, m)
        return Made(int(rows), mean, variance, _room(variance, mechanism.q))
    variance = float(calls.value(f"{m!r} * _signed_variance({mechanism.a!r})"))
    if abs(float(net) - true_rows) > _room(variance, mechanism.a):
        raise ReleaseError("the noise is not what it should be, so nothing was published; run it again")
    return Made(int(rows), float(rows))


def _room(variance: float, ratio: float) -> float:
    """How far noise may be off before it is taken for a fault: so far that draws of 52 bits never come there.

    Whether to stop depends on the true number of rows, so it must not be a chance that the bound would notice: nine
    deviations of many draws, and of few the tail of a geometric number, ratio^x < 2^-80.
    """
    return 9 * math.sqrt(variance) + 80 * math.log(2) / -math.log(ratio) + 0.5
