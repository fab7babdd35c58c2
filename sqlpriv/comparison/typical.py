"""The questions that people ask first, put to a release: which it answers, how far off, and why not the others.

Counts by each column and by pairs of columns, and averages of numbers. From the file alone it is known how far apart
the bounds are; with the private table, how far off the answers are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from statistics import median
from typing import Any

from sqlpriv import publishing
from sqlpriv.comparison.measure import measure
from sqlpriv.comparison.truth import ask_private, is_fine
from sqlpriv.comparison.workload import Question, read_statements
from sqlpriv.core.engine import fetch, scratch_folder
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import Facts, Line
from sqlpriv.core.sqltext import NUMERIC_TYPE, folded, quoted, rows_of
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import AnyPlan, Request
from sqlpriv.policy.file import Policy
from sqlpriv.publishing.draft import first_edition
from sqlpriv.publishing.noise import read_key
from sqlpriv.release.ledger.entry import now
from sqlpriv.release.open import OpenRelease
from sqlpriv.rewrite.release import Attribute

_MOST_COLUMNS = 8
_MOST_PAIRS = 6
_MOST_GROUPS = 100_000  # of one count: nobody reads more, and two columns of thousands of values have millions
_PLACE = re.compile(r" at line \d+, column \d+")
MOST_REHEARSED = 250_000
"""Rows of a table whose release is rehearsed to see what it answers: of more, writing takes longer than planning."""
COMMON = 0.01
"""Counts of this share of the rows or more are typical."""


@dataclass(frozen=True)
class Unanswered:
    """A question that a release does not answer, or answers without bounds, and why."""

    question: str
    columns: tuple[str, ...]
    why: str

    def to_json(self) -> dict[str, Any]:
        """As JSON lists it."""
        return {"question": self.question, "columns": list(self.columns), "why": self.why}


@dataclass(frozen=True)
class Answers:
    """What a release answers of typical questions."""

    asked: int
    refused: tuple[Unanswered, ...]
    unbounded: tuple[Unanswered, ...]
    off: float | None
    """By what share half of the answers are off: in truth, or as far as the bounds go."""
    is_true: bool
    """Whether the private table says so, and not only the bounds."""

    @property
    def answered(self) -> int:
        """How many of them are answered."""
        return self.asked - len(self.refused)

    def said(self) -> tuple[str, ...]:
        """What is not answered, or has no bounds, each reason once."""
        return (*_by_reason("Not answered", self.refused), *_by_reason("Answered without bounds", self.unbounded))

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "asked": self.asked,
            "answered": self.answered,
            "refused": [one.to_json() for one in self.refused],
            "unbounded": [one.to_json() for one in self.unbounded],
        }


def _by_reason(head: str, listed: Sequence[Unanswered]) -> Iterator[str]:
    """A question by several columns says nothing new where one by fewer has the same reason."""
    for why in dict.fromkeys(one.why for one in listed):
        alike = [one for one in listed if one.why == why]
        first = [a for a in alike if not any(b.columns and {*b.columns} < {*a.columns} for b in alike)]
        more = len(alike) - len(first)
        yield f"{head}: {', '.join(one.question for one in first)}{f' and {more} more' if more else ''} ({why})"


@dataclass(frozen=True)
class _Typical:
    words: str
    columns: tuple[str, ...]
    question: Question


def typical_questions(table: str, columns: Sequence[Attribute]) -> tuple[_Typical, ...]:
    """Counts by each column and by pairs of columns that have few enough groups, and averages of numbers.

    >>> named = {"age": ("BIGINT", 90), "sex": ("VARCHAR", 2), "day": ("DATE", 10**6)}
    >>> columns = [Attribute(name, *of, "") for name, of in named.items()]
    >>> [q.words for q in typical_questions("t", columns)]
    ['count by age', 'count by sex', 'average of age', 'count by age and sex']
    """
    first = columns[:_MOST_COLUMNS]
    names = [c.name for c in first if _is_read([c])]
    numbers = [c.name for c in first if NUMERIC_TYPE.fullmatch(c.type)]
    pairs = islice(((a.name, b.name) for a, b in combinations(first, 2) if _is_read([a, b])), _MOST_PAIRS)
    asked: list[tuple[str, tuple[str, ...], str]] = [(f"count by {c}", (c,), _count(table, [c])) for c in names]
    asked += [(f"average of {c}", (c,), f"SELECT avg({quoted(c)}) FROM {quoted(table)}") for c in numbers]
    asked += [(f"count by {a} and {b}", (a, b), _count(table, [a, b])) for a, b in pairs]
    return tuple(_Typical(words, of, _question(n, sql, words)) for n, (words, of, sql) in enumerate(asked, 1))


def _is_read(columns: Sequence[Attribute]) -> bool:
    """Whether a count by these columns has so few groups that people read it."""
    return math.prod(c.size for c in columns) <= _MOST_GROUPS


def _count(table: str, columns: Sequence[str]) -> str:
    keys = ", ".join(map(quoted, columns))
    return f"SELECT {keys}, count(*) AS n FROM {quoted(table)} GROUP BY {keys}"


def _question(number: int, sql: str, words: str) -> Question:
    if words.startswith("average"):
        return Question(number, sql, (True,), (False,))
    keys = words.count(" and ") + 1
    return Question(number, sql, (*(False,) * keys, True), (*(False,) * keys, True))


def typical_answers(release: OpenRelease, policy: Policy | None = None, own: Sequence[str] = ()) -> Answers:
    """Ask a release, also questions of one's own; with its policy, compare with the private table."""
    columns = [c for name in release.tables[release.table] if (c := release.about.column(name))]
    asked = typical_questions(release.table, columns)
    refused, unbounded, widths = [], [], []
    for sql in own:
        try:
            release.explain(sql)
        except SqlprivError as error:
            refused.append(Unanswered(" ".join(sql.split()), (), str(error)))
    for one in asked:
        try:
            names, rows = release.fetch(one.question.sql)
        except SqlprivError as error:
            # The question is ours, so that places in it say nothing.
            refused.append(Unanswered(one.words, one.columns, _PLACE.sub("", str(error))))
            continue
        found = list(_half_widths(names, rows, is_count=one.words.startswith("count")))
        if any(map(math.isinf, found)):
            why = "; ".join(release.warnings(one.question.sql)) or "its bounds are infinite"
            unbounded.append(Unanswered(one.words, one.columns, why))
        widths += found
    off, is_true = median(widths) if widths else None, False
    if policy is not None:
        left_out = {folded(c) for u in refused for c in u.columns if len(u.columns) == 1}
        left_out |= {folded(c.name) for c in policy.columns if not is_fine(c)}
        known = [one.question for one in asked if not left_out & {folded(c) for c in one.columns}]
        truth = ask_private(policy, known, 0) if known else None
        if truth is not None:
            off, is_true = measure(release, truth).typical_error, True
    return Answers(len(asked) + len(own), tuple(refused), tuple(unbounded), off, is_true)


