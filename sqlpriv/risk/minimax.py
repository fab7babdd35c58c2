"""The rule whose largest mean cost, over several attackers, is as small as possible: the minimax rule.

A rule takes one choice for each record. A choice costs something against each attacker, and the risk against an
attacker is the mean cost over all people. The rule with the least of the largest risks is not found record by record.

The lower bound: for weights w that add up to 1, the largest risk of a rule is at least its risk by w, and the least
risk by w is found record by record. So each w gives a lower bound. The best w comes from cutting planes. A round is
one query, whose rule has a risk against each attacker, and the next w is the best against the rules so far, a small
matrix game. The upper bound: the best rule of the last w, improved by exchanging the choice of one record at a time.

A rule that is better than the upper bound takes no choice whose cost by w exceeds the least of its record by more than
the gap. Where few choices are left, all sums that may be best are followed record by record: then the gap is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation, Scratch

Numbers = npt.NDArray[np.float64]
_ROUNDS, _EXCHANGES = 60, 10_000
_FETCHED = 20_000
"""The most choices that are considered in Python: those of the least cost by w."""
_SUMS, _SUMS_OF_MANY = 20_000, 3_000
"""The most sums that are followed, against two attackers and against more."""
_HAIR = 1e-12


@dataclass(frozen=True)
class Minimax:
    """A rule's largest mean cost, and a bound that no rule is below."""

    lower: float
    upper: float
    risks: tuple[float, ...]
    """The mean cost of the rule against each attacker; the largest is `upper`."""

    @property
    def gap(self) -> float:
        """The most by which another rule may be better; 0: this one is minimax."""
        return self.upper - self.lower


def choose_minimax(scratch: Scratch, choices: Relation, attackers: int) -> tuple[Relation, Minimax]:
    """The best rule that is found, as a table of the column choice, and its bounds.

    `choices` has the columns choice (a number of its own), record, copies and costs, a finite number for each attacker.
    """
    search = _Search(scratch, choices, attackers)
    weights, lower = search.best_weights()
    return search.rule(weights, lower)


@dataclass(frozen=True)
class _Alternatives:
    """Choices that differ from the rule of the weights, the cheapest first. The rule's own cost nothing more."""

    record: npt.NDArray[np.int64]
    """Numbered from 0."""
    records: npt.NDArray[np.int64]
    """The records by number, as `choices` has them."""
    choice: npt.NDArray[np.int64]
    more: Numbers
    """What a choice adds to the sums of costs."""
    dearer: Numbers
    """The same by the weights: at least 0."""
    is_complete: bool
    """Whether there are no others."""


