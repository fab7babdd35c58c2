"""Write a bag: for every tuple how many of its rows are kept, and how much noise it has, by a coin each.

    __kept   elements of the table with `n`, the rows of theirs that are kept

A coin is thrown for a tuple and not for a row: how many of its copies are kept is a binomial number, made from the one
coin. Noise has the probability q on every tuple of the domain, in the table or not, so it is drawn like the noise of an
alpha-beta view, and what is drawn has one row more for each further success of a geometric number. Where noise follows
shares, it is drawn with the largest q, and a coin of its own decides whether a tuple with a smaller one is left. Kept
rows and noise of a tuple are added up before anything is sorted or written: which is which is nowhere to be seen.
"""

from __future__ import annotations

import math

from sqlpriv.engine import fetch
from sqlpriv.errors import ReleaseError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.alpha_beta.bags.weights import make_weights
from sqlpriv.methods.alpha_beta.draw import Draws, element_text, uniform_draws
from sqlpriv.methods.method import Edition, Made, Request
from sqlpriv.methods.randomized.file import PUBLISHED, WEIGHTS, same_weights, shown_rows, write_facts, write_sorted
from sqlpriv.methods.randomized.plan import RandomizedPlan
from sqlpriv.methods.randomized.weights import AllWeights
from sqlpriv.release.file import double
from sqlpriv.sqltext import literal


def write(plan: RandomizedPlan, edition: Edition, request: Request, *, tells_size: bool) -> Made:
    """All tables of the release, into the file that is attached."""
    coins, con = plan.terms.coins, plan.source.con
    weights = make_weights(plan.source.calls, coins, by_shares=plan.terms.by_value is not None)
    numbers = dict(coins) | ({"n_public": plan.terms.n_public} if tells_size else {})
    write_facts(plan, edition, weights, numbers)
    _write_kept(plan, edition.prefix)
    _write_ratios(plan)
    noisy = coins["q"] if "q" in coins else plan.source.calls.value(f"_noisy_share({coins['a']!r})")
    ranges = list(uniform_draws(plan.elements, noisy, edition.prefix))
    for done, draws in enumerate(ranges):
        write_sorted(plan, _counts(plan, draws, edition.prefix))
        rows = _repeated(shown_rows(plan, _weights(weights), ["abs(n) AS __copies"]))
        how = f"CREATE TABLE {PUBLISHED} AS" if done == 0 else f"INSERT INTO {PUBLISHED}"
        fetch(con, f"{how} {rows}")
        if request.on_progress is not None:
            request.on_progress((done + 1) / len(ranges))
    return _made(plan)


def _coin(plan: RandomizedPlan, prefix: str, purpose: str) -> str:
    return inlined(f"_coin_share(_coin_bits({literal(prefix)}, '{purpose}|' || {element_text(plan.elements)}))")


def _write_kept(plan: RandomizedPlan, prefix: str) -> None:
    elements, coins = plan.elements, plan.terms.coins
    ids = [*(f"i{a}" for a in range(len(plan.columns))), "0"]
    limbs = ", ".join(f"{n} AS {e}" for n, e in zip(elements.number(ids), elements.columns, strict=True))
    kept = f"SELECT {limbs}, copies AS n FROM __tuples"
    if "p" in coins:
        p, listed = repr(coins["p"]), ", ".join(elements.columns)
        steps = inlined(f"SELECT copies, _kept_steps(copies, {p}) AS steps FROM (SELECT DISTINCT copies FROM __tuples)")
        thrown = f"SELECT *, {_coin(plan, prefix, 'keep')} AS share FROM (SELECT {limbs}, copies FROM __tuples)"
        kept = (
            f"SELECT * FROM (SELECT {listed}, {inlined(f'_kept_copies(copies, {p}, steps, share)')} AS n "
            f"FROM ({thrown}) JOIN ({steps}) USING (copies)) WHERE n > 0"
        )
    fetch(plan.source.con, f"CREATE OR REPLACE TABLE __kept AS {kept}")


