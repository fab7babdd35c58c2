"""The mean error of the owner's own queries, answered by the release that a node would be: an objective.

A query asks for one number, alone or in each group. Its estimate is what the release of the node answers through
the one rewriter (rewrite/). The truth is what the same rewriter makes of the table as it is, each value a class of its
own. The error of a query is the mean of |estimate - truth| over the groups that have a number in truth; a number that
the release does not give counts as 0. A node whose release refuses a query, because all of a column is below one label
and nobody knows which values these are, has an infinite error.

Where nothing is suppressed, an estimate depends only on the levels of the columns that the query mentions, which have
few combinations. A count is then the sum over all rows of the share of each that fulfils the condition. A share is
between 0 and 1, so s rows that are left out make the count smaller by s at most, and never larger; kept as stars they
may have any share instead. So the count of a node lies between two numbers, the truth may be outside them, and the node
need not be asked (WholeCounts). There is no bound for other aggregates, of rows that a join repeats, and of bins, whose
ends move with the suppressed rows.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import sqlglot
from sqlglot import exp

from sqlpriv.core.errors import InputError, InternalError, PolicyError, UnsupportedSQLError
from sqlpriv.core.sqltext import folded
from sqlpriv.methods.generalized.columns import PublicColumns
from sqlpriv.methods.generalized.evaluate import allowance
from sqlpriv.methods.generalized.generalize.node import NodeRelease, NodeReleases, is_binned
from sqlpriv.methods.generalized.generalize.objectives import Array, Objective
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.scan import Scan, published_columns
from sqlpriv.methods.lattice import Node, Outcome
from sqlpriv.release.open import run_rewritten
from sqlpriv.rewrite.bind.parse import statements_in_place
from sqlpriv.rewrite.bind.relations import Answer
from sqlpriv.rewrite.clauses import Options
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import GeneralizedRelease, Release

_Group = tuple[Any, ...]
_HAIR = _SLACK = 1e-9
_ESTIMATES = Options(intervals=False)
_PLAIN = {"kind", "expressions", "from", "from_", "where", "group", "order"}
"""The clauses of a SELECT that leave a count what it is."""
_MOST_LEVELS = 100
"""A query whose columns have more combinations of levels is not asked at all of them beforehand."""
_BEFOREHAND = 0.25
"""The share of the time of a search that may be spent on bounds."""


@dataclass(frozen=True)
class WorkloadQuery:
    """A query of the file: its text, and its name in messages."""

    text: str
    name: str


def read_workload(policy: GeneralizePolicy, file: str) -> list[WorkloadQuery]:
    """The queries of a file."""
    path = policy.table.path(file)
    if not path.is_file():
        raise PolicyError(f"there is no workload file {file!r}")
    try:
        texts = statements_in_place(path.read_text(encoding="utf-8"))
    except (UnsupportedSQLError, UnicodeDecodeError):
        raise PolicyError(f"{file} is not SQL: write SELECT queries, each for one number, with ; between") from None
    if not texts:
        raise PolicyError(f"{file} holds no query")
    return [WorkloadQuery(text, f"{file}, query {i}") for i, text in enumerate(texts, 1)]


def other_columns(policy: GeneralizePolicy, queries: Sequence[WorkloadQuery]) -> list[str]:
    """The columns that queries may mention besides quasi-identifiers and sensitive ones; * may mention all."""
    others = policy.named("other")
    words: set[str] = set()
    for query in queries:
        tokens = sqlglot.tokenize(query.text, dialect="duckdb")
        words |= {folded(t.text) for t in tokens}
        stars = [i for i, t in enumerate(tokens) if t.text == "*"]
        if any(i < 2 or folded(tokens[i - 2].text) != "count" for i in stars):
            return list(others)
    return [c for c in others if folded(c) in words]


def counts_rows(sql: str) -> bool:
    """Whether a query is a count of rows of one table, each once, alone or in groups."""
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    if not isinstance(tree, exp.Select) or any(value and name not in _PLAIN for name, value in tree.args.items()):
        return False
    nested = [t for t in tree.find_all(exp.Query) if t is not tree]
    several = any(tree.find_all(exp.Rollup, exp.Cube, exp.GroupingSets, exp.TableSample))
    values = [e.unalias() for e in tree.expressions if e.find(exp.AggFunc)]
    counted = len(values) == 1 and isinstance(values[0], exp.Count) and isinstance(values[0].this, exp.Star)
    return counted and not nested and not several and len(list(tree.find_all(exp.Table))) == 1


@dataclass(frozen=True)
class WholeCounts:
    """The counts of a query in each group, by the levels of its columns, where nothing is suppressed.

    Levels at which a release refuses the query are not among them.
    """

    truth: Mapping[_Group, float]
    whole: Mapping[tuple[int, ...], Mapping[_Group, float]]
    stars: bool
    """Whether suppressed rows may be kept as stars."""

    def least_error(self, levels: tuple[int, ...], suppressed: int) -> float:
        """What the mean error of the groups is at least, where at most so many rows are suppressed."""
        found = self.whole.get(levels)
        if found is None:
            return 0.0
        least = 0.0
        for group, true in self.truth.items():
            whole = found.get(group, 0.0)
            low, high = max(whole - suppressed, 0.0), whole + suppressed * self.stars
            # A hair less: sums in another order differ in their last digits.
            least += max(max(low - true, true - high) * (1 - _HAIR) - _HAIR, 0.0)
        return least / len(self.truth)


@dataclass(frozen=True)
class _Compared:
    """A query, the columns that it mentions, folded, the quasi-identifiers among them by number, and the truth."""

    query: WorkloadQuery
    mentioned: frozenset[str]
    axes: tuple[int, ...]
    truth: dict[_Group, float]


class Workload:
    """The mean error of nodes."""

    def __init__(
        self,
        scan: Scan,
        policy: GeneralizePolicy,
        measures: tuple[ClassMeasure, ...],
        known: PublicColumns,
        queries: Sequence[WorkloadQuery],
    ) -> None:
        self._con, self._scan, self._policy = scan.source.con, scan, policy
        self._counts: dict[int, WholeCounts] = {}
        """The counts where nothing is suppressed, of the queries that were asked beforehand."""
        read = {*policy.qis, *policy.sensitive, *other_columns(policy, queries)}
        self._columns = [c for c in published_columns(scan) if c in read]
        self._nodes = NodeReleases(scan, policy, measures, known, self._columns)
        self._found: dict[tuple[int, tuple[int, ...]], float] = {}
        """The errors of queries where nothing is suppressed, by the levels of their columns."""
        self._rewritten: dict[Hashable, Answer] = {}
        self._refusals: dict[int, str] = {}
        """Why the rewriter last refused a query."""
        self._unanswered: dict[Node, int] = {}
        self._usual = [0.0] * len(queries)
        """The error of each query at the last node."""
        table = self._nodes.opened((0,) * len(policy.qis), 0).release
        self._queries = [self._compared(query, table) for query in queries]
        # A query that a release with labels in all columns refuses cannot be in a workload.
        lowest = self._nodes.opened(tuple(min(h, 1) for h in scan.heights), 0).release
        for query in queries:
            _rewritten(query, lowest)

    def errors(self, outcomes: Mapping[Node, Outcome], enough: float = math.inf) -> dict[Node, float]:
        """The mean over the queries of the mean of |estimate - truth|.

        Of a node that has more than `enough`, or than another of these nodes, it may be less than it is, yet more than
        that: once its errors are too many, no further query is asked.
        """
        found = {}
        for node, outcome in outcomes.items():
            least = 0.0
            for i, counts in self._counts.items():
                least += counts.least_error(tuple(node[a] for a in self._queries[i].axes), outcome.suppressed)
            found[node] = least / len(self._queries)
        for node in sorted(outcomes, key=lambda n: (found[n], n)):
            if found[node] <= enough + _slack(enough):
                found[node] = self._error(node, outcomes[node].suppressed, enough)
                enough = min(enough, found[node])
        return found

    def least_errors(self, time_limit: float | None) -> Array | None:
        """The least that the errors of all nodes can be; None where no query has bounds."""
        until = math.inf if time_limit is None else time.monotonic() + _BEFOREHAND * time_limit
        shape = tuple(h + 1 for h in self._scan.heights)
        least, most = np.zeros(shape), allowance(self._scan)
        for i, compared in enumerate(self._queries):
            axes = compared.axes
            levels = list(itertools.product(*(range(shape[a]) for a in axes)))
            is_bounded = counts_rows(compared.query.text) and not any(is_binned(self._scan, a) for a in axes)
            if time.monotonic() > until or len(levels) > _MOST_LEVELS or not is_bounded:
                continue
            columns = [c for c in self._columns if folded(c) in compared.mentioned] or self._columns[:1]
            whole = {}
            for at in levels:
                node = tuple(dict(zip(axes, at, strict=True)).get(a, 0) for a in range(len(shape)))
                opened = self._nodes.opened(node, 0, columns)
                with suppress(PolicyError):
                    whole[at] = self._estimates(compared, opened)
            self._counts[i] = found = WholeCounts(compared.truth, whole, self._policy.keep_suppressed)
            errors = np.array([found.least_error(at, most) for at in levels]) / len(self._queries)
            least += errors.reshape([shape[a] if a in axes else 1 for a in range(len(shape))])
        return least if self._counts else None

    def refuse_unanswered(self, node: Node) -> None:
        """Refuse the best node, if its release would not answer all queries: then none would."""
        if node in self._unanswered:
            why = self._refusals[self._unanswered[node]]
            raise PolicyError(f"no node that meets the policy answers the workload: {why}")

    def _error(self, node: Node, suppressed: int, enough: float) -> float:
        keys = [(i, tuple(node[a] for a in compared.axes)) for i, compared in enumerate(self._queries)]
        known = self._found if suppressed == 0 else {}
        opened = None
        errors: dict[int, float] = {}
        # Queries with the largest errors first: they show soonest that a node is not among the best.
        for i in sorted(range(len(keys)), key=lambda i: -self._usual[i]):
            if keys[i] not in known:
                opened = opened or self._nodes.opened(node, suppressed)
                known[keys[i]] = self._query_error(i, opened)
            errors[i] = self._usual[i] = known[keys[i]]
            if errors[i] == math.inf and i in self._refusals:
                self._unanswered[node] = i
            if sum(errors.values()) / len(keys) > enough + _slack(enough):
                break
        return sum(error for _, error in sorted(errors.items())) / len(keys)

    def _query_error(self, i: int, opened: NodeRelease) -> float:
        truth = self._queries[i].truth
        try:
            found = self._estimates(self._queries[i], opened)
        except PolicyError as refused:
            self._refusals[i] = str(refused)
            return math.inf
        return sum(abs(found.get(group, 0.0) - true) for group, true in truth.items()) / len(truth)

    def _estimates(self, compared: _Compared, opened: NodeRelease) -> dict[_Group, float]:
        key = compared.query, opened.shape
        if key not in self._rewritten:
            self._rewritten[key] = _rewritten(compared.query, opened.release)
        return self._numbers(compared.query, self._rewritten[key])

    def _compared(self, query: WorkloadQuery, table: GeneralizedRelease) -> _Compared:
        mentioned: set[str] = set()

        def noted(columns: frozenset[str], *rest: Any) -> str:
            mentioned.update(map(folded, columns))
            return table.rows(columns, *rest)

        answer = _rewritten(query, replace(table, rows=noted))
        mentioned |= {folded(a.name) for a in table.attributes if a.domain in answer.sql}
        if sum(not c.exact for c in answer.columns) != 1:
            raise PolicyError(f"{query.name} must ask for one number, as in SELECT count(*), alone or in each group")
        truth = self._numbers(query, answer)
        if not truth:
            raise PolicyError(f"{query.name}: the table has no number to compare an estimate with")
        if not all(map(math.isfinite, truth.values())):
            raise PolicyError(f"{query.name}: its answer is not finite, so that no estimate can be near it")
        axes = tuple(a for a, q in enumerate(self._policy.qis) if folded(q) in mentioned)
        return _Compared(query, frozenset(mentioned), axes, truth)

    def _numbers(self, query: WorkloadQuery, answer: Answer) -> dict[_Group, float]:
        """The number of each group."""
        try:
            columns = [c.to_pylist() for c in run_rewritten(self._con, answer.sql).columns]
        except (InputError, InternalError) as error:
            raise PolicyError(f"{query.name}: {error}") from None
        exact = [c.exact for c in answer.columns]
        found = {}
        for row in zip(*columns, strict=True):
            ((value,), group) = ([v for v, e in zip(row, exact, strict=True) if e is want] for want in (False, True))
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
                raise PolicyError(f"{query.name} must ask for a number, and its answer is of another type")
            if not math.isnan(value):
                found[tuple(map(str, group))] = float(value)
        return found


def workload_objective(workload: Workload) -> Objective:
    """The objective."""
    return Objective(
        "workload",
        None,
        "NULL",
        costs_of=workload.errors,
        least_costs=workload.least_errors,
        refuse=workload.refuse_unanswered,
    )


def _rewritten(query: WorkloadQuery, release: Release) -> Answer:
    try:
        return rewrite(query.text, replace(release, table=_called(query, release.table)), _ESTIMATES)
    except UnsupportedSQLError as error:
        raise PolicyError(f"{query.name}: {error}") from None


def _called(query: WorkloadQuery, table: str) -> str:
    """What a query calls the table: one query after another is about the same one, so any name will do."""
    try:
        tree = sqlglot.parse_one(query.text, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return table
    own = {folded(cte.alias) for cte in tree.find_all(exp.CTE)}
    names = {t.name for t in tree.find_all(exp.Table) if folded(t.name) not in own}
    return names.pop() if len(names) == 1 else table


def _slack(enough: float) -> float:
    return _SLACK * max(1.0, enough)
