"""The releases that queries are asked of: the same people by each method, with public tables beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from releases import Made, Weighted, alpha_beta, frapp, random_view, write_release

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
SHARES = [[1 / 10] * 10, [0.5, 0.25, 0.125, 0.125], [(i + 1) / 55 for i in range(10)]]
METHODS = ("alpha_beta", "frapp", "shares")


def made(method: str, path: Path, public: Public = REGIONS) -> Made:
    """The release of a method."""
    view = random_view(COLUMNS, 120, 1)
    if method == "frapp":
        own, domain, *cross = frapp(0.4, 400, 120)
        return write_release(path, COLUMNS, view, (own, domain), cross=(cross[0], cross[1]), public=public)
    if method == "shares":
        own, _ = alpha_beta(0.4, 0.02)
        powers = {1: Weighted(-40.0, 55.0, 70.0), 2: Weighted(900.0, -800.0, 300.0)}
        return write_release(path, COLUMNS, view, (own, powers), shares=SHARES, public=public)
    return write_release(path, COLUMNS, view, alpha_beta(0.4, 0.02), public=public)
