"""The rows below an answer: a query over one may be about what that aggregates, and is then flattened into it."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlpriv.rewrite.bind.flatten import ONLY_SUMS, Flattening
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import Aggregated, Rows, Shown, marked
from sqlpriv.rewrite.bind.scope import Scope


def flattened(sql: str, select: exp.Select, rows: Rows, scope: Scope) -> tuple[Rows, Flattening]:
    """The rows that a query over an answer is about, once it is flattened. Its scope then shows what keys stand for."""
    answers = {name: read.answer for name, read in rows.reads.items() if read.answer is not None}
    variable, answer = next(iter(answers.items()))
    if len(answers) > 1 or answer.aggregated is None or select.args.get("distinct"):
        refuse(sql, select, "an aggregate over estimates", ONLY_SUMS)
    below = answer.aggregated
    flat = Flattening(sql, variable, below.columns)
    conditions = [flat.exact(c) for c in rows.conditions]
    flat.refuse_estimates(conditions)
    for columns in (*scope.sources.values(), scope.merged):
        for key, shown in columns.items():
            columns[key] = marked(Shown(shown.name, flat.exact(shown.expression)))
    return _merged(below, rows, variable, conditions), flat


def aggregated_rows(rows: Rows, columns: list[tuple[str, exp.Expr]]) -> Aggregated:
    """What an answer aggregates, and what its columns are; of two with the same name the first."""
    kept = replace(rows, shown=[], conditions=[c.copy() for c in rows.conditions])
    return Aggregated(kept, {name: node.copy() for name, node in reversed(columns)})


def still_aggregated(sql: str, rows: Rows, columns: list[tuple[str, exp.Expr]]) -> Aggregated | None:
    """As `aggregated_rows`, of a query that only projects an answer and filters it by its group keys."""
    answers = {name: read.answer for name, read in rows.reads.items() if read.answer is not None}
    variable, answer = next(iter(answers.items()))
    if len(answers) > 1 or answer.aggregated is None:
        return None
    flat = Flattening(sql, variable, answer.aggregated.columns)
    conditions = [flat.exact(c) for c in rows.conditions]
    if any(map(flat.mentions_estimates, conditions)):
        return None
    merged = _merged(answer.aggregated, rows, variable, conditions)
    below = [(name, flat.below(node)) for name, node in columns]
    # Bounds are of this answer alone, and stand for nothing below it.
    return aggregated_rows(merged, [(name, node) for name, node in below if not flat.mentions_estimates(node)])


def _merged(below: Aggregated, rows: Rows, variable: str, conditions: list[exp.Expr]) -> Rows:
    reads = {name: read for name, read in rows.reads.items() if name != variable}
    own = [c.copy() for c in below.rows.conditions]
    return Rows([], [*own, *conditions], {**below.rows.reads, **reads}, private=True)
