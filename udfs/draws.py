"""The draws that SQL cannot say: a Poisson number by a uniform one, and the alias table of some shares.

Both go step by step until something is reached, in whole numbers or doubles that must come out the same everywhere, so
that the same key gives the same release. Only publishing calls them: a macro over a Python function fails in every
other client, so no public macro does. A release needs few Poisson numbers, and they are asked for without DuckDB: to
let it call Python, numpy and pyarrow would have to be loaded, which takes a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import duckdb

ALIAS = "__priv_alias"
_WORD = 2**60


def register(con: duckdb.DuckDBPyConnection) -> None:
    """Let DuckDB make alias tables; once is enough for a database, and DuckDB 1.5 refuses a second registration."""
    if con.execute(f"SELECT 1 FROM duckdb_functions() WHERE function_name = '{ALIAS}'").fetchall():
        return
    numbers = duckdb.list_type("BIGINT")
    con.create_function(
        ALIAS,
        alias_table,
        [duckdb.list_type("DOUBLE")],
        duckdb.struct_type({"cuts": numbers, "others": numbers, "drawn": numbers}),
    )


def poisson(mean: float, share: float) -> int:
    """The Poisson number that a uniform share stands for: values are lined up from the most likely outwards.

    Any order of the values would do; from the middle it takes about as many steps as the standard deviation, and small
    probabilities are added last, where they count least.

    >>> poisson(0.0, 0.5), poisson(3.0, 0.0)
    (0, 3)
    """
    if mean <= 0:
        return 0
    middle = int(mean)
    likely = math.exp(_log_poisson(middle, mean))
    low, high = middle, middle
    at_low = at_high = likely
    reached = likely
    while share >= reached:
        down = at_low * low / mean if low > 0 else 0.0
        up = at_high * mean / (high + 1)
        if down == up == 0.0:
            return high  # what is left is rounding
        if down >= up:
            low, at_low = low - 1, down
            reached += down
            found = low
        else:
            high, at_high = high + 1, up
            reached += up
            found = high
        if share < reached:
            return found
    return middle


def _log_poisson(k: int, mean: float) -> float:
    """The logarithm of the probability of k, without the cancellation of large terms.

    With k! by Stirling's series the large terms meet as k log(k/mean) - (k - mean), which is small near the mean.
    """
    if k < 20:
        return k * math.log(mean) - mean - math.lgamma(k + 1)
    series = 1 / (12 * k) - 1 / (360 * k**3) + 1 / (1260 * k**5)
    gap = (mean - k) / k
    return k * (math.log1p(gap) - gap) - 0.5 * math.log(2 * math.pi * k) - series


def alias_table(shares: Sequence[float]) -> dict[str, list[int]]:
    """How one 60-bit word draws by these shares, which need not add up to 1: the alias method, in whole numbers.

    The word modulo the size picks a cell, the rest of the word decides between the cell's own value, below its cut, and
    the other one to which it lends its room. `drawn` is how many of the words, of all that count, draw each value.

    >>> alias_table([3.0, 1.0])["others"]
    [0, 0]
    """
    size = len(shares)
    room = _WORD // size
    whole = [Fraction(s) for s in shares]
    total = sum(whole, Fraction(0))
    wanted = [round(s / total * size * room) for s in whole]
    wanted[0] += size * room - sum(wanted)
    cuts, others = [room] * size, list(range(size))
    small = [i for i, w in enumerate(wanted) if w < room]
    large = [i for i, w in enumerate(wanted) if w > room]
    left = list(wanted)
    while small and large:
        low, high = small.pop(), large[-1]
        cuts[low], others[low] = left[low], high
        left[high] -= room - left[low]
        if left[high] <= room:
            large.pop()
            if left[high] < room:
                small.append(high)
    drawn = [0] * size
    for i, (cut, other) in enumerate(zip(cuts, others, strict=True)):
        drawn[i] += cut
        drawn[other] += room - cut
    return {"cuts": cuts, "others": others, "drawn": drawn}