def answers_of_plan(plan: AnyPlan) -> Answers | None:
    """What the release of a plan would answer: it is rehearsed in a scratch folder, and asked by its file alone.

    None where there is no such release, it answers no queries, or the table is so large that writing it takes long.
    """
    there, number = rows_of(plan.source.checked)
    if int(fetch(plan.source.con, f"SELECT {number} FROM {there}")[0][0] or 0) > MOST_REHEARSED:
        return None
    policy, request = plan.policy, Request()
    # A view that cannot be answered would refuse the whole file, and is what is to be said.
    plan = replace(plan, policy=replace(policy, questions={}, auto_views=False))
    method = METHODS[policy.method]
    try:
        plan.refuse(request)
        with scratch_folder() as folder:
            path, before = folder / "rehearsed.duckdb", policy.table.state()
            edition = first_edition(method, plan, read_key(None) if method.draws else b"")
            publishing.make_file(method, plan, edition, now()[:10], path, request, before)
            with publishing.open_release(path) as release:
                return typical_answers(release, own=_own_questions(policy))
    except SqlprivError:
        return None


def with_answers(facts: Facts, plan: AnyPlan) -> Facts:
    """The facts of a plan, with which questions its release will answer, and why not the others."""
    answers = answers_of_plan(plan) if facts.passed else None
    if answers is None:
        return facts
    lines = [Line(f"{answers.answered} of {answers.asked} typical questions will be answered", "answers")]
    lines += [Line(text, "warning") for text in answers.said()]
    content = {**facts.content, "questions": answers.to_json()}
    return replace(facts, content=content, parts=(*facts.parts, *lines))


def _own_questions(policy: Policy) -> tuple[str, ...]:
    """Those that the policy names: of its views, and of the workload that its release is made for."""
    objective = str(policy.release.get("objective") or "")
    _, _, file = objective.partition("workload:")
    asked = read_statements(policy.table.path(file)) if file else []
    return (*policy.questions.values(), *asked)


def _half_widths(names: Sequence[str], rows: Sequence[Sequence[Any]], *, is_count: bool) -> Iterator[float]:
    """Of the estimates that are not small: half of the distance of their bounds, as a share of the estimate."""
    at = next((i for i, n in enumerate(names[:-2]) if names[i + 1 : i + 3] == [f"{n}_low", f"{n}_high"]), None)
    if at is None:
        return
    numbers = [tuple(map(float, row[at : at + 3])) for row in rows if None not in row[at : at + 3]]
    least = COMMON * sum(n[0] for n in numbers) if is_count else 0
    for estimate, low, high in numbers:
        if abs(estimate) > 0 and (not is_count or estimate >= least):
            yield 0.0 if low == high else (high - low) / 2 / abs(estimate)