class _Search:
    def __init__(self, scratch: Scratch, choices: Relation, attackers: int) -> None:
        self.scratch, self.choices, self.attackers = scratch, choices, attackers
        [(people,)] = fetch(
            scratch.con, f"SELECT sum(n) FROM (SELECT any_value(copies) AS n FROM {choices.name} GROUP BY record)"
        )
        self.people = float(people)

    # -------------------- the lower bound

    def _cost(self, weights: Numbers) -> str:
        """SQL of the cost of a choice by weights."""
        return " + ".join(f"{float(w)!r}::DOUBLE * costs[{j}]" for j, w in enumerate(weights, start=1))

    def _rule(self, order: str) -> str:
        """SQL of the rule that takes the first choice of each record by an order."""
        equal = self._cost(np.full(self.attackers, 1 / self.attackers))
        return (
            "SELECT record, any_value(copies) AS copies, arg_min({'choice': choice, 'costs': costs}, "
            f"ROW({order}, {equal}, choice)) AS best FROM {self.choices.name} GROUP BY record"
        )

    def _sums(self, rule: str) -> Numbers:
        """The sums of costs of a rule, against each attacker."""
        listed = ", ".join(f"fsum(copies * best.costs[{j}])" for j in range(1, self.attackers + 1))
        found = np.array(fetch(self.scratch.con, f"SELECT {listed} FROM ({rule})")[0], dtype=np.float64)
        if not np.isfinite(found).all():
            raise PolicyError("the weights are too large to add up the losses of all rows; make them smaller")
        return found

    def best_weights(self) -> tuple[Numbers, float]:
        """Weights with the best lower bound that was found, and the bound."""
        weights = np.full(self.attackers, 1 / self.attackers)
        best, lower, seen = weights, -np.inf, []
        for _ in range(_ROUNDS):
            risks = self._sums(self._rule(self._cost(weights))) / self.people
            if float(weights @ risks) > lower:
                best, lower = weights, float(weights @ risks)
            seen.append(risks)
            found, most = solve_game(np.array(seen))
            # Last digits depend on the order of additions in the database: without them the rule does not.
            weights = np.round(found, 10)
            weights = weights / weights.sum()
            if most - lower <= _HAIR * max(1e-300, float(np.abs(seen).max())):
                break
        return best, lower

    # -------------------- the rule

    def rule(self, weights: Numbers, lower: float) -> tuple[Relation, Minimax]:
        """The best rule found, and its bounds."""
        base = self.scratch.table(self._rule(self._cost(weights)), "minimax_base")
        start = self._sums(f"FROM {base.name}")
        found = self._alternatives(weights, base)
        taken, sums = _exchanged(start, found)
        # Also the rule of the worst cost of each record, which the search may miss on a large table.
        careful = self._rule("list_max(costs)")
        other = self._sums(careful)
        if other.max() < sums.max() - _HAIR * np.abs(sums).max():
            taken, sums = None, other
        slack = self.people * lower
        exact = None
        if sums.max() - slack > _HAIR * np.abs(sums).max():
            exact = _followed(start, found, weights, float(sums.max()), float(sums.max()) - slack)
            if exact is not None and exact.sums is not None:
                taken, sums = exact.taken, exact.sums
        upper = float(sums.max()) / self.people
        is_best = exact is not None or upper - lower <= _HAIR * max(1e-300, float(np.abs(sums).max() / self.people))
        bounds = Minimax(upper if is_best else lower, upper, tuple(float(s) / self.people for s in sums))
        if taken is None:
            return self.scratch.table(f"SELECT best.choice AS choice FROM ({careful})", "minimax"), bounds
        changed = [(int(found.records[found.record[a]]), int(found.choice[a])) for a in taken]
        values = ", ".join(f"({record}, {choice})" for record, choice in changed) or "(NULL::BIGINT, NULL::BIGINT)"
        return self.scratch.table(
            f"SELECT coalesce(v.choice, b.best.choice) AS choice FROM {base.name} AS b "
            f"LEFT JOIN (VALUES {values}) AS v(record, choice) ON b.record = v.record",
            "minimax",
        ), bounds

    def _alternatives(self, weights: Numbers, base: Relation) -> _Alternatives:
        """The choices of the least cost by the weights, the rule's own left out."""
        more = ", ".join(f"c.copies * (c.costs[{j}] - b.best.costs[{j}]) AS m{j}" for j in range(1, self.attackers + 1))
        total = " + ".join(f"{float(w)!r}::DOUBLE * m{j}" for j, w in enumerate(weights, start=1))
        rows = fetch(
            self.scratch.con,
            f"SELECT *, greatest({total}, 0) AS dearer FROM (SELECT c.record, c.choice, {more} "
            f"FROM {self.choices.name} AS c JOIN {base.name} AS b ON c.record = b.record "
            f"WHERE c.choice <> b.best.choice) ORDER BY dearer, choice LIMIT {_FETCHED + 1}",
        )
        is_complete, rows = len(rows) <= _FETCHED, rows[:_FETCHED]
        numbers = np.array([row[2:] for row in rows], dtype=np.float64).reshape(len(rows), self.attackers + 1)
        records, record = np.unique(np.array([row[0] for row in rows], dtype=np.int64), return_inverse=True)
        choice = np.array([row[1] for row in rows], dtype=np.int64)
        return _Alternatives(record, records, choice, numbers[:, :-1], numbers[:, -1], is_complete)


def solve_game(costs: Numbers) -> tuple[Numbers, float]:
    """Weights of the columns by which the least of the rows is largest, and that least: a matrix game, by the simplex.

    The tableau is that of: the largest sum of y >= 0 with y costs <= 1 in each column, where all costs are positive.
    Its dual is the weights. Bland's rule ends.
    """
    rows, columns = costs.shape
    spread = float(np.ptp(costs)) or 1.0
    least = float(costs.min())
    positive = (costs - least) / spread + 1
    tableau = np.hstack([positive.T, np.eye(columns), np.ones((columns, 1))])
    profit = np.concatenate([np.ones(rows), np.zeros(columns + 1)])
    basis = list(range(rows, rows + columns))
    for _ in range(1000):
        entering = next((int(k) for k in np.flatnonzero(profit[:-1] > _HAIR)), None)
        if entering is None:
            break
        column = tableau[:, entering]
        ratios = [(tableau[i, -1] / column[i], basis[i], i) for i in range(columns) if column[i] > _HAIR]
        pivot = min(ratios)[2]
        tableau[pivot] /= tableau[pivot, entering]
        for i in range(columns):
            if i != pivot:
                tableau[i] -= tableau[i, entering] * tableau[pivot]
        profit = profit - profit[entering] * tableau[pivot]
        basis[pivot] = entering
    dual = np.clip(-profit[rows:-1], 0, None)
    weights = dual / dual.sum()
    return weights, float((costs @ weights).min())


