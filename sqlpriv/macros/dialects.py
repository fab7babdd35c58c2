"""Expanded SQL for other engines, or a refusal that names what they cannot say.

sqlglot passes functions it does not know through unchanged, so a transpiled text proves nothing by itself: only what
is on the list below may be left in it. Three things are settled here and not by sqlglot. A class becomes a struct
with named fields, or its JSON text where an engine cannot group by structs. `error()` becomes the engine's own, or,
where there is none, NULL for the empty table (which no comparison accepts) and a refusal for everything else. And
constants are computed beforehand by DuckDB.
"""

from __future__ import annotations

from typing import cast

import duckdb
import sqlglot
from sqlglot import exp

from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.macros.catalog import SCHEMA
from sqlpriv.macros.expand import called, constant_value, expand

DIALECTS = ("duckdb", "spark", "postgres", "snowflake", "bigquery", "trino")

# Engines with a function that raises an error when a row reaches it.
_RAISES = {"spark": "RAISE_ERROR", "bigquery": "ERROR"}
_EMPTY = "the table has no rows"
_JSON_CLASS = {"bigquery", "snowflake"}

# Functions of standard SQL, with the same meaning in every dialect once sqlglot has written them.
_ALLOWED = {
    "ABS", "ANY_VALUE", "CASE", "CAST", "CEIL", "COALESCE", "COUNT", "DENSE_RANK", "EXP", "FLOOR", "GREATEST",
    "IF", "IFF", "LEAD", "LEAST", "LN", "LOG", "MAX", "MIN", "NULLIF", "ROUND", "ROW_NUMBER", "STRUCT", "NAMED_STRUCT",
    "ROW", "SUM", "TO_JSON_STRING", "TO_JSON", "OBJECT_CONSTRUCT_KEEP_NULL", "AND", "OR", "SUBSTRING", "EXISTS",
    *_RAISES.values(),
    # sqlglot's own names, on reading back, for CAST on Spark and for the JSON text of a class.
    "TRY_CAST", "JSON_FORMAT", "J_S_O_N_OBJECT",
}  # fmt: skip


def transpile(sql: str, dialect: str, con: duckdb.DuckDBPyConnection | None = None) -> str:
    """The plain SQL of a query with `priv` macros, in one of DIALECTS."""
    if dialect not in DIALECTS:
        raise UnsupportedSQLError(f"unknown dialect {dialect!r}; there are {', '.join(DIALECTS)}")
    plain = expand(sql, con)
    if dialect == "duckdb":
        return plain
    try:
        return _written(_parsed(plain, "duckdb"), dialect)
    except _CannotSayError as reason:
        names = ", ".join(f"{SCHEMA}.{name}" for name in called(sql))
        raise UnsupportedSQLError(f"{names} cannot be written for {dialect}: {reason}") from None


class _CannotSayError(Exception):
    """Why a dialect cannot express a tree."""


def _written(tree: exp.Expr, dialect: str) -> str:
    tree = _without_marks(tree).transform(_without_constants)
    for rule in (_explicit_groups, _aliased_subqueries, _plain_ctes):
        rule(tree)
    tree = tree.transform(lambda node: _class_key(node, dialect))
    tree = tree.transform(lambda node: _raising(node, dialect))
    if dialect == "snowflake":
        tree = tree.transform(_floating)
    try:
        text = tree.sql(dialect=dialect, pretty=True, unsupported_level=sqlglot.ErrorLevel.IGNORE)
    except (AttributeError, AssertionError):  # so it stumbles over NULLs in a named window, and over DESCRIBE
        raise _CannotSayError("it has a part that sqlglot cannot write there") from None
    try:
        _check(_parsed(text, dialect))
    except UnsupportedSQLError:
        raise _CannotSayError("it comes out as SQL that cannot be read there") from None
    return text


def _parsed(text: str, dialect: str) -> exp.Expr:
    try:
        return sqlglot.parse_one(text, dialect=dialect)
    except sqlglot.errors.SqlglotError:
        raise UnsupportedSQLError(f"sqlglot cannot read this SQL as {dialect}") from None


def _without_marks(tree: exp.Expr) -> exp.Expr:
    """No second look at what DuckDB takes for equal and readers do not (sql/base.sql): other engines differ in that."""
    return tree.transform(_first_look).transform(_plain_class)


def _first_look(node: exp.Expr) -> exp.Expr:
    """Of the two halves that ask for the types of columns, the first without its question."""
    if not isinstance(node, exp.Union):
        return node
    first, second = _asking(node.this), _asking(node.expression)
    if first is None or second is None:
        return node
    first.set("where", None)
    return cast("exp.Expr", node.this)


