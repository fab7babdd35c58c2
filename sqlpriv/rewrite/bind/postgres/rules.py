"""How each expression of PostgreSQL is written for DuckDB, once its parts are; or why it is refused."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from sqlpriv.rewrite.bind.functions import NAMES
from sqlpriv.rewrite.bind.postgres import functions, types
from sqlpriv.rewrite.bind.postgres.texts import (
    COMPUTED,
    array_elements,
    date_format,
    replaces_same,
    same_regex,
    similar_regex,
    utc_text,
)
from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.syntax import has_aggregates, without_parentheses

NO_VALUES = (exp.DataType, exp.DataTypeParam, exp.Identifier, exp.Var, exp.Star, exp.TableAlias, exp.WindowSpec)
"""Parts of expressions that are none themselves."""


class Rules:
    """The rules for the expressions of one statement, whose text says where a refusal is."""

    def __init__(self, sql: str) -> None:
        self._sql = sql

    def written(self, node: exp.Expr, below: list[str]) -> exp.Expr:
        """A node whose parts are translated already, as DuckDB has it."""
        if (made := functions.written(node, below)) is not None:
            return made
        if isinstance(node, exp.Div):
            return self._divided(node, below)
        if isinstance(node, (exp.Add, exp.Sub)) and types.LITERAL in below:
            return self._with_literal(node, below)
        if isinstance(node, (exp.Cast, exp.TryCast)):
            return self._cast(node, below[0] if below else types.UNKNOWN)
        if isinstance(node, (exp.DPipe, exp.Concat, exp.ConcatWs)):
            self._refuse_written_numbers(node, below)
        if isinstance(node, exp.SimilarTo):
            pattern = self._pattern(node, node.expression)
            return _matches(
                node.this, self._checked(node, similar_regex(pattern), "a SIMILAR TO pattern with an escape")
            )
        if isinstance(node, (exp.RegexpLike, exp.RegexpILike)):
            pattern = self._checked_regex(node, node.expression, same_regex)
            return _matches(node.this, pattern, "s" if isinstance(node, exp.RegexpLike) else "is")
        if isinstance(node, exp.RegexpReplace):
            return self._replaced(node)
        if isinstance(node, (exp.Like, exp.ILike)):
            return self._like(node)
        if isinstance(node, exp.Any):
            self._list_array(node, "this")
        if isinstance(node, exp.Round) and node.args.get("decimals") is None and below[0] == types.DOUBLE:
            whole = exp.Cast(this=node.this.copy(), to=exp.DataType.build("bigint"))  # to even, as PostgreSQL does
            return exp.Cast(this=whole, to=exp.DataType.build("double"))
        if isinstance(node, exp.Extract):
            return self._extracted(node)
        if isinstance(node, exp.Substring):
            self._refuse_other_start(node)
        if isinstance(node, exp.AtTimeZone):
            if without_parentheses(node.args["zone"]).name.upper() not in {"UTC", "GMT", "Z"}:
                refuse(
                    self._sql, node, "AT TIME ZONE of another zone than UTC", "times are in UTC here; add an INTERVAL"
                )
            local: exp.Expr = node.this.copy()
            return local
        if isinstance(node, exp.Between) and node.args.get("symmetric"):
            return _symmetric(node)
        if isinstance(node, exp.Anonymous):
            return self._called(node, below)
        return node

    def _divided(self, node: exp.Div, below: list[str]) -> exp.Expr:
        for side, kind in zip((node.this, node.expression), below, strict=True):
            is_number = kind in types.NUMBERS or (kind == types.INTERVAL and side is node.this)
            if not is_number and not isinstance(without_parentheses(side), exp.Null):
                what = "a division of what is not known to be a whole number or none"
                refuse(self._sql, side, what, "cast it: x::int, x::numeric or x::float8")
        left, right = node.this.copy(), node.expression.copy()
        is_whole = all(kind in types.WHOLE for kind in below)
        return exp.IntDiv(this=left, expression=right) if is_whole else exp.Div(this=left, expression=right)

    def _with_literal(self, node: exp.Expr, below: list[str]) -> exp.Expr:
        """A constant in quotes takes the type of what it is added to: of a date it is an interval."""
        other = below[0] if below[1] == types.LITERAL else below[1]
        if other in (types.DATE, types.TIMESTAMP, types.INTERVAL, types.TIME):
            refuse(self._sql, node, "a text added to a date", "write its type: INTERVAL '1 day', or DATE '2024-01-31'")
        return node

    def _cast(self, node: exp.Expr, below: str) -> exp.Expr:
        to, value = node.args["to"], node.this
        kind = types.type_of_cast(to)
        if isinstance(without_parentheses(value), exp.Array):
            return without_parentheses(value)  # a list that is compared with: its elements are cast by that
        if to.this is exp.DataType.Type.ARRAY and isinstance(value, exp.Literal):
            return value.copy()
        if kind == types.UNKNOWN:
            refuse(
                self._sql,
                node,
                f"a cast to {to.sql(dialect='postgres').lower()}",
                "cast to a number, text, date or truth",
            )
        if kind == types.TEXT:
            self._refuse_written_numbers(node, [below])
            if to.this is exp.DataType.Type.CHAR:
                refuse(self._sql, node, "a cast to char(n)", "cast to text")
            text = exp.Cast(this=value.copy(), to=exp.DataType.build("text"))
            longest = to.expressions[0].this if to.expressions else None
            return text if longest is None else exp.Left(this=text, expression=longest.copy())
        if kind == types.NUMERIC and not to.expressions:
            # DuckDB's DECIMAL has three digits after the point.
            return exp.Cast(this=value.copy(), to=exp.DataType.build("double"))
        if to.this is exp.DataType.Type.TIMESTAMPTZ:
            return self._point_in_time(node, below)
        return node

    def _point_in_time(self, node: exp.Expr, below: str) -> exp.Expr:
        """TIMESTAMPTZ: times are in UTC here, so it is a TIMESTAMP."""
        value = node.this.copy()
        if isinstance(value, exp.Literal) and value.is_string:
            text = utc_text(value.this)
            value = exp.Literal.string(self._checked(node, text, "a timestamp in another form than ISO 8601"))
        elif below not in (types.DATE, types.TIMESTAMP):
            refuse(self._sql, node, "a cast to timestamptz", "cast a date, a timestamp or a constant")
        return exp.Cast(this=value, to=exp.DataType.build("timestamp"))

    def _refuse_written_numbers(self, node: exp.Expr, below: list[str]) -> None:
        """Numbers with a fraction, and estimates, are written otherwise by DuckDB."""
        values = [c for c in node.iter_expressions() if not isinstance(c, NO_VALUES)]
        for value, kind in zip(values, below, strict=False):
            if kind in (types.NUMERIC, types.DOUBLE, types.INTERVAL) or (
                kind in types.NUMBERS and has_aggregates(value)
            ):
                refuse(self._sql, value, "a number as text", "ask for the number, and write it where it is shown")

    def _pattern(self, node: exp.Expr, pattern: exp.Expr) -> str:
        bare = without_parentheses(pattern)
        if not isinstance(bare, exp.Literal) or not bare.is_string:
            refuse(self._sql, node, "a pattern that is no constant", "write it as a text")
        return str(bare.this)

    def _checked(self, node: exp.Expr, found: str | None, what: str) -> str:
        if found is None:
            refuse(self._sql, node, what, "PostgreSQL and DuckDB read it differently; write it more simply")
        return found

    def _checked_regex(self, node: exp.Expr, pattern: exp.Expr, is_same: Callable[[str], bool]) -> str:
        text = self._pattern(node, pattern)
        return self._checked(node, text if is_same(text) else None, "this regular expression")

    def _replaced(self, node: exp.RegexpReplace) -> exp.Expr:
        given = [node.args.get(part) for part in ("replacement", "modifiers")]
        replacement, flags = (self._pattern(node, part) if part is not None else "" for part in given)
        if set(flags) - {"g", "i"} or "\\&" in replacement or node.args.get("position"):
            self._checked(node, None, "this regexp_replace()")
        pattern = self._checked_regex(node, node.expression, replaces_same)
        made = node.copy()
        made.set("expression", exp.Literal.string(pattern))
        made.set("modifiers", exp.Literal.string(f"{flags}s"))
        return made

    def _like(self, node: exp.Expr) -> exp.Expr:
        """A backslash takes a sign by itself, unless another ESCAPE is written."""
        pattern = without_parentheses(node.expression)
        if isinstance(pattern, (exp.Any, exp.All)):
            return self._like_one_of(node, pattern)
        is_plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.this
        if is_plain or isinstance(node.parent, exp.Escape):
            return node
        return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))

    def _like_one_of(self, node: exp.Expr, of: exp.Expr) -> exp.Expr:
        values = without_parentheses(of.this)
        if (
            not isinstance(values, exp.Array)
            or isinstance(of, exp.All)
            or node.args.get("negate")
            or not values.expressions
        ):
            refuse(self._sql, node, "LIKE ANY of what is no list", "write x LIKE 'a' OR x LIKE 'b'")
        each = [type(node)(this=node.this.copy(), expression=value.copy()) for value in values.expressions]
        return exp.Paren(this=exp.or_(*(exp.Paren(this=self._like(like)) for like in each)))

    def _list_array(self, node: exp.Expr, part: str) -> None:
        """= ANY('{1,2}') has an array in a text, and so has <> ALL('{1,2}')."""
        held = node.args[part]
        bare = without_parentheses(held[0] if isinstance(held, list) else held)
        if isinstance(bare, exp.Literal) and bare.is_string:
            found = array_elements(bare.this)
            if found is None:
                refuse(self._sql, node, "a text that is no list", "write = ANY('{1,2}') or = ANY(ARRAY[1, 2])")
            values = [exp.Null() if text is None else exp.Literal.string(text) for text in found]
            made = exp.Array(expressions=values)
            node.set(part, [made] if isinstance(held, list) else exp.Paren(this=made))

    def _extracted(self, node: exp.Extract) -> exp.Expr:
        part = node.this.name.upper()
        if part in {"SECOND", "SECONDS"}:  # DuckDB's has no fraction
            micros = exp.Extract(this=exp.Var(this="MICROSECOND"), expression=node.expression.copy())
            return exp.Paren(this=exp.Div(this=micros, expression=exp.Literal.number("1e6")))
        if part not in _PARTS:
            refuse(
                self._sql, node, f"extract({part.lower()})", f"there are {', '.join(sorted(_PARTS)).lower()} and second"
            )
        return node

    def _refuse_other_start(self, node: exp.Substring) -> None:
        start = without_parentheses(node.args["start"]) if node.args.get("start") else None
        if not isinstance(start, exp.Literal) or start.is_string or int(start.this) < 1:
            refuse(
                self._sql, node, "substring() that does not begin at a number from 1",
                "write the number; for patterns write regexp_replace()",
            )  # fmt: skip

    def _called(self, node: exp.Anonymous, below: list[str]) -> exp.Expr:
        """Functions that sqlglot's PostgreSQL has not: those of dates, and those that DuckDB has alone."""
        name, given = node.name.lower(), node.expressions
        if name == "all" and len(given) == 1:
            self._list_array(node, "expressions")
            return node
        if name == "to_char" and len(given) == 2:
            return self._to_char(node, below[0])
        if name in ("to_date", "to_timestamp") and len(given) == 2:
            pattern, text = self._pattern(node, given[1]), given[0].this if isinstance(given[0], exp.Literal) else ""
            found = functions.date_of(str(text), pattern, name.removeprefix("to_"))
            if found is None:
                refuse(self._sql, node, f"{name}() of another format", "write DATE '2024-01-31' or x::date")
            return found
        if name in _DIFFERENT:
            refuse(self._sql, node, f"the function {name}()", _DIFFERENT[name])
        build = DuckDB.Parser.FUNCTIONS.get(name.upper())
        if name in NAMES or build is None:
            return node
        made = build([each.copy() for each in given])
        return made if isinstance(made, exp.Expr) else node

    def _to_char(self, node: exp.Anonymous, of: str) -> exp.Expr:
        value, pattern = node.expressions
        parts = date_format(self._pattern(node, pattern)) if of in (types.DATE, types.TIMESTAMP) else None
        if parts is None:
            instead = "of dates there are YYYY, MM, Mon, Month, DD, D, Dy, Day, HH24, MI, SS, Q, WW, IYYY and IW"
            refuse(self._sql, node, "to_char() of a number, or of this format", instead)
        made: list[exp.Expr] = []
        for part in filter(None, parts):
            if part in COMPUTED:
                made.append(functions.in_template(COMPUTED[part], x=value))
            else:
                made.append(exp.TimeToStr(this=value.copy(), format=exp.Literal.string(part)))
        found = made[0] if made else exp.Literal.string("")
        for more in made[1:]:
            found = exp.DPipe(this=found, expression=more)
        return exp.Paren(this=found)


_PARTS = frozenset({
    "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "QUARTER", "WEEK", "DOW", "DAYOFWEEK", "ISODOW", "DOY", "DAYOFYEAR",
    "ISOYEAR", "EPOCH",
})  # fmt: skip
# Functions of both, by the same name, that do not mean the same.
_DIFFERENT = {
    "format": "write parts of text with ||",
    "age": "subtract one date from the other: it gives the days between them",
    "to_number": "write x::numeric",
    "date_bin": "write date_trunc('hour', x)",
}


def _matches(value: exp.Expr, pattern: str, flags: str = "s") -> exp.Expr:
    given = [value.copy(), exp.Literal.string(pattern), exp.Literal.string(flags)]
    return exp.Anonymous(this="regexp_matches", expressions=given)


def _symmetric(node: exp.Between) -> exp.Expr:
    low, high = node.args["low"], node.args["high"]
    least = exp.Least(this=low.copy(), expressions=[high.copy()])
    return exp.Between(this=node.this.copy(), low=least, high=exp.Greatest(this=low.copy(), expressions=[high.copy()]))
