"""Copies from coins: the right distribution, and the same number on any engine that rounds as IEEE 754 says."""

import math
from itertools import accumulate

import duckdb
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from support import strategies

from sqlpriv.macros.catalog import inlined

Con = duckdb.DuckDBPyConnection
BITS = 2**52
HAIR = 1e-12

words = st.sampled_from([0, 1, BITS // 2, BITS - 2, BITS - 1]) | st.integers(0, BITS - 1)
keeps = st.sampled_from([0.375, 0.5, 1.0]) | st.floats(0.001, 0.999)
copies = st.integers(0, 60) | st.sampled_from([1000, 12_345, 10**6])


def ask(con: Con, expression: str) -> object:
    return con.execute(inlined(f"SELECT {expression}")).fetchall()[0][0]


def drawn(rows: int, p: float, share: str) -> str:
    return f"_kept_copies({rows}, {p!r}::DOUBLE, _kept_steps({rows}, {p!r}::DOUBLE), {share})"


def steps(rows: int, p: float) -> tuple[int, list[float]]:
    """As sql/operators/bag_coins.sql has it, operation by operation, in Python's floats."""
    mode = min(math.floor((rows + 1) * p), rows)
    reach = math.ceil(15 + math.sqrt(180 + 80 * (rows * p * (1 - p))))
    lowest, highest = max(mode - reach, 0), min(mode + reach, rows)
    down = [k * (1 - p) / ((rows - k + 1) * p) for k in range(mode, lowest, -1)]
    up = [(rows - k) * p / ((k + 1) * (1 - p)) for k in range(mode, highest)]
    below, above = (list(accumulate(ratios, float.__mul__, initial=1.0)) for ratios in (down, up))
    return lowest, list(accumulate(below[::-1] + above[1:]))


def kept_copies(rows: int, p: float, share: float) -> int:
    if rows == 1:
        return int(share >= 1 - p)
    lowest, sums = steps(rows, p)
    return lowest + sum(step <= share * sums[-1] for step in sums)


def geometric(share: float, q: float) -> int:
    """The same for noise."""
    powers = [(q, 1)]
    while len(powers) < 36:
        powers.append((powers[-1][0] * powers[-1][0], 2 * powers[-1][1]))
    product, number = 1.0, 0
    for power, count in reversed(powers):
        if 1 - share <= product * power:
            product, number = product * power, number + count
    return number


@pytest.mark.slow
@strategies.fewer(2)
@given(rows=copies, p=keeps, word=words)
@example(rows=10**6, p=0.5, word=BITS - 1)
@example(rows=2_000_000, p=0.375, word=0)
def test_every_engine_keeps_the_same_copies(con: Con, rows: int, p: float, word: int) -> None:
    """To the last bit: Python's floats are another engine."""
    share = word / BITS
    assert ask(con, drawn(rows, p, f"{share!r}::DOUBLE")) == kept_copies(rows, p, share)
    if rows <= 1000 or word == BITS - 1:
        assert ask(con, f"_kept_steps({rows}, {p!r}::DOUBLE)") == steps(rows, p)[1]


@pytest.mark.slow
@strategies.fewer(2)
@given(q=st.just(0.0) | st.floats(1e-9, 0.999), word=words)
@example(q=0.999, word=BITS - 1)
@example(q=0.5, word=BITS - 1)
@example(q=0.5, word=BITS // 2)
def test_every_engine_adds_the_same_noise(con: Con, q: float, word: int) -> None:
    share = word / BITS
    found = ask(con, f"_geometric({share!r}::DOUBLE, {q!r}::DOUBLE)")
    assert found == geometric(share, q)
    exact = math.log1p(-share) / math.log(q) if q else 0.0
    near = HAIR * max(1.0, exact) * max(1.0, 1 / (1 - q))
    assert math.floor(exact - near) <= found <= math.floor(exact + near)


def test_noise_at_the_ends_of_the_shares(con: Con) -> None:
    """Nothing at 0; at the last share as much as 52 bits can tell; at a power exactly the next number."""
    for q in (0.0, 0.001, 0.5, 0.999):
        assert ask(con, f"_geometric(0.0::DOUBLE, {q!r}::DOUBLE)") == 0
    assert ask(con, f"_geometric({1 - 1 / BITS!r}::DOUBLE, 0.5::DOUBLE)") == 52
    for j in range(1, 20):
        assert ask(con, f"_geometric({1 - 0.5**j!r}::DOUBLE, 0.5::DOUBLE)") == j
        assert ask(con, f"_geometric({1 - 0.5**j - 1 / BITS!r}::DOUBLE, 0.5::DOUBLE)") == j - 1


@pytest.mark.some(15)
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7, 45, 300, 5_000, 100_000, 10**6])
@pytest.mark.parametrize("p", [0.001, 0.1, 0.375, 0.5, 0.9, 0.999])
def test_the_copies_are_binomial(con: Con, rows: int, p: float) -> None:
    """The steps are the cumulative probabilities, and shares of every size find what scipy finds."""
    lowest, sums = steps(rows, p)
    law = stats.binom(rows, p)
    reached = np.array(sums) / sums[-1]
    assert reached == pytest.approx(law.cdf(lowest + np.arange(len(sums))), abs=1e-11)
    tails = [2.0**-power for power in range(1, 53)]
    shares = [0.0, *tails, *(1 - tail for tail in tails), *np.linspace(0.001, 0.999, 101)]
    listed = ", ".join(f"({share!r}::DOUBLE)" for share in map(float, shares))
    text = f"SELECT share, {drawn(rows, p, 'share')} AS kept FROM (VALUES {listed}) AS v(share)"
    for share, kept in con.execute(inlined(text)).fetchall():
        # scipy's own last digits count, too; the upper tail is compared by what is left.
        nearest = [law.cdf(kept - 1), law.cdf(kept)]
        if min(abs(step - share) for step in nearest) > 1e-11:
            assert kept == law.ppf(share) if share > 0 else kept in (0, lowest)
        assert 0 <= kept <= rows


def test_even_steps_through_the_shares_have_the_probabilities(con: Con) -> None:
    number = 2**14
    shares = f"(SELECT i / {number} AS share FROM range({number}) AS r(i))"
    for rows, p in ((4, 0.375), (20, 0.5), (45, 0.9)):
        each = f"SELECT {drawn(rows, p, 'share')} AS kept FROM {shares}"
        text = f"SELECT kept, count(*) FROM ({each}) GROUP BY 1"
        found = dict(con.execute(inlined(text)).fetchall())
        for kept in range(rows + 1):
            assert found.get(kept, 0) / number == pytest.approx(stats.binom.pmf(kept, rows, p), abs=1.01 / number)
    text = f"SELECT noise, count(*) FROM (SELECT _geometric(share, 0.3::DOUBLE) AS noise FROM {shares}) GROUP BY 1"
    found = dict(con.execute(inlined(text)).fetchall())
    for noise in range(15):
        assert found.get(noise, 0) / number == pytest.approx(0.7 * 0.3**noise, abs=1.01 / number)


def test_the_noise_of_a_signed_bag_is_two_sided(con: Con) -> None:
    number, a = 2**9, 0.4
    text = f"""SELECT noise, count(*) FROM (SELECT _two_sided(i / {number}, j / {number}, {a}::DOUBLE) AS noise
        FROM range({number}) AS r(i), range({number}) AS s(j)) GROUP BY 1"""
    found = dict(con.execute(inlined(text)).fetchall())
    for noise in range(-5, 6):
        expected = (1 - a) / (1 + a) * a ** abs(noise)
        assert found[noise] / number**2 == pytest.approx(expected, abs=3 / number)
