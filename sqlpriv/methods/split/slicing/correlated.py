"""Which columns go together, by their correlation: mean-square contingency, computed from the frequency table.

Columns with many values are cut into parts of about as many rows; equal values stay together. Sensitive columns are a
group of their own. That choice reads the data: the groups reveal which columns are correlated in this table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.split.layout import SENSITIVE
from sqlpriv.table.engines.rows import COUNT
from sqlpriv.table.frequencies import Frequencies, count_combinations
from sqlpriv.table.source import Source

_MANY, _PARTS = 32, 16
_STRONG = 0.1
"""From here on, columns stay together."""


def correlated_groups(source: Source, roles: Mapping[str, str]) -> list[list[str]]:
    """The groups, that of the most columns first, and the sensitive columns last."""
    free = [c for c, role in roles.items() if role != SENSITIVE]
    groups = [{c} for c in free]
    if len(free) > 1:
        found = count_combinations(source, (), list(roles))
        codes = code_values(found, free)
        for (i, one), (j, other) in combinations(enumerate(free), 2):
            if contingency(codes, i, j) >= _STRONG:
                first, second = (next(g for g in groups if c in g) for c in (one, other))
                groups = [g for g in groups if g not in (first, second)] + [first | second]
        source.scratch.drop(codes, found.relation)
    hidden = [c for c, role in roles.items() if role == SENSITIVE]
    ordered = sorted(([c for c in free if c in g] for g in groups), key=lambda g: (-len(g), free.index(g[0])))
    return [*ordered, *([hidden] if hidden else [])]


def code_values(found: Frequencies, columns: Sequence[str]) -> Relation:
    """For each column a number, c0 and so on, equal for equal values and with not too many values; n: the rows."""
    kinds = ", ".join(f"count(DISTINCT {quoted(c)})" for c in columns)
    numbers = fetch(found.source.con, f"SELECT {kinds} FROM {found.relation.name}")[0]
    listed = [f"{COUNT} AS n"]
    for i, (column, many) in enumerate(zip(columns, numbers, strict=True)):
        name = quoted(column)
        if many <= _MANY:
            listed.append(f"dense_rank() OVER (ORDER BY {name}) - 1 AS c{i}")
        else:
            # How many rows have a smaller value: with those that have the same, less these.
            before = f"sum({COUNT}) OVER (ORDER BY {name}) - sum({COUNT}) OVER (PARTITION BY {name})"
            listed.append(f"CAST({before} AS BIGINT) * {_PARTS} // {found.rows} AS c{i}")
    return found.source.scratch.table(f"SELECT {', '.join(listed)} FROM {found.relation.name}", "codes")


def contingency(codes: Relation, one: int, other: int) -> float:
    """0 where two columns are independent, 1 where one determines the other."""
    joint = (
        f"SELECT c{one} AS one, c{other} AS other, CAST(sum(n) AS BIGINT) AS together FROM {codes.name} GROUP BY ALL"
    )
    sums = "sum(together) OVER (PARTITION BY one) AS ones, sum(together) OVER (PARTITION BY other) AS others"
    kinds = "count(DISTINCT one), count(DISTINCT other), sum(together)"
    text = inlined(f"_contingency(sum(_contingency_part(together, ones, others)), {kinds})")
    return float(fetch(codes.con, f"SELECT {text} FROM (SELECT *, {sums} FROM ({joint}))")[0][0])
