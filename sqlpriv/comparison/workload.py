"""The questions that methods are compared by: those of a file, or counts made up from the public domains.

A question must be a single SELECT whose columns are written out: group keys, and aggregates, whose answers are numbers.
One that chooses rows by their answers (LIMIT, HAVING) cannot be compared, since an estimate may choose others. What
cannot be asked is left out, and said.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlpriv.core.errors import InputError, UnsupportedSQLError
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.rewrite.bind.parse import parsed, statements
from sqlpriv.rewrite.bind.time_of_asking import time_of_asking

MADE_UP = 500
_MOST_ATTRIBUTES = 3
_MOST_LISTED = 8


@dataclass(frozen=True)
class Question:
    """A question by its number in the workload; which of its columns are aggregates, and which of these count rows."""

    number: int
    sql: str
    is_value: tuple[bool, ...] = (True,)
    is_count: tuple[bool, ...] = (True,)


@dataclass(frozen=True)
class LeftOut:
    """A statement of a workload that is not compared, and why."""

    number: int
    why: str


@dataclass(frozen=True)
class Choices:
    """A column, and the values that questions about it may name, in their order where they have one."""

    column: str
    values: tuple[Any, ...]
    is_ordered: bool


def read_statements(file: Path) -> list[str]:
    """The statements of a file, at least one."""
    try:
        found = statements(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise InputError(f"there is no file of queries {str(file)!r} that can be read as text") from None
    except UnsupportedSQLError as error:
        raise InputError(f"{file.name}: {error}") from None
    if not found:
        raise InputError(f"{file.name} holds no query; write SELECT statements, with semicolons between them")
    return found


def read_workload(file: Path) -> list[Question | LeftOut]:
    """The questions of a file, or why a statement is none."""
    return [_read(number, sql) for number, sql in enumerate(read_statements(file), 1)]


def _read(number: int, sql: str) -> Question | LeftOut:
    try:
        tree = parsed(sql, now=time_of_asking(sql))
    except UnsupportedSQLError as error:
        return LeftOut(number, str(error))
    if not isinstance(tree, exp.Select) or any(e.is_star for e in tree.expressions):
        return LeftOut(number, "only a single SELECT with its columns written out can be compared")
    if any(tree.args.get(clause) for clause in ("limit", "offset", "having", "qualify")):
        return LeftOut(number, "LIMIT, OFFSET, HAVING and QUALIFY choose rows by their answers; leave them out")
    columns = [e.unalias() for e in tree.expressions]
    is_value = tuple(bool(e.find(exp.AggFunc)) for e in columns)
    if not any(is_value):
        return LeftOut(number, "it asks for no count, sum or average")
    return Question(number, sql, is_value, tuple(_counts_rows(e) for e in columns))


def _counts_rows(column: exp.Expr) -> bool:
    return isinstance(column, exp.Count) and not isinstance(column.this, exp.Distinct)


def make_workload(table: str, columns: Sequence[Choices], seed: int, many: int = MADE_UP) -> list[Question]:
    """Counts with conditions on 1, 2 and 3 columns, ranges and values, the same for the same seed.

    >>> made = make_workload("t", [Choices("age", tuple(range(17, 91)), True)], seed=1, many=1)
    >>> made[0].sql
    'SELECT count(*) FROM "t" WHERE "age" BETWEEN 25 AND 89'
    """
    chance = random.Random(seed)
    made = []
    for number in range(1, many + 1):
        width = min(1 + number % _MOST_ATTRIBUTES, len(columns))
        conditions = [_condition(c, chance) for c in chance.sample(list(columns), width)]
        made.append(Question(number, f"SELECT count(*) FROM {quoted(table)} WHERE {' AND '.join(conditions)}"))
    return made


def _condition(choices: Choices, chance: random.Random) -> str:
    name, values = quoted(choices.column), choices.values
    if choices.is_ordered:
        low, high = sorted(chance.sample(range(len(values)), 2)) if len(values) > 1 else (0, 0)
        return f"{name} BETWEEN {_constant(values[low])} AND {_constant(values[high])}"
    several = chance.randint(1, max(1, min(_MOST_LISTED, len(values) // 2)))
    listed = ", ".join(_constant(v) for v in chance.sample(values, several))
    return f"{name} = {listed}" if several == 1 else f"{name} IN ({listed})"


def _constant(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, bool | int | float | str):
        return literal(value)
    return str(value) if value.__class__.__name__ == "Decimal" else literal(str(value))
