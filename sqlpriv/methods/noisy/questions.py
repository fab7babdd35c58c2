"""How far off the answers of a release will be, foretold by a plan: their standard errors, before any noise is drawn.

The rewriter that answers queries of a release is given the private table in the place of the view. Its rows are the
true ones, with the variance that noise adds to a row, and the domain has the variance of noise alone (macro
expected_weights). What it computes as the variance of an estimate is then the one that the estimate will really have.
Of ratios, as avg() is one, it is that of the delta method, and none where what is divided by may come near 0. A tuple
with many copies is one row with their weights.

For the owner alone, since all of this is made from private rows. No answer is given, only errors, and of these only two
digits: an error grows with its answer, and with all its digits would reveal a count to the last row. For the same
reason no error is given relative to its answer, and nothing is chosen or sorted by answers (Options.deviations).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError, SqlprivError
from sqlpriv.core.facts import Facts, Grid, Line, Part
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.noisy.mechanism import ErrorWeights
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.write import write_public
from sqlpriv.release.open import run_rewritten
from sqlpriv.release.read import attribute, public_tables
from sqlpriv.release.views import wrong_name, wrong_question
from sqlpriv.rewrite.bind.relations import Answer
from sqlpriv.rewrite.bind.time_of_asking import time_of_asking
from sqlpriv.rewrite.clauses import Options
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import NoisyRelease, PublicFacts, Release

MOST_GROUPS = 40
"""So many groups are shown to a person; all of them are in the JSON."""
_MEMORY = "memory"
_WARNING = (
    "The standard errors below are computed from the private table: they are for you, not for publication. They say "
    "how far the answers of a release will be off, as a rule: one in three is off by more than that, one in twenty by "
    "more than twice that."
)
_WITHOUT = (
    "-: no standard error can be given. A release has no bounds there either, or what is divided by is too small "
    "compared with its own error."
)


def ask(plan: RandomizedPlan, queries: Sequence[str]) -> Facts:
    """The standard errors of all answers to some queries; what a release would refuse is refused before any runs."""
    weights = plan.calibration.mechanism.error_weights(plan.source.calls)
    with plan.source.scratch.nested() as scratch:
        release = _described(plan, weights, scratch.table(_true_rows(plan, weights), "true_rows"))
        for query in queries:
            rewrite(query, release)
        answers = [rewrite(q, release, Options(deviations=True, now=time_of_asking(q))) for q in queries]
        found = [_answered(plan, query, answer) for query, answer in zip(queries, answers, strict=True)]
    first = "" if plan.policy.views == 1 else " This is the first view of the sequence; later ones answer with others."
    parts: list[Part] = [Line(_WARNING + first, "private"), *(part for each in found for part in each.parts())]
    return Facts("", [each.content() for each in found], tuple(parts))


def refuse_views(plan: RandomizedPlan) -> None:
    """Refuse questions of [views] that no release by this plan could keep as views."""
    # Whether a question can be rewritten does not depend on rows, so none are made for it.
    release = _described(plan, plan.calibration.mechanism.error_weights(plan.source.calls), plan.tuples)
    for name, question in plan.policy.questions.items():
        try:
            if why := wrong_name(name, release.table) or wrong_question(question):
                raise PolicyError(why)
            rewrite(question.strip(), release)
        except SqlprivError as error:
            raise PolicyError(f"the view {name!r} of the policy: {error}") from None


@dataclass(frozen=True)
class _Answered:
    """A query, and the standard errors of its answers, in each group."""

    query: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    groups: tuple[tuple[tuple[Any, ...], tuple[float | None, ...]], ...]

    @property
    def is_grouped(self) -> bool:
        return bool(self.keys) or len(self.groups) != 1

    def content(self) -> dict[str, Any]:
        """For machines."""
        about: dict[str, Any] = {"query": self.query, "columns": list(self.columns)}
        if not self.is_grouped:
            return {**about, "standard_errors": [_two_digits(e) for e in self.groups[0][1]]}
        middle, largest = self._summary()
        groups = [{"keys": list(k), "standard_errors": [_two_digits(e) for e in errors]} for k, errors in self.groups]
        return {**about, "keys": list(self.keys), "groups": groups, "median": middle, "largest": largest}

    def parts(self) -> list[Part]:
        """For people."""
        asked = Line(" ".join(self.query.split()), "question")
        rows = [(*map(_shown_key, keys), *map(_shown_error, errors)) for keys, errors in self.groups[:MOST_GROUPS]]
        headings, left = (*self.keys, *self.columns), self.keys
        if self.is_grouped:
            headings, left = ("", *headings), ("", *left)
            rows = [("", *row) for row in rows]
            empty = ("",) * len(self.keys)
            for name, errors in zip(("median", "largest"), self._summary(), strict=True):
                rows.append((name, *empty, *map(_shown_error, errors)))
        more = len(self.groups) - MOST_GROUPS
        caption = f"and {more:,} more groups, which the median and the largest are of, too" if more > 0 else ""
        parts: list[Part] = [asked, Grid(headings, tuple(rows), caption=caption, left=left)]
        if any(error is None for _, errors in self.groups for error in errors):
            parts.append(Line(_WITHOUT, quiet=True))
        return parts

    def _summary(self) -> tuple[list[float | None], list[float | None]]:
        """Over all groups, the median and the largest of each column."""
        listed = [[e[i] for _, e in self.groups if e[i] is not None] for i in range(len(self.columns))]
        known = [[e for e in errors if e is not None] for errors in listed]
        return [_two_digits(median(e) if e else None) for e in known], [
            _two_digits(max(e, default=None)) for e in known
        ]


def _true_rows(plan: RandomizedPlan, weights: ErrorWeights) -> str:
    """SQL for the private table as the view of a release of itself, in which nothing was published."""
    values = [f"d{i}.value AS {quoted(c.name)}" for i, c in enumerate(plan.columns)]
    joins = " ".join(f"JOIN {c.table.name} AS d{i} ON d{i}.id = t.i{i}" for i, c in enumerate(plan.columns))
    share = " * ".join(f"d{i}.share" for i, _ in enumerate(plan.columns))
    columns = ", ".join(f"__copies * ({number}) AS __{part}" for part, number in weights.row.items())
    shown = f"{', '.join(values)}, {share} AS __share, t.copies AS __copies"
    return f"SELECT * EXCLUDE (__share, __copies), {columns} FROM (SELECT {shown} FROM {plan.tuples.name} AS t {joins})"


def _described(plan: RandomizedPlan, weights: ErrorWeights, published: Relation) -> Release:
    """What rewriting knows of such a release, with its public tables."""
    con = plan.source.con
    fetch(con, f"DROP SCHEMA IF EXISTS {_MEMORY}.public CASCADE")
    fetch(con, f"CREATE SCHEMA {_MEMORY}.public")
    write_public(plan, _MEMORY)
    return NoisyRelease(
        table=plan.policy.table.name,
        attributes=tuple(attribute(con, c.name, c.type, c.size, c.table.name) for c in plan.columns),
        published=published.name,
        domain_weights=weights.domain,
        cross_estimate=weights.cross_estimate,
        cross_square=weights.cross_square,
        public=public_tables(con, _MEMORY, "public"),
        facts=PublicFacts(con),
    )


def _answered(plan: RandomizedPlan, query: str, answer: Answer) -> _Answered:
    """Run a rewritten query; of its columns only group keys and the errors of estimates come back."""
    names = [f"c{i}" for i, _ in enumerate(answer.names)]
    places, keys, errors = iter(names), {}, {}
    for column in answer.columns:
        own = next(places)
        if column.exact:
            keys[own] = column.name
            continue
        bounds = (next(places), next(places)) if column.low is not None else ("NULL", "NULL")
        errors[f"CAST({inlined('_deviation({}, {})'.format(*bounds))} AS DOUBLE) AS {own}"] = column.name
    rows = run_rewritten(
        plan.source.con,
        f"SELECT {', '.join([*keys, *errors])} FROM ({answer.sql}) AS __priv_answer({', '.join(names)}) ORDER BY ALL",
    )
    found = [tuple(row.values()) for row in rows.to_pylist()]
    groups = tuple((row[: len(keys)], row[len(keys) :]) for row in found)
    return _Answered(query, tuple(keys.values()), tuple(errors.values()), groups)


def _two_digits(error: float | None) -> float | None:
    return None if error is None else float(f"{error:.2g}")


def _shown_error(error: float | None) -> str:
    rounded = _two_digits(error)
    if rounded is None:
        return "-"
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:.2g}"


def _shown_key(value: Any) -> str:
    return "NULL" if value is None else str(value)
