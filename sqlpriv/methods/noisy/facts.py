"""What `plan` and `publish` report of a randomized release: the guarantee, who is covered, what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.facts import Facts, Grid, Line, Part
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Written
from sqlpriv.methods.noisy.attackers import Attacker, Background, attacker_grid, linking_prior, list_attackers
from sqlpriv.methods.noisy.calibration import Calibration
from sqlpriv.methods.noisy.column_sets import GOOD_ERROR, ColumnSet
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.version import __version__

_BAR = 30


@dataclass(frozen=True)
class Alternatives:
    """What `plan` reports beside a calibration: what other gammas cost, why it is refused, what could be instead."""

    costs: Sequence[Calibration]
    refusals: Sequence[str]
    sets: Sequence[ColumnSet]
    coarser: Mapping[str, int]
    bytes: int


def planned_facts(method: str, found: Calibration, alternatives: Alternatives) -> Facts:
    """What would be published, and why it is refused if it is; nothing is approved here that publish refuses."""
    curve, refusals, sets = alternatives.costs, alternatives.refusals, alternatives.sets
    numbers = {
        **_numbers(method, found),
        "bytes": alternatives.bytes,
        "half_domain_error": found.half_domain_error,
        "small_count_error": found.small_error,
        "possible": found.possible,
        "dp_epsilon": _finite(found.epsilon),
        "independent_posterior": found.independent_posterior,
        "exclusive_posterior": found.exclusive_posterior,
    }
    costs = [
        {"gamma": t.gamma, "expected_rows": t.expected_rows, "half_domain_error": t.half_domain_error} for t in curve
    ]
    content = {
        **numbers,
        **_promised(found),
        "refused": list(refusals),
        "column_sets": [s.to_json() for s in sets],
        "coarsen": dict(alternatives.coarser),
        "warnings": list(found.for_the_owner),
        "curve": costs,
    }
    parts = [
        *(Line(text, "REFUSED") for text in refusals),
        *_promise_parts(found),
        Grid((), tuple((k, v) for k, v in numbers.items() if v is not None and k != "method")),
        _cost_grid(curve, found.gamma),
        *set_parts(sets, alternatives.coarser),
    ]
    return Facts(method, content, tuple(parts), found.for_the_owner, passed=not refusals)


def refused_facts(
    calls: Calls, policy: RandomizedPolicy, background: Background, sets: Sequence[ColumnSet], why: str
) -> Facts:
    """Why nothing can be published at all: no noise will do, but there are attackers, and maybe fewer columns."""
    listed = [a.to_json() for a in _unhindered(calls, background, policy.gamma)]
    content = {
        "method": policy.method,
        "gamma": policy.gamma,
        "attackers": listed,
        "refused": [why],
        "column_sets": [s.to_json() for s in sets],
        "warnings": [],
    }
    parts = (Line(why, "REFUSED"), attacker_grid(listed), *set_parts(sets, {}))
    return Facts(policy.method, content, parts, passed=False)


def _unhindered(calls: Calls, background: Background, gamma: float) -> tuple[Attacker, ...]:
    """The attackers where nothing bounds what they may come to believe."""
    if background.shared is None:
        return list_attackers(calls, background, gamma, math.inf)
    name = background.shared.column
    return (Attacker(f"all but {name}", name, linking_prior(calls, background, gamma), False, 1.0, is_linking=True),)


def published_facts(method: str, found: Calibration, written: Written) -> Facts:
    """What was published."""
    is_later = written.view > 1 and not written.again  # of one that was there, only its rows are known
    content = {
        "version": __version__,
        **_numbers(method, found),
        "expected_rows": written.made.expected if is_later else found.expected_rows,
        "view": written.view,
        "rows": written.made.rows,
        **_promised(found),
        "warnings": list(written.warnings),
        "output": str(written.output),
    }
    view = f", view {written.view} of {found.views}" if found.views > 1 else ""
    name = written.output.name
    about = (
        f"{name}: {written.made.rows:,} rows ({content['expected_rows']:,.0f} expected) over a domain of "
        f"{found.tuples:,} tuples{view}"
    )
    again = (Line("The table, the policy and the key are those of before: this is the release that was there."),)
    parts = (
        *(again if written.again else ()),
        *_promise_parts(found),
        Line(f'Ask it: sqlpriv query {name} "SELECT count(*) FROM ..."'),
    )
    return Facts(about, content, parts, written.warnings)


def _numbers(method: str, found: Calibration) -> dict[str, Any]:
    """The sizes, the bound and the numbers of the mechanism, as `plan` and `publish` print them."""
    return {
        "method": method,
        "n": found.rows,
        "n_public": found.n_public,
        "m": found.tuples,
        "slots": found.slots,
        "d": found.d,
        "gamma": found.gamma,
        "adversary": found.adversary,
        "views": found.views,
        "rows_each": found.rows_each,
        **found.mechanism.numbers,
        "p": found.kept,
        "q": found.noise,
        "epsilon": _finite(found.replaced_epsilon),
        "epsilon_add_remove": found.added_epsilon,
        "expected_rows": found.expected_rows,
    }


def _promised(found: Calibration) -> dict[str, Any]:
    """The guarantee and the attackers, for machines."""
    return {
        "guarantee": found.promise,
        "details": list(found.details),
        "attackers": [a.to_json() for a in found.attackers],
    }


def _promise_parts(found: Calibration) -> tuple[Part, ...]:
    listed = tuple(Line(f"- {text}", quiet=True) for text in found.details)
    return (Line(found.promise), *listed, attacker_grid([a.to_json() for a in found.attackers]))


def _finite(number: float) -> float | None:
    return None if math.isinf(number) else number


def _cost_grid(curve: Sequence[Calibration], gamma: float) -> Grid:
    most = max((t.half_domain_error for t in curve), default=1.0)
    rows = tuple(
        (f"{t.gamma:g}", f"{t.expected_rows:,.0f}", f"{t.half_domain_error:,.1f}",
         "█" * max(1, round(_BAR * t.half_domain_error / most)))
        for t in curve
    )  # fmt: skip
    here = tuple(i for i, t in enumerate(curve) if t.gamma == gamma)
    return Grid(("gamma", "expected rows", "error of half the domain", ""), rows, left=("",), marked=here)


def set_parts(sets: Sequence[ColumnSet], coarser: Mapping[str, int]) -> tuple[Part, ...]:
    """Sets of columns that would do as a table for people, and what would do instead."""
    rows = tuple((", ".join(s.columns), f"{s.tuples:,}", f"{s.error:.1%}") for s in sets)
    caption = (
        "The largest sets of columns for which a linking attacker is covered, and a count of 5% of the rows and the "
        f"domain is off by less than {GOOD_ERROR:.0%}."
    )
    headings = ("columns", "domain", "error of 5%")
    grid = Grid(headings, rows, title="What could be published", caption=caption, folded=("columns",))
    listed = " or ".join(f"{column} to at most {most:,} values" for column, most in coarser.items())
    coarsen = Line(f"Or coarsen {listed}: a hierarchy and a level, or wider ranges.") if coarser else None
    return (*((grid,) if sets else ()), *((coarsen,) if coarsen else ()))
