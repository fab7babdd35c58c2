"""What `plan` and `publish` tell of a randomized release: the guarantee, who is covered, what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.facts import Facts, Grid, Line, Part
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Written
from sqlpriv.methods.randomized.advice import ColumnSet, set_parts
from sqlpriv.methods.randomized.attackers import Attacker, Known, attacker_grid, linking_prior, list_attackers
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.terms import Terms
from sqlpriv.version import __version__

_BAR = 30


@dataclass(frozen=True)
class Considered:
    """What `plan` tells beside the terms: what other gammas cost, why it is refused, and what could be instead."""

    costs: Sequence[Terms]
    refusals: Sequence[str]
    sets: Sequence[ColumnSet]
    coarser: Mapping[str, int]
    bytes: int


def planned_facts(method: str, terms: Terms, considered: Considered) -> Facts:
    """What would be published, and why it is refused if it is; nothing is approved here that publish refuses."""
    curve, refusals, sets = considered.costs, considered.refusals, considered.sets
    numbers = {
        **_numbers(method, terms),
        "bytes": considered.bytes,
        "half_domain_error": terms.half_domain_error,
        "small_count_error": terms.small_error,
        "possible": terms.possible,
        "dp_epsilon": _finite(terms.epsilon),
        "independent_posterior": terms.independent_posterior,
        "exclusive_posterior": terms.exclusive_posterior,
    }
    costs = [
        {"gamma": t.gamma, "expected_rows": t.expected_rows, "half_domain_error": t.half_domain_error} for t in curve
    ]
    content = {
        **numbers,
        **_promised(terms),
        "refused": list(refusals),
        "column_sets": [s.to_json() for s in sets],
        "coarsen": dict(considered.coarser),
        "warnings": list(terms.for_the_owner),
        "curve": costs,
    }
    parts = [
        *(Line(text, "REFUSED") for text in refusals),
        *_promise_parts(terms),
        Grid((), tuple((k, v) for k, v in numbers.items() if v is not None and k != "method")),
        _cost_grid(curve, terms.gamma),
        *set_parts(sets, considered.coarser),
    ]
    return Facts(method, content, tuple(parts), terms.for_the_owner, passed=not refusals)


def refused_facts(calls: Calls, policy: RandomizedPolicy, known: Known, sets: Sequence[ColumnSet], why: str) -> Facts:
    """Why nothing can be published at all: there are no terms, but there are attackers, and maybe fewer columns."""
    listed = [a.to_json() for a in _unhindered(calls, known, policy.gamma)]
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


def _unhindered(calls: Calls, known: Known, gamma: float) -> tuple[Attacker, ...]:
    """The attackers where nothing bounds what they may come to believe."""
    if known.shared is None:
        return list_attackers(calls, known, gamma, math.inf)
    name = known.shared.column
    return (Attacker(f"all but {name}", name, linking_prior(calls, known, gamma), False, 1.0, is_linking=True),)


def published_facts(method: str, terms: Terms, written: Written) -> Facts:
    """What was published."""
    is_later = written.view > 1 and not written.again  # of one that was there, only its rows are known
    content = {
        "version": __version__,
        **_numbers(method, terms),
        "expected_rows": written.made.expected if is_later else terms.expected_rows,
        "view": written.view,
        "rows": written.made.rows,
        **_promised(terms),
        "warnings": list(written.warnings),
        "output": str(written.output),
    }
    view = f", view {written.view} of {terms.views}" if terms.views > 1 else ""
    name = written.output.name
    about = (
        f"{name}: {written.made.rows:,} rows ({content['expected_rows']:,.0f} expected) over a domain of "
        f"{terms.tuples:,} tuples{view}"
    )
    again = (Line("The table, the policy and the key are those of before: this is the release that was there."),)
    parts = (
        *(again if written.again else ()),
        *_promise_parts(terms),
        Line(f'Ask it: sqlpriv query {name} "SELECT count(*) FROM ..."'),
    )
    return Facts(about, content, parts, written.warnings)


def _numbers(method: str, terms: Terms) -> dict[str, Any]:
    """The sizes, the bound and the coins by name, as `plan` and `publish` print them."""
    return {
        "method": method,
        "n": terms.rows,
        "n_public": terms.n_public,
        "m": terms.tuples,
        "slots": terms.slots,
        "d": terms.d,
        "gamma": terms.gamma,
        "adversary": terms.adversary,
        "views": terms.views,
        "rows_each": terms.rows_each,
        **terms.coins,
        "p": terms.kept,
        "q": terms.noise,
        "epsilon": _finite(terms.replaced_epsilon),
        "epsilon_add_remove": terms.added_epsilon,
        "expected_rows": terms.expected_rows,
    }


def _promised(terms: Terms) -> dict[str, Any]:
    """The guarantee and the attackers, for machines."""
    return {
        "guarantee": terms.promise,
        "details": list(terms.details),
        "attackers": [a.to_json() for a in terms.attackers],
    }


def _promise_parts(terms: Terms) -> tuple[Part, ...]:
    listed = tuple(Line(f"- {text}", quiet=True) for text in terms.details)
    return (Line(terms.promise), *listed, attacker_grid([a.to_json() for a in terms.attackers]))


def _finite(number: float) -> float | None:
    return None if math.isinf(number) else number


def _cost_grid(curve: Sequence[Terms], gamma: float) -> Grid:
    most = max((t.half_domain_error for t in curve), default=1.0)
    rows = tuple(
        (f"{t.gamma:g}", f"{t.expected_rows:,.0f}", f"{t.half_domain_error:,.1f}",
         "█" * max(1, round(_BAR * t.half_domain_error / most)))
        for t in curve
    )  # fmt: skip
    here = tuple(i for i, t in enumerate(curve) if t.gamma == gamma)
    return Grid(("gamma", "expected rows", "error of half the domain", ""), rows, left=("",), marked=here)
