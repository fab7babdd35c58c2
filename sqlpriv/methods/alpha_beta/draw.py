"""The randomized view as SQL, element numbers first, values last.

    __excluded  elements that noise must not fall on: those of the instance, and of the earlier views of a sequence
    __kept      elements of these that are in the view by their own coin

Noise is drawn by number: Poisson(-m ln(1 - beta)) draws with replacement from m elements, made distinct, leave every
element in the view independently with probability exactly beta, in one pass and without a rejection loop. Disjoint
ranges of numbers are independent, so the domain is done in ranges of about two million draws: memory does not grow with
the noise, each range is sorted by itself, and the whole comes out in the order of the elements, which says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

from sqlpriv.engine import fetch, open_memory
from sqlpriv.macros.catalog import inlined
from sqlpriv.macros.expand import expand
from sqlpriv.methods.randomized.alias import Alias
from sqlpriv.methods.randomized.elements import Elements
from sqlpriv.sqltext import literal
from sqlpriv.table.source import Source
from sqlpriv.udfs.draws import poisson

_DRAWS = 2_000_000


@dataclass(frozen=True)
class Draws:
    """The noise of one range of the top limb: SQL for its elements, perhaps with repetitions."""

    low: int
    high: int
    sql: str


def write_kept(source: Source, elements: Elements, keep: str, prefix: str, persist: float | None) -> None:
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


def uniform_draws(elements: Elements, beta: float, prefix: str) -> Iterator[Draws]:
    """Uniform noise, range by range of the top limb."""
    top = elements.limbs[0]
    with open_memory(threads=1) as con:
        asked = f"SELECT draws FROM priv.alpha_beta_draws({float(elements.count)!r}, {beta!r})"
        mean = float(fetch(con, expand(asked))[0][0])
        ranges = max(1, min(top, math.ceil(mean / _DRAWS)))
        ends = [(top * r // ranges, top * (r + 1) // ranges) for r in range(ranges)]
        numbers = _numbers(con, [f"{mean!r} * ({high - low} / {top})" for low, high in ends], prefix, "noise|{}|number")
    for r, ((low, high), draws) in enumerate(zip(ends, numbers, strict=True)):
        sizes = [high - low, *elements.limbs[1:]]
        words = [f"{{}} % {size}" + (f" + {low}" if i == 0 and low else "") for i, size in enumerate(sizes)]
        yield Draws(low, high, _drawn(words, elements.columns, draws, prefix, f"noise|{r}"))


def source_draws(elements: Elements, rate: float, aliases: Sequence[Alias], prefix: str) -> Draws:
    """Noise that follows shares: every attribute drawn by its own alias table, the slot uniformly, all in one range."""
    with open_memory(threads=1) as con:
        (draws,) = _numbers(con, [repr(rate)], prefix, "noise|number")
    ids = [f"w{a}" for a in range(len(elements.digits))]
    words = [*(alias.pick for alias in aliases), f"{{}} % {elements.digits[-1].size}"]
    limbs = ", ".join(f"{n} AS {e}" for n, e in zip(elements.number(ids), elements.columns, strict=True))
    return Draws(0, elements.limbs[0], f"SELECT {limbs} FROM ({_drawn(words, ids, draws, prefix, 'noise')})")


def _numbers(con: duckdb.DuckDBPyConnection, means: Sequence[str], prefix: str, purpose: str) -> list[int]:
    """A Poisson number for each of the means, SQL themselves; in the purpose of its coin {} is the place of a mean."""
    listed = ", ".join(f"({i}, CAST({m} AS DOUBLE), {literal(purpose.format(i))})" for i, m in enumerate(means))
    share = inlined(f"_coin_share(_coin_bits({literal(prefix)}, purpose))")
    rows = fetch(con, f"SELECT mean, {share} FROM (VALUES {listed}) AS v(i, mean, purpose) ORDER BY i")
    return [poisson(*row) for row in rows]


def view_elements(elements: Elements, draws: Draws) -> str:
    """SQL for the distinct elements of the view in a range, without an order."""
    limbs = ", ".join(elements.columns)
    inside = f"e0 >= {draws.low} AND e0 < {draws.high}"
    return (
        f"SELECT {limbs} FROM __kept WHERE {inside} UNION ALL "
        f"SELECT {limbs} FROM (SELECT DISTINCT {limbs} FROM ({draws.sql})) "
        f"ANTI JOIN (SELECT {limbs} FROM __excluded WHERE {inside}) USING ({limbs})"
    )


def element_text(elements: Elements) -> str:
    """SQL for an element as text: what its coins are thrown for."""
    return " || ',' || ".join(f"CAST({e} AS VARCHAR)" for e in elements.columns)


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
