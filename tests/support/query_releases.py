"""The releases that queries are asked of: the same people by each method, with public tables beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlpriv.release.open import OpenRelease
from support.releases import Made, Weighted, alpha_beta, frapp, random_view, write_release

Public = Mapping[str, tuple[Mapping[str, str], Sequence[tuple[Any, ...]]]]
COLUMNS = {
    "age": ("INTEGER", list(range(20, 40, 2))),
    "nationality": ("VARCHAR", ["AT", "DE", "US", None]),
    "score": ("INTEGER", list(range(81, 101, 2))),
}
REGIONS: Public = {
    "regions": (
        {"country": "VARCHAR", "continent": "VARCHAR", "weight": "DOUBLE"},
        [("AT", "Europe", 1.5), ("DE", "Europe", 2.0), ("US", "America", None), ("CA", "America", 1.0)],
    )
}
PUBLIC: Public = {
    **REGIONS,
    "visits": (
        {"code": "VARCHAR", "kind": "VARCHAR", "cost": "INTEGER"},
        [
            *[("AT", "x", 3), ("AT", "x", 3), ("AT", "y", -2), ("AT", None, 1), ("DE", "x", 5), ("DE", None, 7)],
            *[("US", "y", None), ("US", "y", 2), (None, "x", 1), (None, "y", 4), ("CA", "x", 9)],
        ],
    ),
    "o\"dd 'table": ({'a "b"': "BIGINT", "value": "VARCHAR"}, [(20, "p"), (22, "p"), (22, "q"), (None, "q")]),
    "texts": ({"number": "VARCHAR"}, [("20",), ("020",), ("22",), ("x",)]),
    "gaps": ({"code": "VARCHAR"}, [("AT",), ("DE",), (None,), (None,)]),
    "single": ({"code": "VARCHAR"}, [("AT",)]),
    "empty": ({"code": "VARCHAR", "cost": "INTEGER"}, []),
}
ODD = '"o""dd \'table"'
SHARES = [[1 / 10] * 10, [0.5, 0.25, 0.125, 0.125], [(i + 1) / 55 for i in range(10)]]
METHODS = ("alpha_beta", "frapp", "shares")


def made(method: str, path: Path) -> Made:
    """The release of a method."""
    view = random_view(COLUMNS, 120, 1)
    if method == "frapp":
        own, domain, *cross = frapp(0.4, 400, 120)
        return write_release(path, COLUMNS, view, (own, domain), cross=(cross[0], cross[1]), public=PUBLIC)
    if method == "shares":
        own, _ = alpha_beta(0.4, 0.02)
        powers = {1: Weighted(-40.0, 55.0, 70.0), 2: Weighted(900.0, -800.0, 300.0)}
        return write_release(path, COLUMNS, view, (own, powers), shares=SHARES, public=PUBLIC)
    return write_release(path, COLUMNS, view, alpha_beta(0.4, 0.02), public=PUBLIC)


def copies(opened: OpenRelease, query: str) -> bool:
    """Whether pairs of public rows are summed over the domain."""
    return "__priv_d2" in opened.explain(query).sql