def _write_ratios(plan: RandomizedPlan) -> None:
    """Table __ratios: for each value of the column with shares, how much noise is left, and powers of its q."""
    if plan.terms.by_value is None:
        return
    ratios, most = literal(plan.terms.by_value.ratios), plan.terms.coins["q"]
    each = f"SELECT unnest(range({len(plan.terms.by_value.ratios)})) AS id, unnest(CAST({ratios} AS DOUBLE[])) AS q"
    made = inlined(f"SELECT id, _part_of_noise(q, {most!r}) AS part, _squares(q) AS squares")
    fetch(plan.source.con, f"CREATE OR REPLACE TABLE __ratios AS {made} FROM ({each})")


def _of_value(plan: RandomizedPlan, what: str) -> str:
    """SQL for a column of __ratios, by an element."""
    by_value = plan.terms.by_value
    assert by_value is not None
    place = next(i for i, c in enumerate(plan.columns) if c.name == by_value.column)
    number = plan.elements.digits[place].of(plan.elements.columns)
    return f"(SELECT list({what} ORDER BY id) FROM __ratios)[1 + {number}]"


def _counts(plan: RandomizedPlan, draws: Draws, prefix: str) -> str:
    """SQL for the elements of the view in a range, with how often they are there; below 0 where rows count -1."""
    limbs, coins = ", ".join(plan.elements.columns), plan.terms.coins
    inside = f"e0 >= {draws.low} AND e0 < {draws.high}"
    drawn = f"SELECT DISTINCT {limbs} FROM ({draws.sql})"
    more = inlined(f"1 + _geometric(share, {coins.get('q', coins.get('a'))!r})")
    if plan.terms.by_value is not None:
        drawn = f"SELECT * FROM ({drawn}) WHERE {_coin(plan, prefix, 'thin')} < {_of_value(plan, 'part')}"
        more = inlined(f"1 + _geometric_of(share, {_of_value(plan, 'squares')})")
    sign = f"CASE WHEN {_coin(plan, prefix, 'sign')} < 0.5 THEN 1 ELSE -1 END" if "a" in coins else "1"
    thrown = f"SELECT *, {_coin(plan, prefix, 'copies')} AS share FROM ({drawn})"
    noise = f"SELECT {limbs}, ({more}) * {sign} AS n FROM ({thrown})"
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


def _made(plan: RandomizedPlan) -> Made:
    """The rows, how many were to be expected, and that the noise of a signed bag is not off."""
    con, terms = plan.source.con, plan.terms
    rows, net = fetch(con, f"SELECT count(*), coalesce(sum(sign(__weight)), 0) FROM {PUBLISHED}")[0]
    m = float(terms.tuples)
    if "q" in terms.coins:
        noise = ("bag_rows", terms.coins["q"]) if terms.by_value is None else ("bag_share_rows", terms.by_value.ratios)
        moments = plan.source.calls.row(noise[0], terms.rows, m, terms.coins["p"], noise[1])
        return Made(int(rows), float(moments[0]), float(moments[1]), _room(float(moments[1]), terms.coins["q"]))
    variance = float(plan.source.calls.value(f"{m!r} * _signed_variance({terms.coins['a']!r})"))
    if abs(float(net) - terms.rows) > _room(variance, terms.coins["a"]):
        raise ReleaseError("the noise is not what its coins make, so nothing was published; run it again")
    return Made(int(rows), float(rows))


def _room(variance: float, ratio: float) -> float:
    """How far noise may be off before it is taken for a fault: so far that coins of 52 bits never come there.

    Whether to stop depends on the true number of rows, so it must not be a chance that the bound would notice: nine
    deviations of many coins, and of few the tail of a geometric number, ratio^x < 2^-80.
    """
    return 9 * math.sqrt(variance) + 80 * math.log(2) / -math.log(ratio) + 0.5
