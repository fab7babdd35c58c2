"""Which columns go together, by their correlation: mean-square contingency, computed in the database.

Columns with many values are cut into parts of about as many rows; equal values stay together. Sensitive columns are a
group of their own. That choice reads the data: which columns go together in this table is told to whoever reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.split.layout import SENSITIVE
from sqlpriv.table.source import Source

_MANY, _PARTS = 32, 16
_STRONG = 0.1
"""From here on, columns stay together."""
_CODES = "__codes"


def correlated_groups(source: Source, roles: Mapping[str, str]) -> list[list[str]]:
    """The groups, that of the most columns first, and the sensitive columns last."""
    free = [c for c, role in roles.items() if role != SENSITIVE]
    groups = [{c} for c in free]
    if len(free) > 1:
        _write_codes(source, free)
        for (i, one), (j, other) in combinations(enumerate(free), 2):
            if _contingency(source, i, j) >= _STRONG:
                first, second = (next(g for g in groups if c in g) for c in (one, other))
                groups = [g for g in groups if g not in (first, second)] + [first | second]
    hidden = [c for c, role in roles.items() if role == SENSITIVE]
    ordered = sorted(([c for c in free if c in g] for g in groups), key=lambda g: (-len(g), free.index(g[0])))
    return [*ordered, *([hidden] if hidden else [])]


def _write_codes(source: Source, columns: list[str]) -> None:
    """Table __codes: for each column a number that is equal for equal values, and has not too many values."""
    kinds = ", ".join(f"count(DISTINCT {quoted(c)})" for c in columns)
    found = fetch(source.con, f"SELECT {kinds} FROM {source.table}")[0]
    listed = []
    for i, (column, many) in enumerate(zip(columns, found, strict=True)):
        rank = "dense_rank()" if many <= _MANY else "rank()"
        code = f"{rank} OVER (ORDER BY {quoted(column)}) - 1"
        listed.append(f"{code if many <= _MANY else f'({code}) * {_PARTS} // count(*) OVER ()'} AS c{i}")
    fetch(source.con, f"CREATE OR REPLACE TABLE {_CODES} AS SELECT {', '.join(listed)} FROM {source.table}")


def _contingency(source: Source, one: int, other: int) -> float:
    """0 where two columns are independent, 1 where one tells the other."""
    joint = f"SELECT c{one} AS one, c{other} AS other, count(*) AS together FROM {_CODES} GROUP BY ALL"
    sums = "sum(together) OVER (PARTITION BY one) AS ones, sum(together) OVER (PARTITION BY other) AS others"
    kinds = "count(DISTINCT one), count(DISTINCT other), sum(together)"
    text = inlined(f"_contingency(sum(_contingency_part(together, ones, others)), {kinds})")
    return float(fetch(source.con, f"SELECT {text} FROM (SELECT *, {sums} FROM ({joint}))")[0][0])
