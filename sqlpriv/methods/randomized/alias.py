"""Draw a value by public shares from one 60-bit word, with the alias tables of udfs/draws.py.

What is drawn has not quite the shares asked for, but shares that are known exactly, and these are the ones that the
release states and the estimator uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlpriv.engine import open_memory
from sqlpriv.macros.catalog import inlined
from sqlpriv.udfs.draws import ALIAS, register


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
        picked = inlined(f"_alias_pick(__word, {size}, {_list(self.cuts)}, {_list(self.others)})")
        return picked.replace("__word", "{}")


def _list(numbers: Sequence[int]) -> str:
    return f"CAST([{', '.join(map(str, numbers))}] AS BIGINT[])"


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
