"""How long the texts can be that a query makes: what may be too long for a machine is refused before it runs.

DuckDB's limit of memory does not count the texts that a query makes, and repeat('x', 600000000) cannot be interrupted.
So every value has a bound, from the lengths of constants up through subqueries and common table expressions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlpriv.core.sqltext import folded
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.syntax import without_parentheses

_LONGEST = 100_000.0
_OF_COLUMNS = 1000.0
"""What is taken for the length of a value of a table; it is there already, and only multiplied here."""
_SHORT = 64.0
_OF_SUMS = (exp.DPipe, exp.Concat, exp.Array)
_QUADRATIC = frozenset({"damerau_levenshtein", "jaro_similarity", "editdist3", "hamming", "mismatches", "jaccard"})
_TOO_LONG = "a text that may have more than 100,000 signs"
_LESS = "repeat, pad and concatenate less; counts and widths are constants"


def refuse_long(statement: exp.Expr, sql: str) -> None:
    """Refuse a query that may make a text that is too long."""
    if isinstance(statement, exp.Query):
        _Lengths(sql).query(statement, {})


class _Lengths:
    """The bounds for one statement."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._known: dict[int, float] = {}

    def query(self, node: exp.Expr, ctes: Mapping[str, float]) -> float:
        """The length of the longest value that a query shows, or has inside."""
        if id(node) not in self._known:
            self._known[id(node)] = self._query(node, ctes)
        return self._known[id(node)]

    def _query(self, node: exp.Expr, ctes: Mapping[str, float]) -> float:
        visible = dict(ctes)
        for cte in node.args["with_"].expressions if node.args.get("with_") else []:
            visible[folded(cte.alias)] = self.query(cte.this, visible)
        if isinstance(node, exp.Subquery):
            return self.query(node.this, visible)
        if isinstance(node, exp.SetOperation):
            return max(self.query(node.this, visible), self.query(node.expression, visible))
        sources = [part for key in ("from_", "joins") for part in _listed(node.args.get(key))]
        read = [self._source(table, visible) for part in sources for table in _tables(part)]
        others = [v for key, value in node.args.items() if key not in ("with_", "from_") for v in _listed(value)]
        of_column = max([_OF_COLUMNS, *read])
        return max([0.0, *(self._length(other, of_column, visible) for other in others)])

    def _source(self, node: exp.Expr, ctes: Mapping[str, float]) -> float:
        if isinstance(node, exp.Table):
            return ctes.get(folded(node.name), _OF_COLUMNS)
        return self.query(node, ctes)

    def _length(self, node: exp.Expr, of_column: float, ctes: Mapping[str, float]) -> float:
        if isinstance(node, exp.Column):
            return of_column
        if isinstance(node, exp.Literal):
            return float(len(node.this)) if node.is_string else _SHORT
        if isinstance(node, (exp.Table, exp.Identifier, exp.DataType)):
            return 0.0
        if isinstance(node, exp.Query):
            # It may see the columns around it, too.
            return max(self.query(node, ctes), of_column)
        children = [self._length(child, of_column, ctes) for child in node.iter_expressions()]
        found = self._made(node, children)
        if found > _LONGEST:
            refuse(self._sql, node, _TOO_LONG, _LESS)
        return found

    def _made(self, node: exp.Expr, children: Sequence[float]) -> float:
        first = children[0] if children else 0.0
        name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if isinstance(node, exp.Repeat):
            return first * self._constant(node, node.args.get("times"))
        if isinstance(node, exp.Pad):
            return self._constant(node, node.expression)
        if isinstance(node, exp.ConcatWs):
            return sum(children) + first * len(children)
        if isinstance(node, _OF_SUMS) or name in {"list_value", "concat"}:
            return sum(children)
        if isinstance(node, (exp.Replace, exp.RegexpReplace, exp.TimeToStr)):
            return self._replaced(node, children)
        if isinstance(node, exp.Format) or name == "printf":
            return self._formatted(node, children)
        if name in {"bar", "to_base"}:
            return sum(self._constant(node, argument) for argument in node.expressions[-1:]) + _SHORT
        if isinstance(node, exp.Levenshtein) or name in _QUADRATIC:
            if min(children) > _OF_COLUMNS:  # it takes a step for each pair of signs
                refuse(
                    self._sql, node, f"a comparison of texts that may have more than {_OF_COLUMNS:,.0f} signs", _LESS
                )
            return _SHORT
        if name in {"url_encode"} or isinstance(node, exp.Hex):
            return first * 3
        if isinstance(node, (exp.Binary, exp.Connector, exp.Predicate, exp.Not)):
            return _SHORT
        return max([0.0, *children])

    def _replaced(self, node: exp.Expr, children: Sequence[float]) -> float:
        if isinstance(node, exp.TimeToStr):
            pattern = node.args.get("format")
            return 30.0 * (len(pattern.this) if isinstance(pattern, exp.Literal) else max(children))
        new = without_parentheses(node.args["replacement"]) if node.args.get("replacement") is not None else None
        if new is None:
            return children[0]
        if not isinstance(new, exp.Literal):
            return (children[0] + 1) * children[2]
        references = len(re.findall(r"\\\d", new.this)) if isinstance(node, exp.RegexpReplace) else 0
        old = without_parentheses(node.expression)
        shortest = len(old.this) if isinstance(node, exp.Replace) and isinstance(old, exp.Literal) else 1
        return children[0] * (1 + references) + (children[0] / max(shortest, 1) + 1) * len(new.this)

    def _formatted(self, node: exp.Expr, children: Sequence[float]) -> float:
        """Each number in a format may be a width."""
        given = node.expressions if isinstance(node, exp.Anonymous) else [node.this]
        pattern = without_parentheses(given[0]) if given else None
        if not isinstance(pattern, exp.Literal) or re.search(r"\*|\{[^}]*\{", pattern.this):
            refuse(self._sql, node, "a format that is no constant", _LESS)
        uses: int = pattern.this.count("%") + pattern.this.count("{")
        return sum(float(number) for number in re.findall(r"\d+", pattern.this)) + (uses + 1) * max([_SHORT, *children])

    def _constant(self, node: exp.Expr, number: exp.Expr | None) -> float:
        bare = without_parentheses(number) if number is not None else None
        while isinstance(bare, exp.Cast):
            bare = without_parentheses(bare.this)
        if isinstance(bare, (exp.Neg, exp.Null)):
            return 0.0
        if not isinstance(bare, exp.Literal) or not bare.this.isdigit():
            refuse(self._sql, node, "a text whose length is no constant", _LESS)
        return float(bare.this)


def _listed(value: object) -> list[exp.Expr]:
    return [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, exp.Expr)]


def _tables(part: exp.Expr) -> list[exp.Expr]:
    """What FROM or a JOIN reads, with joins inside it."""
    source = part.this if isinstance(part, (exp.From, exp.Join)) else part
    return [source, *(each for join in source.args.get("joins") or [] for each in _tables(join))]