def _exchanged(start: Numbers, found: _Alternatives) -> tuple[list[int] | None, Numbers]:
    """The alternatives taken, and the sums, where no exchange of one record's choice lowers the largest sum."""
    sums, taken = start.copy(), dict[int, int]()
    current = np.zeros((len(found.records), len(start)))
    for _ in range(_EXCHANGES if len(found.choice) else 0):
        most = float(sums.max())
        after = (sums + found.more - current[found.record]).max(axis=1)
        back = (sums - current).max(axis=1)
        best, undone = int(after.argmin()), int(back.argmin())
        if min(after[best], back[undone]) >= most - _HAIR * abs(most):
            break
        if after[best] <= back[undone]:
            record = int(found.record[best])
            sums = sums - current[record] + found.more[best]
            current[record], taken[record] = found.more[best], best
        else:
            sums = sums - current[undone]
            current[undone] = 0
            del taken[undone]
    return list(taken.values()), sums


@dataclass(frozen=True)
class _Followed:
    """The best rule of all: None where none is better than the bound."""

    taken: list[int] | None
    sums: Numbers | None


def _followed(start: Numbers, found: _Alternatives, weights: Numbers, upper: float, gap: float) -> _Followed | None:
    """The best of all rules whose largest sum is below `upper`, by all sums that may lead to it; None: too many."""
    hair = _HAIR * max(abs(upper), float(np.abs(start).max()))
    near = np.flatnonzero(found.dearer <= gap + hair)
    if not found.is_complete and len(near) == len(found.choice):
        return None
    limit = _SUMS if len(start) == 2 else _SUMS_OF_MANY
    by_record = {int(r): near[found.record[near] == r] for r in np.unique(found.record[near])}
    steps = sorted(by_record.values(), key=lambda own: -float(np.abs(found.more[own]).max()))
    # Whatever the rest of the records take, they add at least this, by the weights and against each attacker.
    sides = np.vstack([weights, np.eye(len(start))])
    least = [np.minimum((found.more[own] @ sides.T).min(axis=0), 0) for own in steps]
    rest = (
        np.vstack([np.cumsum(least[::-1], axis=0)[::-1], np.zeros(len(sides))]) if steps else np.zeros((1, len(sides)))
    )
    sums = start.reshape(1, -1)
    history: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
    for step, own in enumerate(steps, start=1):
        if len(sums) * (len(own) + 1) > 50 * limit:
            return None
        more = np.vstack([np.zeros(len(start)), found.more[own]])
        grown = (sums[:, None, :] + more[None, :, :]).reshape(-1, len(start))
        parents, picked = np.divmod(np.arange(len(grown)), len(more))
        kept = np.flatnonzero((grown @ sides.T + rest[step] < upper - hair).all(axis=1))
        kept = kept[_undominated(grown[kept], limit)]
        if len(kept) > limit:
            return None
        sums = grown[kept]
        history.append((parents[kept], np.concatenate([[-1], own])[picked[kept]]))
        if not len(sums):
            return _Followed(None, None)
    best = int(sums.max(axis=1).argmin())
    if float(sums[best].max()) >= upper - hair:
        return _Followed(None, None)
    taken, at = [], best
    for parents, picked in reversed(history):
        if picked[at] >= 0:
            taken.append(int(picked[at]))
        at = int(parents[at])
    return _Followed(taken, sums[best])


def _undominated(sums: Numbers, limit: int) -> npt.NDArray[np.int64]:
    """The places of sums than which no other is at most as large against every attacker; more than `limit` if many."""
    order = np.lexsort(sums.T[::-1])
    if sums.shape[1] == 2:
        second = sums[order, 1]
        before = np.concatenate([[np.inf], np.minimum.accumulate(second)[:-1]]) if len(second) else second
        return np.asarray(order[second < before], dtype=np.int64)
    kept: list[int] = []
    while len(order) and len(kept) <= limit:
        first = int(order[0])
        kept.append(first)
        order = order[~(sums[order] >= sums[first]).all(axis=1)]
    return np.array(kept, dtype=np.int64)
