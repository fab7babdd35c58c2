"""What `plan` and `publish` report of a randomized release: the guarantee, who is covered, what it costs.

Where a policy asks for too much, a plan also reports what can be published instead: the largest sets of its columns
that still say something. A set will do when it holds a sensitive column, and a linking attacker is covered on each
that it holds. Besides, a count of a twentieth of the rows and of the domain must have a standard error below a fifth
of it. Fewer columns make a smaller domain and less noise, so sets are tried from the largest down, and only as far as
the first size at which some will do. All of it is made from sizes that are public.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any

from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import Facts, Grid, Line, Part
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Written
from sqlpriv.methods.noisy.attackers import Attacker, attacker_grid, linking_prior, list_attackers
from sqlpriv.methods.noisy.background import Background
from sqlpriv.methods.noisy.calibration import Calibrate, Calibration, find_bound
from sqlpriv.methods.noisy.policy import CALIBRATED, RandomizedPolicy
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

_BAR = 30
GOOD_ERROR = 0.2
_MOST_TRIED = 200
_MOST_LISTED = 5
_MOST_COARSENED = 3


@dataclass(frozen=True)
class ColumnSet:
    """Columns that could be published together, and the error of a count of a twentieth of them."""

    columns: tuple[str, ...]
    tuples: int
    error: float

    def to_json(self) -> dict[str, Any]:
        """As `plan` lists it."""
        return {"columns": list(self.columns), "m": self.tuples, "small_count_error": self.error}


@dataclass(frozen=True)
class Trials:
    """Tries what would come out if fewer or coarser columns were published, with the bound from the attacker."""

    source: Source
    policy: RandomizedPolicy
    rows: int
    background: Background
    sizes: Mapping[str, int]
    calibrate: Calibrate

    def sets(self) -> tuple[ColumnSet, ...]:
        """The largest sets that will do, best first; none where none was found among those tried."""
        found: list[ColumnSet] = []
        for columns in _subsets(self.background, self.sizes):
            if found and len(columns) < len(found[0].columns):
                break
            sizes = {c: self.sizes[c] for c in columns}
            if (error := self._error(sizes)) is not None:
                found.append(ColumnSet(columns, prod(sizes.values()), error))
        return tuple(sorted(found, key=lambda s: s.error)[:_MOST_LISTED])

    def coarser(self) -> dict[str, int]:
        """For the largest columns that nobody wants: how many values each may have for all columns to do together."""
        wanted = {w.column for w in self.background.wanted}
        columns = sorted((c for c in self.sizes if c not in wanted), key=lambda c: -self.sizes[c])[:_MOST_COARSENED]
        found = {c: self._most_values(c) for c in columns}
        return {c: most for c, most in found.items() if 1 < most < self.sizes[c]}

    def _most_values(self, column: str) -> int:
        low, high = 0, self.sizes[column]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._error({**self.sizes, column: middle}) is None else (middle, high)
        return low

    def _error(self, sizes: Mapping[str, int]) -> float | None:
        """The error of a twentieth, where these columns with so many values will do."""
        policy = replace(self.policy, release={**self.policy.release, **dict.fromkeys(("d", "k", *CALIBRATED))})
        part = replace(
            self.background,
            wanted=tuple(w for w in self.background.wanted if w.column in sizes),
            quasi_identifiers=tuple(q for q in self.background.quasi_identifiers if q in sizes),
            tuples=prod(sizes.values()),
        )
        try:
            bound = find_bound(self.source.calls, policy, self.rows, part, None)
            found = self.calibrate(self.source, policy, bound)
        except SqlprivError:
            return None
        is_useful = found.possible and found.small_error < GOOD_ERROR
        will_do = not found.uncovered and is_useful and found.expected_rows <= self.policy.max_rows
        return found.small_error if will_do else None


def _subsets(background: Background, sizes: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Sets of the columns with at least one that is wanted and not known anyway, from the largest, so many in all."""
    open_columns = {w.column for w in background.open}
    tried = 0
    for number in range(len(sizes), 0, -1):
        for columns in combinations(sizes, number):
            if open_columns & set(columns):
                tried += 1
                if tried > _MOST_TRIED:
                    return
                yield columns


