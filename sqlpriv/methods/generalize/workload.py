"""The mean error of the owner's own queries, answered by the release that a node would be: an objective.

A query asks for one number, alone or in each group. Its estimate is what the release of the node answers through
the one rewriter (rewrite/); the truth is what the same rewriter makes of the table as it is, each value a class of its
own. The error of a query is the mean of |estimate - truth| over the groups that have a number in truth; a number that
the release does not give counts as 0. A node whose release refuses a query, because all of a column is below one label
and nobody knows which values these are, has an infinite error.

Where nothing is suppressed, an estimate depends on the levels of the columns alone that the query mentions.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp

from sqlpriv.errors import InputError, InternalError, PolicyError, UnsupportedSQLError
from sqlpriv.methods.generalize.asked import AskedNode, AskedNodes
from sqlpriv.methods.generalize.objectives import Objective
from sqlpriv.methods.generalize.policy import GeneralizePolicy
from sqlpriv.methods.labelled.evaluate import Node, Outcome
from sqlpriv.methods.labelled.leaves import Known
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.labelled.scan import Scan, published_columns
from sqlpriv.release.open import run_rewritten
from sqlpriv.rewrite.bind.parse import statements_in_place
from sqlpriv.rewrite.bind.relations import Answer
from sqlpriv.rewrite.clauses import Options
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import Release
from sqlpriv.sqltext import folded

_Group = tuple[Any, ...]
_SLACK = 1e-9
_ESTIMATES = Options(intervals=False)


@dataclass(frozen=True)
class Query:
    """A query of the file: its text, where it stands in the file, and what to call it."""

    text: str
    name: str


@dataclass(frozen=True)
class _Asked:
    """A query, the columns that it mentions, and the true numbers by group."""

    query: Query
    mentioned: frozenset[str]
    truth: dict[_Group, float]


def read_workload(policy: GeneralizePolicy, file: str) -> list[Query]:
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
    return [Query(text, f"{file}, query {i}") for i, text in enumerate(texts, 1)]


def other_columns(policy: GeneralizePolicy, queries: Sequence[Query]) -> list[str]:
    """The columns that queries may mention beside quasi-identifiers and sensitive ones; * may mention all."""
    others = policy.named("other")
    words: set[str] = set()
    for query in queries:
        tokens = sqlglot.tokenize(query.text, dialect="duckdb")
        words |= {folded(t.text) for t in tokens}
        stars = [i for i, t in enumerate(tokens) if t.text == "*"]
        if any(i < 2 or folded(tokens[i - 2].text) != "count" for i in stars):
            return list(others)
    return [c for c in others if folded(c) in words]


class Workload:
    """The mean error of nodes."""

    def __init__(
        self,
        scan: Scan,
        policy: GeneralizePolicy,
        measures: tuple[ClassMeasure, ...],
        known: Known,
        queries: Sequence[Query],
    ) -> None:
        self._con = scan.source.con
        self._qis = policy.qis
        read = {folded(c) for c in (*policy.qis, *policy.sensitive, *other_columns(policy, queries))}
        columns = [c for c in published_columns(scan) if folded(c) in read]
        self._nodes = AskedNodes(scan, policy, measures, known, columns)
        self._found: dict[tuple[int, tuple[int, ...]], float] = {}
        """The errors of queries where nothing is suppressed, by the levels of what they mention."""
        self._rewritten: dict[Hashable, Answer] = {}
        self._refusals: dict[int, str] = {}
        """What the rewriter said of a query when it last had no answer."""
        self._unanswered: dict[Node, int] = {}
        self._usual = [0.0] * len(queries)
        """The error of each query at the last node."""
        table = self._nodes.opened((0,) * len(policy.qis), 0).release
        self._asked = [self._true(query, table) for query in queries]
        # What cannot be asked of a column that is generalized cannot be a workload.
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
            found[node] = self._error(node, outcome.suppressed, enough)
            enough = min(enough, found[node])
        return found

    def refuse_unanswered(self, node: Node) -> None:
        """Refuse the best node, if its release would not answer all queries: then none would."""
        if node in self._unanswered:
            why = self._refusals[self._unanswered[node]]
            raise PolicyError(f"no node that meets the policy answers the workload: {why}")

    def _error(self, node: Node, suppressed: int, enough: float) -> float:
        levels = {folded(q): level for q, level in zip(self._qis, node, strict=True)}
        keys = [
            (i, tuple(levels[folded(q)] for q in self._qis if folded(q) in asked.mentioned))
            for i, asked in enumerate(self._asked)
        ]
        known = self._found if suppressed == 0 else {}
        opened = None
        errors: dict[int, float] = {}
        # Those with the largest errors first: they show soonest that a node is none of the best.
        for i in sorted(range(len(keys)), key=lambda i: -self._usual[i]):
            if keys[i] not in known:
                opened = opened or self._nodes.opened(node, suppressed)
                known[keys[i]] = self._of_query(i, opened)
            errors[i] = self._usual[i] = known[keys[i]]
            if errors[i] == math.inf and i in self._refusals:
                self._unanswered[node] = i
            if sum(errors.values()) / len(keys) > enough + _SLACK * max(1.0, enough):
                break
        return sum(error for _, error in sorted(errors.items())) / len(keys)

    def _of_query(self, i: int, opened: AskedNode) -> float:
        asked = self._asked[i]
        key = asked.query, opened.shape
        try:
            if key not in self._rewritten:
                self._rewritten[key] = _rewritten(asked.query, opened.release)
            found = self._numbers(asked.query, self._rewritten[key])
        except PolicyError as refused:
            self._refusals[i] = str(refused)
            return math.inf
        return _mean([abs(found.get(group, 0.0) - true) for group, true in asked.truth.items()])

    def _true(self, query: Query, table: Release) -> _Asked:
        mentioned: set[str] = set()

        def noted(columns: frozenset[str], *rest: Any) -> str:
            mentioned.update(map(folded, columns))
            assert table.rows is not None
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
        return _Asked(query, frozenset(mentioned), truth)

    def _numbers(self, query: Query, answer: Answer) -> dict[_Group, float]:
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
    """The objective. Nothing is known of a node before it was asked."""
    return Objective("workload", None, "NULL", asked=workload.errors, refuse=workload.refuse_unanswered)


def _rewritten(query: Query, release: Release) -> Answer:
    try:
        return rewrite(query.text, replace(release, table=_called(query, release.table)), _ESTIMATES)
    except UnsupportedSQLError as error:
        raise PolicyError(f"{query.name}: {error}") from None


def _called(query: Query, table: str) -> str:
    """What a query calls the table: one query after another is about the same one, so any name will do."""
    try:
        tree = sqlglot.parse_one(query.text, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        return table
    own = {folded(cte.alias) for cte in tree.find_all(exp.CTE)}
    names = {t.name for t in tree.find_all(exp.Table) if folded(t.name) not in own}
    return names.pop() if len(names) == 1 else table


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
