"""Bounds of estimates, in the words of sql/estimates/estimate.sql: each formula is inlined once and then filled in."""

from __future__ import annotations

import re
from functools import cache
from statistics import NormalDist

from sqlpriv.errors import InputError
from sqlpriv.macros import catalog
from sqlpriv.rewrite.estimate.texts import number

ALONE = re.compile(r'[\w.]+|"\w+"[.]"\w+"')
ONE_DEVIATION = number(1.0)
_PLACE = re.compile(r"__argument_(\d)")


def squared_quantile(confidence: float) -> str:
    """The square of the z of a two-sided interval, as SQL text."""
    if not 0 < confidence < 1:
        raise InputError("the confidence must lie between 0 and 1, as in 0.95")
    return number(NormalDist().inv_cdf((1 + confidence) / 2) ** 2)


def formula(name: str, *arguments: str) -> str:
    """A helper macro of sql/ with these arguments in it."""
    safe = [a if ALONE.fullmatch(a) else f"({a})" for a in arguments]
    return _PLACE.sub(lambda found: safe[int(found.group(1))], _template(name, len(arguments)))


def widest(bounds: list[tuple[str, str]]) -> tuple[str, str]:
    """The lowest and the highest; none, where the first has none."""
    if len(bounds) == 1:
        return bounds[0]
    (low, high), (view_low, view_high) = bounds
    return (
        f"CASE WHEN {low} IS NOT NULL THEN least({low}, {view_low}) END",
        f"CASE WHEN {high} IS NOT NULL THEN greatest({high}, {view_high}) END",
    )


@cache
def _template(name: str, arity: int) -> str:
    return catalog.inlined(f"{name}({', '.join(f'__argument_{i}' for i in range(arity))})")
