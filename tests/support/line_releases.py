"""Tables to be published along a Hilbert curve, and what is best for them by brute force."""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from oracles import lines
from oracles.grids import grid_floor

from sqlpriv.core.engine import fetch
from sqlpriv.methods.generalized.hilbert.curve import line_of
from sqlpriv.methods.generalized.plan import BoxPlan
from support.policies import policy_text, role, write_policy

Values = tuple[object, ...]
COLUMNS = {
    "age": role("quasi-identifier"),
    "zip": '{ role = "quasi-identifier", hierarchy = "mask:3" }',
    "born": role("quasi-identifier"),
    "illness": role("sensitive"),
}
TYPES = "age INTEGER, zip VARCHAR, born DATE, illness VARCHAR"


def some_rows(seed: int, count: int) -> list[Values]:
    """Rows with equal ones, NULLs and outliers among them."""
    draw = random.Random(seed)
    return [
        (
            draw.choice([None, draw.randint(20, 24), draw.randint(20, 80)]),
            draw.choice([None, "130", "131", "148", "149", "200"]),
            draw.choice([None, *(datetime.date(1990, 1, 1) + datetime.timedelta(d) for d in (0, 1, 30, 31, 300))]),
            draw.choice("abcdd"),
        )
        for _ in range(count)
    ]


def sql_of(rows: Sequence[Values], types: str = TYPES) -> str:
    """The table people with these rows."""
    listed = ", ".join(f"({', '.join(_literal(v) for v in row)})" for row in rows)
    return f"CREATE TABLE people ({types}); INSERT INTO people VALUES {listed}"


def _literal(value: object) -> str:
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"


def write(
    folder: Path, sql: str, require: str = "k = 2", columns: Mapping[str, str] = COLUMNS, release: str = ""
) -> Path:
    """A policy for the method, beside its table."""
    text = policy_text(columns, require, release).replace('"generalize"', '"hilbert"')
    return write_policy(folder, text, sql)


def losses(plan: BoxPlan, k: int) -> tuple[float, float]:
    """What the groups of this plan lose on the line, a cell on average; and the least that any groups of it lose.

    It is measured between the points of the grid that rows are at. Published cells go on to the next one.
    """
    con, (_, placed) = plan.source.con, line_of(plan.scan, plan.source.scratch, k)
    listed = ", ".join(f'f."{name}"' for name in ("age", "zip", "born"))
    found = fetch(
        con,
        f"SELECT p.place, c.class, {listed}, CAST(sum(f.__priv_n) AS BIGINT) FROM {placed} AS p "
        f"JOIN {plan.scan.frequencies} AS f ON p.row = f.rowid JOIN {plan.boxed.classed} AS c ON c.row = f.rowid "
        "GROUP BY ALL ORDER BY p.place",
    )
    rows: dict[tuple[object, ...], int] = {}
    for place, group, age, code, born, n in found:
        point = (place, group, grid_floor(age), code, grid_floor(born))
        rows[point] = rows.get(point, 0) + int(n)
    assert [place for place, *_ in rows] == list(range(len(rows))), "rows at one point are parted"
    values = list(zip(*(point[2:] for point in rows), strict=True))
    numbers = [_ranks(column) for column in values]
    points = [(tuple(n[i] for n in numbers), n_rows) for i, n_rows in enumerate(rows.values())]
    extents = [_in_range(values[0]), _in_mask(values[1]), _in_range(values[2])]
    groups: dict[object, list[lines.Point]] = {}
    for (_, group, *_rest), point in zip(rows, points, strict=True):
        groups.setdefault(group, []).append(point)
    cells = 3 * sum(rows.values())
    own = sum(lines.cost(group, extents) for group in groups.values())
    return own / cells, lines.least(points, extents, k) / cells


def _ranks(column: Sequence[object]) -> list[int]:
    """The places of values among the different ones as they are first met: oracles look them up again."""
    return [list(dict.fromkeys(column)).index(value) for value in column]


def _in_range(column: Sequence[object]) -> lines.Extent:
    different = list(dict.fromkeys(column))
    there = [v for v in different if v is not None]

    def extent(numbers: Sequence[int]) -> float:
        held = {different[n] for n in numbers}
        if None in held:
            return float(len(held) > 1)
        width = max(there) - min(there)
        return (max(held) - min(held)) / width if width else 0.0

    return extent


def _in_mask(column: Sequence[object]) -> lines.Extent:
    """The least mask over some texts, by how many of the texts there are it stands for; NULL is under * alone."""
    different = list(dict.fromkeys(column))

    def extent(numbers: Sequence[int]) -> float:
        held = {different[n] for n in numbers}
        if len(held) == 1:
            return 0.0
        if None in held:
            return 1.0
        for kept in (2, 1, 0):
            starts = {str(v)[:kept] for v in held}
            if len(starts) == 1 and kept:
                below = [v for v in different if v is not None and str(v)[:kept] in starts]
                return (len(below) - 1) / (len(different) - 1)
        return 1.0

    return extent
