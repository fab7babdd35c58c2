"""Window functions over estimates: linear ones get a form with an interval, all others the value they have.

sum, avg, lag and lead are combinations of the sums of several groups, if group keys alone say which groups these are.
Ranks, and whatever is chosen or sorted by estimates, is computed from the estimates as they are, and has no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse, refuse_node
from sqlpriv.rewrite.estimate.forms import Exact, Form, Linear, Opaque, Ratio, scale
from sqlpriv.rewrite.estimate.sums import Frame, Sums
from sqlpriv.rewrite.syntax import direction

RANKS = (exp.Rank, exp.DenseRank, exp.RowNumber, exp.Ntile, exp.PercentRank, exp.CumeDist)
_MOVED = (exp.Lag, exp.Lead)
_VALUES = (exp.FirstValue, exp.LastValue)
_ADDED = (exp.Sum, exp.Avg, exp.Count)
_EXTREMES = (exp.Min, exp.Max)
KNOWN = (*RANKS, *_MOVED, *_VALUES, *_ADDED, *_EXTREMES)


@dataclass(frozen=True)
class WindowParts:
    """How the parts of a window function are written, and what they are."""

    form: Callable[[exp.Expr], Form]
    value: Callable[[Form], str]
    call: Callable[[exp.Expr, list[str]], str]
    keys: frozenset[str]
    """The texts of the group keys: where all of them are sorted or partitioned by, no two rows are alike."""
    sums: Sums | None
    """Where sums over groups can be computed, if they can."""


def window_form(node: exp.Window, written: WindowParts, sql: str) -> Form:
    """The form of a window function."""
    function = node.this
    if not isinstance(function, KNOWN):
        refuse_node(sql, function if isinstance(function, exp.Func) else node)
    partition = [written.form(p) for p in node.args.get("partition_by") or []]
    ordered = list(node.args["order"].expressions) if node.args.get("order") else []
    order = [written.form(o.this) for o in ordered]
    arguments = [child for child in function.iter_expressions() if not isinstance(child, exp.Star)]
    forms = [written.form(a) for a in arguments if not isinstance(a, exp.Literal)]
    if isinstance(function, _EXTREMES) and not all(isinstance(f, Exact) for f in forms):
        instead = f"the {'largest' if isinstance(function, exp.Max) else 'smallest'} of several estimates is biased"
        refuse(sql, node, f"{function.key}() over estimates", f"{instead} by their noise; sort the answer instead")
    by = [f"({written.value(o)}){direction(node_)}" for o, node_ in zip(order, ordered, strict=True)]
    is_exact = all(isinstance(f, Exact) for f in (*partition, *order))
    if is_exact and forms and written.sums is not None and not isinstance(forms[0], Exact):
        frame = _frame(node, partition, by, order, written)
        if frame is not None and (made := _linear(function, forms[0], frame, written.sums)) is not None:
            return made
    text = _text(node, written, [written.value(p) for p in partition], by, [written.value(f) for f in forms])
    # How many groups there are is read off the answer, and not known of the table.
    counts_groups = isinstance(function, exp.Count)
    exact = is_exact and all(isinstance(f, Exact) for f in forms) and not counts_groups
    return Exact(text) if exact else Opaque(text)


def _text(node: exp.Window, written: WindowParts, partition: list[str], order: list[str], values: list[str]) -> str:
    over = [f"PARTITION BY {', '.join(partition)}"] if partition else []
    over += [f"ORDER BY {', '.join(order)}"] if order else []
    if (spec := node.args.get("spec")) is not None:
        over.append(spec.sql(dialect="duckdb"))
    return f"{written.call(node.this, values)} OVER ({' '.join(over)})"


def _frame(
    node: exp.Window, partition: list[Form], by: list[str], order: list[Form], written: WindowParts
) -> Frame | None:
    """The frame of a window, if it is one of rows at fixed distances."""
    within = frozenset(written.value(p) for p in partition)
    if isinstance(node.this, _MOVED):
        offset = node.this.args.get("offset")
        if offset is not None and not (isinstance(offset, exp.Literal) and offset.this.isdigit()):
            return None
        steps = int(offset.this) if offset is not None else 1
        at = -steps if isinstance(node.this, exp.Lag) else steps
        start, end = float(at), float(at)
        if node.this.args.get("default") is not None or not order:
            return None
    elif isinstance(node.this, (exp.Sum, exp.Avg)):
        spec = node.args.get("spec")
        if not order:
            return Frame(within) if spec is None else None
        if spec is None:
            start, end = -math.inf, 0.0
        else:
            if spec.args.get("exclude"):
                return None
            start, end = _at(spec, "start"), _at(spec, "end")
            moved = {start, end} - {-math.inf, 0.0, math.inf}
            if math.isnan(start) or math.isnan(end) or (str(spec.args.get("kind")).upper() != "ROWS" and moved):
                return None
    else:
        return None
    if start == -math.inf and end == math.inf:
        return Frame(within)
    # Rows that are sorted alike make RANGE differ from ROWS, and ROWS depend on chance.
    if not written.keys <= within | {written.value(o) for o in order}:
        return None
    return Frame(within, tuple(by), start, end)


def _at(spec: exp.Expr, side: str) -> float:
    value = spec.args.get(side)
    if value is None and side == "end":
        return 0.0
    if isinstance(value, exp.Literal):
        value = value.this
    direction_ = str(spec.args.get(f"{side}_side") or "").upper()
    text = str(value).upper()
    if text == "CURRENT ROW":
        return 0.0
    if text == "UNBOUNDED":
        return -math.inf if direction_ == "PRECEDING" else math.inf
    if not text.isdigit() or direction_ not in {"PRECEDING", "FOLLOWING"}:
        return math.nan
    return float(text) * (-1 if direction_ == "PRECEDING" else 1)


def _linear(function: exp.Expr, form: Form, frame: Frame, sums: Sums) -> Form | None:
    """The form of a sum, an average, or a value some rows away."""
    if isinstance(form, Ratio) and isinstance(function, _MOVED):
        upper, lower = (_linear(function, side, frame, sums) for side in (form.upper, form.lower))
        return Ratio(upper, lower, form.domain) if isinstance(upper, Linear) and isinstance(lower, Linear) else None
    if not isinstance(form, Linear) or any(sums.windowed(i) is not None for i in form.terms):
        return None
    shift = None
    if form.shift is not None:
        shift = sums.window_column(f"sum({form.shift}) {frame.sql()}")
    made = Linear({sums.over(form.terms, frame): "1"} if form.terms else {}, shift)
    if isinstance(function, exp.Avg):
        return scale(made, f"1e0 / nullif({sums.window_column(f'count(*) {frame.sql()}')}, 0)")
    return made
