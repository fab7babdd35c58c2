"""Draw noise over the domain, as SQL: element numbers first, values last.

Noise is drawn by number: Poisson(-m ln(1 - beta)) draws with replacement from m elements, made distinct. They leave
every element in the view independently with probability exactly beta, in one pass and without a rejection loop.
Disjoint ranges of numbers are independent, so the domain is done in ranges of about two million draws. Memory does not
grow with the noise, each range is sorted by itself, and the whole comes out in the order of the elements, which says
nothing.

By public shares a value is drawn from one 60-bit word, with the alias tables of udfs/draws.py. What is drawn has not
quite the shares asked for, but shares that are known exactly, and these are the ones that the release declares and the
estimator uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlpriv.core.engine import fetch, open_memory
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.noisy.tuples import Elements
from sqlpriv.udfs.draws import ALIAS, poisson, register

_DRAWS = 2_000_000


@dataclass(frozen=True)
class Draws:
    """The noise of one range of the top limb: SQL for its elements, perhaps with repetitions."""

    low: int
    high: int
    sql: str

    @property
    def inside(self) -> str:
        """SQL for whether an element is in the range."""
        return f"e0 >= {self.low} AND e0 < {self.high}"


def uniform_draws(calls: Calls, elements: Elements, beta: float, prefix: str) -> Iterator[Draws]:
    """Uniform noise, range by range of the top limb."""
    top = elements.limbs[0]
    mean = float(calls.row("alpha_beta_draws", float(elements.count), beta)[0])
    ranges = max(1, min(top, math.ceil(mean / _DRAWS)))
    ends = [(top * r // ranges, top * (r + 1) // ranges) for r in range(ranges)]
    numbers = _numbers(calls, [f"{mean!r} * ({high - low} / {top})" for low, high in ends], prefix, "noise|{}|number")
    for r, ((low, high), draws) in enumerate(zip(ends, numbers, strict=True)):
        sizes = [high - low, *elements.limbs[1:]]
        words = [f"{{}} % {size}" + (f" + {low}" if i == 0 and low else "") for i, size in enumerate(sizes)]
        yield Draws(low, high, _drawn(words, elements.columns, draws, prefix, f"noise|{r}"))


def _numbers(calls: Calls, means: Sequence[str], prefix: str, purpose: str) -> list[int]:
    """A Poisson number for each of the means, SQL themselves; in the purpose of its draw {} is the place of a mean."""
    listed = ", ".join(f"({i}, CAST({m} AS DOUBLE), {literal(purpose.format(i))})" for i, m in enumerate(means))
    share = inlined(f"_coin_share(_coin_bits({literal(prefix)}, purpose))")
    rows = fetch(calls.con, f"SELECT mean, {share} FROM (VALUES {listed}) AS v(i, mean, purpose) ORDER BY i")
    return [poisson(*row) for row in rows]


def source_draws(calls: Calls, elements: Elements, rate: float, aliases: Sequence[Alias], prefix: str) -> Draws:
    """Noise that follows shares: every attribute drawn by its own alias table, the slot uniformly, all in one range."""
    (draws,) = _numbers(calls, [repr(rate)], prefix, "noise|number")
    ids = [f"w{a}" for a in range(len(elements.digits))]
    words = [*(alias.pick for alias in aliases), f"{{}} % {elements.digits[-1].size}"]
    drawn = _drawn(words, ids, draws, prefix, "noise")
    return Draws(0, elements.limbs[0], f"SELECT {elements.select(ids)} FROM ({drawn})")


def _drawn(words: Sequence[str], names: Sequence[str], draws: int, prefix: str, purpose: str) -> str:
    """SQL for so many draws; each element of `words` says what becomes of a 60-bit word, written {}.

    A block makes four draws out of as many hashes as a draw has words, since a hash holds four words.
    """
    hashes = range(len(words))
    bits = ", ".join(
        inlined(
            f"_coin_bits({literal(prefix)}, {literal(purpose + '|')} || CAST(block AS VARCHAR) || {literal(f'|{h}')})"
        )
        + f" AS h{h}"
        for h in hashes
    )

    def listed(most: int) -> str:
        places = [[divmod(r * len(words) + w, 4) for r in range(most)] for w in hashes]
        columns = (
            f"unnest([{', '.join(inlined(f'_coin_word(h{h}, {p})') for h, p in row)}]) AS {name}"
            for row, name in zip(places, names, strict=True)
        )
        return ", ".join(columns)

    full, rest = divmod(draws, 4)
    drawn = f"SELECT {listed(4)} FROM (SELECT {bits} FROM range({full}) AS r(block))"
    if rest:
        drawn += f" UNION ALL SELECT {listed(rest)} FROM (SELECT {bits} FROM (VALUES ({full})) AS r(block))"
    picked = ", ".join(f"{word.replace('{}', name)} AS {name}" for word, name in zip(words, names, strict=True))
    return f"SELECT {picked} FROM ({drawn})"


@dataclass(frozen=True)
class Alias:
    """An alias table: below `cuts` a cell is its own value, else that of `others`; and the shares that this makes."""

    cuts: tuple[int, ...]
    others: tuple[int, ...]
    shares: tuple[Fraction, ...]

    @property
    def pick(self) -> str:
        """SQL for the number drawn; {} stands for the word."""
        size = len(self.cuts)
        if len(set(self.shares)) == 1 and all(other == i for i, other in enumerate(self.others)):
            return f"{{}} % {size}"
        cuts, others = (f"CAST({literal(numbers)} AS BIGINT[])" for numbers in (self.cuts, self.others))
        return inlined(f"_alias_pick(__word, {size}, {cuts}, {others})").replace("__word", "{}")


def make_alias(shares: Sequence[float] | None, size: int) -> Alias:
    """The alias table of some shares, which need not add up to 1; all equal when there are none.

    >>> [str(s) for s in make_alias(None, 4).shares]
    ['1/4', '1/4', '1/4', '1/4']
    """
    given = [1.0] * size if shares is None else [float(s) for s in shares]
    # A database of its own: a function once registered would be there for all that the caller runs.
    with open_memory(threads=1) as con:
        register(con)
        found = con.execute(f"SELECT {ALIAS}(CAST('{given!r}' AS DOUBLE[]))").fetchall()[0][0]
    words = sum(found["drawn"])
    return Alias(tuple(found["cuts"]), tuple(found["others"]), tuple(Fraction(d, words) for d in found["drawn"]))