def planned_facts(
    policy: RandomizedPolicy,
    found: Calibration,
    refusals: Sequence[str],
    sets: Sequence[ColumnSet],
    coarser: Mapping[str, int],
    costs: Sequence[Calibration],
    size: int,
) -> Facts:
    """What would be published, and why it is refused if it is; nothing is approved here that publish refuses.

    `sets` and `coarser` could be published instead, `costs` are those of other gammas, `size` is that of the file.
    """
    numbers = {
        **_numbers(policy, found),
        "bytes": size,
        "half_domain_error": found.half_domain_error,
        "small_count_error": found.small_error,
        "possible": found.possible,
        "dp_epsilon": _finite(found.epsilon),
        "independent_posterior": found.independent_posterior,
        "exclusive_posterior": found.exclusive_posterior,
    }
    content = {
        **numbers,
        **_promised(found),
        "refused": list(refusals),
        "column_sets": [s.to_json() for s in sets],
        "coarsen": dict(coarser),
        "warnings": list(found.for_the_owner),
        "curve": [
            {"gamma": t.gamma, "expected_rows": t.expected_rows, "half_domain_error": t.half_domain_error}
            for t in costs
        ],
    }
    most = max((t.half_domain_error for t in costs), default=1.0)
    curve = tuple(
        (f"{t.gamma:g}", f"{t.expected_rows:,.0f}", f"{t.half_domain_error:,.1f}",
         "█" * max(1, round(_BAR * t.half_domain_error / most)))
        for t in costs
    )  # fmt: skip
    here = tuple(i for i, t in enumerate(costs) if t.gamma == found.gamma)
    parts = (
        *(Line(text, "REFUSED") for text in refusals),
        *_promise_parts(found),
        Grid((), tuple((k, v) for k, v in numbers.items() if v is not None and k != "method")),
        Grid(("gamma", "expected rows", "error of half the domain", ""), curve, left=("",), marked=here),
        *_set_parts(sets, coarser),
    )
    return Facts(policy.method, content, parts, found.for_the_owner, passed=not refusals)


def refused_facts(
    calls: Calls, policy: RandomizedPolicy, background: Background, sets: Sequence[ColumnSet], why: str
) -> Facts:
    """Why nothing can be published at all: no noise will do, but there are attackers, and maybe fewer columns."""
    gamma = policy.gamma
    # Nothing bounds what they may come to believe.
    if background.shared is None:
        attackers = [a.to_json() for a in list_attackers(calls, background, gamma, math.inf)]
    else:
        name = background.shared.column
        prior = linking_prior(calls, background, gamma)
        attackers = [Attacker(f"all but {name}", name, prior, False, 1.0, is_linking=True).to_json()]
    content = {
        "method": policy.method,
        "gamma": gamma,
        "attackers": attackers,
        "refused": [why],
        "column_sets": [s.to_json() for s in sets],
        "warnings": [],
    }
    parts = (Line(why, "REFUSED"), attacker_grid(attackers), *_set_parts(sets, {}))
    return Facts(policy.method, content, parts, passed=False)


def published_facts(policy: RandomizedPolicy, found: Calibration, written: Written) -> Facts:
    """What was published."""
    is_later = written.view > 1 and not written.again  # of one that was there, only its rows are known
    content = {
        "version": __version__,
        **_numbers(policy, found),
        "expected_rows": written.made.expected if is_later else found.expected_rows,
        "view": written.view,
        "rows": written.made.rows,
        **_promised(found),
        "warnings": list(written.warnings),
        "output": str(written.output),
    }
    view = f", view {written.view} of {policy.views}" if policy.views > 1 else ""
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


def _numbers(policy: RandomizedPolicy, found: Calibration) -> dict[str, Any]:
    """The sizes, the bound and the numbers of the mechanism, as `plan` and `publish` print them."""
    return {
        "method": policy.method,
        "n": found.rows,
        "n_public": found.n_public,
        "m": found.tuples,
        "slots": policy.slots,
        "d": found.d,
        "gamma": found.gamma,
        "adversary": found.adversary,
        "views": policy.views,
        "rows_each": policy.rows_each,
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
        "guarantee": found.meaning.promise,
        "details": list(found.meaning.details),
        "attackers": [a.to_json() for a in found.attackers],
    }


def _promise_parts(found: Calibration) -> tuple[Part, ...]:
    listed = tuple(Line(f"- {text}", quiet=True) for text in found.meaning.details)
    return (Line(found.meaning.promise), *listed, attacker_grid([a.to_json() for a in found.attackers]))


def _finite(number: float) -> float | None:
    return None if math.isinf(number) else number


def _set_parts(sets: Sequence[ColumnSet], coarser: Mapping[str, int]) -> tuple[Part, ...]:
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