def _asking(half: exp.Expr) -> exp.Expr | None:
    """The SELECT, or the one that it reads, whose rows depend on the types of columns."""
    read = half.find(exp.From)
    for select in (half, read.this.this if read and isinstance(read.this, exp.Subquery) else None):
        where = select.args.get("where") if isinstance(select, exp.Select) else None
        if where is not None and where.find(exp.Typeof):
            return select
    return None


def _plain_class(node: exp.Expr) -> exp.Expr:
    """A class without the marks of its values."""
    if isinstance(node, exp.StructExtract) and node.expression.name == "__priv_class":
        return cast("exp.Expr", node.this)
    if isinstance(node, exp.Struct) and node.expressions and node.expressions[0].name == "__priv_class":
        return cast("exp.Expr", node.expressions[0].expression)
    return node


def _without_constants(node: exp.Expr) -> exp.Expr:
    """A CASE over constants only, such as a check of a parameter, is computed now. The names of a lambda are none."""
    varying = (exp.Column, exp.AggFunc, exp.Window, exp.Subquery, exp.Select, exp.Star)
    if not isinstance(node, exp.Case) or node.find(*varying) or node.find_ancestor(exp.Lambda):
        return node
    return exp.convert(constant_value(node.sql("duckdb")))


def _explicit_groups(tree: exp.Expr) -> None:
    """GROUP BY ALL spelt out by position."""
    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group and group.args.get("all"):
            keys = [i for i, e in enumerate(select.expressions, 1) if not e.find(exp.AggFunc)]
            select.set("group", exp.Group(expressions=[exp.Literal.number(i) for i in keys]))


def _aliased_subqueries(tree: exp.Expr) -> None:
    """Several engines want a name for every subquery in FROM."""
    for number, subquery in enumerate(tree.find_all(exp.Subquery)):
        if isinstance(subquery.parent, exp.From | exp.Join) and not subquery.alias:
            subquery.set("alias", exp.TableAlias(this=exp.to_identifier(f"__priv_q{number}")))


def _plain_ctes(tree: exp.Expr) -> None:
    """MATERIALIZED is advice that not every engine reads."""
    for cte in tree.find_all(exp.CTE):
        cte.set("materialized", None)


def _class_key(node: exp.Expr, dialect: str) -> exp.Expr:
    if not isinstance(node, exp.Struct):
        return node
    fields = [_named(e) for e in node.expressions]
    if dialect == "postgres":
        return exp.Anonymous(this="ROW", expressions=[value for _, value in fields])
    if dialect == "snowflake":
        pairs = [x for name, value in fields for x in (exp.Literal.string(name), value)]
        return exp.func("TO_JSON", exp.Anonymous(this="OBJECT_CONSTRUCT_KEEP_NULL", expressions=pairs))
    struct = exp.Struct(expressions=[exp.PropertyEQ(this=exp.to_identifier(n), expression=v) for n, v in fields])
    return exp.Anonymous(this="TO_JSON_STRING", expressions=[struct]) if dialect in _JSON_CLASS else struct


def _named(field: exp.Expr) -> tuple[str, exp.Expr]:
    if isinstance(field, exp.PropertyEQ):
        return field.this.name, field.expression
    return field.name, field


def _floating(node: exp.Expr) -> exp.Expr:
    """Snowflake divides whole numbers to six decimals; a double keeps them all."""
    if isinstance(node, exp.Div) and not isinstance(node.this, exp.Cast):
        return exp.Div(this=exp.cast(node.this, "DOUBLE"), expression=node.expression)
    return node


def _raising(node: exp.Expr, dialect: str) -> exp.Expr:
    if not (isinstance(node, exp.Anonymous) and node.name.upper() == "ERROR"):
        return node
    if dialect in _RAISES:
        return exp.Anonymous(this=_RAISES[dialect], expressions=node.expressions)
    if _EMPTY in node.expressions[0].name:
        return exp.null()
    unsaid = node.expressions[0].name.partition(": ")[2]
    raise _CannotSayError(f"it has no way to stop with an error, here {unsaid!r}")


def _check(tree: exp.Expr) -> None:
    used = {_function_name(f) for f in tree.find_all(exp.Func)}
    foreign = sorted(used - _ALLOWED)
    others = [t for t in (exp.Lambda, exp.Unnest, exp.Explode, exp.Array, exp.Bracket) if tree.find(t)]
    if foreign or others:
        names = [*foreign, *(t.__name__.upper() for t in others)]
        raise _CannotSayError(f"it needs {', '.join(dict.fromkeys(names))}")


def _function_name(function: exp.Func) -> str:
    if isinstance(function, exp.Anonymous):
        return function.name.upper()
    return type(function).sql_names()[0].upper()
